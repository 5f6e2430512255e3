//! The full check of a log: by `doctor`, and in the background after an unclean stop.

use crate::chain::{self, ChainBreak, ChainReport};
use crate::derived;
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
    /// What SQLite's own check complains of, and which rows beside the events don't say what they say; empty where
    /// all is well.
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
    let mut whole = ChainReport::default();
    let mut database = Vec::new();
    let mut from = i64::MIN;
    while whole.broken.is_none() {
        if core.closed.load(Ordering::SeqCst) {
            return Err(LogError::Closed);
        }
        match part(conn, core, from) {
            Ok(None) => break,
            Ok(Some((checked, to))) => {
                whole.checked += checked.checked;
                whole.last = whole.last.max(checked.last);
                whole.broken = checked.broken;
                from = to.saturating_add(1);
            }
            Err(error) if is_passing(&error) => return Err(sql(error)),
            // What can't be read at all is a finding, not a failure of the check.
            Err(error) => {
                database.push(format!(
                    "the events behind {} or the checkpoint can't be read: {error}",
                    whole.last
                ));
                break;
            }
        }
    }
    for found in [complaints(conn), derived::disagreements(conn, COMPLAINTS_MAX)] {
        match found {
            Ok(lines) => database.extend(lines),
            Err(error) if is_passing(&error) => return Err(sql(error)),
            Err(error) => database.push(format!("the log's tables can't be read: {error}")),
        }
    }
    Ok(FullCheck { chain: whole, database })
}

/// Checks the next events from a sequence on, gaps skipped; gives the last sequence that was looked at.
fn part(conn: &Connection, core: &Core, from: i64) -> rusqlite::Result<Option<(ChainReport, i64)>> {
    let next: Option<i64> =
        conn.query_row("SELECT min(seq) FROM events WHERE seq >= ?1", [from], |row| row.get(0))?;
    let Some(next) = next else { return Ok(None) };
    let Some(first) = u64::try_from(next).ok().filter(|seq| *seq > 0) else {
        let broken = Some(ChainBreak { seq: next.unsigned_abs(), what: chain::Break::Content });
        return Ok(Some((ChainReport { broken, ..ChainReport::default() }, next)));
    };
    let to = next.saturating_add(i64::try_from(BATCH).unwrap_or(i64::MAX) - 1);
    let report = chain::verify(conn, &core.chain, first, to.unsigned_abs())?;
    Ok(Some((report, to)))
}

/// Whether an error says nothing of the file: it was busy, or the check was called off.
fn is_passing(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            rusqlite::ErrorCode::DatabaseBusy
                | rusqlite::ErrorCode::DatabaseLocked
                | rusqlite::ErrorCode::OperationInterrupted
        )
    )
}

fn complaints(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut check = conn.prepare(&format!("PRAGMA integrity_check({COMPLAINTS_MAX})"))?;
    let mut lines: Vec<String> = check.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    lines.retain(|line| line != "ok");
    Ok(lines)
}
