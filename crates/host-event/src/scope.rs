//! What an event belongs to.

use host_vocab::{CallId, ConversationId, RunId};
use serde::{Deserialize, Serialize};

/// The conversation, run and call that an event belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Scope {
    /// The exact conversation, daily bucket included.
    pub conversation: Option<ConversationId>,
    /// The run.
    pub run: Option<RunId>,
    /// The call.
    pub call: Option<CallId>,
}

impl Scope {
    /// Of a run.
    pub fn of_run(conversation: &ConversationId, run: &RunId) -> Self {
        Scope { conversation: Some(conversation.clone()), run: Some(run.clone()), call: None }
    }

    /// The same, narrowed to one call.
    #[must_use]
    pub fn call(&self, call: &CallId) -> Self {
        Scope { call: Some(call.clone()), ..self.clone() }
    }
}
