//! Work that the threads of a walk share. The last in is the first out, which keeps few folders open.

use super::ignored::Ignored;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A folder to read.
pub(super) struct Folder {
    pub(super) parent: Arc<OwnedFd>,
    pub(super) name: CString,
    /// Its path below the start, with a `/` at its end; empty for the start.
    pub(super) path: Vec<u8>,
    pub(super) depth: usize,
    pub(super) ignored: Option<Arc<Ignored>>,
}

pub(super) enum Job {
    Folder(Folder),
    Files { folder: Arc<OwnedFd>, path: Vec<u8>, names: Vec<CString> },
}

#[derive(Default)]
struct State {
    jobs: Vec<Job>,
    working: usize,
}

#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    closed: AtomicBool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, jobs: Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        self.lock().jobs.extend(jobs);
        self.changed.notify_all();
    }

    /// The next job; waits while another thread may still push some. `None` = all is done, or it is closed.
    pub(super) fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if self.is_closed() {
                return None;
            }
            if let Some(job) = state.jobs.pop() {
                state.working += 1;
                return Some(job);
            }
            if state.working == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A job that [`Queue::next`] gave is done.
    pub(super) fn done(&self) {
        let mut state = self.lock();
        state.working -= 1;
        if state.working == 0 && state.jobs.is_empty() {
            self.changed.notify_all();
        }
    }

    pub(super) fn close(&self) {
        // Under the lock, so that no thread falls asleep between its look and the wake-up.
        let _state = self.lock();
        self.closed.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}
