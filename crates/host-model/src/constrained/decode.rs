//! Reading an answer in schema mode: chat chunks whose text is one object.

use super::shape::RESPOND;
use crate::chat::decode::ChatDecoder;
use crate::content::new_call_id;
use crate::exchange::Decoder;
use crate::frame::Frame;
use host_ports::model::{AssistantPart, FinishReason, ModelError, ModelEvent, ToolCall};
use serde_json::Value;

/// Turns the object of an answer into a call or a text. The text of `respond` streams as it comes.
pub(crate) struct ConstrainedDecoder {
    inner: ChatDecoder,
    /// Whether the answer was constrained at all: without tools it is plain text.
    constrained: bool,
    object: String,
    shown: usize,
}

impl ConstrainedDecoder {
    pub(crate) fn new(provider: &str, constrained: bool) -> Self {
        ConstrainedDecoder { inner: ChatDecoder::new(provider), constrained, object: String::new(), shown: 0 }
    }

    /// What of `respond`'s text is new.
    fn fresh(&mut self) -> Option<String> {
        let text = answer_so_far(&self.object)?;
        let fresh = text.get(self.shown..).filter(|fresh| !fresh.is_empty())?.to_owned();
        self.shown = text.len();
        Some(fresh)
    }

    fn settle(&mut self, text: &str, reason: FinishReason, out: &mut Vec<ModelEvent>) -> FinishReason {
        match serde_json::from_str::<Value>(text) {
            Ok(object) if object["tool"] == RESPOND => {
                let text = object["arguments"]["text"].as_str().unwrap_or("").to_owned();
                out.extend(
                    text.get(self.shown..)
                        .filter(|rest| !rest.is_empty())
                        .map(|rest| ModelEvent::Text(rest.to_owned())),
                );
                out.push(ModelEvent::Part(AssistantPart::Text { text }));
                reason
            }
            Ok(object) if object["tool"].is_string() && object["arguments"].is_object() => {
                let name = object["tool"].as_str().unwrap_or("").to_owned();
                let arguments = object["arguments"].to_string();
                out.push(ModelEvent::CallStarted { name: name.clone() });
                let call = ToolCall { id: new_call_id(), name, arguments, raw: None };
                out.push(ModelEvent::Part(AssistantPart::Call(call)));
                FinishReason::ToolCalls
            }
            _ => self.broken(text, reason, out),
        }
    }

    /// An object that the output limit cut, or an endpoint that minds no schema.
    fn broken(&mut self, text: &str, reason: FinishReason, out: &mut Vec<ModelEvent>) -> FinishReason {
        if let Some(answer) = answer_so_far(text) {
            out.push(ModelEvent::Part(AssistantPart::Text { text: answer }));
        } else if reason == FinishReason::Length {
            out.push(ModelEvent::Notice("a call that was cut off is left out".to_owned()));
        } else {
            out.push(ModelEvent::Notice(
                "this endpoint minds no response_format, so tools can't be called here; its text is taken as it is".to_owned(),
            ));
            out.push(ModelEvent::Text(text.to_owned()));
            out.push(ModelEvent::Part(AssistantPart::Text { text: text.to_owned() }));
        }
        reason
    }
}

impl Decoder for ConstrainedDecoder {
    fn frame(&mut self, frame: &Frame, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if !self.constrained {
            return self.inner.frame(frame, out);
        }
        let mut events = Vec::new();
        let result = self.inner.frame(frame, &mut events);
        for event in events {
            match event {
                ModelEvent::Text(piece) => {
                    self.object.push_str(&piece);
                    out.extend(self.fresh().map(ModelEvent::Text));
                }
                other => out.push(other),
            }
        }
        result
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if !self.constrained {
            return self.inner.end(out);
        }
        let mut events = Vec::new();
        self.inner.end(&mut events)?;
        let mut settled = None;
        for event in events {
            match event {
                ModelEvent::Part(AssistantPart::Text { text }) => {
                    settled = Some(text);
                }
                ModelEvent::Finished { reason, usage } => {
                    let reason = match settled.take() {
                        Some(text) => self.settle(&text, reason, out),
                        None => reason,
                    };
                    out.push(ModelEvent::Finished { reason, usage });
                }
                other => out.push(other),
            }
        }
        Ok(())
    }

    fn complete(&self) -> bool {
        self.inner.complete()
    }
}

/// The text of `respond` in an object that may not be whole yet; never half an escape.
fn answer_so_far(object: &str) -> Option<String> {
    let rest = object.trim_start().strip_prefix('{')?.trim_start().strip_prefix("\"tool\"")?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix("\"respond\"")?;
    let rest = rest.trim_start().strip_prefix(',')?.trim_start().strip_prefix("\"arguments\"")?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('{')?;
    let rest = rest.trim_start().strip_prefix("\"text\"")?.trim_start().strip_prefix(':')?;
    let raw = rest.trim_start().strip_prefix('"')?;
    let mut end = raw.len();
    let mut escaped = false;
    for (at, c) in raw.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    // Cut back until what is left is a whole JSON text: an escape or half a surrogate pair may be open.
    let mut raw = &raw[..end];
    for _ in 0..14 {
        if let Ok(text) = serde_json::from_str::<String>(&format!("\"{raw}\"")) {
            return Some(text);
        }
        let mut shorter = raw.char_indices();
        raw = &raw[..shorter.next_back()?.0];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_streams_without_half_escapes() {
        let whole = r#" { "tool" : "respond", "arguments": {"text": "a\"b\n\u00e9\ud83d\ude00 c"}}"#;
        let mut last = String::new();
        for (at, _) in whole.char_indices() {
            if let Some(text) = answer_so_far(&whole[..at]) {
                assert!(text.starts_with(&last), "{text:?} {last:?}");
                last = text;
            }
        }
        assert_eq!(last, "a\"b\né😀 c");
        assert_eq!(answer_so_far(r#"{"tool": "Read", "arguments": {"text": "x"}}"#), None);
    }
}
