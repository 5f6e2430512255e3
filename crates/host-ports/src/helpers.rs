//! What a run hands to somebody else: a task to a helper of its own (a child run), a question to a collaborator
//! (another agent) (TOO-6).

use crate::model::Effort;
use crate::{BoxFuture, CancellationToken};
use host_turn::Usage;
use host_vocab::{CallId, ConversationId, RunId};
use std::sync::Arc;

/// Who asks.
#[derive(Clone)]
pub struct Parent {
    /// Its conversation, daily bucket included.
    pub conversation: ConversationId,
    /// Its run.
    pub run: RunId,
    /// The call that asks.
    pub call: CallId,
    /// Fires when that call has to stop; what was started for it stops too.
    pub cancel: CancellationToken,
    /// Takes lines for people while it goes.
    pub tell: Arc<dyn Fn(String) + Send + Sync>,
}

/// One task for a helper, as a model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HelperTask {
    /// What it is to do.
    pub prompt: String,
    /// One of the helpers that the config defines; `None` = one that the model describes itself.
    pub name: Option<String>,
    /// What it is for, in a few words, for the record.
    pub description: Option<String>,
    /// Another model.
    pub model: Option<String>,
    /// How hard it thinks.
    pub effort: Option<Effort>,
    /// Instructions of its own, for one that the model describes.
    pub instructions: Option<String>,
    /// The tools that it should have; `None` = those that it has by default.
    pub tools: Option<Vec<String>>,
}

/// How a helper's run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HelperEnd {
    /// It answered.
    Succeeded,
    /// It failed; the kind and the words of the run.
    Failed(String),
    /// Its time was up, in milliseconds.
    TimedOut(u64),
    /// The asking call had to stop.
    Cancelled,
}

/// One call that a helper made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelperCall {
    /// The tool, as the helper's model wrote it.
    pub tool: String,
    /// `done`, `refused`, `failed` or `unknown`.
    pub settled: String,
    /// Its code.
    pub code: String,
    /// How long it ran.
    pub duration_ms: u64,
}

/// What came of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct HelperReport {
    /// The helper's run; the log has all of it under this id.
    pub run: RunId,
    /// How it ended.
    pub end: HelperEnd,
    /// Its answer, or what there was of it.
    pub text: String,
    /// Its calls, the first ones where there were many.
    pub calls: Vec<HelperCall>,
    /// How many there were.
    pub calls_total: usize,
    /// Tools that were asked for and not given, each with the reason.
    pub dropped: Vec<(String, String)>,
    /// What it used.
    pub usage: Usage,
    /// How long it took.
    pub duration_ms: u64,
}

/// Why nothing was started, or nothing came back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct HelperRefusal {
    /// A code of the tool that asks.
    pub code: &'static str,
    /// In words for the model.
    pub message: String,
}

/// Starts child runs of one run. None of them can do more than that run (POL-15).
pub trait Helpers: Send + Sync {
    /// Runs one task to its end. Dropping the future stops the child run; the log still gets its end.
    fn start(&self, task: HelperTask, parent: Parent) -> BoxFuture<'_, Result<HelperReport, HelperRefusal>>;
}

/// One question to a collaborator.
#[derive(Clone)]
pub struct CollaboratorQuestion {
    /// Its conversation with this parent: `<conversation>:<id>`.
    pub conversation: ConversationId,
    /// What the person said that set the asking run going, and then what its model asks; one text.
    pub text: String,
    /// The asking run.
    pub parent: Parent,
}

/// Another agent, or anything else that answers in words.
pub trait Responder: Send + Sync {
    /// Answers. The error is for the model of the asking run. Dropping the future takes the question back.
    fn answer(&self, question: CollaboratorQuestion) -> BoxFuture<'_, Result<String, String>>;
}
