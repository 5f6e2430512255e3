//! The one way into the log.

use crate::chain::{Chain, GENESIS};
use crate::failure::Failure;
use crate::{lookup, row, runs};
use host_event::{CanonicalRow, NewEvent};
use host_ports::log::LogError;
use rusqlite::{CachedStatement, Connection, ErrorCode};

/// The largest body of an event in bytes. What runs record is bounded far below.
pub(crate) const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

const INSERT: &str =
    "INSERT INTO events(seq, at, kind, version, conversation, logical, run, call, checksum, prev_hash, hash, body)
     VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";

/// The end of the chain: the last event's sequence and hash.
pub(crate) type Tail = (u64, [u8; 32]);

/// Appends all events as one transaction, and gives the new end and how many bytes went in. `known` is the end
/// as this process saw it last.
pub(crate) fn append(
    conn: &Connection,
    chain: &Chain,
    events: &[NewEvent],
    known: Option<Tail>,
) -> Result<(Tail, usize), Failure> {
    if let (Some(known), [event]) = (known, events)
        && !runs::is_projected(event.kind)
        && !lookup::is_due(known.0 + 1)
        && let Some(done) = append_one(conn, chain, event, known)?
    {
        return Ok(done);
    }
    in_transaction(conn, || append_within(conn, chain, events))
}

/// Appends one event in one statement, which is a transaction by itself; `None` where another process was
/// faster and the end is not the known one any more.
fn append_one(
    conn: &Connection,
    chain: &Chain,
    event: &NewEvent,
    known: Tail,
) -> Result<Option<(Tail, usize)>, Failure> {
    let mut insert = conn.prepare_cached(INSERT)?;
    let body = body(event)?;
    let (tail, inserted) = insert_after(&mut insert, chain, event, &body, known)?;
    Ok(inserted.then_some((tail, body.len())))
}

/// Runs `work` as one immediate transaction. Nothing of it stays when it fails.
pub(crate) fn in_transaction<T>(
    conn: &Connection,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    // Immediate: the tail is read under the lock that the insert needs, so two processes never chain to
    // the same event (T9-03).
    conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let done = work().and_then(|value| {
        conn.prepare_cached("COMMIT")?.execute([])?;
        Ok(value)
    });
    if done.is_err() && !conn.is_autocommit() {
        // If this fails too, SQLite has rolled back by itself.
        let _ = conn.execute_batch("ROLLBACK");
    }
    done
}

/// Appends within a transaction of the caller's.
pub(crate) fn append_within(
    conn: &Connection,
    chain: &Chain,
    events: &[NewEvent],
) -> Result<(Tail, usize), Failure> {
    let mut end = tail(conn)?;
    let (mut bytes, mut due) = (0, false);
    let mut insert = conn.prepare_cached(INSERT)?;
    for event in events {
        let body = body(event)?;
        let (next, inserted) = insert_after(&mut insert, chain, event, &body, end)?;
        if !inserted {
            return Err(LogError::Failed("its end moved under the lock".to_owned()).into());
        }
        let scope = &event.scope;
        let (conversation, run) = (scope.conversation.as_ref(), scope.run.as_ref());
        let (conversation, run) = (conversation.map(|id| id.as_str()), run.map(|id| id.as_str()));
        runs::project(conn, next.0, event.at, event.kind, conversation, run, event.body.get())?;
        end = next;
        bytes += body.len();
        due |= lookup::is_due(end.0);
    }
    if due {
        lookup::fill(conn)?;
    }
    Ok((end, bytes))
}

/// Inserts one event behind `end`; `false` where that is not the end.
fn insert_after(
    insert: &mut CachedStatement<'_>,
    chain: &Chain,
    event: &NewEvent,
    body: &str,
    end: Tail,
) -> rusqlite::Result<(Tail, bool)> {
    let seq = end.0 + 1;
    let conversation = event.scope.conversation.as_ref().map(|id| id.as_str());
    let run = event.scope.run.as_ref().map(|id| id.as_str());
    let call = event.scope.call.as_ref().map(|id| id.as_str());
    let (at, kind, version) = (event.at, event.kind, event.version);
    let row = CanonicalRow { seq, at, kind, version, conversation, run, call, body };
    let seal = chain.seal(&end.1, &row);
    let logical = conversation.map(row::without_bucket);
    let inserted = insert.execute(rusqlite::params![
        seq,
        at,
        kind,
        version,
        conversation,
        logical,
        run,
        call,
        &seal.checksum[..],
        &end.1[..],
        &seal.hash[..],
        body
    ]);
    match inserted {
        Ok(_) => Ok(((seq, seal.hash), true)),
        // The log has no gaps at its end: where another process was faster, this place is taken.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => Ok((end, false)),
        Err(error) => Err(error),
    }
}

/// The last event's sequence and hash.
fn tail(conn: &Connection) -> Result<Tail, Failure> {
    let mut last = conn.prepare_cached("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1")?;
    let mut rows = last.query([])?;
    match rows.next()? {
        None => Ok((0, GENESIS)),
        Some(row) => Ok((row.get(0)?, row.get(1)?)),
    }
}

fn body(event: &NewEvent) -> Result<String, LogError> {
    let body = serde_json::to_string(event.body.get())
        .map_err(|_| LogError::Failed("an event can't be written as JSON".to_owned()))?;
    if body.len() > BODY_BYTES_MAX {
        return Err(LogError::Failed(format!(
            "an event of {} bytes is over the limit of {BODY_BYTES_MAX}",
            body.len()
        )));
    }
    Ok(body)
}
