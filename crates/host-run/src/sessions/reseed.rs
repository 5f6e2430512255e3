//! A session from the redacted log (HIS-9).

use crate::context::host_note;
use host_ports::log::PastTurn;
use host_ports::model::{AssistantPart, Message};
use host_vocab::Block;
use host_vocab::blocks_text;
use host_vocab::text::head_tail;

/// The most text of a rebuilt session, its marker included, in bytes of UTF-8.
pub const RESEED_BYTES_MAX: usize = 64 * 1024;

/// The newest turns that fit, oldest first, after a marker that says what this is and what is missing. No turns,
/// no messages.
pub fn reseed(turns: &[PastTurn], why: &str) -> Vec<Message> {
    if turns.is_empty() {
        return Vec::new();
    }
    let marker = |left_out: usize| {
        let missing = match left_out {
            0 => String::new(),
            n => format!(" {n} older turns are left out."),
        };
        host_note(&format!(
            "What follows was rebuilt from the redacted history, because {why}. Secrets are masked, and calls with \
             their results are left out.{missing} The history holds more than this."
        ))
    };
    let mut room = RESEED_BYTES_MAX - bytes_of(&[marker(turns.len())]).min(RESEED_BYTES_MAX);
    let mut kept: Vec<Vec<Message>> = Vec::new();
    for turn in turns.iter().rev() {
        let mut messages = of_turn(&turn.user, &turn.assistant, &turn.status);
        if kept.is_empty() && bytes_of(&messages) > room {
            messages = shortened(turn, room);
        }
        let Some(left) = room.checked_sub(bytes_of(&messages)) else { break };
        room = left;
        kept.push(messages);
    }
    let mut out = vec![marker(turns.len() - kept.len())];
    out.extend(kept.into_iter().rev().flatten());
    out
}

fn of_turn(user: &str, assistant: &str, status: &str) -> Vec<Message> {
    let mut messages = Vec::new();
    if !user.trim().is_empty() {
        messages.push(Message::User { content: vec![Block::text(user)] });
    }
    if !assistant.trim().is_empty() {
        messages.push(Message::Assistant { parts: vec![AssistantPart::Text { text: assistant.to_owned() }] });
    }
    if status != "succeeded" {
        messages.push(host_note(&format!("The turn above ended as {status}, before it came to its end.")));
    }
    messages
}

/// The newest turn is always told of, if only in part.
fn shortened(turn: &PastTurn, room: usize) -> Vec<Message> {
    let room = room.saturating_sub(512);
    let user = head_tail(&turn.user, room / 3, "see the history").text;
    let assistant = head_tail(&turn.assistant, room - user.len().min(room), "see the history").text;
    of_turn(&user, &assistant, &turn.status)
}

fn bytes_of(messages: &[Message]) -> usize {
    messages
        .iter()
        .map(|message| match message {
            Message::User { content } => blocks_text(content).len(),
            Message::Assistant { parts } => parts
                .iter()
                .map(|part| match part {
                    AssistantPart::Text { text } => text.len(),
                    _ => 0,
                })
                .sum(),
            Message::ToolResults { .. } => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_vocab::RunId;
    use proptest::prelude::*;

    fn turn(user: String, assistant: String) -> PastTurn {
        PastTurn { run: RunId::parse("r").unwrap(), at: 0, user, assistant, status: "succeeded".into() }
    }

    fn text(messages: &[Message]) -> String {
        format!("{messages:?}")
    }

    // HIS-9
    #[test]
    fn the_newest_suffix_is_kept_in_order() {
        let turns: Vec<PastTurn> =
            (0..20).map(|n| turn(format!("q{n}:"), format!("a{n}:{}", "x".repeat(9_000)))).collect();
        let messages = reseed(&turns, "the key is lost");
        assert_eq!(messages.len(), 1 + 2 * 7);
        let all = text(&messages);
        assert!(all.contains("13 older turns are left out") && all.contains("the key is lost"));
        let place = |what: &str| all.find(what).unwrap();
        assert!(place("q13:") < place("a13:") && place("a13:") < place("q19:"));
        assert!(!all.contains("q12:"));
    }

    #[test]
    fn a_turn_that_broke_off_is_labelled() {
        let mut past = turn("do it".into(), "half".into());
        past.status = "cancelled".into();
        assert!(text(&reseed(&[past], "x")).contains("ended as cancelled"));
        assert!(reseed(&[], "x").is_empty());
    }

    proptest! {
        // HIS-9
        #[test]
        fn it_never_exceeds_the_bound(sizes in proptest::collection::vec((0usize..90_000, 0usize..90_000), 1..8)) {
            let turns: Vec<PastTurn> =
                sizes.iter().map(|(u, a)| turn("é".repeat(u / 2), "ß".repeat(a / 2))).collect();
            let messages = reseed(&turns, "x");
            prop_assert!(bytes_of(&messages) <= RESEED_BYTES_MAX);
            prop_assert!(messages.len() > 1 || sizes.last().is_some_and(|(u, a)| u / 2 + a / 2 == 0));
        }
    }
}
