//! The event log: opening, appending, reading, closing.

use crate::append::{self, Tail};
use crate::check::CheckState;
use crate::failure::{Failure, log_error};
use crate::held::Held;
use crate::keeper::Keeper;
use crate::lock::LockFile;
use crate::search::SearchIndex;
use crate::search_worker::SearchWorker;
use crate::{BackgroundCheck, FullCheck, OpenError, RunQuery, RunSummary, SearchError, SearchScope};
use crate::{chain::Chain, connection, lookup, opening, row, runs, turns};
use host_event::{NewEvent, StoredEvent};
use host_ports::BoxFuture;
use host_ports::log::{Log, LogError, PastTurn};
use host_vocab::{CallId, ConversationId, RunId};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most events of one read.
const EVENTS_MAX: usize = 10_000;
/// How many idle connections for reading are kept.
const READERS_MAX: usize = 4;

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

/// What the log's own threads and calls share.
pub(crate) struct Core {
    pub(crate) dir: PathBuf,
    pub(crate) path: PathBuf,
    pub(crate) durability: Durability,
    pub(crate) vfs: Option<&'static str>,
    pub(crate) chain: Chain,
    pub(crate) closed: AtomicBool,
    writer: Mutex<Option<Writer>>,
    /// How many callers wait for another process while they hold the writer.
    waiting: AtomicUsize,
    readers: Mutex<Vec<Connection>>,
    /// Last: it goes after every connection.
    _held: Held,
}

/// The connection that writes, and the end of the chain as it saw it last.
struct Writer {
    conn: Connection,
    tail: Option<Tail>,
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
        let opened = opening::open(&options)?;
        let core = Arc::new(Core {
            dir: options.dir,
            path: opened.path,
            durability: options.durability,
            vfs: options.vfs,
            chain: opened.chain,
            closed: AtomicBool::new(false),
            writer: Mutex::new(Some(Writer { conn: opened.writer, tail: None })),
            waiting: AtomicUsize::new(0),
            readers: Mutex::default(),
            _held: opened.held,
        });
        let search = Arc::new(SearchIndex::new(core.clone()));
        let check = Arc::new(CheckState::default());
        if opened.report.unclean {
            check.start(core.clone());
        }
        Ok(EventLog {
            keeper: Keeper::start(core.clone()),
            worker: SearchWorker::start(search.clone(), options.search),
            core,
            report: opened.report,
            search,
            check,
            opener: Mutex::new(Some(opened.opener)),
        })
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
        lock(&self.core.readers).clear();
        let writer = lock(&self.core.writer).take();
        // The last connection of all moves everything into the log's file and removes the write-ahead one.
        let closed = match writer {
            Some(writer) => writer.conn.close().map_err(|(_, error)| log_error(&error)),
            None => Ok(()),
        };
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

impl Core {
    /// Appends on the calling thread. `Err(None)` where another process holds the lock and waiting would
    /// block the caller.
    fn append_inline(&self, events: &[NewEvent]) -> Result<(u64, usize), Option<LogError>> {
        if self.waiting.load(Ordering::Acquire) > 0 {
            return Err(None);
        }
        let mut writer = lock(&self.writer);
        let writer = writer.as_mut().ok_or(Some(LogError::Closed))?;
        self.append_on(writer, events).map_err(|failure| {
            if failure.is_busy() { None } else { Some(failure.into_log_error(&writer.conn)) }
        })
    }

    fn append_on(&self, writer: &mut Writer, events: &[NewEvent]) -> Result<(u64, usize), Failure> {
        // A failure may come after the disk has it: then the end is read again.
        let known = writer.tail.take();
        let (tail, bytes) = append::append(&writer.conn, &self.chain, events, known)?;
        writer.tail = Some(tail);
        Ok((tail.0, bytes))
    }

    /// Appends, and waits for other processes and for the disk.
    fn append_patiently(&self, events: &[NewEvent]) -> Result<(u64, usize), LogError> {
        self.patiently(|writer| self.append_on(writer, events))
    }

    /// Runs `work` on the writing connection, and waits for other processes.
    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, LogError> {
        self.patiently(|writer| work(&writer.conn))
    }

    fn patiently<T>(&self, work: impl FnOnce(&mut Writer) -> Result<T, Failure>) -> Result<T, LogError> {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        let mut writer = lock(&self.writer);
        let done = match writer.as_mut() {
            None => Err(LogError::Closed),
            Some(writer) => {
                let patience = writer.conn.busy_timeout(connection::LONG_BUSY).map_err(Failure::from);
                let done = patience.and_then(|()| work(writer));
                let done = done.map_err(|failure| failure.into_log_error(&writer.conn));
                // Setting it can't fail on an open connection; if it did, appends would only wait longer.
                let _ = writer.conn.busy_timeout(connection::INLINE_BUSY);
                done
            }
        };
        drop(writer);
        self.waiting.fetch_sub(1, Ordering::AcqRel);
        done
    }

    /// Runs `work` on a reading connection.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, LogError> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(LogError::Closed);
        }
        let idle = lock(&self.readers).pop();
        let conn = match idle {
            Some(conn) => conn,
            None => self.reader().map_err(|error| log_error(&error))?,
        };
        let done = work(&conn).map_err(|failure| failure.into_log_error(&conn));
        let mut readers = lock(&self.readers);
        if readers.len() < READERS_MAX && !self.closed.load(Ordering::SeqCst) {
            readers.push(conn);
        }
        done
    }

    /// A new connection for reading.
    pub(crate) fn reader(&self) -> rusqlite::Result<Connection> {
        let conn = connection::open(&self.path, self.vfs)?;
        connection::prepare_reader(&conn)?;
        Ok(conn)
    }
}

/// Locks, and goes on after a panic elsewhere: what the mutexes guard here is whole between calls.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs what blocks where blocking is allowed: on the runtime's own threads for it, or right here where
/// there is no runtime.
pub(crate) async fn blocking<T, E>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
    gone: impl FnOnce() -> E,
) -> Result<T, E>
where
    T: Send + 'static,
    E: Send + 'static,
{
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.unwrap_or_else(|_| Err(gone())),
        Err(_) => work(),
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
