//! Reading an answer.

use crate::content::{CALLS_MAX, CallIds, arguments_whole, finish, too_many};
use crate::exchange::{Decoder, cut_off, json};
use crate::failure;
use crate::frame::Frame;
use host_ports::model::{AssistantPart, FinishReason, ModelError, ModelEvent, ToolCall};
use host_turn::Usage;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A block on its way.
struct Draft {
    block: Value,
    text: String,
    signature: String,
    arguments: String,
    closed: bool,
}

/// Reads the events of one answer.
pub(super) struct MessagesDecoder {
    provider: String,
    blocks: BTreeMap<u64, Draft>,
    usage: Usage,
    stop: Option<FinishReason>,
    ended: bool,
}

impl MessagesDecoder {
    pub(super) fn new(provider: &str) -> Self {
        MessagesDecoder {
            provider: provider.to_owned(),
            blocks: BTreeMap::new(),
            usage: Usage::default(),
            stop: None,
            ended: false,
        }
    }

    fn start(&mut self, event: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if self.blocks.len() >= CALLS_MAX {
            return Err(too_many("blocks"));
        }
        let block = event["content_block"].clone();
        let text = |field: &str| block[field].as_str().unwrap_or("").to_owned();
        let draft = Draft {
            text: if block["type"] == "thinking" { text("thinking") } else { text("text") },
            signature: text("signature"),
            arguments: String::new(),
            closed: false,
            block,
        };
        match draft.block["type"].as_str() {
            Some("tool_use") => {
                out.push(ModelEvent::CallStarted {
                    name: draft.block["name"].as_str().unwrap_or("").to_owned(),
                });
            }
            Some("text") if !draft.text.is_empty() => out.push(ModelEvent::Text(draft.text.clone())),
            _ => {}
        }
        self.blocks.insert(event["index"].as_u64().unwrap_or(0), draft);
        Ok(())
    }

    fn delta(&mut self, event: &Value, out: &mut Vec<ModelEvent>) {
        let Some(draft) = self.blocks.get_mut(&event["index"].as_u64().unwrap_or(0)) else { return };
        let delta = &event["delta"];
        let text = |field: &str| delta[field].as_str().unwrap_or("");
        match delta["type"].as_str() {
            Some("text_delta") => {
                draft.text.push_str(text("text"));
                out.push(ModelEvent::Text(text("text").to_owned()));
            }
            Some("thinking_delta") => {
                draft.text.push_str(text("thinking"));
                out.push(ModelEvent::Reasoning(text("thinking").to_owned()));
            }
            Some("signature_delta") => draft.signature.push_str(text("signature")),
            Some("input_json_delta") => draft.arguments.push_str(text("partial_json")),
            _ => {}
        }
    }

    fn used(&mut self, usage: &Value) {
        let mut take = |field: &str, slot: fn(&mut Usage) -> &mut u64| {
            if let Some(tokens) = usage.get(field).and_then(Value::as_u64) {
                *slot(&mut self.usage) = tokens;
            }
        };
        take("input_tokens", |usage| &mut usage.input_tokens);
        take("output_tokens", |usage| &mut usage.output_tokens);
        take("cache_read_input_tokens", |usage| &mut usage.cache_read_tokens);
        take("cache_creation_input_tokens", |usage| &mut usage.cache_write_tokens);
    }

    fn part(&self, draft: Draft, stop: FinishReason, ids: &mut CallIds) -> Option<AssistantPart> {
        match draft.block["type"].as_str()? {
            "text" => (!draft.text.is_empty()).then_some(AssistantPart::Text { text: draft.text }),
            "thinking" => {
                let raw = json!({"type": "thinking", "thinking": draft.text, "signature": draft.signature});
                // Without a signature the API would refuse the block.
                (!draft.signature.is_empty()).then_some(AssistantPart::Reasoning {
                    provider: self.provider.clone(),
                    text: draft.text,
                    raw,
                })
            }
            "redacted_thinking" => Some(AssistantPart::Reasoning {
                provider: self.provider.clone(),
                text: String::new(),
                raw: draft.block,
            }),
            "tool_use" => {
                let given = &draft.block["input"];
                let early = given.as_object().is_some_and(|input| !input.is_empty());
                let arguments = match (draft.arguments.trim().is_empty(), early) {
                    (false, _) => draft.arguments,
                    (true, true) => given.to_string(),
                    (true, false) => "{}".to_owned(),
                };
                // What the output limit cut, and what was never closed, is half a call.
                let whole = arguments_whole(&arguments) || (draft.closed && stop == FinishReason::ToolCalls);
                whole.then(|| {
                    AssistantPart::Call(ToolCall {
                        id: ids.unique(draft.block["id"].as_str()),
                        name: draft.block["name"].as_str().unwrap_or("").to_owned(),
                        arguments,
                        raw: None,
                    })
                })
            }
            _ => None,
        }
    }
}

impl Decoder for MessagesDecoder {
    fn frame(&mut self, frame: &Frame, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if frame.event == "ping" {
            return Ok(());
        }
        let event = json(frame)?;
        match event["type"].as_str().unwrap_or(&frame.event) {
            "message_start" => self.used(&event["message"]["usage"]),
            "content_block_start" => self.start(&event, out)?,
            "content_block_delta" => self.delta(&event, out),
            "content_block_stop" => {
                if let Some(draft) = self.blocks.get_mut(&event["index"].as_u64().unwrap_or(0)) {
                    draft.closed = true;
                }
            }
            "message_delta" => {
                self.used(&event["usage"]);
                self.stop = event["delta"]["stop_reason"].as_str().map(stop_reason).or(self.stop);
            }
            "message_stop" => self.ended = true,
            "error" => return Err(failure::of_object(&event)),
            "message" => self.whole(&event, out)?,
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let Some(stop) = self.stop else {
            let seen = if self.blocks.is_empty() { "nothing had come" } else { "no stop reason had come" };
            return Err(cut_off(seen));
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

impl MessagesDecoder {
    /// An answer that came in one piece.
    fn whole(&mut self, message: &Value, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
            self.start(&json!({"index": index, "content_block": block}), out)?;
        }
        self.blocks.values_mut().for_each(|draft| draft.closed = true);
        self.used(&message["usage"]);
        self.stop = message["stop_reason"].as_str().map(stop_reason);
        self.ended = true;
        Ok(())
    }
}

fn stop_reason(reason: &str) -> FinishReason {
    match reason {
        "tool_use" => FinishReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "refusal" => FinishReason::Refusal,
        _ => FinishReason::Stop,
    }
}
