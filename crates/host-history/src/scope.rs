//! Whose history is seen.

use crate::store::ScopeFilter;
use host_vocab::{ConversationId, RunId};

/// Whose history a request may see. It comes from the host alone; no argument of a call changes it (T9-07).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryScope {
    /// The exact conversation, daily bucket included.
    pub conversation: ConversationId,
    /// Whether daily buckets are one conversation (`session.rollover: "daily"`). Without it a `#` is an
    /// ordinary character (RUN-7, HIS-5).
    pub rollover: bool,
    /// The run that asks; it never sees itself.
    pub current: RunId,
}

impl HistoryScope {
    /// The conversation without its bucket, where that counts.
    pub fn logical(&self) -> &str {
        if self.rollover { self.conversation.without_bucket() } else { self.conversation.as_str() }
    }

    /// What the store filters by.
    pub fn filter(&self) -> ScopeFilter {
        if self.rollover {
            ScopeFilter::Logical(self.conversation.without_bucket().to_owned())
        } else {
            ScopeFilter::Exact(self.conversation.clone())
        }
    }

    /// What a cursor is bound to, besides its question.
    pub(crate) fn binding(&self) -> [&str; 3] {
        [self.logical(), self.conversation.as_str(), self.current.as_str()]
    }

    /// Whether something belongs to the very run that asks (HIS-5: the pair, not the id alone).
    pub(crate) fn is_current(&self, conversation: Option<&ConversationId>, run: &RunId) -> bool {
        *run == self.current && conversation == Some(&self.conversation)
    }
}
