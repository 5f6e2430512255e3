//! The runs, as a projection that is kept in the same transaction as their events, so that a list costs the
//! same at any size. It can be rebuilt from the events.

use host_vocab::{ConversationId, RunId};
use rusqlite::{Connection, Row, named_params};
use serde_json::Value;

/// How much of the user's input a summary shows, in characters.
const PREVIEW_CHARS_MAX: usize = 400;
/// The most runs of one page.
pub(crate) const PAGE_MAX: usize = 1000;

/// Which runs to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunQuery {
    /// Only those of this conversation.
    pub conversation: Option<ConversationId>,
    /// Whether the daily buckets of the conversation count as one (RUN-7).
    pub rollover: bool,
    /// Only those in this state: `running`, `succeeded`, `failed`, `cancelled` or `interrupted`.
    pub status: Option<String>,
    /// Only those that began before this event: [`RunSummary::started_seq`] of the last of the page before.
    pub before_seq: Option<u64>,
    /// How many at most, up to 1,000.
    pub limit: usize,
}

/// One run in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// The run.
    pub run: RunId,
    /// Its conversation; `None` where it belongs to none.
    pub conversation: Option<ConversationId>,
    /// `running`, `succeeded`, `failed`, `cancelled` or `interrupted`.
    pub status: String,
    /// The failure kind, where it failed.
    pub failure_kind: Option<String>,
    /// When it began, in Unix milliseconds.
    pub started_at: i64,
    /// When it ended, in Unix milliseconds.
    pub ended_at: Option<i64>,
    /// The channel or trigger kind.
    pub source: String,
    /// The job, endpoint or command.
    pub source_detail: Option<String>,
    /// The model reference that it began with.
    pub model: String,
    /// Whether it stands alone.
    pub isolated: bool,
    /// The beginning of what was said, at most 400 characters, redacted.
    pub user_input: String,
    /// What it used, once it ended.
    pub usage: Option<host_turn::Usage>,
    /// The incarnation of the process that runs or ran it (ENG-7).
    pub incarnation: String,
    /// The event that began it: the cursor of [`RunQuery::before_seq`].
    pub started_seq: u64,
}

/// Whether events of this kind change the projection.
pub(crate) fn is_projected(kind: &str) -> bool {
    matches!(kind, "run_started" | "run_settled")
}

/// Keeps the projection up to an event that was just appended.
pub(crate) fn project(
    conn: &Connection,
    seq: u64,
    at: i64,
    kind: &str,
    conversation: Option<&str>,
    run: Option<&str>,
    body: &Value,
) -> rusqlite::Result<()> {
    let Some(run) = run else { return Ok(()) };
    let conversation = conversation.unwrap_or("");
    match kind {
        "run_started" => started(conn, seq, at, conversation, run, body),
        "run_settled" => settled(conn, seq, at, conversation, run, body),
        _ => Ok(()),
    }
}

fn started(
    conn: &Connection,
    seq: u64,
    at: i64,
    conversation: &str,
    run: &str,
    body: &Value,
) -> rusqlite::Result<()> {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let preview: String = text("userInput").unwrap_or("").chars().take(PREVIEW_CHARS_MAX).collect();
    conn.prepare_cached(
        "INSERT OR REPLACE INTO runs(run, conversation, logical, started_seq, started_at, incarnation, source,
           source_detail, model, isolated, input_preview)
         VALUES(:run, :conversation, :logical, :seq, :at, :incarnation, :source, :detail, :model, :isolated, :preview)",
    )?
    .execute(named_params! {
        ":run": run,
        ":conversation": conversation,
        ":logical": crate::row::without_bucket(conversation),
        ":seq": seq,
        ":at": at,
        ":incarnation": text("incarnation").unwrap_or(""),
        ":source": text("source").unwrap_or(""),
        ":detail": text("sourceDetail"),
        ":model": text("model").unwrap_or(""),
        ":isolated": body.get("isolated").and_then(Value::as_bool).unwrap_or(false),
        ":preview": preview,
    })?;
    Ok(())
}

/// The first end counts: a run that was found dead stays interrupted.
fn settled(
    conn: &Connection,
    seq: u64,
    at: i64,
    conversation: &str,
    run: &str,
    body: &Value,
) -> rusqlite::Result<()> {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    conn.prepare_cached(
        "UPDATE runs SET settled_seq = :seq, ended_at = :at, status = :status, failure_kind = :failure, usage = :usage
         WHERE run = :run AND conversation = :conversation AND settled_seq IS NULL",
    )?
    .execute(named_params! {
        ":seq": seq,
        ":at": at,
        ":status": text("status").unwrap_or("failed"),
        ":failure": text("failureKind"),
        ":usage": body.get("usage").map(Value::to_string),
        ":run": run,
        ":conversation": conversation,
    })?;
    Ok(())
}

/// An event that the projection follows.
pub(crate) struct ProjectedEvent {
    seq: u64,
    at: i64,
    kind: String,
    conversation: Option<String>,
    run: Option<String>,
    body: Value,
}

impl ProjectedEvent {
    /// Brings the projection of a connection up to it.
    pub(crate) fn project(&self, conn: &Connection) -> rusqlite::Result<()> {
        let (conversation, run) = (self.conversation.as_deref(), self.run.as_deref());
        project(conn, self.seq, self.at, &self.kind, conversation, run, &self.body)
    }
}

/// Gives every event that the projection follows, in order.
pub(crate) fn each_event(
    conn: &Connection,
    mut each: impl FnMut(&ProjectedEvent) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut events = conn.prepare(
        "SELECT seq, at, kind, version, conversation, run, body FROM events
         WHERE kind IN ('run_started', 'run_settled') ORDER BY seq",
    )?;
    let mut rows = events.query([])?;
    while let Some(row) = rows.next()? {
        let (seq, at, kind): (u64, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let body: String = row.get(6)?;
        // A body that is no JSON is the chain check's to report; the projection goes on without it.
        let Ok(body) = serde_json::from_str(&body) else { continue };
        let body = host_event::upcast(&kind, row.get(3)?, body);
        each(&ProjectedEvent { seq, at, kind, conversation: row.get(4)?, run: row.get(5)?, body })?;
    }
    Ok(())
}

/// Makes the projection anew from the events, within a transaction of the caller's.
pub(crate) fn rebuild(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute("DELETE FROM runs", [])?;
    each_event(conn, |event| event.project(conn))
}

/// Answers a query.
pub(crate) fn list(conn: &Connection, query: &RunQuery) -> rusqlite::Result<Vec<RunSummary>> {
    let (sql, values) = sql_of(query);
    let mut statement = conn.prepare_cached(&sql)?;
    statement.query_map(rusqlite::params_from_iter(values), summary)?.collect()
}

/// The statement of a query, and what it binds.
fn sql_of(query: &RunQuery) -> (String, Vec<rusqlite::types::Value>) {
    let mut sql =
        "SELECT run, conversation, status, failure_kind, started_at, ended_at, source, source_detail, model,
                     isolated, input_preview, usage, incarnation, started_seq
                   FROM runs WHERE started_seq < ?1"
            .to_owned();
    let before = query.before_seq.and_then(|seq| i64::try_from(seq).ok()).unwrap_or(i64::MAX);
    let limit = i64::try_from(query.limit.min(PAGE_MAX)).unwrap_or(0);
    let mut values: Vec<rusqlite::types::Value> = vec![before.into(), limit.into()];
    if let Some(conversation) = &query.conversation {
        sql.push_str(" AND logical = ?3");
        values.push(conversation.without_bucket().to_owned().into());
        if !query.rollover {
            sql.push_str(" AND conversation = ?4");
            values.push(conversation.as_str().to_owned().into());
        }
    }
    match query.status.as_deref() {
        None => {}
        Some("running") => sql.push_str(" AND status IS NULL"),
        Some(status) => {
            values.push(status.to_owned().into());
            sql.push_str(&format!(" AND status = ?{}", values.len()));
        }
    }
    sql.push_str(" ORDER BY started_seq DESC LIMIT ?2");
    (sql, values)
}

fn summary(row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    let id = |i: usize| {
        move |e: host_vocab::IdError| {
            rusqlite::Error::FromSqlConversionFailure(i, rusqlite::types::Type::Text, Box::new(e))
        }
    };
    let conversation: String = row.get(1)?;
    let conversation = if conversation.is_empty() {
        None
    } else {
        Some(ConversationId::parse(conversation).map_err(id(1))?)
    };
    Ok(RunSummary {
        run: RunId::parse(row.get::<_, String>(0)?).map_err(id(0))?,
        conversation,
        status: row.get::<_, Option<String>>(2)?.unwrap_or_else(|| "running".to_owned()),
        failure_kind: row.get(3)?,
        started_at: row.get(4)?,
        ended_at: row.get(5)?,
        source: row.get(6)?,
        source_detail: row.get(7)?,
        model: row.get(8)?,
        isolated: row.get(9)?,
        user_input: row.get(10)?,
        usage: row.get::<_, Option<String>>(11)?.and_then(|json| serde_json::from_str(&json).ok()),
        incarnation: row.get(12)?,
        started_seq: row.get(13)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_from_an_index_and_never_sorted() {
        // RUN-11: the cost of a list does not grow with the log.
        let conn = crate::schema::in_memory();
        let of = ConversationId::parse("web:a").ok();
        for conversation in [None, of] {
            for status in [None, Some("running"), Some("failed")] {
                for rollover in [false, true] {
                    let status = status.map(str::to_owned);
                    let conversation = conversation.clone();
                    let query = RunQuery { conversation, rollover, status, before_seq: Some(9), limit: 10 };
                    let (sql, values) = sql_of(&query);
                    let mut plan = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
                    let steps: Vec<String> = plan
                        .query_map(rusqlite::params_from_iter(values), |row| row.get(3))
                        .unwrap()
                        .collect::<Result<_, _>>()
                        .unwrap();
                    assert_eq!(steps.len(), 1, "{query:?}: {steps:?}");
                    assert!(steps[0].starts_with("SEARCH runs USING INDEX"), "{query:?}: {steps:?}");
                }
            }
        }
    }
}
