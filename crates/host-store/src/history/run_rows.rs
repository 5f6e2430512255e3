//! Runs as rows.

use host_history::RunRow;
use host_vocab::{ConversationId, RunId};
use rusqlite::Row;

/// The columns that [`run`] reads, in their order, of `h_runs r` and `h_scopes s`.
pub(super) const COLUMNS: &str = "r.seq, r.settled_seq, r.run, s.name, r.isolated, r.status, r.failure_kind, \
    r.started_at, r.ended_at, r.duration_ms, r.source, r.source_detail, r.model, r.effort, r.input, r.usage";

/// A run.
pub(super) fn run(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    Ok(RunRow {
        seq: row.get(0)?,
        settled_seq: row.get(1)?,
        run: run_id(row, 2)?,
        conversation: conversation(row, 3)?,
        isolated: row.get(4)?,
        status: row.get::<_, Option<String>>(5)?.unwrap_or_else(|| "running".to_owned()),
        failure_kind: row.get(6)?,
        started_at: row.get(7)?,
        ended_at: row.get(8)?,
        duration_ms: row.get(9)?,
        source: row.get(10)?,
        source_detail: row.get(11)?,
        model: row.get(12)?,
        effort: row.get(13)?,
        user_input: row.get(14)?,
        usage: row.get::<_, Option<String>>(15)?.and_then(|json| serde_json::from_str(&json).ok()),
    })
}

/// A run's id.
pub(super) fn run_id(row: &Row<'_>, at: usize) -> rusqlite::Result<RunId> {
    RunId::parse(row.get::<_, String>(at)?).map_err(|error| wrong(at, error))
}

/// A conversation's id; the empty one is none.
pub(super) fn conversation(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<ConversationId>> {
    let name: String = row.get(at)?;
    if name.is_empty() {
        return Ok(None);
    }
    ConversationId::parse(name).map(Some).map_err(|error| wrong(at, error))
}

fn wrong(at: usize, error: host_vocab::IdError) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, Box::new(error))
}
