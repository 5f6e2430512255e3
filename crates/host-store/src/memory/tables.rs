//! The index's tables, and how its file comes into being.

use super::{connection, folder};
use crate::held::Held;
use crate::schema;
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// `monM`: a memory index of mono-agent.
const APPLICATION_ID: i32 = 0x6d6f_6e4d;
/// A file of another version is dropped and built anew.
const VERSION: i64 = 1;

const TABLES: &str = "
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE sources(
  key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
  bytes INTEGER NOT NULL, modified_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
  read_bytes INTEGER NOT NULL, sum INTEGER NOT NULL
);
CREATE TABLE facts(
  row INTEGER PRIMARY KEY, source INTEGER NOT NULL, id_sum INTEGER NOT NULL, text_sum INTEGER NOT NULL,
  at INTEGER NOT NULL, live INTEGER NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL,
  salience REAL NOT NULL, insight INTEGER NOT NULL, id TEXT NOT NULL, created TEXT NOT NULL,
  refs TEXT NOT NULL, due TEXT, text TEXT NOT NULL
);
CREATE VIRTUAL TABLE words USING fts5(terms, content='', contentless_delete=1, detail=none, tokenize='ascii');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'row');
CREATE TABLE vectors(key INTEGER PRIMARY KEY, text_sum INTEGER NOT NULL UNIQUE, scale REAL NOT NULL, numbers BLOB NOT NULL);
INSERT INTO meta(name, value) VALUES('live', 0), ('epoch', 0);
";

/// The indexes of `facts`, dropped while very many rows come in.
const INDEXES: &str = "
CREATE INDEX IF NOT EXISTS facts_id ON facts(id_sum);
CREATE INDEX IF NOT EXISTS facts_text ON facts(text_sum);
CREATE INDEX IF NOT EXISTS facts_at ON facts(at);
CREATE INDEX IF NOT EXISTS facts_source ON facts(source);
";
const NO_INDEXES: &str = "DROP INDEX IF EXISTS facts_id; DROP INDEX IF EXISTS facts_text; DROP INDEX IF EXISTS facts_at; DROP INDEX IF EXISTS facts_source;";

pub(super) fn open(path: &Path) -> rusqlite::Result<(Connection, Held)> {
    let unusable = || rusqlite::Error::InvalidPath(PathBuf::new());
    if let Some(above) = path.parent() {
        folder::private_folder(above).map_err(|_| unusable())?;
    }
    let sound =
        folder::private_file(path).is_ok() && schema::check_header(path, APPLICATION_ID, VERSION).is_ok();
    if !(sound && path.exists()) {
        drop_files(path);
        create(path)?;
    }
    let held = Held::of(path);
    let conn = connection::open(path, None)?;
    connection::pragma(&conn, "PRAGMA trusted_schema = OFF")?;
    connection::pragma(&conn, "PRAGMA temp_store = MEMORY")?;
    connection::pragma(&conn, "PRAGMA cache_size = -16384")?;
    connection::pragma(&conn, "PRAGMA journal_size_limit = 16777216")?;
    // Derived: what a power cut takes is read again from the notes.
    connection::pragma(&conn, "PRAGMA synchronous = OFF")?;
    Ok((conn, held))
}

fn create(path: &Path) -> rusqlite::Result<()> {
    let made = folder::create_private(path);
    if made.is_err() && !path.exists() {
        return Err(rusqlite::Error::InvalidPath(PathBuf::new()));
    }
    let _held = Held::of(path);
    let conn = connection::open(path, None)?;
    connection::pragma(&conn, "PRAGMA synchronous = OFF")?;
    connection::pragma(&conn, &format!("PRAGMA application_id = {APPLICATION_ID}"))?;
    connection::pragma(&conn, "PRAGMA journal_mode = WAL")?;
    super::transaction(&conn, || {
        // Another process may have been first.
        if conn.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))? == 0 {
            conn.execute_batch(TABLES)?;
            conn.execute_batch(INDEXES)?;
            connection::pragma(&conn, &format!("PRAGMA user_version = {VERSION}"))?;
        }
        Ok(())
    })
}

/// Drops the indexes until [`with_indexes`].
pub(super) fn without_indexes(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(NO_INDEXES)
}

/// Makes the indexes.
pub(super) fn with_indexes(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(INDEXES)
}

/// Says how many bytes of words full text keeps before it writes a part.
pub(super) fn words_in_memory(conn: &Connection, bytes: i64) -> rusqlite::Result<()> {
    conn.execute("INSERT INTO words(words, rank) VALUES('hashsize', ?1)", [bytes]).map(|_| ())
}

/// Empties everything but the vectors.
pub(super) fn clear(conn: &Connection) -> rusqlite::Result<()> {
    super::transaction(conn, || {
        conn.execute_batch(
            "DELETE FROM facts; DELETE FROM sources; DROP TABLE vocabulary; DROP TABLE words;
             CREATE VIRTUAL TABLE words USING fts5(terms, content='', contentless_delete=1, detail=none, tokenize='ascii');
             CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, 'row');
             UPDATE meta SET value = 0 WHERE name = 'live';",
        )
    })
}

/// Whether the file and its parts agree.
pub(super) fn check(conn: &Connection) -> rusqlite::Result<Vec<&'static str>> {
    let mut wrong = Vec::new();
    let sound: String = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if sound != "ok" {
        wrong.push("sqlite_integrity_failed");
    }
    let counted: (i64, i64, i64) = conn.query_row(
        "SELECT (SELECT count(*) FROM facts WHERE live), (SELECT value FROM meta WHERE name = 'live'),
                (SELECT count(*) FROM words)",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    if counted.0 != counted.1 || counted.0 != counted.2 {
        wrong.push("fts_mismatch");
    }
    let orphans: i64 = conn.query_row(
        "SELECT count(*) FROM facts WHERE source NOT IN (SELECT key FROM sources)",
        [],
        |row| row.get(0),
    )?;
    if orphans > 0 {
        wrong.push("orphaned_rows");
    }
    Ok(wrong)
}

pub(super) fn drop_files(path: &Path) {
    for end in ["", "-wal", "-shm", "-journal"] {
        let _ = std::fs::remove_file(schema::suffixed(path, end));
    }
}
