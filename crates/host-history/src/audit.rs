//! The gate's decisions as an audit shows them (AUD-1), and the anchors of the chain's head.
//!
//! The chain itself is checked by the store that holds its key. No argument is shown here, only its keyed
//! digest: equal arguments can be told, and nothing can be read from it.

use host_event::{Fact, StoredEvent};
use serde::{Deserialize, Serialize};

/// One decision or its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The event.
    pub seq: u64,
    /// When, in Unix milliseconds.
    pub at_ms: i64,
    /// The conversation.
    pub conversation: Option<String>,
    /// The run.
    pub run: Option<String>,
    /// The call.
    pub call: Option<String>,
    /// `refused`, `asked`, `answered`, `started` or `settled`.
    pub what: &'static str,
    /// The tool.
    pub tool: String,
    /// The rule that decided, or who refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The code or answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The keyed digest of the exact arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments_digest: Option<String>,
}

/// The decision that an event tells of, if it does.
pub fn decision(event: &StoredEvent) -> Option<Decision> {
    let owned = |text: &String| Some(text.clone());
    let (what, tool, rule, outcome, digest) = match event.fact.as_ref()? {
        Fact::CallRefused { tool, code, by, arguments_digest, .. } => {
            ("refused", tool, owned(by), owned(code), owned(arguments_digest))
        }
        Fact::ApprovalAsked { tool, rule } => ("asked", tool, owned(rule), None, None),
        Fact::ApprovalAnswered { tool, answer, .. } => ("answered", tool, None, owned(answer), None),
        Fact::CallStarted { tool, rule, arguments_digest, .. } => {
            ("started", tool, owned(rule), None, owned(arguments_digest))
        }
        Fact::CallSettled { tool, settled, code, .. } => {
            let outcome = if settled == "done" { code.clone() } else { format!("{settled}: {code}") };
            ("settled", tool, None, Some(outcome), None)
        }
        _ => return None,
    };
    Some(Decision {
        seq: event.seq,
        at_ms: event.at,
        conversation: event.scope.conversation.as_ref().map(ToString::to_string),
        run: event.scope.run.as_ref().map(ToString::to_string),
        call: event.scope.call.as_ref().map(ToString::to_string),
        what,
        tool: tool.clone(),
        rule,
        outcome,
        arguments_digest: digest,
    })
}

/// The chain's head at a moment: one line of `audit.head`. Kept elsewhere, it shows that a tail was cut off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Anchor {
    /// When it was taken, in Unix milliseconds.
    pub at_ms: i64,
    /// The last event.
    pub seq: u64,
    /// Its hash in the chain, in hex.
    pub hash: String,
}

impl Anchor {
    /// The line of the file.
    pub fn line(&self) -> String {
        // Plain data always becomes JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// A line of the file; `None` for what is none.
    pub fn parse(line: &str) -> Option<Self> {
        let anchor: Anchor = serde_json::from_str(line.trim()).ok()?;
        let hex = anchor.hash.len() == 64 && anchor.hash.bytes().all(|b| b.is_ascii_hexdigit());
        hex.then_some(anchor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_lines() {
        let anchor = Anchor { at_ms: 5, seq: 7, hash: "ab".repeat(32) };
        assert_eq!(Anchor::parse(&anchor.line()), Some(anchor));
        for bad in ["", "{}", "{\"atMs\":1,\"seq\":2,\"hash\":\"zz\"}", "junk"] {
            assert_eq!(Anchor::parse(bad), None, "{bad}");
        }
    }
}
