//! The event log: opening, appending, reading, closing.

use crate::append;
use crate::check::CheckState;
use crate::failure::Failure;
use crate::keeper::Keeper;
use crate::lock::LockFile;
use crate::search::SearchIndex;
use crate::search_worker::SearchWorker;
use crate::store_core::{Core, blocking, lock};
use crate::{BackgroundCheck, FullCheck, OpenError, RunQuery, RunSummary, SearchError, SearchScope};
use crate::{connection, lookup, opening, row, runs, turns};
use host_event::{NewEvent, StoredEvent};
use host_ports::BoxFuture;
use host_ports::log::{Log, LogError, PastTurn};
use host_vocab::{CallId, ConversationId, RunId};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// The most events of one read.
const EVENTS_MAX: usize = 10_000;

/// What an acknowledged event survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The death of the process. A power cut may take the newest events, and never damages the log.
    #[default]
    Process,
    /// The death of the power too: every append waits for the disk (`store.durability: "full"`).
    Full,
}

/// How to open a log.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// The store's folder; made where it is missing.
    pub dir: PathBuf,
    /// What an acknowledged event survives.
    pub durability: Durability,
    /// Whether the full-text index is kept up in the background. A search works without it too, and
    /// catches up first.
    pub search: bool,
    /// The name of an SQLite VFS, for tests that drop writes.
    #[doc(hidden)]
    pub vfs: Option<&'static str>,
}

impl OpenOptions {
    /// The usual: durable against the death of the process, with search.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        OpenOptions { dir: dir.into(), durability: Durability::Process, search: true, vfs: None }
    }

    /// The same with another durability.
    #[must_use]
    pub fn durability(self, durability: Durability) -> Self {
        OpenOptions { durability, ..self }
    }
}

/// What was found at opening.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// The log is new.
    pub created: bool,
    /// A process that had it open did not close it in order.
    pub unclean: bool,
    /// The last event there was, 0 where there was none.
    pub last_seq: u64,
    /// How many bytes of an unfinished write were found and kept aside.
    pub torn_bytes: u64,
}

/// The one append-only log of an agent, in SQLite. See [`Log`].
///
/// Several processes may have the same log open; their appends queue. Dropping it closes it.
pub struct EventLog {
    core: Arc<Core>,
    report: OpenReport,
    keeper: Keeper,
    search: Arc<SearchIndex>,
    worker: SearchWorker,
    check: Arc<CheckState>,
    opener: Mutex<Option<LockFile>>,
}

impl EventLog {
    /// Opens the log below a folder, or makes it. Checks the key, the schema and the last 1,000 events. After
    /// an unclean stop a full check begins in the background ([`EventLog::background_check`]).
    ///
    /// # Errors
    /// Names the file and the way out. An unreadable database is never recreated or overwritten.
    pub fn open(options: OpenOptions) -> Result<EventLog, OpenError> {
        let mut opened = opening::open(&options)?;
        let (report, opener, search_wanted) = (opened.report.clone(), opened.opener.take(), options.search);
        let core = Arc::new(Core::new(options, opened));
        let keeper = Keeper::start(core.clone());
        let search = Arc::new(SearchIndex::new(core.clone()));
        let check = Arc::new(CheckState::default());
        if report.unclean {
            check.start(core.clone());
        }
        Ok(EventLog {
            keeper,
            worker: SearchWorker::start(search.clone(), search_wanted),
            core,
            report,
            search,
            check,
            opener: Mutex::new(opener),
        })
    }

    /// Opens the log below a folder for reading alone, beside a running host or without one. Nothing is made,
    /// mended, recorded or removed; only the derived index is brought up, and in a folder that can't be written
    /// that too is kept elsewhere. Nothing is checked but the key and the schema, so that a damaged log can be looked
    /// at. `None` where there is no log.
    ///
    /// # Errors
    /// Names the file and the way out.
    pub fn open_to_read(dir: &Path) -> Result<Option<EventLog>, OpenError> {
        let Some(opened) = opening::look(dir)? else { return Ok(None) };
        let options = OpenOptions { search: false, ..OpenOptions::new(dir) };
        let (report, core) = (opened.report.clone(), Arc::new(Core::new(options, opened)));
        let search = Arc::new(SearchIndex::new(core.clone()));
        Ok(Some(EventLog {
            keeper: Keeper::none(),
            worker: SearchWorker::start(search.clone(), false),
            core,
            report,
            search,
            check: Arc::default(),
            opener: Mutex::default(),
        }))
    }

    /// Brings the index up to the log, whole: what is far behind (a lost index) takes about 0.1 ms an event. On a full
    /// disk a log that is only read gets one in memory. Blocks.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn catch_up(&self) -> Result<(), LogError> {
        while self.search_behind()? > 0 && self.index_more()? {}
        Ok(())
    }

    /// The runs that have no end and whose process is gone: the next start of the agent settles them. Blocks.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn dead_runs(&self) -> Result<Vec<RunId>, LogError> {
        crate::recovery::dead(&self.core)
    }

    /// What was found at opening.
    pub fn report(&self) -> &OpenReport {
        &self.report
    }

    /// The store's folder.
    pub fn dir(&self) -> &Path {
        &self.core.dir
    }

    /// Checks the whole database and the whole chain (`doctor`). Blocks, for as long as reading it all takes.
    ///
    /// # Errors
    /// Where it can't be read at all. What is found to be wrong is in the value.
    pub fn check_full(&self) -> Result<FullCheck, LogError> {
        crate::check::full(&self.core)
    }

    /// How the check after an unclean stop is getting on.
    pub fn background_check(&self) -> BackgroundCheck {
        self.check.get()
    }

    /// A list of runs, newest first, by the projection: it costs the same at any size of the log. Blocks
    /// for well under a millisecond.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn runs(&self, query: &RunQuery) -> Result<Vec<RunSummary>, LogError> {
        self.core.read(|conn| Ok(runs::list(conn, query)?))
    }

    /// Makes the list of runs, and where the events of runs and calls are, anew from the events (`repair`). Blocks.
    ///
    /// # Errors
    /// Then it is as it was.
    pub fn rebuild_projections(&self) -> Result<(), LogError> {
        self.core.write(|conn| {
            append::in_transaction(conn, || {
                lookup::rebuild(conn)?;
                Ok(runs::rebuild(conn)?)
            })
        })
    }

    /// The events whose text holds every word of `query`, newest first. A word matches anywhere in a text,
    /// without regard to case. Blocks; call it from a blocking thread.
    ///
    /// # Errors
    /// A word of fewer than three characters, too long a query, or an unreadable log.
    pub fn search_text(
        &self,
        scope: &SearchScope,
        query: &str,
        limit: usize,
    ) -> Result<Vec<u64>, SearchError> {
        self.search.query(scope, query, limit)
    }

    /// One event, such as a hit of [`EventLog::search_text`]. Blocks shortly.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn event(&self, seq: u64) -> Result<Option<StoredEvent>, LogError> {
        let seq = i64::try_from(seq).unwrap_or(i64::MAX);
        let found = self.core.read(|conn| select(conn, "?1 + ?2", (seq, 0, 1)))?;
        Ok(found.into_iter().next())
    }

    /// The events of the calls with this name, in order, at most `events_max` behind `after_seq`. Two
    /// conversations may have calls of the same name: look at the scope. Blocks shortly.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn call_events(
        &self,
        call: &CallId,
        after_seq: u64,
        events_max: usize,
    ) -> Result<Vec<StoredEvent>, LogError> {
        let after = i64::try_from(after_seq).unwrap_or(i64::MAX);
        let max = i64::try_from(events_max.min(EVENTS_MAX)).unwrap_or(0);
        self.core.read(|conn| select(conn, lookup::OF_CALL, (call.as_str(), after, max)))
    }

    /// How many events the full-text index is behind the log.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn search_behind(&self) -> Result<u64, LogError> {
        self.search.behind()
    }

    /// Asks the derived file of runs and calls.
    pub(crate) fn on_index<T>(
        &self,
        question: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LogError> {
        self.search.ask(question)
    }

    /// Indexes one batch; `false` when nothing is left to do.
    pub(crate) fn index_more(&self) -> Result<bool, LogError> {
        self.search.index_batch()
    }

    /// What the log's own calls share.
    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    /// Ends running turns of dead processes; see [`crate::Incarnation`]. Blocks.
    ///
    /// # Errors
    /// Then what is not in the returned list is still open, and the next start tries again.
    pub fn recover_interrupted(&self, now_ms: i64) -> Result<Vec<crate::Recovered>, LogError> {
        crate::recovery::recover(&self.core, now_ms)
    }

    /// Moves what is in the write-ahead file into the log's own, and empties the former. Happens by itself
    /// in the background; for a backup or a test.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn checkpoint(&self) -> Result<(), LogError> {
        self.core.write(|conn| Ok(connection::pragma(conn, "PRAGMA wal_checkpoint(TRUNCATE)")?))
    }

    /// Bounds the log's file, for tests of a full disk.
    #[doc(hidden)]
    pub fn limit_pages_for_test(&self, pages: u32) -> Result<(), LogError> {
        let sql = format!("PRAGMA max_page_count = {pages}");
        self.core.write(|conn| Ok(connection::pragma(conn, &sql)?))
    }

    /// Bounds the index's file at its present size, for tests of a full disk.
    #[doc(hidden)]
    pub fn fill_index_for_test(&self) -> Result<(), LogError> {
        self.search.fill_for_test()
    }

    /// Closes the log in order. Later calls give [`LogError::Closed`]; a second close does nothing.
    ///
    /// # Errors
    /// Where the last checkpoint failed; every acknowledged event is in the log nevertheless.
    pub fn close(&self) -> Result<(), LogError> {
        self.core.closed.store(true, Ordering::SeqCst);
        self.check.stop();
        self.worker.stop();
        self.keeper.stop();
        self.search.close();
        let closed = self.core.close();
        drop(lock(&self.opener).take());
        closed
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::warn!(%error, "the log did not close in order");
        }
    }
}

/// The events whose sequences a query gives, in their order; `?3` is how many at most.
fn select(conn: &Connection, seqs: &str, values: impl rusqlite::Params) -> Result<Vec<StoredEvent>, Failure> {
    let columns = row::COLUMNS;
    let mut events = conn.prepare_cached(&format!(
        "SELECT {columns} FROM events WHERE seq IN ({seqs}) ORDER BY seq LIMIT ?3"
    ))?;
    let mut rows = events.query(values)?;
    let mut found = Vec::new();
    while let Some(event) = rows.next()? {
        found.push(row::stored(event)?);
    }
    Ok(found)
}

fn stopped() -> LogError {
    LogError::Failed("the runtime stopped under it".to_owned())
}

impl Log for EventLog {
    fn append(&self, events: Vec<NewEvent>) -> BoxFuture<'_, Result<u64, LogError>> {
        Box::pin(async move {
            // Handing over to another thread would take longer than the append itself.
            let inline = match self.core.durability {
                Durability::Process => self.core.append_inline(&events),
                Durability::Full => Err(None),
            };
            let (seq, bytes) = match inline {
                Ok(done) => done,
                Err(Some(error)) => return Err(error),
                Err(None) => {
                    let core = self.core.clone();
                    let work = move || core.append_patiently(&events);
                    blocking(work, stopped).await?
                }
            };
            self.keeper.wrote(bytes);
            self.worker.wrote();
            Ok(seq)
        })
    }

    fn keyed_digest(&self, bytes: &[u8]) -> String {
        self.core.chain.digest(bytes)
    }

    fn run_events(
        &self,
        run: &RunId,
        after_seq: u64,
        events_max: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredEvent>, LogError>> {
        let (core, run) = (self.core.clone(), run.clone());
        let after = i64::try_from(after_seq).unwrap_or(i64::MAX);
        let max = i64::try_from(events_max.min(EVENTS_MAX)).unwrap_or(0);
        let work = move || core.read(|conn| select(conn, lookup::OF_RUN, (run.as_str(), after, max)));
        Box::pin(blocking(work, stopped))
    }

    fn past_turns(
        &self,
        conversation: &ConversationId,
        rollover: bool,
        turns_max: usize,
    ) -> BoxFuture<'_, Result<Vec<PastTurn>, LogError>> {
        let (core, conversation) = (self.core.clone(), conversation.clone());
        let work = move || core.read(|conn| turns::past(conn, &conversation, rollover, turns_max));
        Box::pin(blocking(work, stopped))
    }
}
