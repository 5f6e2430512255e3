//! Checkpoints, on a thread of their own, so that no append ever waits for the disk.

use crate::store_core::{Core, lock};
use crate::{connection, schema};
use rusqlite::Connection;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A checkpoint follows about every so many bytes of pages.
const CHECKPOINT_BYTES: usize = 8 * 1024 * 1024;
/// About what one append adds to the write-ahead file besides its body: the pages that it begins on and
/// the ones that count them, with their frames.
const OVERHEAD_BYTES: usize = 2 * 4120;
/// Beyond this size of the write-ahead file a checkpoint waits for readers and makes writers wait, so that
/// the file is bounded.
const WAL_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// A checkpoint waits until nothing was appended for so long, because the disk makes appends wait while it
/// syncs.
const QUIET: Duration = Duration::from_millis(25);
/// It does not wait until this many more checkpoints are due.
const ROUNDS_MAX: u32 = 3;
/// It does not wait longer than this.
const QUIET_WAIT_MAX: Duration = Duration::from_secs(2);

/// The thread that checkpoints.
pub(crate) struct Keeper {
    since: Arc<AtomicUsize>,
    wake: Mutex<Option<SyncSender<()>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Keeper {
    pub(crate) fn start(core: Arc<Core>) -> Self {
        let (wake, woken) = sync_channel(1);
        let since = Arc::new(AtomicUsize::new(0));
        let counted = since.clone();
        let work = move || keep(&core, &counted, &woken);
        let thread = std::thread::Builder::new().name("log-keeper".to_owned()).spawn(work).ok();
        Keeper { since, wake: Mutex::new(Some(wake)), thread: Mutex::new(thread) }
    }

    /// None: for a log that is only read.
    pub(crate) fn none() -> Self {
        Keeper { since: Arc::default(), wake: Mutex::default(), thread: Mutex::default() }
    }

    /// Counts what was appended, and wakes the thread when it is time.
    pub(crate) fn wrote(&self, bytes: usize) {
        let bytes = bytes + OVERHEAD_BYTES;
        if self.since.fetch_add(bytes, Ordering::Relaxed) + bytes < CHECKPOINT_BYTES {
            return;
        }
        self.since.store(0, Ordering::Relaxed);
        if let Some(wake) = &*lock(&self.wake) {
            // A full channel: it is awake already.
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

/// Puts the calling thread behind all others that want the processor.
pub(crate) fn behind_all_others() {
    // On Linux this is the thread's alone. Where it is not allowed, the work is only less polite.
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 10);
}

/// Waits for a moment without appends; `false` where the log closes.
fn quiet(since: &AtomicUsize, woken: &Receiver<()>) -> bool {
    let began = Instant::now();
    let mut seen = since.load(Ordering::Relaxed);
    let mut more = 0;
    while began.elapsed() < QUIET_WAIT_MAX && more < ROUNDS_MAX {
        match woken.recv_timeout(QUIET) {
            Ok(()) => more += 1,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        let now = since.load(Ordering::Relaxed);
        if now == seen {
            break;
        }
        seen = now;
    }
    true
}

fn keep(core: &Core, since: &AtomicUsize, woken: &Receiver<()>) {
    let mut conn: Option<Connection> = None;
    let wal = schema::suffixed(&core.path, "-wal");
    while woken.recv().is_ok() && quiet(since, woken) {
        let done = match conn.take() {
            Some(open) => Ok(open),
            None => connection::open(&core.path, core.vfs)
                .and_then(|open| connection::prepare_writer(&open, core.durability).map(|()| open)),
        }
        .and_then(|open| {
            connection::pragma(&open, "PRAGMA wal_checkpoint(PASSIVE)")?;
            if std::fs::metadata(&wal).is_ok_and(|found| found.len() > WAL_BYTES_MAX) {
                connection::pragma(&open, "PRAGMA wal_checkpoint(TRUNCATE)")?;
            }
            Ok(open)
        });
        match done {
            Ok(open) => conn = Some(open),
            // Nothing is lost: what could not be moved stays in the write-ahead file, and the next round
            // tries again.
            Err(error) => tracing::debug!(error = %crate::failure::log_error(&error), "a checkpoint failed"),
        }
    }
}
