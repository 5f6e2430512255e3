//! What the log's calls and threads share: its connections, and how they wait for other processes.

use crate::append::{self, Tail};
use crate::chain::Chain;
use crate::connection::Reading;
use crate::failure::{Failure, log_error};
use crate::held::Held;
use crate::opening::Opened;
use crate::{Durability, OpenOptions, connection};
use host_event::NewEvent;
use host_ports::log::LogError;
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many idle connections for reading are kept.
const READERS_MAX: usize = 4;

/// What the log's own threads and calls share.
pub(crate) struct Core {
    pub(crate) dir: PathBuf,
    pub(crate) path: PathBuf,
    pub(crate) durability: Durability,
    pub(crate) vfs: Option<&'static str>,
    pub(crate) chain: Chain,
    pub(crate) closed: AtomicBool,
    /// How the log is read, where it is only read.
    pub(crate) reading: Option<Reading>,
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

impl Core {
    pub(crate) fn new(options: OpenOptions, opened: Opened) -> Core {
        Core {
            dir: options.dir,
            path: opened.path,
            durability: options.durability,
            vfs: options.vfs,
            chain: opened.chain,
            closed: AtomicBool::new(false),
            reading: opened.reading,
            writer: Mutex::new(opened.writer.map(|conn| Writer { conn, tail: None })),
            waiting: AtomicUsize::new(0),
            readers: Mutex::default(),
            _held: opened.held,
        }
    }

    /// Closes every connection of the core's own. The last of all moves everything into the log's file and
    /// removes the write-ahead one.
    pub(crate) fn close(&self) -> Result<(), LogError> {
        lock(&self.readers).clear();
        let writer = lock(&self.writer).take();
        match writer {
            Some(writer) => writer.conn.close().map_err(|(_, error)| log_error(&error)),
            None => Ok(()),
        }
    }

    /// Appends on the calling thread. `Err(None)` where another process holds the lock and waiting would
    /// block the caller.
    pub(crate) fn append_inline(&self, events: &[NewEvent]) -> Result<(u64, usize), Option<LogError>> {
        if self.waiting.load(Ordering::Acquire) > 0 {
            return Err(None);
        }
        let mut writer = lock(&self.writer);
        let writer = writer.as_mut().ok_or_else(|| Some(self.no_writer()))?;
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
    pub(crate) fn append_patiently(&self, events: &[NewEvent]) -> Result<(u64, usize), LogError> {
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
            None => Err(self.no_writer()),
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

    /// Whether the log's folder can't be written.
    pub(crate) fn is_still(&self) -> bool {
        self.reading.is_some_and(|how| how != Reading::Beside)
    }

    fn no_writer(&self) -> LogError {
        match self.reading {
            Some(_) => LogError::Failed("it was opened for reading alone".to_owned()),
            None => LogError::Closed,
        }
    }

    /// A new connection for reading.
    pub(crate) fn reader(&self) -> rusqlite::Result<Connection> {
        if let Some(how) = self.reading {
            return connection::open_reading(&self.path, how);
        }
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
