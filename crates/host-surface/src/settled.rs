//! How a call ended.

use host_event::Fact;
use host_ports::kept::Kept;
use host_vocab::{Block, Code, blocks_text};
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Duration;

/// The four ends of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// It did what it was asked.
    Done,
    /// It never started.
    Refused,
    /// It started and failed, and what it did is known.
    Failed,
    /// It may have done what it was asked; nobody knows. Never repeated by the host.
    Unknown,
}

impl How {
    /// The word of the `call --json` contract.
    pub const fn as_str(self) -> &'static str {
        match self {
            How::Done => "done",
            How::Refused => "refused",
            How::Failed => "failed",
            How::Unknown => "unknown",
        }
    }
}

/// A call that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// In which way.
    pub how: How,
    /// `ok`, or what went wrong.
    pub code: Code,
    /// For the model and people, bounded.
    pub content: Vec<Block>,
    /// For programs, bounded.
    pub structured: Option<Value>,
    /// The outcome record (TOO-3).
    pub outcome: Option<Value>,
    /// From the start of the tool to its end; zero for a refused call.
    pub duration: Duration,
    /// How large the result was before it was bounded, in bytes.
    pub original_bytes: u64,
    /// Whether `content` is less than the whole.
    pub truncated: bool,
    /// Output that was kept apart.
    pub kept: Vec<Kept>,
    /// Whether the end of the call is in the log. If not, the person is told.
    pub recorded: bool,
    /// What let it through, in words that name the setting; none = it was refused.
    pub rule: Option<String>,
}

impl Settled {
    /// Whether the model is told of an error.
    pub fn is_error(&self) -> bool {
        self.how != How::Done
    }

    /// What the model is given: the content, and the structured result where the text doesn't carry it.
    pub fn for_model(&self) -> Vec<Block> {
        let mut blocks = self.content.clone();
        if let Some(value) = &self.structured
            && !carries(&blocks, value)
        {
            blocks.push(Block::text(value.to_string()));
        }
        if blocks.is_empty() {
            blocks.push(Block::text("(no output)"));
        }
        blocks
    }

    /// The object of the `call --json` contract.
    pub fn to_json(&self) -> Value {
        json!({
            "settled": self.how.as_str(),
            "code": self.code.as_str(),
            "content": self.content,
            "structuredContent": self.structured,
            "durationMs": u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// The end of the call as the log holds it; redacted and bounded like every fact. The gate records it;
    /// whoever finds [`Settled::recorded`] false may record it later.
    pub fn to_fact(&self, tool: &str) -> Fact {
        Fact::CallSettled {
            tool: tool.to_owned(),
            settled: self.how.as_str().to_owned(),
            code: self.code.as_str().to_owned(),
            content: self.content.iter().map(without_bytes).collect(),
            structured: self.structured.clone(),
            outcome: self.outcome.clone(),
            duration_ms: u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            original_bytes: self.original_bytes,
            truncated: self.truncated,
            kept: self.kept.iter().map(|it| it.id.clone()).collect(),
        }
    }

    /// All text of it.
    pub fn text(&self) -> String {
        blocks_text(&self.content)
    }
}

/// The log holds no pictures and sounds, only what they were.
fn without_bytes(block: &Block) -> Block {
    match block {
        Block::Image { .. } | Block::Audio { .. } => Block::text(block.describe()),
        Block::Resource { resource } if resource.get("blob").is_some() => Block::text(block.describe()),
        other => other.clone(),
    }
}

/// Whether some text already says what a value says: it parses to the same value, or it holds every leaf.
fn carries(blocks: &[Block], value: &Value) -> bool {
    let text = blocks.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n");
    if text.trim().is_empty() {
        return false;
    }
    if serde_json::from_str::<Value>(&text).is_ok_and(|parsed| parsed == *value) {
        return true;
    }
    let mut leaves = 0;
    leaves_in(value, &text, &mut leaves) && leaves > 0
}

fn leaves_in(value: &Value, text: &str, leaves: &mut usize) -> bool {
    match value {
        Value::Object(map) => map.values().all(|v| leaves_in(v, text, leaves)),
        Value::Array(items) => items.iter().all(|v| leaves_in(v, text, leaves)),
        Value::Null => true,
        Value::String(s) => {
            *leaves += 1;
            text.contains(s.as_str())
        }
        other => {
            *leaves += 1;
            text.contains(&other.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // T5-01
    #[test]
    fn the_model_sees_structured_content_where_the_text_does_not_carry_it() {
        let value = json!({"m":"STRUCT-MARK"});
        assert!(!carries(&[Block::text("TEXT-MARK")], &value));
        assert!(carries(&[Block::text("{ \"m\": \"STRUCT-MARK\" }")], &value));
        assert!(carries(&[Block::text("m is STRUCT-MARK")], &value));
        assert!(!carries(&[], &value));
    }
}
