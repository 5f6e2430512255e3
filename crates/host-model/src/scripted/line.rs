//! One line of a script.

use super::expect::Expectation;
use host_ports::model::{FinishReason, ModelError};
use host_turn::FailureKind;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// The longest line, in bytes.
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A turn of the model.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) text: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) chunks: Vec<String>,
    pub(super) tool_calls: Vec<RawCall>,
    pub(super) expect: Vec<Expectation>,
    pub(super) error: Option<RawError>,
    pub(super) delay_ms: Option<u64>,
    pub(super) finish: Option<FinishReason>,
    pub(super) usage: Option<(u64, u64)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawLine {
    text: Option<String>,
    reasoning: Option<String>,
    #[serde(default)]
    chunks: Vec<String>,
    #[serde(default)]
    tool_calls: Vec<RawCall>,
    expect: Option<Value>,
    error: Option<RawError>,
    delay_ms: Option<u64>,
    finish_reason: Option<FinishReason>,
    usage: Option<RawUsage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

/// A call to make.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCall {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: Option<Value>,
}

/// A failure to play.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RawError {
    kind: FailureKind,
    #[serde(default)]
    message: String,
    retry_after_ms: Option<u64>,
    status: Option<u16>,
    context_window: Option<u64>,
}

impl RawError {
    pub(super) fn into_error(self) -> ModelError {
        let message =
            if self.message.is_empty() { format!("scripted failure: {}", self.kind) } else { self.message };
        ModelError {
            retry_after: self.retry_after_ms.map(Duration::from_millis),
            status: self.status,
            context_window: self.context_window,
            ..ModelError::new(self.kind, message)
        }
    }
}

impl Line {
    /// Reads a line.
    pub(super) fn parse(number: usize, text: &str) -> Result<Line, String> {
        if text.len() > LINE_BYTES_MAX {
            return Err(format!("the line is longer than {LINE_BYTES_MAX} bytes"));
        }
        let raw: RawLine = serde_json::from_str(text).map_err(|error| {
            // serde names line 1 of this one line; the column is what helps.
            let why = error.to_string();
            let why = why.split(" at line ").next().unwrap_or(&why).to_owned();
            format!("column {}: {why}", error.column())
        })?;
        if raw.text.is_none() && raw.chunks.is_empty() && raw.tool_calls.is_empty() && raw.error.is_none() {
            return Err("a turn needs `text`, `chunks`, `toolCalls` or `error`".to_owned());
        }
        let joined = raw.chunks.concat();
        let text = match raw.text {
            Some(text) if !raw.chunks.is_empty() && text != joined => {
                return Err("`chunks` put together are not `text`; give one of them".to_owned());
            }
            Some(text) => Some(text),
            None if raw.chunks.is_empty() => None,
            None => Some(joined),
        };
        if raw.error.is_some() && !raw.tool_calls.is_empty() {
            return Err("a turn that fails makes no call: give `error` or `toolCalls`".to_owned());
        }
        if raw.tool_calls.iter().any(|call| call.name.is_empty()) {
            return Err("a call has an empty name".to_owned());
        }
        Ok(Line {
            number,
            text,
            reasoning: raw.reasoning,
            chunks: raw.chunks,
            tool_calls: raw.tool_calls,
            expect: Expectation::read(raw.expect.unwrap_or(Value::Null))?,
            error: raw.error,
            delay_ms: raw.delay_ms,
            finish: raw.finish_reason,
            usage: raw.usage.map(|usage| (usage.input_tokens, usage.output_tokens)),
        })
    }
}
