//! The one way into the log.

use crate::chain::{Chain, GENESIS};
use crate::failure::Failure;
use crate::{row, runs};
use host_event::{CanonicalRow, NewEvent};
use host_ports::log::LogError;
use rusqlite::Connection;

/// The largest body of an event in bytes. What runs record is bounded far below.
pub(crate) const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

const INSERT: &str =
    "INSERT INTO events(seq, at, kind, version, conversation, logical, run, call, checksum, prev_hash, hash, body)
     VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";

/// Appends all events as one transaction, and gives the last sequence and how many bytes went in.
pub(crate) fn append(conn: &Connection, chain: &Chain, events: &[NewEvent]) -> Result<(u64, usize), Failure> {
    in_transaction(conn, || append_within(conn, chain, events))
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
) -> Result<(u64, usize), Failure> {
    let (mut seq, mut hash) = tail(conn)?;
    let mut bytes = 0;
    let mut insert = conn.prepare_cached(INSERT)?;
    for event in events {
        seq += 1;
        let body = body(event)?;
        let conversation = event.scope.conversation.as_ref().map(|id| id.as_str());
        let run = event.scope.run.as_ref().map(|id| id.as_str());
        let call = event.scope.call.as_ref().map(|id| id.as_str());
        let (at, kind, version) = (event.at, event.kind, event.version);
        let row = CanonicalRow { seq, at, kind, version, conversation, run, call, body: &body };
        let seal = chain.seal(&hash, &row);
        let logical = conversation.map(row::without_bucket);
        insert.execute(rusqlite::params![
            seq,
            at,
            kind,
            version,
            conversation,
            logical,
            run,
            call,
            &seal.checksum[..],
            &hash[..],
            &seal.hash[..],
            &body
        ])?;
        runs::project(conn, seq, at, kind, conversation, run, event.body.get())?;
        hash = seal.hash;
        bytes += body.len();
    }
    Ok((seq, bytes))
}

/// The last event's sequence and hash.
pub(crate) fn tail(conn: &Connection) -> Result<(u64, [u8; 32]), Failure> {
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
