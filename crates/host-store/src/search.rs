//! Full text of the log, in a file of its own that can be lost: it is built anew from the log.

use crate::failure::{is_full, log_error};
use crate::held::Held;
use crate::search_query::{SearchError, SearchScope, pattern};
use crate::search_text::text_of;
use crate::store_core::{Core, lock};
use crate::{connection, folder, row, schema};
use host_ports::log::LogError;
use host_vocab::ConversationId;
use rusqlite::{Connection, ErrorCode, params};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

/// `monS`: a search index of mono-agent.
const APPLICATION_ID: i32 = 0x6d6f_6e53;
/// A file of another version is dropped and built anew.
const VERSION: i64 = 2;
/// How many events go into one transaction.
pub(crate) const BATCH: i64 = 256;
/// How many events a query indexes itself before it answers from what there is.
const CATCH_UP_MAX: u64 = 8192;
/// Up to this size of a log, in its pages of 4 KiB, an index that can't stand beside it is made in memory.
const IN_MEMORY_PAGES_MAX: u64 = 64 * 1024;
/// The most hits of one query.
const HITS_MAX: usize = 1000;

const TABLES: &str = "
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE docs(seq INTEGER PRIMARY KEY, conversation TEXT, logical TEXT) STRICT;
CREATE VIRTUAL TABLE texts USING fts5(text, content='', contentless_delete=1, tokenize='trigram');
INSERT INTO meta(name, value) VALUES('indexed', 0);
";

/// The index, opened when it is first needed.
pub(crate) struct SearchIndex {
    core: Arc<Core>,
    path: PathBuf,
    files: Mutex<Option<Files>>,
}

/// The index and the log that it is made from.
struct Files {
    index: Connection,
    log: Connection,
    /// Whether the index is gone with this process.
    unnamed: bool,
    /// Last: it goes after the index's connection.
    held: Held,
}

impl SearchIndex {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        SearchIndex { path: core.dir.join("search.sqlite"), core, files: Mutex::default() }
    }

    /// Closes both connections.
    pub(crate) fn close(&self) {
        drop(lock(&self.files).take());
    }

    /// Indexes one batch; `false` when nothing is left to do.
    pub(crate) fn index_batch(&self) -> Result<bool, LogError> {
        self.with(|files| files.index_batch())
    }

    /// How many events are not in the index yet.
    pub(crate) fn behind(&self) -> Result<u64, LogError> {
        self.with(|files| files.behind())
    }

    /// Asks the index, brought up first; what one question of a host brings up is bounded. Whoever only reads is never
    /// answered from an index that lacks something.
    pub(crate) fn ask<T>(
        &self,
        mut question: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LogError> {
        let reads_only = self.core.reading.is_some();
        self.with(|files| {
            let mut indexed = 0;
            while (reads_only || indexed < CATCH_UP_MAX) && files.behind()? > 0 {
                match files.index_batch() {
                    Ok(true) => indexed += BATCH.unsigned_abs(),
                    Ok(false) => break,
                    // A host is told how much is missing (`behind`), and its index follows when there is room again.
                    Err(error) if !reads_only && is_full(&error, &files.index) => break,
                    Err(error) => return Err(error),
                }
            }
            question(&files.index)
        })
    }

    /// Bounds the index's file at its present size, for tests of a full disk.
    pub(crate) fn fill_for_test(&self) -> Result<(), LogError> {
        self.with(|files| {
            let pages: u64 = files.index.query_row("PRAGMA page_count", [], |row| row.get(0))?;
            connection::pragma(&files.index, &format!("PRAGMA max_page_count = {pages}"))
        })
    }

    pub(crate) fn query(
        &self,
        scope: &SearchScope,
        query: &str,
        limit: usize,
    ) -> Result<Vec<u64>, SearchError> {
        let pattern = pattern(query)?;
        let limit = i64::try_from(limit.min(HITS_MAX)).unwrap_or(0);
        Ok(self.with(|files| {
            let mut indexed = 0;
            while indexed < CATCH_UP_MAX && files.index_batch()? {
                indexed += BATCH.unsigned_abs();
            }
            files.find(scope, &pattern, limit)
        })?)
    }

    /// Runs `work` on the files, opening them first. A damaged index is dropped and built anew, once. Where the disk has
    /// no room for one that is behind, whoever only reads makes one that is gone with this process.
    fn with<T>(&self, mut work: impl FnMut(&Files) -> rusqlite::Result<T>) -> Result<T, LogError> {
        let mut slot = lock(&self.files);
        for attempt in 0_u8.. {
            if self.core.closed.load(Ordering::SeqCst) {
                return Err(LogError::Closed);
            }
            let done = match slot.take() {
                Some(files) => Ok(files),
                None => Files::open(&self.core, &self.path, attempt > 0),
            }
            .and_then(|files| work(&*slot.insert(files)));
            match done {
                Err(error) if attempt == 0 && is_damage(&error) => {
                    tracing::warn!("the search index is damaged; it is built anew from the log");
                    drop(slot.take());
                    if !self.core.is_still() {
                        drop_files(&self.path);
                    }
                }
                Err(error)
                    if attempt == 0
                        && self.core.reading.is_some()
                        && slot.as_ref().is_some_and(|it| !it.unnamed && is_full(&error, &it.index)) =>
                {
                    tracing::warn!("the disk is full; the search index is made in memory");
                    drop(slot.take());
                    *slot = Some(Files::apart(&self.core).map_err(|error| log_error(&error))?);
                }
                done => return done.map_err(|error| log_error(&error)),
            }
        }
        unreachable!("the loop returns at its second round")
    }
}

impl Files {
    /// Opens the index, or makes it. Whoever only reads, and has no folder or disk to write to, uses one that is whole
    /// and up to date, unless `another` is wanted, and else makes one that is gone with this process.
    fn open(core: &Core, path: &Path, another: bool) -> rusqlite::Result<Files> {
        if core.is_still() {
            return Self::open_still(core, path, another);
        }
        match Self::open_shared(core, path) {
            Err(error) if core.reading.is_some() && log_error(&error) == LogError::Full => {
                Self::open_still(core, path, another)
            }
            opened => opened,
        }
    }

    fn open_shared(core: &Core, path: &Path) -> rusqlite::Result<Files> {
        let log = core.reader()?;
        let id = schema::meta::<16>(&log, "log_id")?.unwrap_or_default();
        // Not ours, not safe, or not readable: all the same for a file that is derived.
        let sound =
            folder::private_file(path).is_ok() && schema::check_header(path, APPLICATION_ID, VERSION).is_ok();
        if sound && path.exists() {
            let held = Held::of(path);
            match Self::open_index(path) {
                Ok(index) => {
                    let files = Files { index, log, unnamed: false, held };
                    if files.belongs(&id)? {
                        return Ok(files);
                    }
                    let Files { index, log, held, .. } = files;
                    drop((index, held));
                    return Self::create(path, log, &id);
                }
                Err(error) if is_damage(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Self::create(path, log, &id)
    }

    fn open_still(core: &Core, path: &Path, another: bool) -> rusqlite::Result<Files> {
        let log = core.reader()?;
        let id = schema::meta::<16>(&log, "log_id")?.unwrap_or_default();
        let sound =
            folder::private_file(path).is_ok() && schema::check_header(path, APPLICATION_ID, VERSION).is_ok();
        let held = Held::of(path);
        if sound
            && !another
            && path.exists()
            && let Ok(index) = connection::open_reading(path, connection::Reading::without_writing(path))
        {
            let files = Files { index, log, unnamed: false, held };
            if files.belongs(&id).unwrap_or(false) && files.behind().unwrap_or(1) == 0 {
                return Ok(files);
            }
            return Self::unnamed(files.log, &id);
        }
        Self::unnamed(log, &id)
    }

    /// A new one that is gone with this process, whatever stands beside the log.
    fn apart(core: &Core) -> rusqlite::Result<Files> {
        let log = core.reader()?;
        let id = schema::meta::<16>(&log, "log_id")?.unwrap_or_default();
        Self::unnamed(log, &id)
    }

    /// An index in memory, or for a large log in a nameless file of the system's own.
    fn unnamed(log: Connection, id: &[u8; 16]) -> rusqlite::Result<Files> {
        let pages: u64 = log.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        let index = Connection::open(if pages <= IN_MEMORY_PAGES_MAX { ":memory:" } else { "" })?;
        connection::pragma(&index, "PRAGMA temp_store = MEMORY")?;
        connection::pragma(&index, "PRAGMA synchronous = OFF")?;
        Self::make_tables(&index, id)?;
        Ok(Files { index, log, unnamed: true, held: Held::none() })
    }

    fn make_tables(index: &Connection, log_id: &[u8; 16]) -> rusqlite::Result<()> {
        index.execute_batch(TABLES)?;
        index.execute_batch(crate::history::TABLES)?;
        index.execute("INSERT INTO meta(name, value) VALUES('log_id', ?1)", [&log_id[..]])?;
        connection::pragma(index, &format!("PRAGMA user_version = {VERSION}"))
    }

    fn open_index(path: &Path) -> rusqlite::Result<Connection> {
        let index = connection::open(path, None)?;
        connection::prepare_writer(&index, crate::Durability::Process)?;
        connection::pragma(&index, "PRAGMA wal_autocheckpoint = 2000")?;
        Ok(index)
    }

    /// Drops what is there, and begins anew.
    fn create(path: &Path, log: Connection, log_id: &[u8; 16]) -> rusqlite::Result<Files> {
        drop_files(path);
        let made = folder::create_private(path);
        if made.is_err() && !path.exists() {
            return Err(rusqlite::Error::InvalidPath(PathBuf::new()));
        }
        let held = Held::of(path);
        let index = connection::open(path, None)?;
        // Derived: what a power cut damages here is built anew.
        connection::pragma(&index, "PRAGMA synchronous = OFF")?;
        connection::pragma(&index, "PRAGMA auto_vacuum = INCREMENTAL")?;
        connection::pragma(&index, &format!("PRAGMA application_id = {APPLICATION_ID}"))?;
        connection::pragma(&index, "PRAGMA journal_mode = WAL")?;
        index.execute_batch("BEGIN IMMEDIATE")?;
        // Another process may have been first.
        if index.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))? == 0 {
            Self::make_tables(&index, log_id)?;
        }
        index.execute_batch("COMMIT")?;
        drop(index);
        Ok(Files { index: Self::open_index(path)?, log, unnamed: false, held })
    }

    /// Whether the index was made from this log and is not ahead of it.
    fn belongs(&self, log_id: &[u8; 16]) -> rusqlite::Result<bool> {
        match schema::meta::<16>(&self.index, "log_id") {
            Ok(Some(id)) if id == *log_id => Ok(indexed(&self.index)? <= last(&self.log)?),
            _ => Ok(false),
        }
    }

    fn behind(&self) -> rusqlite::Result<u64> {
        Ok(last(&self.log)?.saturating_sub(indexed(&self.index)?))
    }

    fn index_batch(&self) -> rusqlite::Result<bool> {
        self.index.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let done = self.index_within().and_then(|more| {
            self.index.prepare_cached("COMMIT")?.execute([])?;
            Ok(more)
        });
        if done.is_err() && !self.index.is_autocommit() {
            let _ = self.index.execute_batch("ROLLBACK");
        }
        done
    }

    fn index_within(&self) -> rusqlite::Result<bool> {
        crate::history::follow_retention(&self.index, &self.log)?;
        let columns = row::COLUMNS;
        let mut events = self
            .log
            .prepare_cached(&format!("SELECT {columns} FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2"))?;
        let mut text = self.index.prepare_cached("INSERT INTO texts(rowid, text) VALUES(?1, ?2)")?;
        let mut doc =
            self.index.prepare_cached("INSERT INTO docs(seq, conversation, logical) VALUES(?1, ?2, ?3)")?;
        let (mut upto, mut read) = (None, 0);
        let mut rows = events.query((indexed(&self.index)?, BATCH))?;
        while let Some(event) = rows.next()? {
            read += 1;
            upto = Some(event.get::<_, i64>(0)?);
            // A damaged event has no text to trust; the chain check reports it.
            let Ok(event) = row::stored(event) else { continue };
            crate::history::project(&self.index, &event)?;
            let words = text_of(&event);
            if words.is_empty() {
                continue;
            }
            let conversation = event.scope.conversation.as_ref();
            text.execute(params![event.seq, words])?;
            doc.execute(params![
                event.seq,
                conversation.map(ConversationId::as_str),
                conversation.map(ConversationId::without_bucket)
            ])?;
        }
        if let Some(upto) = upto {
            self.index
                .prepare_cached("UPDATE meta SET value = ?1 WHERE name = 'indexed'")?
                .execute([upto])?;
        }
        Ok(read == BATCH)
    }

    fn find(&self, scope: &SearchScope, pattern: &str, limit: i64) -> rusqlite::Result<Vec<u64>> {
        let (clause, id) = match scope {
            SearchScope::Everything => ("?2 IS NULL", None),
            SearchScope::Conversation { id, rollover: false } => {
                ("docs.conversation = ?2", Some(id.as_str()))
            }
            SearchScope::Conversation { id, rollover: true } => {
                ("docs.logical = ?2", Some(id.without_bucket()))
            }
        };
        let mut find = self.index.prepare_cached(&format!(
            "SELECT texts.rowid FROM texts JOIN docs ON docs.seq = texts.rowid
             WHERE texts MATCH ?1 AND {clause} ORDER BY texts.rowid DESC LIMIT ?3"
        ))?;
        find.query_map(params![pattern, id, limit], |row| row.get(0))?.collect()
    }
}

fn indexed(index: &Connection) -> rusqlite::Result<u64> {
    index.prepare_cached("SELECT value FROM meta WHERE name = 'indexed'")?.query_row([], |row| row.get(0))
}

fn last(log: &Connection) -> rusqlite::Result<u64> {
    log.prepare_cached("SELECT coalesce(max(seq), 0) FROM events")?.query_row([], |row| row.get(0))
}

fn is_damage(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => true,
        // A table of ours that isn't there.
        Some(ErrorCode::Unknown) => true,
        Some(_) => false,
        None => {
            matches!(error, rusqlite::Error::QueryReturnedNoRows | rusqlite::Error::InvalidColumnType(..))
        }
    }
}

/// Removes an index and the files beside it. A folder that somebody put in its place is not ours to remove: it is
/// moved aside.
fn drop_files(path: &Path) {
    for end in ["", "-wal", "-shm", "-journal"] {
        let file = schema::suffixed(path, end);
        if std::fs::symlink_metadata(&file).is_ok_and(|it| it.is_dir()) {
            let free =
                (0..100).map(|n| schema::suffixed(&file, &format!(".aside-{n}"))).find(|it| !it.exists());
            let moved = free.is_some_and(|aside| std::fs::rename(&file, aside).is_ok());
            tracing::warn!(moved, "a folder stands where the search index belongs; it is moved aside");
        } else {
            let _ = std::fs::remove_file(file);
        }
    }
}
