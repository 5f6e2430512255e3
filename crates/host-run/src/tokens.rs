//! Estimating tokens without a tokenizer: good enough to decide when to compact, and on the safe side.

use host_ports::model::{AssistantPart, Message, ToolSpec};
use host_vocab::Block;

/// What a picture or sound is counted as.
const MEDIA_TOKENS: u64 = 1_600;
/// What a message costs besides its content.
const MESSAGE_TOKENS: u64 = 6;

/// A text: four ASCII bytes are a token, every other character is one.
pub fn estimate_text(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    let other = text.chars().filter(|c| !c.is_ascii()).count() as u64;
    ascii.div_ceil(4) + other
}

/// Some messages.
pub fn estimate_messages(messages: &[Message]) -> u64 {
    messages.iter().map(estimate_message).sum()
}

pub(crate) fn estimate_message(message: &Message) -> u64 {
    let content = match message {
        Message::User { content } => estimate_blocks(content),
        Message::Assistant { parts } => parts.iter().map(estimate_part).sum(),
        Message::ToolResults { results } => {
            results.iter().map(|r| MESSAGE_TOKENS + estimate_blocks(&r.content)).sum()
        }
    };
    MESSAGE_TOKENS + content
}

fn estimate_part(part: &AssistantPart) -> u64 {
    match part {
        AssistantPart::Text { text } => estimate_text(text),
        AssistantPart::Reasoning { raw, .. } => estimate_text(&raw.to_string()),
        AssistantPart::Call(call) => {
            let raw = call.raw.as_ref().map_or(0, |raw| estimate_text(&raw.to_string()));
            MESSAGE_TOKENS + estimate_text(&call.name) + estimate_text(&call.arguments) + raw
        }
    }
}

fn estimate_blocks(blocks: &[Block]) -> u64 {
    blocks
        .iter()
        .map(|block| match block {
            Block::Image { .. } | Block::Audio { .. } => MEDIA_TOKENS,
            other => estimate_text(&other.describe()),
        })
        .sum()
}

/// The tools' own part of a prompt.
pub(crate) fn estimate_specs(specs: &[ToolSpec]) -> u64 {
    specs
        .iter()
        .map(|s| {
            MESSAGE_TOKENS
                + estimate_text(&s.name)
                + estimate_text(&s.description)
                + estimate_text(&s.input_schema.to_string())
        })
        .sum()
}
