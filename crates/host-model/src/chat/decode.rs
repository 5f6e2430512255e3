//! Reading an answer.

use super::calls::Calls;
use crate::content::{count, finish};
use crate::exchange::{Decoder, cut_off, json};
use crate::failure;
use crate::frame::Frame;
use host_ports::model::{AssistantPart, FinishReason, ModelError, ModelEvent};
use host_turn::Usage;
use serde_json::{Map, Value, json};

/// Reads the chunks of one answer.
pub(crate) struct ChatDecoder {
    provider: String,
    text: String,
    thought: String,
    reasoning: Map<String, Value>,
    calls: Calls,
    usage: Usage,
    reason: Option<FinishReason>,
    refused: bool,
    done: bool,
}

impl ChatDecoder {
    pub(crate) fn new(provider: &str) -> Self {
        ChatDecoder {
            provider: provider.to_owned(),
            text: String::new(),
            thought: String::new(),
            reasoning: Map::new(),
            calls: Calls::default(),
            usage: Usage::default(),
            reason: None,
            refused: false,
            done: false,
        }
    }

    fn delta(&mut self, delta: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        for field in ["reasoning_content", "reasoning"] {
            if let Some(text) = delta.get(field).and_then(Value::as_str).filter(|text| !text.is_empty()) {
                append(&mut self.reasoning, field, text);
                // Some servers send the same thought under both names.
                if field == "reasoning_content"
                    || !delta.get("reasoning_content").is_some_and(Value::is_string)
                {
                    self.think(text, out);
                }
            }
        }
        if let Some(details) = delta.get("reasoning_details").and_then(Value::as_array) {
            let list = self.reasoning.entry("reasoning_details").or_insert_with(|| json!([]));
            details.iter().for_each(|detail| merge_detail(list, detail));
        }
        match delta.get("content") {
            Some(Value::String(text)) => self.say(text, out),
            Some(Value::Array(parts)) => {
                for part in parts {
                    self.content_part(part, out);
                }
            }
            _ => {}
        }
        if let Some(text) = delta.get("refusal").and_then(Value::as_str).filter(|text| !text.is_empty()) {
            self.refused = true;
            self.say(text, out);
        }
        for fragment in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            if let Some(name) = self.calls.take(fragment)? {
                out.push(ModelEvent::CallStarted { name });
            }
        }
        Ok(())
    }

    fn content_part(&mut self, part: &Value, out: &mut Vec<ModelEvent>) {
        match (part.get("type").and_then(Value::as_str), part.get("text").and_then(Value::as_str)) {
            (Some("text"), Some(text)) => self.say(text, out),
            (Some("thinking"), _) => {
                let thoughts = part.get("thinking").and_then(Value::as_array).into_iter().flatten();
                let text: String = thoughts.filter_map(|piece| piece.get("text")?.as_str()).collect();
                self.think(&text, out);
            }
            _ => {}
        }
    }

    fn say(&mut self, text: &str, out: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            self.text.push_str(text);
            out.push(ModelEvent::Text(text.to_owned()));
        }
    }

    fn think(&mut self, text: &str, out: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            self.thought.push_str(text);
            out.push(ModelEvent::Reasoning(text.to_owned()));
        }
    }
}

impl Decoder for ChatDecoder {
    fn frame(&mut self, frame: &Frame, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if frame.data.trim() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        if frame.event == "ping" {
            return Ok(());
        }
        let chunk = json(frame)?;
        if chunk.get("error").is_some_and(|error| !error.is_null()) || frame.event == "error" {
            return Err(failure::of_object(&chunk));
        }
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            self.usage = usage_of(usage);
        }
        for choice in chunk.get("choices").and_then(Value::as_array).into_iter().flatten() {
            if choice.get("index").and_then(Value::as_u64).unwrap_or(0) != 0 {
                continue;
            }
            if let Some(error) = choice.get("error").filter(|error| !error.is_null()) {
                return Err(failure::of_object(error));
            }
            if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
                self.delta(delta, out)?;
            }
            match choice.get("finish_reason").and_then(Value::as_str) {
                Some("error") => {
                    return Err(failure::of_object(&json!({"error": "the server ended with an error"})));
                }
                Some(reason) => self.reason = Some(finish_reason(reason)),
                None => {}
            }
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let Some(reason) = self.reason else {
            let nothing = self.text.is_empty() && self.thought.is_empty() && self.calls.is_empty();
            return Err(cut_off(if nothing { "nothing had come" } else { "no finish reason had come" }));
        };
        let mut parts = Vec::new();
        if !self.thought.is_empty() || !self.reasoning.is_empty() {
            parts.push(AssistantPart::Reasoning {
                provider: self.provider.clone(),
                text: std::mem::take(&mut self.thought),
                raw: Value::Object(std::mem::take(&mut self.reasoning)),
            });
        }
        if !self.text.is_empty() {
            parts.push(AssistantPart::Text { text: std::mem::take(&mut self.text) });
        }
        let (calls, all) = std::mem::take(&mut self.calls).parts(reason);
        if !all {
            out.push(ModelEvent::Notice("a call that was cut off is left out".to_owned()));
        }
        parts.extend(calls);
        finish(reason, self.refused, parts, self.usage, out);
        Ok(())
    }

    fn complete(&self) -> bool {
        self.done
    }
}

fn append(map: &mut Map<String, Value>, field: &str, text: &str) {
    match map.get_mut(field) {
        Some(Value::String(known)) => known.push_str(text),
        _ => {
            map.insert(field.to_owned(), json!(text));
        }
    }
}

/// Pieces of one reasoning detail (same index and type) are put together again; the rest is kept as it came.
fn merge_detail(list: &mut Value, detail: &Value) {
    let Value::Array(list) = list else { return };
    let same = |known: &Value| {
        detail.get("index").is_some_and(|index| known.get("index") == Some(index))
            && known.get("type") == detail.get("type")
    };
    let Some(Value::Object(known)) = list.iter_mut().rev().find(|known| same(known)) else {
        list.push(detail.clone());
        return;
    };
    for (key, value) in detail.as_object().into_iter().flatten() {
        match (known.get_mut(key), value) {
            (Some(Value::String(text)), Value::String(more))
                if matches!(key.as_str(), "text" | "summary" | "data") =>
            {
                text.push_str(more);
            }
            (Some(Value::Null) | None, _) => {
                known.insert(key.clone(), value.clone());
            }
            _ => {}
        }
    }
}

/// Usage in the shapes of OpenAI and DeepSeek: prompt tokens include those that a cache served.
pub(crate) fn usage_of(usage: &Value) -> Usage {
    let cached =
        count(usage, "/prompt_tokens_details/cached_tokens").max(count(usage, "/prompt_cache_hit_tokens"));
    let written = count(usage, "/prompt_tokens_details/cache_write_tokens");
    Usage {
        input_tokens: count(usage, "/prompt_tokens").saturating_sub(cached + written),
        output_tokens: count(usage, "/completion_tokens"),
        cache_read_tokens: cached,
        cache_write_tokens: written,
        cost_usd: None,
    }
}

fn finish_reason(reason: &str) -> FinishReason {
    match reason {
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "length" | "max_tokens" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        _ => FinishReason::Stop,
    }
}
