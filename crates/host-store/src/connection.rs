//! Connections to the store's files, all set up alike.

use crate::Durability;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How an append waits for another process while it stands on the caller's own thread.
pub(crate) const INLINE_BUSY: Duration = Duration::from_millis(5);
/// How anything waits that may block.
pub(crate) const LONG_BUSY: Duration = Duration::from_millis(crate::failure::BUSY_MS_MAX);

const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_NO_MUTEX.union(OpenFlags::SQLITE_OPEN_NOFOLLOW);

/// How a file is read that this process doesn't write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Beside whoever writes it.
    Beside,
    /// In a folder that can't be written, with what stands in its write-ahead file.
    WithWal,
    /// In a folder that can't be written; all of it is in the file itself.
    Still,
}

impl Reading {
    /// How a file can be read here.
    pub(crate) fn of(path: &Path) -> Reading {
        let folder = path.parent().unwrap_or(path);
        let (writable, effective) = (rustix::fs::Access::WRITE_OK, rustix::fs::AtFlags::EACCESS);
        if rustix::fs::accessat(rustix::fs::CWD, folder, writable, effective).is_ok() {
            return Reading::Beside;
        }
        Self::without_writing(path)
    }

    /// How a file is read where nothing can be written.
    pub(crate) fn without_writing(path: &Path) -> Reading {
        let wal = std::fs::symlink_metadata(crate::schema::suffixed(path, "-wal"));
        if wal.is_ok_and(|wal| wal.len() > 0) { Reading::WithWal } else { Reading::Still }
    }
}

/// Opens an existing file for reading alone. What a dead process left in the write-ahead file stays there, for
/// the next one that writes.
pub(crate) fn open_reading(path: &Path, how: Reading) -> rusqlite::Result<Connection> {
    let path = without_links(path);
    let conn = match how {
        Reading::Beside => Connection::open_with_flags(path, FLAGS | OpenFlags::SQLITE_OPEN_READ_WRITE)?,
        Reading::WithWal => Connection::open_with_flags(path, FLAGS | OpenFlags::SQLITE_OPEN_READ_ONLY)?,
        Reading::Still => {
            let flags = FLAGS | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(still_uri(&path), flags)?
        }
    };
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    conn.busy_timeout(LONG_BUSY)?;
    conn.set_prepared_statement_cache_capacity(64);
    prepare_reader(&conn)?;
    Ok(conn)
}

/// The name of a file that nobody changes, as SQLite wants it.
fn still_uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let mut uri = "file:".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

/// NOFOLLOW refuses links anywhere on the way, and the folders above ours may well be links.
fn without_links(path: &Path) -> PathBuf {
    match (path.parent().map(std::fs::canonicalize), path.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}

/// Opens an existing file for reading and writing.
pub(crate) fn open(path: &Path, vfs: Option<&'static str>) -> rusqlite::Result<Connection> {
    let flags = FLAGS | OpenFlags::SQLITE_OPEN_READ_WRITE;
    let path = without_links(path);
    let conn = match vfs {
        Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs)?,
        None => Connection::open_with_flags(path, flags)?,
    };
    conn.busy_timeout(LONG_BUSY)?;
    conn.set_prepared_statement_cache_capacity(64);
    Ok(conn)
}

/// Sets what a connection that writes needs: nothing deleted stays in the file, acknowledged writes last,
/// and checkpoints are somebody else's work.
pub(crate) fn prepare_writer(conn: &Connection, durability: Durability) -> rusqlite::Result<()> {
    pragma(conn, "PRAGMA secure_delete = ON")?;
    pragma(conn, "PRAGMA trusted_schema = OFF")?;
    pragma(conn, "PRAGMA cell_size_check = ON")?;
    pragma(conn, "PRAGMA wal_autocheckpoint = 0")?;
    pragma(conn, "PRAGMA journal_size_limit = 16777216")?;
    pragma(conn, "PRAGMA temp_store = MEMORY")?;
    match durability {
        Durability::Process => pragma(conn, "PRAGMA synchronous = NORMAL"),
        Durability::Full => pragma(conn, "PRAGMA synchronous = FULL"),
    }
}

/// Sets what a connection that only reads needs.
pub(crate) fn prepare_reader(conn: &Connection) -> rusqlite::Result<()> {
    pragma(conn, "PRAGMA trusted_schema = OFF")?;
    pragma(conn, "PRAGMA temp_store = MEMORY")?;
    pragma(conn, "PRAGMA query_only = ON")
}

/// Runs a statement that may or may not give a row back.
pub(crate) fn pragma(conn: &Connection, sql: &str) -> rusqlite::Result<()> {
    let mut statement = conn.prepare(sql)?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}
