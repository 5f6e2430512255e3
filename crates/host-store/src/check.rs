//! The full check of a log: by `doctor`, and in the background after an unclean stop.

use crate::chain::{self, ChainReport};
use crate::store_core::{Core, lock};
use host_ports::log::LogError;
use rusqlite::{Connection, InterruptHandle};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// How many events are checked between two looks at whether the log closes.
const BATCH: u64 = 2000;
/// How many complaints of SQLite are kept.
const COMPLAINTS_MAX: usize = 20;

/// What the full check found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FullCheck {
    /// The chain from the first event to the last.
    pub chain: ChainReport,
    /// What SQLite's own check complains of; empty where all is well.
    pub database: Vec<String>,
}

impl FullCheck {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.chain.broken.is_none() && self.database.is_empty()
    }
}

/// How the check after an unclean stop is getting on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum BackgroundCheck {
    /// The last stop was clean.
    #[default]
    NotNeeded,
    /// It is at work.
    Running,
    /// It came to an end.
    Done(FullCheck),
    /// It could not be made.
    Failed(LogError),
}

/// The background check: its result, and what stops it.
#[derive(Default)]
pub(crate) struct CheckState {
    now: Mutex<BackgroundCheck>,
    thread: Mutex<Option<JoinHandle<()>>>,
    interrupt: Mutex<Option<InterruptHandle>>,
}

impl CheckState {
    pub(crate) fn get(&self) -> BackgroundCheck {
        lock(&self.now).clone()
    }

    pub(crate) fn start(self: &Arc<Self>, core: Arc<Core>) {
        *lock(&self.now) = BackgroundCheck::Running;
        let state = self.clone();
        let spawned = std::thread::Builder::new().name("log-check".to_owned()).spawn(move || {
            crate::keeper::behind_all_others();
            let done = core.reader().map_err(|e| crate::failure::log_error(&e)).and_then(|conn| {
                *lock(&state.interrupt) = Some(conn.get_interrupt_handle());
                on(&conn, &core)
            });
            *lock(&state.interrupt) = None;
            if let Ok(found) = &done
                && !found.is_sound()
            {
                tracing::error!(?found, "the full check after the unclean stop found the log damaged");
            }
            *lock(&state.now) = done.map_or_else(BackgroundCheck::Failed, BackgroundCheck::Done);
        });
        match spawned {
            Ok(thread) => *lock(&self.thread) = Some(thread),
            Err(_) => {
                let why = LogError::Failed("no thread could be started for the check".to_owned());
                *lock(&self.now) = BackgroundCheck::Failed(why);
            }
        }
    }

    pub(crate) fn stop(&self) {
        let Some(thread) = lock(&self.thread).take() else { return };
        while !thread.is_finished() {
            if let Some(interrupt) = &*lock(&self.interrupt) {
                interrupt.interrupt();
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let _ = thread.join();
    }
}

/// Checks everything on a connection of its own.
pub(crate) fn full(core: &Core) -> Result<FullCheck, LogError> {
    if core.closed.load(Ordering::SeqCst) {
        return Err(LogError::Closed);
    }
    let conn = core.reader().map_err(|e| crate::failure::log_error(&e))?;
    on(&conn, core)
}

fn on(conn: &Connection, core: &Core) -> Result<FullCheck, LogError> {
    let sql = |e: rusqlite::Error| crate::failure::log_error(&e);
    let last: u64 =
        conn.query_row("SELECT coalesce(max(seq), 0) FROM events", [], |row| row.get(0)).map_err(sql)?;
    let mut whole = ChainReport::default();
    let mut from = 1;
    while from <= last && whole.broken.is_none() {
        if core.closed.load(Ordering::SeqCst) {
            return Err(LogError::Closed);
        }
        let to = last.min(from + BATCH - 1);
        let part = chain::verify(conn, &core.chain, from, to).map_err(sql)?;
        whole.checked += part.checked;
        whole.last = whole.last.max(part.last);
        whole.broken = part.broken;
        from = to + 1;
    }
    let database = complaints(conn).map_err(sql)?;
    Ok(FullCheck { chain: whole, database })
}

fn complaints(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut check = conn.prepare(&format!("PRAGMA integrity_check({COMPLAINTS_MAX})"))?;
    let mut lines: Vec<String> = check.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    lines.retain(|line| line != "ok");
    Ok(lines)
}
