//! The console's tables, and how its file comes into being.

use crate::held::Held;
use crate::{OpenError, connection, folder, schema};
use rusqlite::Connection;
use std::path::Path;

/// `monW`: a web console of mono-agent.
const APPLICATION_ID: i32 = 0x6d6f_6e57;
const VERSION: i64 = 1;

/// Bodies are the objects that the browser is shown; columns beside them are what is asked for.
const TABLES: &str = "
CREATE TABLE threads(
  id TEXT PRIMARY KEY, agent TEXT NOT NULL, listed INTEGER NOT NULL, archived INTEGER NOT NULL,
  pinned INTEGER NOT NULL, updated TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL
) STRICT;
CREATE INDEX threads_list ON threads(archived, pinned, updated, id) WHERE listed = 1;
CREATE INDEX threads_agent ON threads(agent, archived, pinned, updated, id) WHERE listed = 1;
CREATE TABLE messages(
  place INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, id TEXT NOT NULL UNIQUE,
  open INTEGER NOT NULL, body TEXT NOT NULL
) STRICT;
CREATE INDEX messages_thread ON messages(thread, place);
CREATE INDEX messages_open ON messages(open) WHERE open = 1;
CREATE TABLE submissions(
  id TEXT PRIMARY KEY, thread TEXT NOT NULL, digest TEXT NOT NULL, receipt TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX submissions_thread ON submissions(thread);
CREATE TABLE follow_ups(
  place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, thread TEXT NOT NULL, open INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX follow_ups_open ON follow_ups(thread, place) WHERE open = 1;
CREATE TABLE uploads(
  id TEXT PRIMARY KEY, name TEXT NOT NULL, media_type TEXT NOT NULL, bytes INTEGER NOT NULL,
  created INTEGER NOT NULL, thread TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX uploads_thread ON uploads(thread);
CREATE TABLE settings(name TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE agents(id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(text, message UNINDEXED, thread UNINDEXED,
  tokenize='unicode61 remove_diacritics 2');
";

pub(super) fn open(path: &Path) -> Result<(Connection, Held), OpenError> {
    let sql = |e| OpenError::sql(path, e);
    if folder::private_file(path)?.is_none() {
        folder::create_private(path)?;
    } else if std::fs::metadata(path).is_ok_and(|it| it.len() > 0) {
        schema::check_header(path, APPLICATION_ID, VERSION)?;
    }
    let held = Held::of(path);
    let conn = connection::open(path, None).map_err(sql)?;
    let set = |text: &str| connection::pragma(&conn, text).map_err(sql);
    let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(sql)?;
    if version == 0 {
        set(&format!("PRAGMA application_id = {APPLICATION_ID}"))?;
    }
    set("PRAGMA journal_mode = WAL")?;
    set("PRAGMA synchronous = NORMAL")?;
    set("PRAGMA secure_delete = ON")?;
    set("PRAGMA trusted_schema = OFF")?;
    set("PRAGMA temp_store = MEMORY")?;
    set("PRAGMA journal_size_limit = 16777216")?;
    if version == 0 {
        crate::memory::transaction(&conn, || {
            conn.execute_batch(TABLES)?;
            connection::pragma(&conn, &format!("PRAGMA user_version = {VERSION}"))
        })
        .map_err(sql)?;
    }
    Ok((conn, held))
}
