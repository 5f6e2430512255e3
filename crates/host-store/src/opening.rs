//! Opening a log, step by step, under a lock that two starting processes can't both hold.

use crate::chain::{self, Chain};
use crate::connection::Reading;
use crate::held::Held;
use crate::lock::LockFile;
use crate::{
    Durability, OpenError, OpenOptions, OpenReport, append, connection, folder, key, schema, wal_tail,
};
use host_event::{Fact, NewEvent, Scope};
use host_redact::Redactor;
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// How many events are checked at every opening.
const TAIL_EVENTS: u64 = 1000;

/// A log that stood all checks.
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) chain: Chain,
    /// `None` where the log is only read.
    pub(crate) writer: Option<Connection>,
    pub(crate) reading: Option<Reading>,
    pub(crate) held: Held,
    pub(crate) opener: Option<LockFile>,
    pub(crate) report: OpenReport,
}

pub(crate) fn open(options: &OpenOptions) -> Result<Opened, OpenError> {
    let dir = &options.dir;
    folder::private_folder(dir)?;
    let openers = dir.join("openers");
    folder::private_folder(&openers)?;
    let gate = dir.join("log.lock");
    let gate = LockFile::wait(&gate).map_err(|e| OpenError::io(&gate, e))?;
    let path = dir.join("log.sqlite");
    let (chain, created) = key_and_file(dir, &path, options.durability)?;

    let dead = dead_openers(&openers)?;
    let mut report = OpenReport { created, unclean: dead.any, ..OpenReport::default() };
    // While another process lives, the end of the write-ahead file may be its write in progress.
    if dead.any && !dead.others_live {
        report.torn_bytes = wal_tail::keep_torn(dir, &schema::suffixed(&path, "-wal"))?;
    }
    let opener = own_opener(&openers)?;
    let held = Held::of(&path);
    let writer = writer(&path, options)?;
    check_key(&writer, &path, &chain, dir)?;
    report.last_seq = check_tail(&writer, &path, &chain)?;
    if report.unclean {
        note_recovery(&writer, &chain, &report);
    }
    writer.busy_timeout(connection::INLINE_BUSY).map_err(|e| OpenError::sql(&path, e))?;
    // Only now: had a check failed, the next opening must still know of the unclean stop.
    dead.forget();
    drop(gate);
    Ok(Opened { path, chain, writer: Some(writer), reading: None, held, opener: Some(opener), report })
}

/// Looks at a log without making, mending or recording anything. `None` where there is none.
pub(crate) fn look(dir: &Path) -> Result<Option<Opened>, OpenError> {
    let path = dir.join("log.sqlite");
    if folder::private_file(&path)?.is_none() {
        return Ok(None);
    }
    schema::check_header(&path, schema::APPLICATION_ID, schema::VERSION)?;
    let chain = Chain::new(&own_key(dir)?);
    let held = Held::of(&path);
    let mut reading = Reading::of(&path);
    match look_with(&path, reading, &chain, dir) {
        // To read beside others needs some room of the disk.
        Err(OpenError::Full { .. }) if reading == Reading::Beside => {
            reading = Reading::without_writing(&path);
            look_with(&path, reading, &chain, dir)?;
        }
        looked => looked?,
    }
    let report = OpenReport::default();
    Ok(Some(Opened { path, chain, writer: None, reading: Some(reading), held, opener: None, report }))
}

/// Whether a log can be read in one way, and is what it should be.
fn look_with(path: &Path, reading: Reading, chain: &Chain, dir: &Path) -> Result<(), OpenError> {
    let conn = connection::open_reading(path, reading).map_err(|e| OpenError::sql(path, e))?;
    match schema::check_version(&conn, path) {
        Err(OpenError::Sql { .. }) if reading == Reading::WithWal => {
            let what = "nothing can be written here, and a process that did not stop in order left its write-ahead file; \
                        copy the folder to where there is room, and read it there";
            return Err(OpenError::Sql { path: path.to_owned(), what: what.to_owned() });
        }
        checked => checked?,
    }
    check_key(&conn, path, chain, dir)
}

fn own_key(dir: &Path) -> Result<key::Key, OpenError> {
    let path = key::path(dir, "log.key");
    key::read(&path)?.ok_or_else(|| OpenError::Key { path, problem: "the log's key is missing".to_owned() })
}

/// The key first, the file second: a file without its key is an error, a key without its file is a new log.
fn key_and_file(dir: &Path, path: &Path, durability: Durability) -> Result<(Chain, bool), OpenError> {
    let key_path = key::path(dir, "log.key");
    let missing =
        || OpenError::Key { path: key_path.clone(), problem: "the log's key is missing".to_owned() };
    if folder::private_file(path)?.is_none() {
        let chain = Chain::new(&key::read_or_create(&key_path)?);
        let file = std::thread::scope(|scope| {
            // Both wait for the disk; together they wait once.
            let key = scope.spawn(|| key::sync(&key_path));
            let file = schema::build(path, chain.fingerprint());
            key.join().unwrap_or_else(|_| Err(missing()))?;
            file
        })?;
        // The log gets its name when its key is on the disk.
        file.publish(durability)?;
        return Ok((chain, true));
    }
    schema::check_header(path, schema::APPLICATION_ID, schema::VERSION)?;
    Ok((Chain::new(&own_key(dir)?), false))
}

fn writer(path: &Path, options: &OpenOptions) -> Result<Connection, OpenError> {
    let sql = |e| OpenError::sql(path, e);
    let writer = connection::open(path, options.vfs).map_err(sql)?;
    connection::prepare_writer(&writer, options.durability).map_err(sql)?;
    let mode: String = writer.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(sql)?;
    if mode != "wal" {
        let what = format!("this file system can't hold a log (journal mode {mode})");
        return Err(OpenError::Sql { path: path.to_owned(), what });
    }
    schema::migrate(&writer, path)?;
    Ok(writer)
}

fn check_key(conn: &Connection, path: &Path, chain: &Chain, dir: &Path) -> Result<(), OpenError> {
    match schema::meta::<16>(conn, "key_fingerprint").map_err(|e| OpenError::sql(path, e))? {
        Some(fingerprint) if fingerprint == chain.fingerprint() => Ok(()),
        Some(_) => Err(OpenError::Key {
            path: key::path(dir, "log.key"),
            problem: "this key belongs to another log".to_owned(),
        }),
        None => Err(OpenError::damaged(path, "it does not say which key it belongs to")),
    }
}

fn check_tail(conn: &Connection, path: &Path, chain: &Chain) -> Result<u64, OpenError> {
    let sql = |e| OpenError::sql(path, e);
    let last: u64 =
        conn.query_row("SELECT coalesce(max(seq), 0) FROM events", [], |row| row.get(0)).map_err(sql)?;
    let from = last.saturating_sub(TAIL_EVENTS - 1).max(1);
    let report = chain::verify(conn, chain, from, last).map_err(sql)?;
    match report.broken {
        Some(broken) => Err(OpenError::damaged(path, broken.to_string())),
        None => Ok(last),
    }
}

/// What other processes left in the openers' folder.
struct DeadOpeners {
    /// At least one of them ended without closing.
    any: bool,
    /// At least one lives.
    others_live: bool,
    /// The dead ones' locks, held by us until the opening is done.
    locks: Vec<LockFile>,
}

impl DeadOpeners {
    /// Removes what the dead left behind.
    fn forget(mut self) {
        self.locks.clear();
    }
}

impl Drop for DeadOpeners {
    fn drop(&mut self) {
        self.locks.drain(..).for_each(LockFile::abandon);
    }
}

fn dead_openers(openers: &Path) -> Result<DeadOpeners, OpenError> {
    let mut found = DeadOpeners { any: false, others_live: false, locks: Vec::new() };
    for entry in std::fs::read_dir(openers).map_err(|e| OpenError::io(openers, e))? {
        let path = entry.map_err(|e| OpenError::io(openers, e))?.path();
        match LockFile::take(&path).map_err(|e| OpenError::io(&path, e))? {
            Some(lock) => found.locks.push(lock),
            None => found.others_live = true,
        }
    }
    found.any = !found.locks.is_empty();
    Ok(found)
}

fn own_opener(openers: &Path) -> Result<LockFile, OpenError> {
    let name = key::random_hex(8).map_err(|e| OpenError::io(openers, e))?;
    let path = openers.join(format!("{name}.lock"));
    let taken = LockFile::take(&path).map_err(|e| OpenError::io(&path, e))?;
    taken.ok_or_else(|| OpenError::io(&path, std::io::Error::from(std::io::ErrorKind::AlreadyExists)))
}

/// Says in the log itself that the stop before was not clean, and how much is there (T9-01). A full disk
/// does not stop the opening: the report says the same.
fn note_recovery(conn: &Connection, chain: &Chain, report: &OpenReport) {
    let torn = match report.torn_bytes {
        0 => String::new(),
        bytes => format!("; {bytes} bytes of an unfinished write were kept in the folder 'aside'"),
    };
    let message = format!(
        "a process that had the log open did not stop in order; {} events are there, all acknowledged ones{torn}",
        report.last_seq
    );
    tracing::warn!("{message}");
    let at = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    let fact = Fact::Warning { code: "log_recovered".to_owned(), message };
    let event = NewEvent::of(&fact, Scope::default(), at, &Redactor::default());
    if let Err(failure) = append::append(conn, chain, &[event], None) {
        tracing::warn!(error = %failure.into_log_error(conn), "the recovery could not be recorded");
    }
}
