//! Proof that a call passed the gate.

use host_ports::CancellationToken;
use host_vocab::{CallId, ConversationId, RunId};
use std::sync::Arc;

/// An input that passed the gate, with what the call belongs to. Its private field keeps every other
/// crate from making one, so nothing but [`crate::Surface::call`] can run a tool.
pub struct Admitted<I> {
    /// The input.
    pub input: I,
    /// The call.
    pub context: CallContext,
    _seal: Seal,
}

struct Seal;

impl<I> Admitted<I> {
    pub(crate) fn new(input: I, context: CallContext) -> Self {
        Admitted { input, context, _seal: Seal }
    }

    /// The same call with its input in another form.
    pub(crate) fn with_input<J>(self, input: J) -> Admitted<J> {
        Admitted { input, context: self.context, _seal: Seal }
    }
}

/// What one call belongs to, and how it is told to stop.
#[derive(Clone)]
pub struct CallContext {
    /// The conversation, daily bucket included.
    pub conversation: ConversationId,
    /// The run.
    pub run: RunId,
    /// The call.
    pub call: CallId,
    /// Fires when the turn is cancelled or the gate's deadline passes. A tool that can, stops at once and
    /// answers with what it has; one that doesn't is dropped after a short grace.
    pub cancel: CancellationToken,
    /// Where progress goes.
    pub progress: ProgressSink,
}

/// How far a call is; for the activity view only.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// A line for people.
    pub message: String,
    /// How much is done.
    pub done: Option<f64>,
    /// Of how much.
    pub total: Option<f64>,
}

/// A listener for progress.
#[derive(Clone, Default)]
pub struct ProgressSink(Option<Arc<dyn Fn(Progress) + Send + Sync>>);

impl ProgressSink {
    /// Sends progress to a function.
    pub fn new(listener: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        ProgressSink(Some(Arc::new(listener)))
    }

    /// Tells the listener, if there is one.
    pub fn tell(&self, progress: Progress) {
        if let Some(listener) = &self.0 {
            listener(progress);
        }
    }
}
