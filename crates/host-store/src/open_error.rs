//! Why a store could not be opened, for the operator: each names the file and the way out.

use std::path::{Path, PathBuf};

/// Why a store could not be opened. The texts name files, so they are for the operator alone: a tool or a
/// model is never shown one.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder or a file in it is not the owner's alone.
    #[error("{path}: {problem}; {way_out}")]
    Unsafe {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        way_out: String,
    },
    /// The file belongs to another program.
    #[error(
        "{path}: this is not a store of mono-agent ({found}); it was left as it is. Move it away, or name another folder"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        found: String,
    },
    /// The file was written by a newer program.
    #[error("{path}: its schema is {found}, this program knows up to {known}; start a newer mono-agent")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema that this program knows.
        known: i64,
    },
    /// The file can't be read or fails its checks. It is never recreated or overwritten.
    #[error(
        "{path}: damaged: {what}. It was left as it is. Restore the folder from a backup, or move the file and those \
         beside it with the same beginning away to begin a new one"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The key that belongs to the file is missing, unreadable or another one.
    #[error("{path}: {problem}. Restore it from a backup, or move the log away to begin a new one")]
    Key {
        /// The key file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// No room is left.
    #[error("{path}: the disk is full; free some space and start again")]
    Full {
        /// The file or folder.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("{path}: {cause}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        cause: std::io::Error,
    },
    /// SQLite refused in another way.
    #[error("{path}: {what}")]
    Sql {
        /// The file.
        path: PathBuf,
        /// What it said.
        what: String,
    },
}

impl OpenError {
    pub(crate) fn io(path: &Path, cause: impl Into<std::io::Error>) -> Self {
        let cause = cause.into();
        match cause.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                OpenError::Full { path: path.to_owned() }
            }
            _ => OpenError::Io { path: path.to_owned(), cause },
        }
    }

    pub(crate) fn sql(path: &Path, error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        let path = path.to_owned();
        let extended = error.sqlite_error().map(|it| it.extended_code);
        if extended == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) {
            return OpenError::Full { path };
        }
        match error.sqlite_error_code() {
            Some(Code::DiskFull) => OpenError::Full { path },
            // SQLite says so too where a file could not grow.
            Some(Code::SystemIoFailure | Code::CannotOpen) if is_full(&path) => OpenError::Full { path },
            Some(Code::DatabaseCorrupt | Code::NotADatabase) => {
                OpenError::Damaged { path, what: "it does not read as a database".to_owned() }
            }
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => OpenError::Sql {
                path,
                what: "another process holds it; stop that one or try again".to_owned(),
            },
            _ => OpenError::Sql { path, what: error.to_string() },
        }
    }

    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Self {
        OpenError::Damaged { path: path.to_owned(), what: what.into() }
    }
}

/// Less than this is no room for a log, in bytes.
const ROOM_MIN: u64 = 128 * 1024;

/// Whether the file system below a file has no room left, in bytes or in files.
fn is_full(path: &Path) -> bool {
    let Ok(room) = rustix::fs::statvfs(path.parent().unwrap_or(path)) else { return false };
    let bytes = room.f_bavail.saturating_mul(room.f_frsize);
    // A file system that does not count its files says that it has none at all.
    bytes < ROOM_MIN || (room.f_files > 0 && room.f_favail == 0)
}
