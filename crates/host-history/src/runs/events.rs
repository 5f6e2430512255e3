//! One event of a run, as it may be shown.

use crate::time::rfc3339;
use crate::view::{NESTED, View, clip, is_history};
use host_event::{Fact, StoredEvent};
use host_redact::Omission;
use host_turn::Ending;
use host_vocab::Block;
use serde_json::{Map, Value, json};

/// The longest text of one entry, in bytes.
const TEXT_BYTES_MAX: usize = 1400;

/// The longest name of a tool, in bytes, and how many of them an answer shows.
const NAME_BYTES_MAX: usize = 100;
const NAMES_MAX: usize = 24;

/// The entry of a timeline; `None` for what is not shown there.
pub(super) fn entry(event: &StoredEvent, view: &View) -> Option<Value> {
    let fact = event.fact.as_ref()?;
    let mut shown = Map::new();
    shown.insert("at".into(), rfc3339(event.at).into());
    let mut put = |name: &str, value: Value| {
        shown.insert(name.into(), value);
    };
    let say = |text: &str| Value::String(view.clipped(text, Omission::Diagnostic, TEXT_BYTES_MAX));
    match fact {
        Fact::ModelAnswered { text, calls, finish, model, .. } => {
            put("type", "assistant".into());
            put("model", say(model));
            put("text", say(text));
            if !calls.is_empty() {
                let name =
                    |text: &str| Value::String(view.clipped(text, Omission::Diagnostic, NAME_BYTES_MAX));
                let names: Vec<Value> = calls.iter().take(NAMES_MAX).map(|call| name(&call.name)).collect();
                put("calls", names.into());
            }
            put("finish", say(finish));
        }
        Fact::ModelFailed { model, failure_kind, error, then, partial_text, .. } => {
            put("type", "model_failure".into());
            put("model", say(model));
            put("failureKind", say(failure_kind));
            put("error", say(error));
            put("then", say(then));
            if !partial_text.is_empty() {
                put("partialText", say(partial_text));
            }
        }
        Fact::CallRefused { tool, code, by, why, arguments, .. } => {
            put("type", "tool_refused".into());
            put("tool", say(tool));
            put("code", say(code));
            put("by", say(by));
            put("why", say(why));
            put("arguments", arguments_of(tool, arguments, view));
        }
        Fact::ApprovalAsked { tool, rule } => {
            put("type", "approval_asked".into());
            put("tool", say(tool));
            put("rule", say(rule));
        }
        Fact::ApprovalAnswered { tool, answer, .. } => {
            put("type", "approval_answered".into());
            put("tool", say(tool));
            put("answer", say(answer));
        }
        Fact::CallStarted { tool, arguments, .. } => {
            put("type", "tool_call".into());
            put("tool", say(tool));
            put("arguments", arguments_of(tool, arguments, view));
        }
        Fact::CallSettled { tool, settled, code, content, structured, duration_ms, truncated, .. } => {
            put("type", "tool_result".into());
            put("tool", say(tool));
            put("settled", say(settled));
            put("code", say(code));
            put("durationMs", (*duration_ms).into());
            if *truncated {
                put("truncated", true.into());
            }
            put("result", result_of(tool, content, structured.as_ref(), view));
        }
        Fact::SessionBoundary { boundary, reason } => {
            put("type", "session_boundary".into());
            put("boundary", say(boundary));
            put("reason", say(reason));
        }
        Fact::ContextCompacted { tokens_before, tokens_after, .. } => {
            put("type", "context_compacted".into());
            put("tokensBefore", (*tokens_before).into());
            put("tokensAfter", (*tokens_after).into());
        }
        Fact::Warning { code, message } => {
            put("type", "warning".into());
            put("code", say(code));
            put("message", say(message));
        }
        Fact::RunSettled { ending, text, .. } => {
            put("type", "run_settled".into());
            put("status", ending.status().into());
            if let Ending::Failed { kind, error } = ending {
                put("failureKind", kind.to_string().into());
                put("error", say(error));
            }
            put("text", say(text));
        }
        // What was said opens the overview; requests to a model say nothing more.
        Fact::HostStarted { .. }
        | Fact::HostStopped { .. }
        | Fact::RunStarted { .. }
        | Fact::ModelAsked { .. } => {
            return None;
        }
    }
    Some(Value::Object(shown))
}

/// Arguments within the bound of an entry: as they are where they fit, else their beginning as text.
fn arguments_of(tool: &str, arguments: &Value, view: &View) -> Value {
    if is_history(tool) {
        return json!({"omitted": NESTED});
    }
    fitting(view.value(arguments.clone(), Omission::ToolResult))
}

fn result_of(tool: &str, content: &[Block], structured: Option<&Value>, view: &View) -> Value {
    match view.result(tool, content, structured) {
        Value::Object(mut map) if map.len() == 1 => {
            let text = map
                .shift_remove("text")
                .and_then(|text| text.as_str().map(str::to_owned))
                .unwrap_or_default();
            Value::String(clip(&text, TEXT_BYTES_MAX))
        }
        other => fitting(other),
    }
}

fn fitting(value: Value) -> Value {
    let whole = value.to_string();
    if whole.len() <= TEXT_BYTES_MAX { value } else { Value::String(clip(&whole, TEXT_BYTES_MAX)) }
}
