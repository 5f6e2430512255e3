//! From events to rows and grams, in the order of the log.

use super::scope::{Numbers, numbers};
use super::tokens;
use host_event::StoredEvent;
use host_history::{CallEnd, Grams, Phase, RunEnd, View, call_text, leftover_state, record_id, run_text};
use host_vocab::ConversationId;
use host_vocab::text::prefix;
use rusqlite::{Connection, OptionalExtension, params};
use std::sync::LazyLock;

/// The most folded text of a run that is kept for searches, in bytes.
const RUN_TEXT_BYTES_MAX: usize = 2 * host_history::RUN_TEXT_BYTES_MAX;
/// The same of a call.
const CALL_TEXT_BYTES_MAX: usize = host_history::CALL_TEXT_BYTES_MAX;

/// Takes one event in, within a transaction of the caller's.
pub(crate) fn project(index: &Connection, event: &StoredEvent) -> rusqlite::Result<()> {
    // What the log holds is redacted already; here its paths go, so that no search can ask for them.
    static VIEW: LazyLock<View> = LazyLock::new(View::of_index);
    let view = &*VIEW;
    match event.kind.as_str() {
        "run_started" => run_started(index, event, view),
        "run_settled" => run_settled(index, event),
        "call_started" => call_began(index, event, view).map(|_| ()),
        "call_refused" => {
            let began = call_began(index, event, view)?;
            call_ended(index, event, view, began)
        }
        "call_settled" => {
            let open = open_call(index, event)?;
            call_ended(index, event, view, open)
        }
        _ => Ok(()),
    }
}

fn ids(event: &StoredEvent) -> (Option<&str>, &str, &str) {
    let scope = &event.scope;
    let conversation = scope.conversation.as_ref().map(ConversationId::as_str);
    let run = scope.run.as_ref().map_or("", |run| run.as_str());
    (conversation, run, scope.call.as_ref().map_or("", |call| call.as_str()))
}

fn run_started(index: &Connection, event: &StoredEvent, view: &View) -> rusqlite::Result<()> {
    let Some(start) = run_text(event, view) else { return Ok(()) };
    let (conversation, run, _) = ids(event);
    let of = numbers(index, conversation)?;
    index
        .prepare_cached(
            "INSERT OR REPLACE INTO h_runs(seq, run, conversation, logical, isolated, started_at, source,
               source_detail, model, effort, input) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            event.seq,
            run,
            of.conversation,
            of.logical,
            start.isolated,
            event.at,
            start.source,
            start.source_detail,
            start.model,
            start.effort,
            start.input
        ])?;
    index
        .prepare_cached("INSERT OR REPLACE INTO h_run_texts(seq, text) VALUES(?1, ?2)")?
        .execute(params![event.seq, prefix(&start.text, RUN_TEXT_BYTES_MAX)])?;
    index
        .prepare_cached(
            "INSERT INTO h_conversations(id, runs, last_at, last_seq) VALUES(?1, 1, ?2, ?3)
             ON CONFLICT(id) DO UPDATE SET runs = runs + 1, last_at = ?2, last_seq = ?3",
        )?
        .execute(params![of.conversation, event.at, event.seq])?;
    Ok(())
}

/// The first end of a run counts. It makes the run visible, and ends the calls that have no end of their own.
fn run_settled(index: &Connection, event: &StoredEvent) -> rusqlite::Result<()> {
    let Some(end) = RunEnd::of(event) else { return Ok(()) };
    let (conversation, run, _) = ids(event);
    let of = numbers(index, conversation)?;
    let Some(seq) = run_seq(index, run, of, true)? else { return Ok(()) };
    index
        .prepare_cached(
            "UPDATE h_runs SET settled_seq = ?2, ended_at = ?3, duration_ms = ?4, status = ?5, failure_kind = ?6,
               usage = ?7 WHERE seq = ?1",
        )?
        .execute(params![seq, event.seq, event.at, end.duration_ms, end.status, end.failure_kind, end.usage])?;
    let text: String = index
        .prepare_cached("SELECT text FROM h_run_texts WHERE seq = ?1")?
        .query_row([seq], |row| row.get(0))?;
    let text = format!("{}\n{}", text, end.text);
    index.prepare_cached("UPDATE h_run_texts SET text = ?2 WHERE seq = ?1")?.execute(params![seq, text])?;
    let mut grams = Grams::of_text(&text);
    grams.push_token(&tokens::exact(of.conversation));
    grams.push_token(&tokens::logical(of.logical));
    index
        .prepare_cached("INSERT INTO h_run_grams(rowid, grams) VALUES(?1, ?2)")?
        .execute(params![seq, grams.tokens()])?;
    let mut open = index.prepare_cached("SELECT seq FROM h_calls WHERE run_seq = ?1 AND state IS NULL")?;
    let open: Vec<i64> = open.query_map([seq], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for call in open {
        let ended = Ended {
            state: leftover_state(&end.status),
            code: format!("run_{}", end.status),
            end_seq: None,
            at: event.at,
            duration_ms: None,
            recovered: end.failure_kind.as_deref() == Some("process_death"),
            text: String::new(),
            bytes: 0,
        };
        close(index, call, ended)?;
    }
    Ok(())
}

/// The newest run of an id within its exact conversation.
fn run_seq(index: &Connection, run: &str, of: Numbers, open: bool) -> rusqlite::Result<Option<i64>> {
    index
        .prepare_cached(
            "SELECT seq FROM h_runs INDEXED BY h_runs_run WHERE run = ?1 AND conversation = ?2 AND (?3 = 0 OR settled_seq IS NULL)
             ORDER BY seq DESC LIMIT 1",
        )?
        .query_row(params![run, of.conversation, open], |row| row.get(0))
        .optional()
}

/// Enters a call, and gives its sequence.
fn call_began(index: &Connection, event: &StoredEvent, view: &View) -> rusqlite::Result<Option<i64>> {
    let Some(start) = call_text(event, view) else { return Ok(None) };
    enter(index, event, &start.tool, &start.text).map(Some)
}

fn enter(index: &Connection, event: &StoredEvent, tool: &str, text: &str) -> rusqlite::Result<i64> {
    let (conversation, run, call) = ids(event);
    let of = numbers(index, conversation)?;
    let run_seq = run_seq(index, run, of, false)?.unwrap_or(0);
    let isolated = index
        .prepare_cached("SELECT isolated FROM h_runs WHERE seq = ?1")?
        .query_row([run_seq], |row| row.get::<_, bool>(0))
        .optional()?
        .unwrap_or(false);
    let nth: u32 = index
        .prepare_cached("SELECT count(*) FROM h_calls WHERE run_seq = ?1 AND call = ?2 AND run = ?3")?
        .query_row(params![run_seq, call, run], |row| row.get(0))?;
    let record = record_id(conversation, run, call, Phase::Invocation.as_str(), nth);
    let seq = i64::try_from(event.seq).unwrap_or(i64::MAX);
    let bytes = size(event);
    index
        .prepare_cached(
            "INSERT OR REPLACE INTO h_calls(seq, call, run, run_seq, conversation, logical, isolated, tool, nth,
               started_at, invocation_key, bytes) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(params![
            seq,
            call,
            run,
            run_seq,
            of.conversation,
            of.logical,
            isolated,
            tool,
            nth,
            event.at,
            tokens::record_key(&record),
            bytes
        ])?;
    index
        .prepare_cached("INSERT OR REPLACE INTO h_call_texts(seq, text) VALUES(?1, ?2)")?
        .execute(params![seq, text])?;
    count(index, 1, bytes)?;
    Ok(seq)
}

fn size(event: &StoredEvent) -> i64 {
    i64::try_from(event.body.to_string().len()).unwrap_or(i64::MAX)
}

/// What retention counts.
fn count(index: &Connection, calls: i64, bytes: i64) -> rusqlite::Result<()> {
    let mut add = index.prepare_cached("UPDATE meta SET value = value + ?2 WHERE name = ?1")?;
    if calls != 0 {
        add.execute(params!["calls", calls])?;
    }
    add.execute(params!["call_bytes", bytes])?;
    Ok(())
}

/// The call of an end that has none yet.
fn open_call(index: &Connection, event: &StoredEvent) -> rusqlite::Result<Option<i64>> {
    let (conversation, run, call) = ids(event);
    let of = numbers(index, conversation)?;
    let run_seq = run_seq(index, run, of, false)?.unwrap_or(0);
    index
        .prepare_cached(
            "SELECT seq FROM h_calls WHERE run_seq = ?1 AND call = ?2 AND run = ?3 AND end_seq IS NULL
             ORDER BY seq LIMIT 1",
        )?
        .query_row(params![run_seq, call, run], |row| row.get(0))
        .optional()
}

fn call_ended(
    index: &Connection,
    event: &StoredEvent,
    view: &View,
    call: Option<i64>,
) -> rusqlite::Result<()> {
    let Some(end) = CallEnd::of(event, view) else { return Ok(()) };
    let call = match call {
        Some(call) => call,
        // Its beginning is lost; its end is evidence all the same.
        None => {
            let tool = event.body.get("tool").and_then(serde_json::Value::as_str).unwrap_or_default();
            enter(index, event, tool, &host_history::fold(tool))?
        }
    };
    let is_own = i64::try_from(event.seq).is_ok_and(|seq| seq == call);
    let ended = Ended {
        state: end.state,
        code: end.code,
        end_seq: Some(event.seq),
        at: event.at,
        duration_ms: Some(end.duration_ms),
        recovered: false,
        text: end.text,
        bytes: if is_own { 0 } else { size(event) },
    };
    close(index, call, ended)
}

/// How a call ended.
struct Ended {
    state: &'static str,
    code: String,
    end_seq: Option<u64>,
    at: i64,
    duration_ms: Option<u64>,
    recovered: bool,
    text: String,
    bytes: i64,
}

/// Ends a call: only now can it be seen and found. A late end of one that its run had ended already fills it in.
fn close(index: &Connection, seq: i64, ended: Ended) -> rusqlite::Result<()> {
    let mut row = index.prepare_cached(
        "SELECT c.call, c.run, c.tool, c.isolated, c.nth, c.conversation, c.logical, s.name, c.state, t.text
         FROM h_calls c JOIN h_scopes s ON s.id = c.conversation JOIN h_call_texts t ON t.seq = c.seq
         WHERE c.seq = ?1",
    )?;
    let (call, run, tool, isolated, nth, own, logical, conversation, state, text) =
        row.query_row([seq], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, String>(2)?,
                row.get::<_, bool>(3)?,
                row.get::<_, u32>(4)?,
                row.get::<_, i64>(5)?,
                row.get::<_, i64>(6)?,
                row.get::<_, String>(7)?,
                row.get::<_, Option<String>>(8)?,
                row.get::<_, String>(9)?,
            ))
        })?;
    let conversation = (!conversation.is_empty()).then_some(conversation.as_str());
    let key = ended.end_seq.map(|_| {
        let record = record_id(conversation, &run, &call, Phase::Result.as_str(), nth);
        tokens::record_key(&record)
    });
    index
        .prepare_cached(
            "UPDATE h_calls SET state = ?2, code = ?3, end_seq = ?4, ended_at = ?5, duration_ms = ?6, recovered = ?7,
               result_key = ?8, bytes = bytes + ?9 WHERE seq = ?1",
        )?
        .execute(params![
            seq,
            ended.state,
            ended.code,
            ended.end_seq,
            ended.at,
            ended.duration_ms,
            ended.recovered,
            key,
            ended.bytes
        ])?;
    count(index, 0, ended.bytes)?;
    let text = format!("{text}\n{}", ended.text);
    let text = prefix(&text, CALL_TEXT_BYTES_MAX);
    index.prepare_cached("UPDATE h_call_texts SET text = ?2 WHERE seq = ?1")?.execute(params![seq, text])?;
    let mut grams = Grams::of_text(text);
    for token in [
        tokens::exact(own),
        tokens::logical(logical),
        tokens::tool(&tool),
        tokens::run(&run),
        tokens::state(ended.state),
        tokens::isolated(isolated).to_owned(),
    ] {
        grams.push_token(&token);
    }
    if state.is_some() {
        index.prepare_cached("DELETE FROM h_call_grams WHERE rowid = ?1")?.execute([seq])?;
    }
    index
        .prepare_cached("INSERT INTO h_call_grams(rowid, grams) VALUES(?1, ?2)")?
        .execute(params![seq, grams.tokens()])?;
    Ok(())
}
