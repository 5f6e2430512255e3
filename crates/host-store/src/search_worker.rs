//! The thread that keeps the full-text index up, outside the way of appends.

use crate::search::SearchIndex;
use crate::store_core::lock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long it gathers events before it indexes them. It bounds the lag of an idle host and how often an
/// append wakes the thread.
const GATHER: Duration = Duration::from_millis(40);
/// How long it rests after a failure, such as a full disk.
const REST: Duration = Duration::from_secs(2);

/// The thread, and what wakes it.
pub(crate) struct SearchWorker {
    stale: Arc<AtomicBool>,
    wake: Mutex<Option<SyncSender<()>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl SearchWorker {
    /// Starts the thread, or does without one.
    pub(crate) fn start(index: Arc<SearchIndex>, wanted: bool) -> Self {
        let stale = Arc::new(AtomicBool::new(false));
        let (wake, woken) = sync_channel(1);
        let flag = stale.clone();
        let thread = wanted
            .then(|| {
                let work = move || run(&index, &flag, &woken);
                std::thread::Builder::new().name("log-search".to_owned()).spawn(work).ok()
            })
            .flatten();
        let wake = thread.is_some().then_some(wake);
        SearchWorker { stale, wake: Mutex::new(wake), thread: Mutex::new(thread) }
    }

    /// Says that there is something new.
    pub(crate) fn wrote(&self) {
        if self.stale.load(Ordering::Relaxed) || self.stale.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Some(wake) = &*lock(&self.wake) {
            let _ = wake.try_send(());
        }
    }

    pub(crate) fn stop(&self) {
        drop(lock(&self.wake).take());
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

fn run(index: &SearchIndex, stale: &AtomicBool, woken: &Receiver<()>) {
    crate::keeper::behind_all_others();
    while woken.recv().is_ok() {
        if woken.recv_timeout(GATHER) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
        stale.store(false, Ordering::Release);
        loop {
            match index.index_batch() {
                Ok(true) => {}
                Ok(false) => break,
                Err(host_ports::log::LogError::Closed) => return,
                Err(error) => {
                    tracing::debug!(%error, "the search index could not be brought up");
                    if woken.recv_timeout(REST) == Err(RecvTimeoutError::Disconnected) {
                        return;
                    }
                }
            }
        }
    }
}
