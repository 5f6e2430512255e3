//! Messages as a route can read them, and the law that they keep.

use crate::retry::Route;
use host_ports::model::{AssistantPart, Message, ToolResult};
use host_vocab::Block;

/// A message as a route can read it: without other providers' reasoning, and without pictures where it takes
/// none.
pub(super) fn for_route(message: &Message, route: &Route) -> Message {
    let plain = |blocks: &[Block]| -> Vec<Block> {
        blocks
            .iter()
            .map(|block| match block {
                Block::Image { .. } if !route.images => Block::text(block.describe()),
                other => other.clone(),
            })
            .collect()
    };
    match message {
        Message::User { content } => Message::User { content: plain(content) },
        Message::Assistant { parts } => Message::Assistant {
            parts: parts
                .iter()
                .filter(|part| {
                    !matches!(part, AssistantPart::Reasoning { provider, .. } if *provider != route.provider)
                })
                .cloned()
                .collect(),
        },
        Message::ToolResults { results } => Message::ToolResults {
            results: results
                .iter()
                .map(|result| {
                    let content = plain(&result.content);
                    ToolResult { content, ..result.clone() }
                })
                .collect(),
        },
    }
}

pub(super) fn text_of(parts: &[AssistantPart]) -> String {
    parts
        .iter()
        .filter_map(|part| match part {
            AssistantPart::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

/// Checks the law of prompts: after a message with calls come exactly their results, in order.
#[cfg(test)]
pub(crate) fn assert_paired(messages: &[Message]) {
    let mut rest = messages.iter().peekable();
    while let Some(message) = rest.next() {
        match message {
            Message::ToolResults { .. } => panic!("results that answer nothing: {messages:#?}"),
            Message::User { content } => assert!(!content.is_empty()),
            Message::Assistant { parts } => {
                assert!(!parts.is_empty(), "an empty message");
                let calls: Vec<&str> = parts
                    .iter()
                    .filter_map(|part| match part {
                        AssistantPart::Call(call) => Some(call.id.as_str()),
                        _ => None,
                    })
                    .collect();
                let results: Vec<&str> = match rest.peek() {
                    Some(Message::ToolResults { results }) => {
                        rest.next();
                        results.iter().map(|result| result.call_id.as_str()).collect()
                    }
                    _ => Vec::new(),
                };
                assert_eq!(calls, results, "calls and results differ");
            }
        }
    }
}
