//! Text that stands right before calls which only present the reply (REP-6).

use super::{CallOrder, Machine};

/// Tools that only present the reply.
const PRESENTATION: [&str; 3] = ["PublishReplyFile", "SuggestReplies", "ProposeRestart"];

/// Whether a call only presents the reply, be it named as our server's.
fn presents(name: &str) -> bool {
    let bare = name
        .strip_prefix("mcp__mono-agent-")
        .and_then(|rest| rest.split_once("__"))
        .map_or(name, |(_, it)| it);
    PRESENTATION.contains(&bare)
}

impl Machine {
    /// Keeps the text of an answer whose calls all present; any other call breaks the chain.
    pub(super) fn promote(&mut self, calls: &[CallOrder], text: &str) {
        if !calls.iter().all(|call| presents(&call.name)) {
            self.promoted.clear();
        } else if !text.trim().is_empty() {
            self.promoted.push(text.trim().to_owned());
        }
    }

    /// The final text with what was promoted before it.
    pub(super) fn with_promoted(&mut self, text: String) -> String {
        let mut pieces = std::mem::take(&mut self.promoted);
        if pieces.is_empty() {
            return text;
        }
        pieces.extend(Some(text.trim().to_owned()).filter(|it| !it.is_empty()));
        pieces.join("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::presents;

    // REP-6
    #[test]
    fn presentation_tools_under_both_names() {
        for name in ["PublishReplyFile", "SuggestReplies", "mcp__mono-agent-propose-restart__ProposeRestart"]
        {
            assert!(presents(name), "{name}");
        }
        for name in ["Read", "SetConversationTitle", "mcp__shop__PublishReplyFile", "AskUser"] {
            assert!(!presents(name), "{name}");
        }
    }
}
