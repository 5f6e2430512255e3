//! The turns of a conversation, oldest first, for people: what was said, what was called, what was answered.

use crate::store::{HistoryStore, RunListQuery, RunRow, ScopeFilter};
use crate::view::View;
use host_event::Fact;
use host_ports::log::LogError;
use host_redact::Omission;
use serde::Serialize;

/// The most turns of a page.
pub const TURNS_MAX: usize = 100;
/// How many events of a turn are read.
const EVENTS_MAX: usize = 2000;
/// The longest text of a turn, in bytes.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// One turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptTurn {
    /// The run.
    pub run: String,
    /// The exact conversation, as it may be shown.
    pub conversation: Option<String>,
    /// When it began, in Unix milliseconds.
    pub at_ms: i64,
    /// How it ended, or `running`.
    pub status: String,
    /// What was said.
    pub user: String,
    /// The calls in order.
    pub calls: Vec<TranscriptCall>,
    /// What was answered.
    pub assistant: String,
    /// Whether not every event was looked at.
    pub incomplete: bool,
}

/// One call of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptCall {
    /// The tool.
    pub tool: String,
    /// How it ended; `interrupted` where nothing says.
    pub settled: String,
    /// Its code.
    pub code: String,
}

/// A page of turns, and what comes before it.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Transcript {
    /// The turns, oldest first.
    pub turns: Vec<TranscriptTurn>,
    /// Where older turns are: give it back as `before`.
    pub before: Option<u64>,
}

/// The newest turns in scope, running ones too, that began before the event `before`, at most `turns_max` (up to 100). Blocks.
///
/// # Errors
/// See [`LogError`].
pub fn transcript(
    store: &dyn HistoryStore,
    view: &View,
    scope: &ScopeFilter,
    before: Option<u64>,
    turns_max: usize,
) -> Result<Transcript, LogError> {
    let limit = turns_max.clamp(1, TURNS_MAX);
    // Running ones too: what a person just said must not be missing from what they see.
    let status = Some("any".to_owned());
    let query = RunListQuery { scope: scope.clone(), before, status, limit: limit + 1 };
    let mut rows = store.list_runs(&query)?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let before = rows.last().filter(|_| more).map(|row| row.seq);
    let turns = rows.iter().rev().map(|row| turn(store, view, row)).collect::<Result<_, _>>()?;
    Ok(Transcript { turns, before })
}

fn turn(store: &dyn HistoryStore, view: &View, row: &RunRow) -> Result<TranscriptTurn, LogError> {
    let events = store.events_of(row, row.seq.saturating_sub(1), EVENTS_MAX)?;
    let show = |text: &str| view.clipped(text, Omission::Diagnostic, TEXT_BYTES_MAX);
    let mut turn = TranscriptTurn {
        run: row.run.to_string(),
        conversation: row.conversation.as_ref().map(|id| show(id.as_str())),
        at_ms: row.started_at,
        status: row.status.clone(),
        user: show(&row.user_input),
        calls: Vec::new(),
        assistant: String::new(),
        incomplete: events.len() == EVENTS_MAX,
    };
    for event in &events {
        match &event.fact {
            Some(Fact::RunStarted { user_input, .. }) => turn.user = show(user_input),
            Some(Fact::CallStarted { tool, .. }) => turn.calls.push(TranscriptCall {
                tool: show(tool),
                settled: "interrupted".to_owned(),
                code: String::new(),
            }),
            Some(Fact::CallRefused { tool, code, .. }) => {
                turn.calls.push(TranscriptCall {
                    tool: show(tool),
                    settled: "refused".to_owned(),
                    code: show(code),
                });
            }
            Some(Fact::CallSettled { tool, settled, code, .. }) => {
                let shown = show(tool);
                let open = turn.calls.iter_mut().find(|call| call.code.is_empty() && call.tool == shown);
                if let Some(call) = open {
                    (call.settled, call.code) = (settled.clone(), show(code));
                }
            }
            Some(Fact::RunSettled { text, .. }) => turn.assistant = show(text),
            _ => {}
        }
    }
    Ok(turn)
}
