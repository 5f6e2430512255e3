//! `scripted:<file.jsonl>`: recorded turns, for tests and demos (ENG-5).

mod expect;
mod line;

use crate::content::new_call_id;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use host_ports::clock::Clock;
use host_ports::model::{
    AssistantPart, FinishReason, Message, Model, ModelError, ModelEvent, ModelInfo, ModelRequest, ToolCall,
};
use host_turn::{FailureKind, Usage};
use line::{Line, RawCall};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Why a script can't be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {why}")]
pub struct ScriptError {
    /// The file, as it was named.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it, and what a line may hold.
    pub why: String,
}

/// A model that answers from a script: one line for each request, in order.
pub struct Scripted {
    file: String,
    lines: Arc<[Line]>,
    next: AtomicUsize,
    clock: Arc<dyn Clock>,
}

impl Scripted {
    /// Reads a script's text; `file` is its name in messages. Empty lines and lines that start with `//` or
    /// `#` are left out.
    ///
    /// # Errors
    /// The first line that is no turn.
    pub fn parse(file: &str, text: &str, clock: Arc<dyn Clock>) -> Result<Self, ScriptError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = Vec::new();
        for (index, raw) in text.lines().enumerate() {
            let trimmed = raw.trim();
            if trimmed.is_empty() || trimmed.starts_with("//") || trimmed.starts_with('#') {
                continue;
            }
            let line = Line::parse(index + 1, trimmed).map_err(|why| ScriptError {
                file: file.to_owned(),
                line: index + 1,
                why,
            })?;
            lines.push(line);
        }
        if lines.is_empty() {
            let why = "the script has no turn; a line looks like {\"text\": \"Hello\"}".to_owned();
            return Err(ScriptError { file: file.to_owned(), line: 1, why });
        }
        Ok(Scripted { file: file.to_owned(), lines: lines.into(), next: AtomicUsize::new(0), clock })
    }

    fn play(&self, request: &ModelRequest) -> Result<Line, ModelError> {
        let fault = |why: String| ModelError::new(FailureKind::RuntimeError, why);
        let at = self.next.fetch_add(1, Ordering::SeqCst);
        let Some(line) = self.lines.get(at) else {
            return Err(fault(format!(
                "{}: the script has {} turns and was asked for turn {}; add a line",
                self.file,
                self.lines.len(),
                at + 1
            )));
        };
        let results = match request.messages.last() {
            Some(Message::ToolResults { results }) => results.as_slice(),
            _ => &[],
        };
        expect::check(&line.expect, results)
            .map_err(|why| fault(format!("{}:{}: expect: {why}", self.file, line.number)))?;
        Ok(line.clone())
    }
}

impl Model for Scripted {
    fn info(&self) -> ModelInfo {
        ModelInfo {
            reference: format!("scripted:{}", self.file),
            provider: "scripted".to_owned(),
            context_window: 1_000_000,
            images: true,
            operator: false,
            tool_calling: "native",
        }
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let line = match self.play(&request) {
            Ok(line) => line,
            Err(error) => return stream::iter([Err(error)]).boxed(),
        };
        let delay = line.delay_ms.map(|ms| self.clock.sleep(Duration::from_millis(ms)));
        stream::once(async move {
            if let Some(delay) = delay {
                delay.await;
            }
            stream::iter(events(line))
        })
        .flatten()
        .boxed()
    }
}

fn events(line: Line) -> Vec<Result<ModelEvent, ModelError>> {
    let mut out: Vec<Result<ModelEvent, ModelError>> = Vec::new();
    if let Some(thought) = line.reasoning {
        out.push(Ok(ModelEvent::Reasoning(thought)));
    }
    let text = line.text.unwrap_or_default();
    if line.chunks.is_empty() {
        out.extend((!text.is_empty()).then(|| Ok(ModelEvent::Text(text.clone()))));
    } else {
        out.extend(line.chunks.into_iter().map(|chunk| Ok(ModelEvent::Text(chunk))));
    }
    if let Some(error) = line.error {
        out.push(Err(error.into_error()));
        return out;
    }
    if !text.is_empty() {
        out.push(Ok(ModelEvent::Part(AssistantPart::Text { text })));
    }
    let calls = !line.tool_calls.is_empty();
    for call in line.tool_calls {
        out.push(Ok(ModelEvent::CallStarted { name: call.name.clone() }));
        out.push(Ok(ModelEvent::Part(AssistantPart::Call(tool_call(call)))));
    }
    let reason = line.finish.unwrap_or(if calls { FinishReason::ToolCalls } else { FinishReason::Stop });
    let usage = line.usage.map(|(input_tokens, output_tokens)| Usage {
        input_tokens,
        output_tokens,
        ..Usage::default()
    });
    out.push(Ok(ModelEvent::Finished { reason, usage: usage.unwrap_or_default() }));
    out
}

fn tool_call(call: RawCall) -> ToolCall {
    let arguments = match call.arguments {
        // A text goes out as it is, so that broken arguments can be played.
        Some(serde_json::Value::String(text)) => text,
        Some(value) => value.to_string(),
        None => "{}".to_owned(),
    };
    ToolCall { id: call.id.unwrap_or_else(new_call_id), name: call.name, arguments, raw: None }
}

#[cfg(test)]
mod tests;
