//! Calls and results in pairs, whatever was stored: a prompt with a call that has no result is refused by
//! providers for ever after.

use host_ports::model::{AssistantPart, Message, ToolResult};
use host_vocab::Block;

/// Gives every call its result right after the message that made it, in the order of the calls, and takes out
/// results that answer nothing and messages without content.
pub(super) fn repair(messages: &mut Vec<Message>) {
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    let mut rest = std::mem::take(messages).into_iter().peekable();
    while let Some(message) = rest.next() {
        match message {
            Message::Assistant { parts } if parts.is_empty() => {}
            Message::User { content } if content.is_empty() => {}
            Message::ToolResults { .. } => {}
            Message::Assistant { parts } => {
                let mut found = Vec::new();
                while let Some(Message::ToolResults { results }) =
                    rest.next_if(|next| matches!(next, Message::ToolResults { .. }))
                {
                    found.extend(results);
                }
                let results = paired(&parts, found);
                out.push(Message::Assistant { parts });
                if !results.is_empty() {
                    out.push(Message::ToolResults { results });
                }
            }
            user => out.push(user),
        }
    }
    *messages = out;
}

fn paired(parts: &[AssistantPart], mut found: Vec<ToolResult>) -> Vec<ToolResult> {
    let calls = parts.iter().filter_map(|part| match part {
        AssistantPart::Call(call) => Some(call),
        _ => None,
    });
    calls
        .map(|call| match found.iter().position(|result| result.call_id == call.id) {
            Some(at) => found.remove(at),
            None => ToolResult {
                call_id: call.id.clone(),
                name: call.name.clone(),
                content: vec![Block::text(
                    "aborted: the result of this call is missing; it may have happened",
                )],
                is_error: true,
            },
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_ports::model::ToolCall;
    use proptest::prelude::*;

    fn call(id: u8) -> AssistantPart {
        AssistantPart::Call(ToolCall {
            id: id.to_string(),
            name: "t".into(),
            arguments: "{}".into(),
            raw: None,
        })
    }

    fn result(id: u8) -> ToolResult {
        ToolResult {
            call_id: id.to_string(),
            name: "t".into(),
            content: vec![Block::text("r")],
            is_error: false,
        }
    }

    fn any_message() -> impl Strategy<Value = Message> {
        let ids = proptest::collection::vec(0u8..5, 0..4);
        prop_oneof![
            Just(Message::User { content: vec![Block::text("u")] }),
            ids.clone().prop_map(|ids| Message::Assistant { parts: ids.into_iter().map(call).collect() }),
            ids.prop_map(|ids| Message::ToolResults { results: ids.into_iter().map(result).collect() }),
        ]
    }

    proptest! {
        #[test]
        fn every_call_has_its_result_after_it(mut messages in proptest::collection::vec(any_message(), 0..12)) {
            repair(&mut messages);
            crate::machine::assert_paired(&messages);
            let once = messages.clone();
            repair(&mut messages);
            prop_assert_eq!(once, messages);
        }
    }
}
