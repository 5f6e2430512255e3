//! The log's tables, their versions, and how its file comes into being.

use crate::{Durability, OpenError, connection, folder, held};
use rusqlite::{Connection, OptionalExtension};
use std::io::Read;
use std::path::{Path, PathBuf};

/// `monL`: a log of mono-agent.
pub(crate) const APPLICATION_ID: i32 = 0x6d6f_6e4c;
/// The newest schema.
pub(crate) const VERSION: i64 = 3;

/// Schema 1: the events. `seq` is counted by us, so that a gap means something. The body comes last, so
/// that long ones keep the other columns on the first page.
const EVENTS: &str = "
CREATE TABLE meta(name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE events(
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  version INTEGER NOT NULL,
  conversation TEXT,
  logical TEXT,
  run TEXT,
  call TEXT,
  checksum BLOB NOT NULL,
  prev_hash BLOB NOT NULL,
  hash BLOB NOT NULL,
  body TEXT NOT NULL
) STRICT;
";

/// Schema 2: where the events of a run and of a call are ([`crate::lookup`]), the boundaries of
/// conversations, and the runs as a projection, so that lists cost the same at any size.
const RUNS: &str = "
CREATE TABLE run_events(run TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY(run, seq)) STRICT, WITHOUT ROWID;
CREATE TABLE call_events(call TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY(call, seq)) STRICT, WITHOUT ROWID;
CREATE TABLE looked_up(upto INTEGER NOT NULL) STRICT;
INSERT INTO looked_up(upto) VALUES(0);
CREATE INDEX events_boundary ON events(logical) WHERE kind = 'session_boundary';
CREATE TABLE runs(
  run TEXT NOT NULL,
  conversation TEXT NOT NULL,
  logical TEXT NOT NULL,
  started_seq INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  incarnation TEXT NOT NULL,
  source TEXT NOT NULL,
  source_detail TEXT,
  model TEXT NOT NULL,
  isolated INTEGER NOT NULL,
  input_preview TEXT NOT NULL,
  settled_seq INTEGER,
  ended_at INTEGER,
  status TEXT,
  failure_kind TEXT,
  usage TEXT,
  PRIMARY KEY(run, conversation)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX runs_started ON runs(started_seq);
CREATE INDEX runs_logical ON runs(logical, started_seq);
CREATE INDEX runs_status ON runs(status, started_seq);
";

/// Schema 3: what stands in the place of events that retention removed ([`crate::history`]).
const RETAINED: &str = "
CREATE TABLE checkpoint(seq INTEGER NOT NULL, hash BLOB NOT NULL, signature BLOB NOT NULL) STRICT;
CREATE TABLE tombstones(
  record TEXT PRIMARY KEY,
  conversation TEXT NOT NULL,
  logical TEXT NOT NULL,
  isolated INTEGER NOT NULL,
  phase TEXT NOT NULL,
  reason TEXT NOT NULL,
  removed_at INTEGER NOT NULL
) STRICT;
CREATE INDEX tombstones_age ON tombstones(removed_at);
";

/// One step up. Each runs in the transaction that also raises the version.
type Step = fn(&Connection) -> rusqlite::Result<()>;

/// The steps, each with the version that it starts from.
const MIGRATIONS: &[(i64, Step)] = &[
    (1, |conn| {
        conn.execute_batch("DROP INDEX IF EXISTS events_run")?;
        conn.execute_batch(RUNS)?;
        crate::lookup::rebuild(conn)?;
        crate::runs::rebuild(conn)
    }),
    (2, |conn| conn.execute_batch(RETAINED)),
];

/// A new log that has no name yet.
pub(crate) struct Unnamed {
    fresh: PathBuf,
    path: PathBuf,
}

impl Unnamed {
    /// Gives it its name. Under [`Durability::Full`] the name is on the disk then.
    pub(crate) fn publish(self, durability: Durability) -> Result<(), OpenError> {
        let (at, flags) = (rustix::fs::CWD, rustix::fs::RenameFlags::NOREPLACE);
        rustix::fs::renameat_with(at, &self.fresh, at, &self.path, flags)
            .map_err(|e| OpenError::io(&self.path, e))?;
        match durability {
            Durability::Process => Ok(()),
            Durability::Full => folder::sync_folder(self.path.parent().unwrap_or(&self.path)),
        }
    }
}

/// Makes a new log for `path`, on the disk. It gets its name only when it is whole, so an empty or half-made
/// file of this name is always a damaged one and never mistaken for new.
pub(crate) fn build(path: &Path, fingerprint: [u8; 16]) -> Result<Unnamed, OpenError> {
    for left_over in ["-wal", "-journal"] {
        let beside = suffixed(path, left_over);
        if beside.exists() {
            // SQLite would play it into the new file.
            return Err(OpenError::damaged(&beside, "it is left over from a log that is gone"));
        }
    }
    let fresh = suffixed(path, ".new");
    for stale in ["", "-wal", "-shm", "-journal"] {
        let _ = std::fs::remove_file(suffixed(&fresh, stale));
    }
    let file = folder::create_private(&fresh)?;
    fill(&fresh, fingerprint).map_err(|e| OpenError::sql(&fresh, e))?;
    file.sync_all().map_err(|e| OpenError::io(&fresh, e))?;
    Ok(Unnamed { fresh, path: path.to_owned() })
}

fn fill(path: &Path, fingerprint: [u8; 16]) -> rusqlite::Result<()> {
    let conn = connection::open(path, None)?;
    // The caller syncs the whole once.
    connection::pragma(&conn, "PRAGMA synchronous = OFF")?;
    // These four count only before the first table.
    connection::pragma(&conn, "PRAGMA page_size = 4096")?;
    connection::pragma(&conn, "PRAGMA auto_vacuum = INCREMENTAL")?;
    connection::pragma(&conn, "PRAGMA secure_delete = ON")?;
    connection::pragma(&conn, &format!("PRAGMA application_id = {APPLICATION_ID}"))?;
    conn.execute_batch("BEGIN IMMEDIATE")?;
    conn.execute_batch(EVENTS)?;
    conn.execute_batch(RUNS)?;
    conn.execute_batch(RETAINED)?;
    let mut id = [0u8; 16];
    crate::key::random(&mut id).map_err(|_| rusqlite::Error::InvalidQuery)?;
    let mut insert = conn.prepare("INSERT INTO meta(name, value) VALUES(?1, ?2)")?;
    insert.execute(("log_id", &id[..]))?;
    insert.execute(("key_fingerprint", &fingerprint[..]))?;
    drop(insert);
    connection::pragma(&conn, &format!("PRAGMA user_version = {VERSION}"))?;
    conn.execute_batch("COMMIT")?;
    connection::pragma(&conn, "PRAGMA journal_mode = WAL")?;
    conn.close().map_err(|(_, e)| e)
}

/// Looks at a file's first bytes without SQLite, so that a file that is not ours is not touched in any way.
/// One that this process has open was looked at before.
pub(crate) fn check_header(path: &Path, application_id: i32, version: i64) -> Result<(), OpenError> {
    let Some(stat) = folder::private_file(path)? else { return Ok(()) };
    match held::unless_held(&stat, || read_header(path)) {
        None => Ok(()),
        Some(header) => check_bytes(path, &header?, application_id, version),
    }
}

fn read_header(path: &Path) -> Result<Vec<u8>, OpenError> {
    let mut header = Vec::with_capacity(100);
    if let Some(file) = folder::open_private(path)? {
        file.take(100).read_to_end(&mut header).map_err(|e| OpenError::io(path, e))?;
    }
    Ok(header)
}

fn check_bytes(path: &Path, header: &[u8], application_id: i32, version: i64) -> Result<(), OpenError> {
    if header.is_empty() {
        return Err(OpenError::damaged(path, "the file is empty"));
    }
    if header.len() < 100 || !header.starts_with(b"SQLite format 3\0") {
        return Err(OpenError::damaged(path, "it does not begin as an SQLite database does"));
    }
    let number = |at: usize| i32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if number(68) != application_id {
        let found = format!("an SQLite database with application id {:#010x}", number(68));
        return Err(OpenError::Foreign { path: path.to_owned(), found });
    }
    newer(path, i64::from(number(60)), version)
}

fn newer(path: &Path, found: i64, known: i64) -> Result<(), OpenError> {
    if found > known { Err(OpenError::Newer { path: path.to_owned(), found, known }) } else { Ok(()) }
}

/// Whether the tables are those of [`VERSION`]; for whoever can't bring them up.
pub(crate) fn check_version(conn: &Connection, path: &Path) -> Result<(), OpenError> {
    let found =
        conn.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(|e| OpenError::sql(path, e))?;
    newer(path, found, VERSION)?;
    if found < VERSION {
        let what = format!(
            "its schema is {found} and this program reads {VERSION}; start the agent once, which brings it up"
        );
        return Err(OpenError::Sql { path: path.to_owned(), what });
    }
    Ok(())
}

/// Brings the tables up to [`VERSION`].
pub(crate) fn migrate(conn: &Connection, path: &Path) -> Result<(), OpenError> {
    let sql = |e| OpenError::sql(path, e);
    let version = |conn: &Connection| conn.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    newer(path, version(conn).map_err(sql)?, VERSION)?;
    for (from, step) in MIGRATIONS {
        if version(conn).map_err(sql)? != *from {
            continue;
        }
        conn.execute_batch("BEGIN IMMEDIATE").map_err(sql)?;
        let done = step(conn).and_then(|()| {
            connection::pragma(conn, &format!("PRAGMA user_version = {}", from + 1))?;
            conn.execute_batch("COMMIT")
        });
        if let Err(error) = done {
            let _ = conn.execute_batch("ROLLBACK");
            return Err(sql(error));
        }
    }
    match version(conn).map_err(sql)? {
        VERSION => Ok(()),
        other => Err(OpenError::damaged(path, format!("its schema says {other}, which never was one"))),
    }
}

/// A value of the `meta` table.
pub(crate) fn meta<const N: usize>(conn: &Connection, name: &str) -> rusqlite::Result<Option<[u8; N]>> {
    conn.query_row("SELECT value FROM meta WHERE name = ?1", [name], |row| row.get(0)).optional()
}

/// `path` with more at the end of its name.
pub(crate) fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The newest tables in memory, empty: to compare with, and for tests of queries.
pub(crate) fn tables_in_memory() -> rusqlite::Result<Connection> {
    let conn = Connection::open_in_memory()?;
    for tables in [EVENTS, RUNS, RETAINED] {
        conn.execute_batch(tables)?;
    }
    Ok(conn)
}

/// The same, for tests.
#[cfg(test)]
pub(crate) fn in_memory() -> Connection {
    tables_in_memory().expect("the tables are sound")
}
