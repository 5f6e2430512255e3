//! What a turn leaves in its session.

use crate::context::host_note;
use host_ports::model::{AssistantPart, Message};
use host_turn::Ending;
use host_vocab::text::{head_tail, one_line};
use host_vocab::{Block, blocks_text};

/// The most text that a turn without a good end leaves, in bytes.
const ACCOUNT_BYTES_MAX: usize = 48 * 1024;
/// How far its results are cut when it is over that.
const RESULT_BYTES_MAX: usize = 1_024;
/// The most calls that are listed when even that is too much.
const CALLS_LISTED_MAX: usize = 100;

/// The messages of a turn as they stay in the prompt. A good turn stays whole. One that failed or was cancelled
/// stays within 48 KiB, and says how it ended.
pub fn account(turn: Vec<Message>, ending: &Ending) -> Vec<Message> {
    let how = match ending {
        Ending::Succeeded => return turn,
        Ending::Cancelled => "was cancelled".to_owned(),
        Ending::Interrupted { .. } => "was interrupted".to_owned(),
        Ending::Failed { kind, .. } => format!("failed ({kind})"),
    };
    let note = host_note(&format!(
        "The turn above {how} before it came to its end. What its calls did stands; calls marked as aborted did \
         not run or may have run. An answer without an end is only a part."
    ));
    let mut messages = turn;
    if bytes_of(&messages) > ACCOUNT_BYTES_MAX {
        messages.iter_mut().for_each(cut_results);
    }
    if bytes_of(&messages) > ACCOUNT_BYTES_MAX {
        messages = listed(&messages);
    }
    messages.push(note);
    messages
}

fn cut_results(message: &mut Message) {
    if let Message::ToolResults { results } = message {
        for result in results {
            let text = head_tail(&blocks_text(&result.content), RESULT_BYTES_MAX, "see the history").text;
            result.content = vec![Block::text(text)];
        }
    }
}

/// The question, cut, and one line for each call.
fn listed(messages: &[Message]) -> Vec<Message> {
    let question = match messages.first() {
        Some(Message::User { content }) => head_tail(&blocks_text(content), 8 * 1024, "see the history").text,
        _ => String::new(),
    };
    let calls: Vec<String> = messages
        .iter()
        .flat_map(|message| match message {
            Message::ToolResults { results } => results.as_slice(),
            _ => &[],
        })
        .take(CALLS_LISTED_MAX)
        .map(|result| {
            let how = if result.is_error { "failed" } else { "done" };
            format!(
                "- {} {how}: {}",
                one_line(&result.name, 64),
                one_line(&blocks_text(&result.content), 120)
            )
        })
        .collect();
    let mut out = vec![Message::User { content: vec![Block::text(question)] }];
    if !calls.is_empty() {
        out.push(host_note(&format!("Calls of this turn:\n{}", calls.join("\n"))));
    }
    let last = messages.iter().rev().find_map(|message| match message {
        Message::Assistant { parts } => parts.iter().find_map(|part| match part {
            AssistantPart::Text { text } => Some(head_tail(text, 16 * 1024, "see the history").text),
            _ => None,
        }),
        _ => None,
    });
    out.extend(last.map(|text| Message::Assistant { parts: vec![AssistantPart::Text { text }] }));
    out
}

/// Keeps a prompt within its bound: the oldest pictures become words, then the oldest turns go. The newest turn
/// always stays.
pub(super) fn bound(messages: &mut Vec<Message>, bytes_max: usize) {
    let mut bytes = bytes_of(messages);
    for message in messages.iter_mut() {
        if bytes <= bytes_max {
            return;
        }
        let before = bytes_of(std::slice::from_ref(message));
        match message {
            Message::User { content } => content.iter_mut().for_each(put_into_words),
            Message::ToolResults { results } => {
                results.iter_mut().flat_map(|result| &mut result.content).for_each(put_into_words);
            }
            Message::Assistant { .. } => {}
        }
        bytes = bytes - before + bytes_of(std::slice::from_ref(message));
    }
    let mut from = 0;
    let starts: Vec<usize> =
        (1..messages.len()).filter(|at| matches!(messages[*at], Message::User { .. })).collect();
    for start in starts {
        if bytes <= bytes_max {
            break;
        }
        bytes -= bytes_of(&messages[from..start]);
        from = start;
    }
    if from > 0 {
        messages.drain(..from);
        messages
            .insert(0, host_note("The beginning of this conversation was left out, because it is too long."));
    }
}

fn put_into_words(block: &mut Block) {
    if matches!(block, Block::Image { .. } | Block::Audio { .. }) {
        *block = Block::text(block.describe());
    }
}

fn bytes_of(messages: &[Message]) -> usize {
    let blocks = |blocks: &[Block]| -> usize {
        blocks
            .iter()
            .map(|block| match block {
                Block::Image { media } | Block::Audio { media } => media.data.len(),
                Block::Text { text } => text.len(),
                Block::Resource { resource } => resource.to_string().len(),
                other => other.describe().len(),
            })
            .sum()
    };
    messages
        .iter()
        .map(|message| match message {
            Message::User { content } => blocks(content),
            Message::ToolResults { results } => results.iter().map(|result| blocks(&result.content)).sum(),
            Message::Assistant { parts } => parts
                .iter()
                .map(|part| match part {
                    AssistantPart::Text { text } => text.len(),
                    AssistantPart::Reasoning { raw, .. } => raw.to_string().len(),
                    AssistantPart::Call(call) => call.name.len() + call.arguments.len(),
                })
                .sum(),
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_ports::model::{ToolCall, ToolResult};
    use host_turn::FailureKind;
    use host_vocab::Media;

    fn turn(results: usize, size: usize) -> Vec<Message> {
        let call =
            |n: usize| ToolCall { id: n.to_string(), name: "Read".into(), arguments: "{}".into(), raw: None };
        let mut out = vec![Message::User { content: vec![Block::text("question")] }];
        for n in 0..results {
            out.push(Message::Assistant { parts: vec![AssistantPart::Call(call(n))] });
            out.push(Message::ToolResults {
                results: vec![ToolResult {
                    call_id: n.to_string(),
                    name: "Read".into(),
                    content: vec![Block::text("r".repeat(size))],
                    is_error: false,
                }],
            });
        }
        out
    }

    #[test]
    fn a_turn_without_a_good_end_is_bounded_and_says_so() {
        for (results, size) in [(1, 10), (3, 100_000), (300, 5_000)] {
            let ending = Ending::Failed { kind: FailureKind::Overloaded, error: String::new() };
            let messages = account(turn(results, size), &ending);
            assert!(bytes_of(&messages) <= ACCOUNT_BYTES_MAX + 512);
            crate::machine::assert_paired(&messages);
            assert!(format!("{:?}", messages.last()).contains("failed (overloaded)"));
        }
        let whole = turn(3, 100_000);
        assert_eq!(account(whole.clone(), &Ending::Succeeded), whole);
    }

    #[test]
    fn a_prompt_loses_pictures_first_and_then_its_oldest_turns() {
        let picture = Message::User {
            content: vec![Block::Image { media: Media::from_bytes(&[0; 3000], "image/png") }],
        };
        let mut messages = vec![picture.clone()];
        messages.extend(turn(1, 1000));
        messages.extend(turn(1, 1000));
        let mut pictures = messages.clone();
        bound(&mut pictures, 3000);
        assert!(
            pictures.len() == messages.len() && format!("{:?}", pictures[0]).contains("[image image/png")
        );
        bound(&mut messages, 1200);
        assert_eq!(messages[1..], turn(1, 1000)[..]);
        let mut newest = turn(1, 5000);
        bound(&mut newest, 10);
        assert_eq!(newest, turn(1, 5000));
    }
}
