//! Past turns of a conversation: what a cold session is reseeded from (HIS-9).

use crate::failure::Failure;
use crate::row;
use host_event::StoredEvent;
use host_ports::log::{LogError, PastTurn};
use host_vocab::ConversationId;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

/// The most turns of one reseed.
const TURNS_MAX: usize = 1000;

/// The newest settled turns, oldest first. Turns that stand alone are left out, and so is everything before
/// the session was last cleared.
pub(crate) fn past(
    conn: &Connection,
    conversation: &ConversationId,
    rollover: bool,
    turns_max: usize,
) -> Result<Vec<PastTurn>, Failure> {
    let logical = conversation.without_bucket();
    // NULL: any bucket of the logical conversation.
    let exact = (!rollover).then(|| conversation.as_str());
    let after = last_cleared(conn, logical, exact)?;
    let max = i64::try_from(turns_max.min(TURNS_MAX)).unwrap_or(0);
    let mut runs = conn.prepare_cached(
        "SELECT started_seq, settled_seq FROM runs
         WHERE logical = ?1 AND (?2 IS NULL OR conversation = ?2) AND started_seq > ?3
           AND settled_seq IS NOT NULL AND isolated = 0
         ORDER BY started_seq DESC LIMIT ?4",
    )?;
    let ends: Vec<(i64, i64)> = runs
        .query_map(params![logical, exact, after, max], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    ends.into_iter().rev().map(|(started, settled)| turn(conn, started, settled)).collect()
}

fn last_cleared(conn: &Connection, logical: &str, exact: Option<&str>) -> Result<i64, Failure> {
    let mut last = conn.prepare_cached(
        "SELECT seq FROM events INDEXED BY events_boundary
         WHERE kind = 'session_boundary' AND logical IS ?1 AND (?2 IS NULL OR conversation = ?2)
           AND json_extract(body, '$.boundary') = 'cleared'
         ORDER BY seq DESC LIMIT 1",
    )?;
    let mut seq = |logical: Option<&str>, exact: Option<&str>| {
        last.query_row(params![logical, exact], |row| row.get::<_, i64>(0)).optional()
    };
    // One without a conversation cleared them all.
    let (own, all) = (seq(Some(logical), exact)?, seq(None, None)?);
    Ok(own.max(all).unwrap_or(0))
}

fn turn(conn: &Connection, started: i64, settled: i64) -> Result<PastTurn, Failure> {
    let began = event(conn, started)?;
    let ended = event(conn, settled)?;
    let text = |event: &StoredEvent, name: &str| {
        event.body.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let run = began.scope.run.clone();
    Ok(PastTurn {
        run: run.ok_or_else(|| LogError::Damaged(format!("event {started} belongs to no run")))?,
        at: began.at,
        user: text(&began, "userInput"),
        assistant: text(&ended, "text"),
        status: text(&ended, "status"),
    })
}

fn event(conn: &Connection, seq: i64) -> Result<StoredEvent, Failure> {
    let columns = row::COLUMNS;
    let mut one = conn.prepare_cached(&format!("SELECT {columns} FROM events WHERE seq = ?1"))?;
    let mut rows = one.query([seq])?;
    match rows.next()? {
        Some(found) => Ok(row::stored(found)?),
        None => Err(LogError::Damaged(format!("event {seq} is missing; run `mono-agent doctor`")).into()),
    }
}
