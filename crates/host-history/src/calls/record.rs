//! The text of a record.

use crate::error::HistoryError;
use crate::store::{CallRow, HistoryStore, Phase};
use crate::view::{NESTED, View, clip, is_history};
use host_event::{Fact, StoredEvent};
use host_redact::Omission;
use serde_json::{Value, json};

/// A record, as it may be shown, whole.
pub(super) struct Payload {
    pub(super) text: String,
    /// `json` or `text`.
    pub(super) format: &'static str,
    /// How large the result was before anything bounded it, in bytes.
    pub(super) original_bytes: Option<u64>,
    /// Whether the log holds less than the whole.
    pub(super) truncated: bool,
    /// Opaque ids of output that was kept apart.
    pub(super) kept: Vec<String>,
}

impl Payload {
    fn json(value: &Value) -> Self {
        Payload {
            text: value.to_string(),
            format: "json",
            original_bytes: None,
            truncated: false,
            kept: Vec::new(),
        }
    }
}

/// Reads a record of a call; `None` where the call has none of that phase.
pub(super) fn read(
    store: &dyn HistoryStore,
    view: &View,
    call: &CallRow,
    phase: Phase,
) -> Result<Option<Payload>, HistoryError> {
    let seq = match phase {
        Phase::Invocation => Some(call.seq),
        Phase::Result => call.end_seq,
    };
    let Some(seq) = seq else { return Ok(None) };
    // Retention may have been faster than the index.
    let event = store.event(seq)?.ok_or(HistoryError::NotFound)?;
    Ok(match phase {
        Phase::Invocation => invocation(&event, view),
        Phase::Result => result(&event, view),
    })
}

fn invocation(event: &StoredEvent, view: &View) -> Option<Payload> {
    let Some(Fact::CallStarted { tool, arguments, .. } | Fact::CallRefused { tool, arguments, .. }) =
        &event.fact
    else {
        return None;
    };
    let shown = view.value(arguments.clone(), Omission::ToolResult);
    let tool = view.text(tool, Omission::Diagnostic);
    Some(Payload::json(&json!({"tool": tool, "arguments": shown})))
}

fn result(event: &StoredEvent, view: &View) -> Option<Payload> {
    match &event.fact {
        Some(Fact::CallRefused { code, by, why, .. }) => {
            let shown = json!({"code": code, "refusedBy": by, "why": view.text(why, Omission::Diagnostic)});
            Some(Payload::json(&shown))
        }
        Some(Fact::CallSettled {
            tool,
            content,
            structured,
            outcome,
            original_bytes,
            truncated,
            kept,
            ..
        }) => {
            let mut payload = match view.result(tool, content, structured.as_ref()) {
                Value::String(marker) => plain(marker),
                Value::Object(mut map) if map.len() == 1 && outcome.is_none() => plain(
                    map.shift_remove("text")
                        .and_then(|it| it.as_str().map(str::to_owned))
                        .unwrap_or_default(),
                ),
                mut shown => {
                    if let (Some(map), Some(outcome)) = (shown.as_object_mut(), outcome) {
                        map.insert("outcome".into(), view.value(outcome.clone(), Omission::ToolResult));
                    }
                    Payload::json(&shown)
                }
            };
            payload.original_bytes = Some(*original_bytes);
            payload.truncated = *truncated;
            payload.kept = kept.clone();
            Some(payload)
        }
        _ => None,
    }
}

fn plain(text: String) -> Payload {
    Payload { text, format: "text", original_bytes: None, truncated: false, kept: Vec::new() }
}

/// The beginnings of both records, at most `bytes_max` bytes in all.
pub(super) fn preview(
    store: &dyn HistoryStore,
    view: &View,
    call: &CallRow,
    bytes_max: usize,
) -> Result<String, HistoryError> {
    if bytes_max == 0 {
        return Ok(String::new());
    }
    let text = |phase| -> Result<String, HistoryError> {
        match read(store, view, call, phase) {
            Ok(payload) => Ok(payload.map(|it| it.text).unwrap_or_default()),
            Err(HistoryError::NotFound) => Ok(String::new()),
            Err(error) => Err(error),
        }
    };
    let asked = if is_history(&call.tool) { NESTED.to_owned() } else { text(Phase::Invocation)? };
    let came = text(Phase::Result)?;
    let asked = clip(&asked, bytes_max * 2 / 5);
    let room = bytes_max.saturating_sub(asked.len() + 4);
    let came = clip(&came, room);
    Ok(if came.is_empty() { asked } else { format!("{asked}\n→ {}", came) })
}
