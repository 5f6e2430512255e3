//! Connections to the store's files, all set up alike.

use crate::Durability;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::time::Duration;

/// How an append waits for another process while it stands on the caller's own thread.
pub(crate) const INLINE_BUSY: Duration = Duration::from_millis(5);
/// How anything waits that may block.
pub(crate) const LONG_BUSY: Duration = Duration::from_millis(crate::failure::BUSY_MS_MAX);

/// Opens an existing file for reading and writing.
pub(crate) fn open(path: &Path, vfs: Option<&'static str>) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    // NOFOLLOW refuses links anywhere on the way, and the folders above ours may well be links.
    let path = match (path.parent().map(std::fs::canonicalize), path.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    };
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
