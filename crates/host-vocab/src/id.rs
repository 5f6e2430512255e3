//! Ids that can't be malformed.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a text is no id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// A run id: the first character a letter or digit, then up to 199 letters, digits, `.`, `_`, `-`.
    #[error("a run id starts with a letter or digit and has at most 200 letters, digits, '.', '_' or '-'")]
    Run,
    /// A conversation id: 1 to 2048 bytes without control characters.
    #[error("a conversation id has 1 to 2048 bytes and no control characters")]
    Conversation,
    /// A call id: 1 to 512 bytes without control characters.
    #[error("a call id has 1 to 512 bytes and no control characters")]
    Call,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $error:expr, $check:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Checks a text and wraps it.
            ///
            /// # Errors
            /// The rule that the text breaks.
            pub fn parse(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                let check: fn(&str) -> bool = $check;
                if check(&text) { Ok($name(text)) } else { Err($error) }
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::parse(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

fn printable(text: &str, bytes_max: usize) -> bool {
    !text.is_empty() && text.len() <= bytes_max && !text.chars().any(char::is_control)
}

id!(
    /// One run: one turn worked through to its end.
    RunId, IdError::Run, |s| {
        s.len() <= 200
            && s.starts_with(|c: char| c.is_ascii_alphanumeric())
            && s.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
    }
);
id!(
    /// One conversation: `<channel>:<name>`, with a `#YYYY-MM-DD` bucket where it rolls over daily.
    ConversationId, IdError::Conversation, |s| printable(s, 2048)
);
id!(
    /// One request of the model to one tool, as the provider named it.
    CallId, IdError::Call, |s| printable(s, 512)
);

impl RunId {
    /// A new id, ordered by time.
    pub fn fresh() -> Self {
        RunId(format!("run-{}", uuid::Uuid::now_v7().simple()))
    }
}

impl CallId {
    /// A new id, for calls that no provider named.
    pub fn fresh() -> Self {
        CallId(format!("call-{}", uuid::Uuid::now_v7().simple()))
    }
}

impl ConversationId {
    /// The id without a daily bucket (`#YYYY-MM-DD` at its end). Only ask where rollover is on: without
    /// it a `#` is an ordinary character (HIS-5).
    pub fn without_bucket(&self) -> &str {
        match self.0.rsplit_once('#') {
            Some((head, bucket)) if !head.is_empty() && is_date(bucket) => head,
            _ => &self.0,
        }
    }

    /// The channel, the part before the first `:`.
    pub fn channel(&self) -> &str {
        self.0.split(':').next().unwrap_or(&self.0)
    }
}

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text
            .bytes()
            .enumerate()
            .all(|(i, b)| if matches!(i, 4 | 7) { b == b'-' } else { b.is_ascii_digit() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_ids() {
        assert!(RunId::parse(RunId::fresh().as_str()).is_ok());
        for bad in ["", "-a", "a/b", "a b", &"x".repeat(201), "a\n"] {
            assert_eq!(RunId::parse(bad), Err(IdError::Run), "{bad:?}");
        }
    }

    #[test]
    fn buckets() {
        let id = |s: &str| ConversationId::parse(s).unwrap();
        assert_eq!(id("tui:a#2026-11-30").without_bucket(), "tui:a");
        assert_eq!(id("tui:a#b").without_bucket(), "tui:a#b");
        assert_eq!(id("#2026-11-30").without_bucket(), "#2026-11-30");
        assert_eq!(id("web:x:y").channel(), "web");
    }
}
