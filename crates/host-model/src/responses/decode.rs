//! Reading an answer.

use crate::content::{CALLS_MAX, CallIds, arguments_whole, count, finish, too_many};
use crate::exchange::{Decoder, cut_off, json};
use crate::failure;
use crate::frame::Frame;
use host_ports::model::{AssistantPart, FinishReason, ModelError, ModelEvent, ToolCall};
use host_turn::Usage;
use serde_json::Value;
use std::collections::BTreeMap;

/// Reads the events of one answer.
pub(super) struct ResponsesDecoder {
    provider: String,
    /// Whole items by their place in the output.
    items: BTreeMap<u64, Value>,
    usage: Usage,
    reason: Option<FinishReason>,
    something: bool,
}

impl ResponsesDecoder {
    pub(super) fn new(provider: &str) -> Self {
        ResponsesDecoder {
            provider: provider.to_owned(),
            items: BTreeMap::new(),
            usage: Usage::default(),
            reason: None,
            something: false,
        }
    }

    fn closed(&mut self, response: &Value, reason: FinishReason) -> Result<(), ModelError> {
        // What was not streamed as an item stands in the last event.
        for (index, item) in response["output"].as_array().into_iter().flatten().enumerate() {
            self.keep(index as u64, item, false)?;
        }
        let usage = &response["usage"];
        let cached = count(usage, "/input_tokens_details/cached_tokens");
        self.usage = Usage {
            input_tokens: count(usage, "/input_tokens").saturating_sub(cached),
            output_tokens: count(usage, "/output_tokens"),
            cache_read_tokens: cached,
            cache_write_tokens: 0,
            cost_usd: None,
        };
        self.reason = Some(reason);
        Ok(())
    }

    fn keep(&mut self, index: u64, item: &Value, newer: bool) -> Result<(), ModelError> {
        if self.items.len() >= CALLS_MAX {
            return Err(too_many("items"));
        }
        if newer {
            self.items.insert(index, item.clone());
        } else {
            self.items.entry(index).or_insert_with(|| item.clone());
        }
        Ok(())
    }

    fn whole(&mut self, response: &Value) -> Result<(), ModelError> {
        match response["status"].as_str() {
            Some("failed") => Err(failure::of_object(response)),
            Some("incomplete") => self.closed(response, incomplete(response)),
            Some("completed") => self.closed(response, FinishReason::Stop),
            _ => Ok(()),
        }
    }

    fn parts(&mut self, reason: FinishReason) -> (Vec<AssistantPart>, bool) {
        let mut ids = CallIds::default();
        let mut refused = false;
        let mut out = Vec::new();
        for item in std::mem::take(&mut self.items).into_values() {
            match item["type"].as_str() {
                Some("message") => {
                    let (text, refusal) = message_text(&item);
                    refused |= refusal;
                    if !text.is_empty() {
                        out.push(AssistantPart::Text { text });
                    }
                }
                Some("reasoning") => out.push(AssistantPart::Reasoning {
                    provider: self.provider.clone(),
                    text: summary_text(&item),
                    raw: item,
                }),
                Some("function_call") => {
                    let arguments = item["arguments"].as_str().unwrap_or("").to_owned();
                    let complete = item["status"].as_str().is_none_or(|status| status == "completed");
                    if !complete || (reason != FinishReason::Stop && !arguments_whole(&arguments)) {
                        continue;
                    }
                    out.push(AssistantPart::Call(ToolCall {
                        id: ids.unique(item["call_id"].as_str().or(item["id"].as_str())),
                        name: item["name"].as_str().unwrap_or("").to_owned(),
                        arguments: if arguments.trim().is_empty() { "{}".to_owned() } else { arguments },
                        raw: None,
                    }));
                }
                _ => {}
            }
        }
        (out, refused)
    }
}

impl Decoder for ResponsesDecoder {
    fn frame(&mut self, frame: &Frame, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if frame.data.trim() == "[DONE]" {
            return Ok(());
        }
        let event = json(frame)?;
        let delta = || event["delta"].as_str().unwrap_or("").to_owned();
        let index = event["output_index"].as_u64().unwrap_or(0);
        match event["type"].as_str().unwrap_or(&frame.event) {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.something = true;
                out.push(ModelEvent::Text(delta()));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                out.push(ModelEvent::Reasoning(delta()));
            }
            "response.reasoning_summary_part.added" if event["summary_index"].as_u64() > Some(0) => {
                out.push(ModelEvent::Reasoning("\n\n".to_owned()));
            }
            "response.output_item.added" => {
                self.something = true;
                if event["item"]["type"] == "function_call" {
                    let name = event["item"]["name"].as_str().unwrap_or("").to_owned();
                    out.push(ModelEvent::CallStarted { name });
                }
            }
            "response.output_item.done" => self.keep(index, &event["item"], true)?,
            "response.completed" | "response.done" => self.closed(&event["response"], FinishReason::Stop)?,
            "response.incomplete" => self.closed(&event["response"], incomplete(&event["response"]))?,
            "response.failed" => return Err(failure::of_object(&event["response"])),
            "error" => return Err(failure::of_object(&event)),
            _ if event["object"] == "response" => {
                self.whole(&event)?;
                let texts: Vec<String> = self.items.values().map(|item| message_text(item).0).collect();
                out.extend(texts.into_iter().filter(|text| !text.is_empty()).map(ModelEvent::Text));
            }
            _ if event.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(failure::of_object(&event));
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let Some(reason) = self.reason else {
            let seen = self.something || !self.items.is_empty();
            return Err(cut_off(if seen { "`response.completed` had not come" } else { "nothing had come" }));
        };
        let (parts, refused) = self.parts(reason);
        finish(reason, refused, parts, self.usage, out);
        Ok(())
    }

    fn complete(&self) -> bool {
        self.reason.is_some()
    }
}

fn incomplete(response: &Value) -> FinishReason {
    match response["incomplete_details"]["reason"].as_str() {
        Some("content_filter") => FinishReason::ContentFilter,
        _ => FinishReason::Length,
    }
}

fn message_text(item: &Value) -> (String, bool) {
    let mut refused = false;
    let mut text = String::new();
    for piece in item["content"].as_array().into_iter().flatten() {
        match piece["type"].as_str() {
            Some("output_text") => text.push_str(piece["text"].as_str().unwrap_or("")),
            Some("refusal") => {
                refused = true;
                text.push_str(piece["refusal"].as_str().unwrap_or(""));
            }
            _ => {}
        }
    }
    (text, refused)
}

fn summary_text(item: &Value) -> String {
    let pieces: Vec<&str> = ["summary", "content"]
        .iter()
        .flat_map(|field| item[*field].as_array().into_iter().flatten())
        .filter_map(|piece| piece["text"].as_str())
        .collect();
    pieces.join("\n\n")
}
