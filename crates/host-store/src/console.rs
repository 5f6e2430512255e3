//! The web console's rows ([`host_console::ConsoleStore`]): conversations, messages, what was sent, follow-ups,
//! uploads, settings. A file of its own, of one process at a time; it is never recreated by itself.

mod rows;
mod tables;

use crate::held::Held;
use crate::lock::LockFile;
use crate::{OpenError, folder};
use host_console::{
    Change, ConsoleStore, FollowUp, HitRow, MessageRow, Settings, StoreError, Submission, Thread,
    ThreadQuery, UploadRow,
};
use rusqlite::{Connection, ErrorCode};
use serde_json::Value;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Why the console's store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleOpenError {
    /// Another console holds it.
    #[error("another console of this user is running already")]
    Running,
    /// The file can't be used.
    #[error(transparent)]
    Unusable(#[from] OpenError),
}

/// The console's file, and the lock on it.
pub struct ConsoleRows {
    conn: Mutex<Connection>,
    /// After the connection, so that they are let go of last.
    _held: Held,
    _lock: LockFile,
}

impl ConsoleRows {
    /// Opens `console.sqlite` below a folder, which is made for its owner alone.
    ///
    /// # Errors
    /// See [`ConsoleOpenError`]. A file that can't be read is left as it is.
    pub fn open(dir: &Path) -> Result<Self, ConsoleOpenError> {
        folder::private_folder(dir)?;
        let gate = dir.join("console.lock");
        let lock = LockFile::take(&gate).map_err(|e| OpenError::io(&gate, e))?;
        let lock = lock.ok_or(ConsoleOpenError::Running)?;
        let path = dir.join("console.sqlite");
        let (conn, held) = tables::open(&path)?;
        Ok(ConsoleRows { conn: Mutex::new(conn), _held: held, _lock: lock })
    }

    fn with<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let conn = self.conn.lock().unwrap_or_else(PoisonError::into_inner);
        work(&conn).map_err(|error| why(&error))
    }
}

/// A fault in words without paths.
fn why(error: &rusqlite::Error) -> StoreError {
    StoreError::Failed(match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => return StoreError::Full,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "it is busy".to_owned(),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            "its file can't be written".to_owned()
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => "its file is damaged".to_owned(),
        Some(code) => format!("{code:?}"),
        None => "a row of it can't be read".to_owned(),
    })
}

impl ConsoleStore for ConsoleRows {
    fn apply(&self, changes: &[Change]) -> Result<(), StoreError> {
        self.with(|conn| {
            crate::memory::transaction(conn, || {
                changes.iter().try_for_each(|change| rows::apply(conn, change))
            })
        })
    }

    fn threads(&self, query: &ThreadQuery) -> Result<Vec<Thread>, StoreError> {
        self.with(|conn| rows::threads(conn, query))
    }

    fn thread(&self, id: &str) -> Result<Option<Thread>, StoreError> {
        self.with(|conn| rows::one(conn, "SELECT body FROM threads WHERE id = ?1", id))
    }

    fn messages(
        &self,
        thread: &str,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<MessageRow>, StoreError> {
        self.with(|conn| rows::messages(conn, thread, before, limit))
    }

    fn message(&self, thread: &str, id: &str) -> Result<Option<MessageRow>, StoreError> {
        self.with(|conn| rows::message(conn, thread, id))
    }

    fn open_messages(&self) -> Result<Vec<MessageRow>, StoreError> {
        self.with(rows::open_messages)
    }

    fn submission(&self, id: &str) -> Result<Option<Submission>, StoreError> {
        self.with(|conn| rows::submission(conn, id))
    }

    fn follow_ups(&self, thread: Option<&str>) -> Result<Vec<FollowUp>, StoreError> {
        self.with(|conn| rows::follow_ups(conn, thread))
    }

    fn follow_up(&self, id: &str) -> Result<Option<FollowUp>, StoreError> {
        self.with(|conn| rows::one(conn, "SELECT body FROM follow_ups WHERE id = ?1", id))
    }

    fn upload(&self, id: &str) -> Result<Option<UploadRow>, StoreError> {
        self.with(|conn| rows::upload(conn, id))
    }

    fn uploads(&self, thread: Option<&str>, before_ms: i64) -> Result<Vec<UploadRow>, StoreError> {
        self.with(|conn| rows::uploads(conn, thread, before_ms))
    }

    fn search(&self, agent: Option<&str>, words: &str, limit: usize) -> Result<Vec<HitRow>, StoreError> {
        self.with(|conn| rows::search(conn, agent, words, limit))
    }

    fn settings(&self) -> Result<Option<Settings>, StoreError> {
        self.with(|conn| rows::one(conn, "SELECT body FROM settings WHERE name = ?1", "look"))
    }

    fn agents(&self) -> Result<Vec<(String, Value)>, StoreError> {
        self.with(rows::agents)
    }
}
