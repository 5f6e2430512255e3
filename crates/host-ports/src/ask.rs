//! Asking a person whether a call may run (TOO-9).

use crate::BoxFuture;
use crate::replies::Shows;
use host_vocab::{CallId, ConversationId, RunId, ToolName, Untrusted};
use serde::{Deserialize, Serialize};
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
    /// What "always" would add, as JSON text; none = it can't be had.
    pub always: Option<String>,
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

/// Questions of the agent to a person (TOO-6).
#[derive(Debug, Clone)]
pub struct Questionnaire {
    /// The conversation in which they come up.
    pub conversation: ConversationId,
    /// The run.
    pub run: RunId,
    /// The call.
    pub call: CallId,
    /// What stands above them.
    pub message: Option<Untrusted<String>>,
    /// One to five.
    pub questions: Vec<Question>,
    /// How long a person has for all of them; none = for ever.
    pub wait: Option<std::time::Duration>,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// A word or two for it.
    pub header: String,
    /// The question.
    pub question: String,
    /// Two or three answers to choose from.
    pub options: Vec<Choice>,
    /// Whether several may be chosen.
    pub multi_select: bool,
}

/// One answer to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Its label.
    pub label: String,
    /// What it means.
    pub description: String,
}

/// What a person said to one question.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reply {
    /// The labels that were chosen.
    #[serde(default)]
    pub selected: Vec<String>,
    /// Words of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
}

/// What came back of questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionsAnswer {
    /// One reply for each question in order; none = that one was not answered.
    Answered(Vec<Option<Reply>>),
    /// The person does not want to answer.
    Declined,
    /// The time ran out; what was answered by then.
    TimedOut(Vec<Option<Reply>>),
    /// There is nobody to ask.
    NobodyToAsk,
}

/// A way to a person.
pub trait Ask: Send + Sync {
    /// What the place where the person is can show.
    fn shows(&self) -> Shows {
        Shows::default()
    }

    /// Asks questions of the agent. Dropping the future withdraws them.
    fn questions(&self, _asked: Questionnaire) -> BoxFuture<'_, QuestionsAnswer> {
        Box::pin(async { QuestionsAnswer::NobodyToAsk })
    }

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
