//! Calls as rows.

use super::run_rows::{conversation, run_id};
use super::scope::Numbers;
use host_history::{CallRow, Phase, record_id};
use rusqlite::Row;

/// The columns that [`call`] reads, in their order, of `h_calls c` and `h_scopes s`.
pub(super) const COLUMNS: &str = "c.seq, c.end_seq, c.call, c.run, s.name, c.isolated, c.tool, c.state, c.code, \
    c.started_at, c.ended_at, c.duration_ms, c.recovered, c.nth, c.conversation, c.logical";

/// A completed call, with its conversation's numbers.
pub(super) fn call(row: &Row<'_>) -> rusqlite::Result<(CallRow, Numbers)> {
    let (call, run, nth): (String, _, u32) = (row.get(2)?, run_id(row, 3)?, row.get(13)?);
    let conversation = conversation(row, 4)?;
    let end_seq: Option<u64> = row.get(1)?;
    let record = |phase: Phase| {
        let conversation = conversation.as_ref().map(|id| id.as_str());
        record_id(conversation, run.as_str(), &call, phase.as_str(), nth)
    };
    let (invocation, result) = (record(Phase::Invocation), end_seq.map(|_| record(Phase::Result)));
    let found = CallRow {
        seq: row.get(0)?,
        end_seq,
        call,
        run,
        conversation,
        isolated: row.get(5)?,
        tool: row.get(6)?,
        state: row.get(7)?,
        code: row.get(8)?,
        started_at: row.get(9)?,
        ended_at: row.get(10)?,
        duration_ms: row.get(11)?,
        recovered: row.get(12)?,
        invocation,
        result,
    };
    Ok((found, Numbers { conversation: row.get(14)?, logical: row.get(15)? }))
}
