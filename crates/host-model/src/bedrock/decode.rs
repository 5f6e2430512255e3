//! Reading an answer.

use crate::content::{CALLS_MAX, CallIds, arguments_whole, count, finish, too_many};
use crate::exchange::{Decoder, cut_off, json};
use crate::failure;
use crate::frame::Frame;
use host_ports::model::{AssistantPart, FinishReason, ModelError, ModelEvent, ToolCall};
use host_turn::Usage;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Default)]
struct Draft {
    text: String,
    thought: String,
    signature: String,
    redacted: String,
    call: Option<(String, String)>,
    arguments: String,
    closed: bool,
}

/// Reads the messages of one answer.
pub(super) struct ConverseDecoder {
    provider: String,
    blocks: BTreeMap<u64, Draft>,
    usage: Usage,
    stop: Option<FinishReason>,
    ended: bool,
}

impl ConverseDecoder {
    pub(super) fn new(provider: &str) -> Self {
        ConverseDecoder {
            provider: provider.to_owned(),
            blocks: BTreeMap::new(),
            usage: Usage::default(),
            stop: None,
            ended: false,
        }
    }

    fn block(&mut self, event: &Value) -> Result<&mut Draft, ModelError> {
        if self.blocks.len() > CALLS_MAX {
            return Err(too_many("blocks"));
        }
        Ok(self.blocks.entry(event["contentBlockIndex"].as_u64().unwrap_or(0)).or_default())
    }

    fn delta(&mut self, event: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let draft = self.block(event)?;
        let delta = &event["delta"];
        if let Some(text) = delta["text"].as_str() {
            draft.text.push_str(text);
            out.push(ModelEvent::Text(text.to_owned()));
        }
        if let Some(piece) = delta["toolUse"]["input"].as_str() {
            draft.arguments.push_str(piece);
        }
        let thought = &delta["reasoningContent"];
        if let Some(text) = thought["text"].as_str() {
            draft.thought.push_str(text);
            out.push(ModelEvent::Reasoning(text.to_owned()));
        }
        draft.signature.push_str(thought["signature"].as_str().unwrap_or(""));
        draft.redacted.push_str(thought["redactedContent"].as_str().unwrap_or(""));
        Ok(())
    }

    fn part(&self, draft: Draft, stop: FinishReason, ids: &mut CallIds) -> Option<AssistantPart> {
        if let Some((id, name)) = draft.call {
            let arguments = if draft.arguments.trim().is_empty() { "{}".to_owned() } else { draft.arguments };
            let whole = arguments_whole(&arguments) || (draft.closed && stop == FinishReason::ToolCalls);
            return whole.then(|| {
                AssistantPart::Call(ToolCall { id: ids.unique(Some(&id)), name, arguments, raw: None })
            });
        }
        let raw = if !draft.redacted.is_empty() {
            json!({"redactedContent": draft.redacted})
        } else if !draft.signature.is_empty() {
            json!({"reasoningText": {"text": draft.thought, "signature": draft.signature}})
        } else if !draft.thought.is_empty() {
            json!({"reasoningText": {"text": draft.thought}})
        } else {
            return (!draft.text.is_empty()).then_some(AssistantPart::Text { text: draft.text });
        };
        Some(AssistantPart::Reasoning { provider: self.provider.clone(), text: draft.thought, raw })
    }
}

impl Decoder for ConverseDecoder {
    fn frame(&mut self, frame: &Frame, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let event = json(frame)?;
        if let Some(exception) = frame.event.strip_prefix('!') {
            let message = event["message"].as_str().or(event["originalMessage"].as_str()).unwrap_or("");
            return Err(failure::of_object(&json!({"error": {"code": exception, "message": message}})));
        }
        match frame.event.as_str() {
            "contentBlockStart" => {
                let start = &event["start"]["toolUse"];
                if start.is_object() {
                    let text = |field: &str| start[field].as_str().unwrap_or("").to_owned();
                    let call = (text("toolUseId"), text("name"));
                    out.push(ModelEvent::CallStarted { name: call.1.clone() });
                    self.block(&event)?.call = Some(call);
                }
            }
            "contentBlockDelta" => self.delta(&event, out)?,
            "contentBlockStop" => self.block(&event)?.closed = true,
            "messageStop" => self.stop = event["stopReason"].as_str().map(stop_reason),
            "metadata" => {
                let usage = &event["usage"];
                self.usage = Usage {
                    input_tokens: count(usage, "/inputTokens"),
                    output_tokens: count(usage, "/outputTokens"),
                    cache_read_tokens: count(usage, "/cacheReadInputTokens"),
                    cache_write_tokens: count(usage, "/cacheWriteInputTokens"),
                    cost_usd: None,
                };
                self.ended = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let Some(stop) = self.stop else {
            let nothing = self.blocks.is_empty();
            return Err(cut_off(if nothing { "nothing had come" } else { "`messageStop` had not come" }));
        };
        let mut ids = CallIds::default();
        let drafts = std::mem::take(&mut self.blocks);
        let parts: Vec<AssistantPart> =
            drafts.into_values().filter_map(|draft| self.part(draft, stop, &mut ids)).collect();
        finish(stop, false, parts, self.usage, out);
        Ok(())
    }

    fn complete(&self) -> bool {
        self.ended && self.stop.is_some()
    }
}

fn stop_reason(reason: &str) -> FinishReason {
    match reason {
        "tool_use" => FinishReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "guardrail_intervened" | "content_filtered" => FinishReason::ContentFilter,
        _ => FinishReason::Stop,
    }
}
