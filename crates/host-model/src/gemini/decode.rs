//! Reading an answer.

use crate::content::{CALLS_MAX, CallIds, count, finish, too_many};
use crate::exchange::{Decoder, cut_off, json};
use crate::failure;
use crate::frame::Frame;
use host_ports::model::{AssistantPart, FinishReason, ModelError, ModelEvent, ToolCall};
use host_turn::{FailureKind, Usage};
use serde_json::{Value, json};

/// Reads the chunks of one answer.
pub(super) struct GeminiDecoder {
    provider: String,
    parts: Vec<AssistantPart>,
    calls: usize,
    ids: CallIds,
    usage: Usage,
    reason: Option<FinishReason>,
}

impl GeminiDecoder {
    pub(super) fn new(provider: &str) -> Self {
        GeminiDecoder {
            provider: provider.to_owned(),
            parts: Vec::new(),
            calls: 0,
            ids: CallIds::default(),
            usage: Usage::default(),
            reason: None,
        }
    }

    fn part(&mut self, part: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if let Some(call) = part.get("functionCall") {
            return self.call(call, part.get("thoughtSignature"), out);
        }
        let Some(text) = part.get("text").and_then(Value::as_str) else { return Ok(()) };
        if part.get("thought").and_then(Value::as_bool) == Some(true) {
            out.push(ModelEvent::Reasoning(text.to_owned()));
            self.keep_raw(part, text);
            return Ok(());
        }
        if !text.is_empty() {
            out.push(ModelEvent::Text(text.to_owned()));
            match self.parts.last_mut() {
                Some(AssistantPart::Text { text: known }) => known.push_str(text),
                _ => self.parts.push(AssistantPart::Text { text: text.to_owned() }),
            }
        }
        if let Some(signature) = part.get("thoughtSignature") {
            // A signature on the answer's text has no part of its own in the prompt, so it gets an empty one.
            self.keep_raw(&json!({"text": "", "thoughtSignature": signature}), "");
        }
        Ok(())
    }

    fn keep_raw(&mut self, part: &Value, text: &str) {
        if let Some(AssistantPart::Reasoning { text: known, raw, .. }) = self.parts.last_mut() {
            known.push_str(text);
            if let Some(parts) = raw["parts"].as_array_mut() {
                parts.push(part.clone());
            }
            return;
        }
        self.parts.push(AssistantPart::Reasoning {
            provider: self.provider.clone(),
            text: text.to_owned(),
            raw: json!({ "parts": [part] }),
        });
    }

    fn call(
        &mut self,
        call: &Value,
        signature: Option<&Value>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        self.calls += 1;
        if self.calls > CALLS_MAX {
            return Err(too_many("calls"));
        }
        let name = call["name"].as_str().unwrap_or("").to_owned();
        out.push(ModelEvent::CallStarted { name: name.clone() });
        let mut raw = json!({ "provider": self.provider });
        if let Some(signature) = signature {
            raw["thoughtSignature"] = signature.clone();
        }
        if let Some(id) = call.get("id").filter(|id| id.is_string()) {
            raw["id"] = id.clone();
        }
        let arguments =
            call.get("args").filter(|args| !args.is_null()).map_or("{}".to_owned(), Value::to_string);
        let id = self.ids.unique(call["id"].as_str());
        self.parts.push(AssistantPart::Call(ToolCall { id, name, arguments, raw: Some(raw) }));
        Ok(())
    }

    fn used(&mut self, usage: &Value) {
        let cached = count(usage, "/cachedContentTokenCount");
        let prompt = count(usage, "/promptTokenCount") + count(usage, "/toolUsePromptTokenCount");
        self.usage = Usage {
            input_tokens: prompt.saturating_sub(cached),
            output_tokens: count(usage, "/candidatesTokenCount") + count(usage, "/thoughtsTokenCount"),
            cache_read_tokens: cached,
            cache_write_tokens: 0,
            cost_usd: None,
        };
    }
}

impl Decoder for GeminiDecoder {
    fn frame(&mut self, frame: &Frame, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let chunk = json(frame)?;
        let list = match &chunk {
            Value::Array(list) => list.as_slice(),
            one => std::slice::from_ref(one),
        };
        for chunk in list {
            self.chunk(chunk, out)?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let Some(reason) = self.reason else {
            let nothing = self.parts.is_empty();
            return Err(cut_off(if nothing { "nothing had come" } else { "no finish reason had come" }));
        };
        let parts = std::mem::take(&mut self.parts);
        finish(reason, false, parts, self.usage, out);
        Ok(())
    }

    /// Usage may follow the finish reason, so the body is read to its end.
    fn complete(&self) -> bool {
        false
    }
}

impl GeminiDecoder {
    fn chunk(&mut self, chunk: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if chunk.get("error").is_some() {
            return Err(failure::of_object(chunk));
        }
        if let Some(usage) = chunk.get("usageMetadata") {
            self.used(usage);
        }
        if let Some(reason) = chunk["promptFeedback"]["blockReason"].as_str() {
            let why = format!("the provider blocked the prompt ({reason})");
            return Err(ModelError::new(FailureKind::ContentFilter, why));
        }
        let candidate = &chunk["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            self.part(part, out)?;
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            self.reason = Some(finish_reason(reason, candidate)?);
        }
        Ok(())
    }
}

fn finish_reason(reason: &str, candidate: &Value) -> Result<FinishReason, ModelError> {
    Ok(match reason {
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY"
        | "LANGUAGE" => FinishReason::ContentFilter,
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "MALFORMED_RESPONSE"
        | "MISSING_THOUGHT_SIGNATURE" => {
            let said = candidate["finishMessage"].as_str().unwrap_or("no message");
            let why = format!("the model's answer was malformed ({reason}): {said}");
            return Err(ModelError::new(FailureKind::ServerError, why));
        }
        _ => FinishReason::Stop,
    })
}
