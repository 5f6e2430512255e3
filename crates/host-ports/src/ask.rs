//! Asking a person whether a call may run (TOO-9).

use crate::BoxFuture;
use host_vocab::{CallId, ConversationId, RunId, ToolName, Untrusted};
use serde_json::Value;

/// What a person is asked.
#[derive(Debug, Clone)]
pub struct ApprovalRequest {
    /// The conversation in which it comes up.
    pub conversation: ConversationId,
    /// The run.
    pub run: RunId,
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: ToolName,
    /// The redacted arguments; the renderer bounds them.
    pub arguments: Untrusted<Value>,
    /// The rule that asks.
    pub rule: String,
}

/// What came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// This call may run.
    Approved,
    /// This call may run, and the same tool from now on.
    ApprovedAlways,
    /// It may not.
    Denied,
    /// Nobody answered in time, which is a no.
    TimedOut,
    /// There is nobody to ask, which is a no.
    NoAsker,
}

/// A way to a person.
pub trait Ask: Send + Sync {
    /// Asks, and waits for at most the asker's own time-out. Dropping the future withdraws the question.
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer>;
}

/// Nobody is there: every question is answered with no.
#[derive(Debug, Clone, Copy, Default)]
pub struct NobodyToAsk;

impl Ask for NobodyToAsk {
    fn approve(&self, _request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async { ApprovalAnswer::NoAsker })
    }
}
