//! Whether the rows beside the events say what the events say: where the events of a run and of a call are
//! ([`crate::lookup`]), and the runs ([`crate::runs`]). The chain doesn't cover them, and views and the host follow
//! them, so a check of the log compares every one.

use crate::{runs, schema};
use host_vocab::text::one_line;
use rusqlite::Connection;
use rusqlite::types::Value;
use std::cmp::Ordering;

/// How much of an id is told, in characters.
const ID_CHARS_MAX: usize = 80;

/// The columns of `runs`, the key first and the usage last.
const RUN_COLUMNS: &str =
    "run, conversation, logical, started_seq, started_at, incarnation, source, source_detail,
    model, isolated, input_preview, settled_seq, ended_at, status, failure_kind, usage";

/// What is missing where the events of a run or a call are looked up.
const MISSING: &str = "
  SELECT e.{id}, min(e.run), count(*), min(e.seq) FROM events e
  WHERE e.{id} IS NOT NULL AND e.seq <= (SELECT max(upto) FROM looked_up)
    AND NOT EXISTS(SELECT 1 FROM {table} t WHERE t.{id} = e.{id} AND t.seq = e.seq)
  GROUP BY e.{id} LIMIT ?1";
/// What stands there too much: of no such event, or of one behind the mark, which readers find by themselves.
const EXTRA: &str = "
  SELECT t.{id}, min(e.run), count(*), min(t.seq) FROM {table} t LEFT JOIN events e ON e.seq = t.seq
  WHERE e.seq IS NULL OR e.{id} IS NOT t.{id} OR t.seq > (SELECT max(upto) FROM looked_up)
  GROUP BY t.{id} LIMIT ?1";

/// What differs, a line each and the run named, at most `lines_max` of each kind. Costs a pass over the log, and
/// memory for its runs, about 1 KiB each.
pub(crate) fn disagreements(conn: &Connection, lines_max: usize) -> rusqlite::Result<Vec<String>> {
    // One state of the log, whatever a host appends meanwhile.
    let state = conn.unchecked_transaction()?;
    let mut lines = mark(&state)?;
    for (table, id, what) in [("run_events", "run", "run"), ("call_events", "call", "call")] {
        for (sql, how) in [(MISSING, "missing"), (EXTRA, "too many")] {
            let sql = sql.replace("{table}", table).replace("{id}", id);
            let mut query = state.prepare(&sql)?;
            let said = |row: &rusqlite::Row<'_>| {
                let name = one_line(&row.get::<_, String>(0)?, ID_CHARS_MAX);
                let of = match row.get::<_, Option<String>>(1)? {
                    Some(run) if id == "call" => format!(" of run {}", one_line(&run, ID_CHARS_MAX)),
                    _ => String::new(),
                };
                let (count, first): (u64, i64) = (row.get(2)?, row.get(3)?);
                Ok(format!(
                    "the places of the events of {what} {name}{of} are not what the events say: {count} {how}, the \
                     first is event {first}"
                ))
            };
            for line in query.query_map([lines_max], said)? {
                lines.push(line?);
            }
        }
    }
    lines.extend(runs_that_differ(&state, lines_max)?);
    state.finish()?;
    Ok(lines)
}

/// The mark up to which events are looked up: one, and not behind the end.
fn mark(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let sound: bool = conn.query_row(
        "SELECT count(*) = 1 AND coalesce(max(upto) BETWEEN 0 AND (SELECT coalesce(max(seq), 0) FROM events), 0)
         FROM looked_up",
        [],
        |row| row.get(0),
    )?;
    Ok(if sound {
        Vec::new()
    } else {
        vec!["the mark up to which events of runs are looked up is not what the events say".to_owned()]
    })
}

/// Compares the rows of runs with those that the events give.
fn runs_that_differ(conn: &Connection, lines_max: usize) -> rusqlite::Result<Vec<String>> {
    let given = schema::tables_in_memory()?;
    runs::each_event(conn, |event| event.project(&given))?;
    let sql = format!("SELECT {RUN_COLUMNS} FROM runs ORDER BY run, conversation");
    let (mut stored, mut given) = (conn.prepare(&sql)?, given.prepare(&sql)?);
    let (mut stored, mut given) = (stored.query([])?, given.query([])?);
    let (mut row, mut event) = (next(&mut stored)?, next(&mut given)?);
    let mut lines = Vec::new();
    while lines.len() < lines_max {
        let order = match (&row, &event) {
            (None, None) => break,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(row), Some(event)) => key(row).cmp(&key(event)),
        };
        let name = |of: &Option<Vec<Value>>| {
            one_line(of.as_deref().map_or("", |values| key(values).0), ID_CHARS_MAX)
        };
        match order {
            Ordering::Less => {
                lines.push(format!("there is a row of {}, and no event began it", name(&row)));
                row = next(&mut stored)?;
            }
            Ordering::Greater => {
                lines.push(format!("the row of {} is missing", name(&event)));
                event = next(&mut given)?;
            }
            Ordering::Equal => {
                if row != event && row.clone().map(respelled) != event {
                    lines.push(format!("the row of {} is not what the events say", name(&row)));
                }
                (row, event) = (next(&mut stored)?, next(&mut given)?);
            }
        }
    }
    Ok(lines)
}

fn next(rows: &mut rusqlite::Rows<'_>) -> rusqlite::Result<Option<Vec<Value>>> {
    let Some(row) = rows.next()? else { return Ok(None) };
    (0..row.as_ref().column_count()).map(|column| row.get(column)).collect::<Result<_, _>>().map(Some)
}

fn key(values: &[Value]) -> (&str, &str) {
    let text = |at: usize| match values.get(at) {
        Some(Value::Text(text)) => text.as_str(),
        _ => "",
    };
    (text(0), text(1))
}

/// The same row with its usage as a reader of the event spells it: a fraction may lose its last digit on the way.
fn respelled(mut row: Vec<Value>) -> Vec<Value> {
    if let Some(Value::Text(usage)) = row.last_mut()
        && let Ok(json) = serde_json::from_str::<serde_json::Value>(usage)
    {
        *usage = json.to_string();
    }
    row
}
