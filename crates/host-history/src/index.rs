//! What the store's index holds of an event: the fields of lists, and the text that searches match. Both are
//! made here, so that the store only keeps them.

use crate::fold::fold;
use crate::time::rfc3339;
use crate::view::{View, is_history};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use host_event::{Fact, StoredEvent};
use host_redact::Omission;
use host_turn::Ending;
use host_vocab::text;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// How much of what was said a list shows, in bytes.
const INPUT_BYTES_MAX: usize = 600;
/// How much of what was said can be searched, in bytes.
pub const RUN_TEXT_BYTES_MAX: usize = 8 * 1024;
/// How much of a call can be searched, in bytes.
pub const CALL_TEXT_BYTES_MAX: usize = 64 * 1024;
/// How deep values are read for their text.
const DEPTH_MAX: usize = 32;

/// The beginning of a run, as the index holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStart {
    /// The channel or trigger kind.
    pub source: String,
    /// The job, endpoint or command.
    pub source_detail: Option<String>,
    /// The model reference.
    pub model: String,
    /// The effort.
    pub effort: Option<String>,
    /// Whether it stands alone.
    pub isolated: bool,
    /// The beginning of what was said, as lists show it.
    pub input: String,
    /// The folded text that searches match.
    pub text: String,
}

/// The end of a run, as the index holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    /// `succeeded`, `failed`, `cancelled` or `interrupted`.
    pub status: String,
    /// The failure kind.
    pub failure_kind: Option<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// What it used, as JSON.
    pub usage: String,
    /// The folded text that searches match besides that of the beginning.
    pub text: String,
}

/// The beginning of a call, or one that was refused.
#[derive(Debug, Clone, PartialEq)]
pub struct CallStart {
    /// The tool.
    pub tool: String,
    /// The folded text that searches match.
    pub text: String,
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallEnd {
    /// The terminal state.
    pub state: &'static str,
    /// The code.
    pub code: String,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
    /// The folded text that searches match besides that of the beginning.
    pub text: String,
}

/// The text of a run that searches match, from its beginning: never prompts, reasoning, memory or output (RUN-5).
pub fn run_text(event: &StoredEvent, view: &View) -> Option<RunStart> {
    let Some(Fact::RunStarted { source, source_detail, user_input, model, effort, isolated, .. }) =
        &event.fact
    else {
        return None;
    };
    let said = view.text(user_input, Omission::Diagnostic);
    let detail = source_detail.as_deref().map(|detail| view.text(detail, Omission::Diagnostic));
    let run = event.scope.run.as_ref().map(|run| run.as_str()).unwrap_or_default();
    let fields = [
        text::prefix(&said, RUN_TEXT_BYTES_MAX),
        run,
        &rfc3339(event.at),
        source,
        detail.as_deref().unwrap_or_default(),
        model,
        effort.as_deref().unwrap_or_default(),
    ];
    Some(RunStart {
        source: source.clone(),
        source_detail: detail.clone(),
        model: model.clone(),
        effort: effort.clone(),
        isolated: *isolated,
        input: crate::view::clip(&said, INPUT_BYTES_MAX),
        text: fold(&fields.join("\n")),
    })
}

impl RunEnd {
    /// The end of a run, where the event is one.
    pub fn of(event: &StoredEvent) -> Option<Self> {
        let Some(Fact::RunSettled { ending, usage, duration_ms, .. }) = &event.fact else { return None };
        let failure_kind = match ending {
            Ending::Failed { kind, .. } | Ending::Interrupted { kind } => Some(kind.to_string()),
            Ending::Succeeded | Ending::Cancelled => None,
        };
        let status = ending.status().to_owned();
        let words = [rfc3339(event.at), status.clone(), failure_kind.clone().unwrap_or_default()];
        Some(RunEnd {
            text: fold(&words.join("\n")),
            status,
            failure_kind,
            duration_ms: *duration_ms,
            usage: json!(usage).to_string(),
        })
    }
}

/// The text of a call that searches match, from its beginning or its refusal.
pub fn call_text(event: &StoredEvent, view: &View) -> Option<CallStart> {
    let (tool, arguments) = match &event.fact {
        Some(Fact::CallStarted { tool, arguments, .. } | Fact::CallRefused { tool, arguments, .. }) => {
            (tool, arguments)
        }
        _ => return None,
    };
    let mut words = format!("{}\n", view.text(tool, Omission::Diagnostic));
    gather(&view.value(arguments.clone(), Omission::ToolResult), &mut words, 0);
    Some(CallStart { tool: tool.clone(), text: fold(text::prefix(&words, CALL_TEXT_BYTES_MAX)) })
}

impl CallEnd {
    /// The end of a call, where the event is one.
    pub fn of(event: &StoredEvent, view: &View) -> Option<Self> {
        let mut words = String::new();
        let (state, code, duration_ms) = match &event.fact {
            Some(Fact::CallRefused { code, why, .. }) => {
                words.push_str(&view.text(why, Omission::Diagnostic));
                (state_of("refused", code, None), code, 0)
            }
            Some(Fact::CallSettled {
                tool,
                settled,
                code,
                content,
                structured,
                outcome,
                duration_ms,
                ..
            }) => {
                if !is_history(tool) {
                    gather(&view.result(tool, content, structured.as_ref()), &mut words, 0);
                }
                (state_of(settled, code, outcome.as_ref()), code, *duration_ms)
            }
            _ => return None,
        };
        words.push('\n');
        words.push_str(code);
        Some(CallEnd {
            state,
            code: code.clone(),
            duration_ms,
            text: fold(text::prefix(&words, CALL_TEXT_BYTES_MAX)),
        })
    }
}

/// The terminal state of a call that ended by itself.
fn state_of(settled: &str, code: &str, outcome: Option<&Value>) -> &'static str {
    let inner = outcome.and_then(|it| it.get("code")).and_then(Value::as_str);
    let code = if code == "ok" { inner.unwrap_or(code) } else { code };
    match (settled, code) {
        (_, "aborted" | "cancelled") => "cancelled",
        ("refused", _) => "rejected",
        (_, "timeout" | "deadline_exceeded") => "timeout",
        (_, "nonzero_exit") => "exit_nonzero",
        (_, "signal") => "signal",
        ("done", _) => "success",
        _ => "error",
    }
}

/// The terminal state of a call that has no end of its own, by the status of its run.
pub fn leftover_state(run_status: &str) -> &'static str {
    if run_status == "cancelled" { "cancelled" } else { "interrupted" }
}

/// The id of a record. `nth` tells calls apart that a provider gave the same id within one run.
pub fn record_id(conversation: Option<&str>, run: &str, call: &str, phase: &str, nth: u32) -> String {
    let named = match nth {
        0 => json!([conversation, run, call, phase]),
        nth => json!([conversation, run, call, phase, nth]),
    };
    format!("sth1_{}", URL_SAFE_NO_PAD.encode(Sha256::digest(named.to_string())))
}

fn gather(value: &Value, words: &mut String, depth: usize) {
    if depth > DEPTH_MAX || words.len() >= CALL_TEXT_BYTES_MAX {
        return;
    }
    let mut push = |more: &str| {
        let room = CALL_TEXT_BYTES_MAX.saturating_sub(words.len());
        words.push_str(text::prefix(more, room));
        words.push('\n');
    };
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => push(&number.to_string()),
        Value::String(string) => push(string),
        Value::Array(items) => items.iter().for_each(|item| gather(item, words, depth + 1)),
        Value::Object(map) => {
            for (key, item) in map {
                words.push_str(text::prefix(key, 256));
                words.push('\n');
                gather(item, words, depth + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states() {
        // HIS-3
        for (settled, code, outcome, state) in [
            ("done", "ok", None, "success"),
            ("done", "ok", Some(json!({"code":"nonzero_exit"})), "exit_nonzero"),
            ("done", "ok", Some(json!({"code":"ok"})), "success"),
            ("failed", "timeout", None, "timeout"),
            ("unknown", "deadline_exceeded", None, "timeout"),
            ("failed", "signal", None, "signal"),
            ("failed", "not_found", None, "error"),
            ("failed", "aborted", None, "cancelled"),
            ("refused", "tool_denied", None, "rejected"),
            ("refused", "aborted", None, "cancelled"),
        ] {
            assert_eq!(state_of(settled, code, outcome.as_ref()), state, "{settled} {code}");
        }
        assert_eq!(
            (leftover_state("cancelled"), leftover_state("interrupted")),
            ("cancelled", "interrupted")
        );
    }

    #[test]
    fn record_ids_are_stable_and_differ() {
        let id = |nth| record_id(Some("web:a"), "r1", "c1", "result", nth);
        assert!(id(0).starts_with("sth1_") && id(0).len() == 48, "{}", id(0));
        assert_ne!(id(0), id(1));
        assert_ne!(id(0), record_id(Some("web:a"), "r1", "c1", "invocation", 0));
        assert_ne!(record_id(None, "r1", "c1", "result", 0), record_id(Some(""), "r1", "c1", "result", 0));
    }
}
