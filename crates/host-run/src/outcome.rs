//! What a run came to.

use host_turn::{Ending, Reply, Usage};
use host_vocab::{ConversationId, RunId};
use serde_json::Value;

/// A run that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    /// The run.
    pub run: RunId,
    /// The exact conversation, daily bucket included.
    pub conversation: ConversationId,
    /// The answer, with the host's notices for people.
    pub reply: Reply,
    /// How it ended.
    pub ending: Ending,
    /// Whether the text is only a part of an answer that broke off. A notice of the reply says so too.
    pub partial: bool,
    /// Whether the answer means silence on a proactive delivery (CHN-7).
    pub silent: bool,
    /// What all requests of it used.
    pub usage: Usage,
    /// How long it took, waiting for its place included, in milliseconds.
    pub duration_ms: u64,
    /// The route that answered last; empty where none was asked.
    pub model: String,
    /// Routes that were tried and failed: `{model, failureKind, requestId?, retryIndex?}`.
    pub failover_history: Vec<Value>,
    /// Whether everything of it is in the log. If not, a notice says so, and the rest follows later.
    pub recorded: bool,
}
