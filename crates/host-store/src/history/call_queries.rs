//! Questions about calls.

use super::call_rows::{COLUMNS, call};
use super::find::{Pattern, holds};
use super::scope::{Numbers, Within};
use super::tokens;
use host_history::{CallQuery, CallRow, Phase, Record, ScopeFilter};
use host_vocab::{ConversationId, RunId};
use rusqlite::{Connection, named_params, params};

/// How many candidates one search looks at.
const LOOKS_MAX: usize = 50_000;

pub(super) fn search(index: &Connection, query: &CallQuery) -> rusqlite::Result<Vec<CallRow>> {
    let within = Within::of(index, &query.scope)?;
    if within == Within::Nothing {
        return Ok(Vec::new());
    }
    let plain =
        query.terms.is_empty() && query.tools.is_empty() && query.states.is_empty() && query.runs.is_empty();
    if plain { newest_first(index, query, within) } else { by_grams(index, query, within) }
}

/// Without words and lists the rows themselves stand in the right order.
fn newest_first(index: &Connection, query: &CallQuery, within: Within) -> rusqlite::Result<Vec<CallRow>> {
    let scope = match within {
        Within::Everything => ":logical IS NULL AND :conversation IS NULL",
        within => within.clause(),
    };
    let scope = scope.replace("logical =", "c.logical =").replace("conversation =", "c.conversation =");
    let mut rows = index.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM h_calls c JOIN h_scopes s ON s.id = c.conversation
         WHERE {scope} AND c.state IS NOT NULL AND c.seq < :before AND (:isolated OR c.isolated = 0)
           AND c.started_at >= :from AND c.started_at <= :to
         ORDER BY c.seq DESC"
    ))?;
    let mut rows = rows.query(named_params! {
        ":logical": within.logical(),
        ":conversation": within.conversation(),
        ":before": before(query.before),
        ":isolated": query.isolated,
        ":from": query.from_ms.unwrap_or(i64::MIN),
        ":to": query.to_ms.unwrap_or(i64::MAX),
    })?;
    let mut found = Vec::new();
    while found.len() < query.limit
        && let Some(row) = rows.next()?
    {
        let (row, numbers) = call(row)?;
        if fits(query, within, &row, numbers) {
            found.push(row);
        }
    }
    Ok(found)
}

fn by_grams(index: &Connection, query: &CallQuery, within: Within) -> rusqlite::Result<Vec<CallRow>> {
    let mut pattern = Pattern::default();
    query.terms.iter().for_each(|term| pattern.term(term));
    pattern.any(query.runs.iter().map(|run| tokens::run(run)));
    pattern.any(query.tools.iter().map(|tool| tokens::tool(tool)));
    pattern.any(query.states.iter().map(|state| tokens::state(state)));
    if let Some(token) = within.token() {
        pattern.token(token);
    }
    if !query.isolated {
        pattern.token(tokens::isolated(false));
    }
    let mut candidates = index.prepare_cached(
        "SELECT rowid FROM h_call_grams WHERE h_call_grams MATCH ?1 AND rowid < ?2 ORDER BY rowid DESC",
    )?;
    let mut rows = candidates.query(params![pattern.text().unwrap_or_default(), before(query.before)])?;
    let (mut found, mut looks) = (Vec::new(), 0);
    while found.len() < query.limit
        && looks < LOOKS_MAX
        && let Some(row) = rows.next()?
    {
        looks += 1;
        let seq: i64 = row.get(0)?;
        if let Some((row, numbers)) = one(index, "c.seq = ?1", seq)?
            && fits(query, within, &row, numbers)
            && holds_all(index, seq, &query.terms)?
        {
            found.push(row);
        }
    }
    Ok(found)
}

fn one(index: &Connection, clause: &str, value: i64) -> rusqlite::Result<Option<(CallRow, Numbers)>> {
    let mut row = index.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM h_calls c JOIN h_scopes s ON s.id = c.conversation
         WHERE {clause} AND c.state IS NOT NULL"
    ))?;
    row.query_map([value], call)?.next().transpose()
}

fn holds_all(index: &Connection, seq: i64, terms: &[String]) -> rusqlite::Result<bool> {
    if terms.is_empty() {
        return Ok(true);
    }
    let mut text = index.prepare_cached("SELECT text FROM h_call_texts WHERE seq = ?1")?;
    let mut rows = text.query([seq])?;
    let Some(row) = rows.next()? else { return Ok(false) };
    let text = row.get_ref(0)?.as_str()?;
    Ok(terms.iter().all(|term| holds(text, term)))
}

/// Whether a call fits everything but the words.
fn fits(query: &CallQuery, within: Within, row: &CallRow, numbers: Numbers) -> bool {
    let one_of = |list: &[String], value: &str| list.is_empty() || list.iter().any(|it| it == value);
    let own = query
        .without
        .as_ref()
        .is_some_and(|(conversation, run)| row.run == *run && row.conversation == *conversation);
    within.holds(numbers)
        && !own
        && (query.isolated || !row.isolated)
        && one_of(&query.tools, &row.tool)
        && one_of(&query.states, &row.state)
        && one_of(&query.runs, row.run.as_str())
        && query.from_ms.is_none_or(|from| row.started_at >= from)
        && query.to_ms.is_none_or(|to| row.started_at <= to)
}

fn before(seq: Option<u64>) -> i64 {
    seq.and_then(|seq| i64::try_from(seq).ok()).unwrap_or(i64::MAX)
}

pub(super) fn record(
    index: &Connection,
    scope: &ScopeFilter,
    record: &str,
) -> rusqlite::Result<Option<Record>> {
    let within = Within::of(index, scope)?;
    let key = tokens::record_key(record);
    for (clause, phase) in
        [("c.result_key = ?1", Phase::Result), ("c.invocation_key = ?1", Phase::Invocation)]
    {
        if let Some((call, numbers)) = one(index, clause, key)? {
            let named = match phase {
                Phase::Result => call.result.as_deref(),
                Phase::Invocation => Some(call.invocation.as_str()),
            };
            let same = named == Some(record);
            return Ok((same && within.holds(numbers)).then_some(Record { call, phase }));
        }
    }
    Ok(None)
}

pub(super) fn newest(
    index: &Connection,
    scope: &ScopeFilter,
    id: &str,
    isolated: bool,
    without: &(Option<ConversationId>, RunId),
) -> rusqlite::Result<Option<CallRow>> {
    let within = Within::of(index, scope)?;
    let Some(logical) = within.logical() else { return Ok(None) };
    let mut rows = index.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM h_calls c JOIN h_scopes s ON s.id = c.conversation
         WHERE c.logical = ?1 AND c.call = ?2 AND c.state IS NOT NULL ORDER BY c.seq DESC"
    ))?;
    let mut rows = rows.query(params![logical, id])?;
    let mut looks = 0;
    while looks < LOOKS_MAX
        && let Some(row) = rows.next()?
    {
        looks += 1;
        let (row, numbers) = call(row)?;
        let own = row.run == without.1 && row.conversation == without.0;
        if within.holds(numbers) && !own && (isolated || !row.isolated) {
            return Ok(Some(row));
        }
    }
    Ok(None)
}
