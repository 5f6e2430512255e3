//! SQLite's failures as the log's own, without a path in them.

use host_ports::log::LogError;
use rusqlite::{Connection, Error, ErrorCode, ffi};

/// How long a caller waits for another process before it is told so.
pub(crate) const BUSY_MS_MAX: u64 = 10_000;

/// What went wrong inside an operation on the log.
#[derive(Debug)]
pub(crate) enum Failure {
    /// SQLite refused.
    Sql(Error),
    /// The log itself says why.
    Log(LogError),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Sql(error)
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        Failure::Log(error)
    }
}

impl Failure {
    /// Whether another connection holds the lock, so that waiting helps.
    pub(crate) fn is_busy(&self) -> bool {
        match self {
            Failure::Sql(error) => {
                matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
            }
            Failure::Log(_) => false,
        }
    }

    /// The error that callers are given. `conn` is the connection that failed.
    pub(crate) fn into_log_error(self, conn: &Connection) -> LogError {
        match self {
            Failure::Log(error) => error,
            Failure::Sql(error) => {
                if is_full(&error, conn) {
                    LogError::Full
                } else {
                    log_error(&error)
                }
            }
        }
    }
}

/// Whether there was no room on the disk. `conn` is the connection that failed.
pub(crate) fn is_full(error: &Error, conn: &Connection) -> bool {
    let failed_io = error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure);
    log_error(error) == LogError::Full || (failed_io && no_room(conn))
}

/// Names a failure without anything that SQLite put into its message.
pub(crate) fn log_error(error: &Error) -> LogError {
    let Some(inner) = error.sqlite_error() else {
        return match error {
            Error::FromSqlConversionFailure(..)
            | Error::InvalidColumnType(..)
            | Error::IntegralValueOutOfRange(..) => {
                LogError::Damaged("a row holds a value of the wrong type".to_owned())
            }
            _ => LogError::Failed("the query could not be made".to_owned()),
        };
    };
    match inner.code {
        ErrorCode::DiskFull => LogError::Full,
        ErrorCode::SystemIoFailure if inner.extended_code == ffi::SQLITE_IOERR_SHMSIZE => LogError::Full,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
            LogError::Damaged("its file does not read as a database; run `mono-agent doctor`".to_owned())
        }
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            LogError::Failed(format!("another process held it for more than {} seconds", BUSY_MS_MAX / 1000))
        }
        ErrorCode::ReadOnly => LogError::Failed("its file is read-only".to_owned()),
        _ => LogError::Failed(ffi::code_to_str(inner.extended_code).to_owned()),
    }
}

/// Whether the operating system's last word to this connection was that there is no room (or no quota):
/// SQLite says that of a write in one of several ways.
fn no_room(conn: &Connection) -> bool {
    // SAFETY: the handle is that of a living connection, borrowed for the call, and the call only reads.
    let errno = unsafe { ffi::sqlite3_system_errno(conn.handle()) };
    [rustix::io::Errno::NOSPC, rustix::io::Errno::DQUOT].iter().any(|full| full.raw_os_error() == errno)
}
