//! The thin driver: it carries the machine's commands out through the ports.

mod carry;
mod settle;
mod whole;

use crate::config::EngineConfig;
use crate::context::TurnContext;
use crate::event::{EventSink, RunEvent};
use crate::lent::Surfaces;
use crate::outcome::RunOutcome;
use crate::sessions::SessionHub;
use crate::steering::Steering;
use host_ports::BoxFuture;
use host_ports::CancellationToken;
use host_ports::model::{Effort, Model};
use host_turn::{Ending, FailureKind, Reply, Turn, Usage};
use host_vocab::{ConversationId, RunId};
use std::sync::Arc;

/// One route of the chain.
#[derive(Clone)]
pub struct RouteParts {
    /// The model.
    pub model: Arc<dyn Model>,
    /// How often it is asked in all where it fails for a while, at least once.
    pub attempts: u32,
    /// How hard it should think; `None` = the provider's default, never another route's.
    pub effort: Option<Effort>,
}

/// What an engine is made of.
#[derive(Clone)]
pub struct EngineParts {
    /// The routes, first choice first.
    pub chain: Vec<RouteParts>,
    /// The conversations, with their store, the log and the clock. Shared by all engines of an agent.
    pub hub: Arc<SessionHub>,
    /// Bounds, back-off, compaction.
    pub config: EngineConfig,
    /// The incarnation of this process, named by the runs that it starts (ENG-7).
    pub incarnation: String,
}

/// Why there is no engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// No route at all.
    #[error("no model is configured; set runtime.model")]
    NoRoute,
}

/// What is done with a turn that came to a good end, before anybody is told that it is over: admission to
/// long-term memory. A run that stands alone, failed or was cancelled never gets here.
pub trait Completed: Send + Sync {
    /// Does it. What is given back is a code for the log and a line for people: it did not work, and the
    /// answer stands all the same.
    fn completed<'a>(
        &'a self,
        turn: &'a Turn,
        outcome: &'a RunOutcome,
    ) -> BoxFuture<'a, Option<(&'static str, String)>>;
}

/// One turn for the engine.
pub struct RunInput {
    /// The run's id, where the caller must know it beforehand; else a fresh one.
    pub run: Option<RunId>,
    /// The turn.
    pub turn: Turn,
    /// Where its surface comes from.
    pub surfaces: Arc<dyn Surfaces>,
    /// The texts and pictures of its prompt.
    pub context: TurnContext,
    /// Fires when somebody stops it.
    pub cancel: CancellationToken,
    /// Who listens.
    pub events: EventSink,
    /// Whether it runs inside another run's place, as a child run does: it doesn't wait for a free run, it stands
    /// alone, and its turn's conversation is taken as the exact one.
    pub nested: bool,
    /// What is done with it at its good end.
    pub completed: Option<Arc<dyn Completed>>,
    /// What people say to it while it runs.
    pub steering: Option<Steering>,
}

impl RunInput {
    /// A turn that nobody stops or listens to.
    pub fn new(turn: Turn, surfaces: Arc<dyn Surfaces>) -> Self {
        RunInput {
            run: None,
            turn,
            surfaces,
            context: TurnContext::default(),
            cancel: CancellationToken::new(),
            events: EventSink::default(),
            nested: false,
            completed: None,
            steering: None,
        }
    }
}

/// Runs turns. Cheap to clone; a reload makes a new one, and runs that are underway keep the old.
#[derive(Clone)]
pub struct Engine {
    parts: Arc<EngineParts>,
}

impl Engine {
    /// An engine of these parts.
    ///
    /// # Errors
    /// [`EngineError::NoRoute`] for an empty chain.
    pub fn new(parts: EngineParts) -> Result<Self, EngineError> {
        if parts.chain.is_empty() {
            return Err(EngineError::NoRoute);
        }
        Ok(Engine { parts: Arc::new(parts) })
    }

    /// What it is made of, to make another one of the same parts.
    pub fn parts(&self) -> &EngineParts {
        &self.parts
    }

    /// The conversations.
    pub fn hub(&self) -> &Arc<SessionHub> {
        &self.parts.hub
    }

    /// Runs one turn to its end. Nothing is an error: what went wrong is in [`RunOutcome::ending`]. When this
    /// future is dropped, the run is cancelled and still settles in the background, so that the log has its end.
    pub async fn run(&self, input: RunInput) -> RunOutcome {
        let cancel = input.cancel.child_token();
        let guard = cancel.clone().drop_guard();
        let run = input.run.clone().unwrap_or_else(RunId::fresh);
        let conversation = input.turn.conversation.clone();
        let events = input.events.clone();
        let task = tokio::spawn(whole::run(Arc::clone(&self.parts), input, run.clone(), cancel));
        let outcome = task.await;
        drop(guard.disarm());
        outcome.unwrap_or_else(|_| {
            let error = "the run broke; this is a fault of the host".to_owned();
            let ending = Ending::Failed { kind: FailureKind::RuntimeError, error };
            let outcome = not_begun(run, conversation, ending, 0);
            events.send(settled_event(&outcome));
            outcome
        })
    }
}

/// The outcome of a run that asked nobody anything.
pub(crate) fn not_begun(
    run: RunId,
    conversation: ConversationId,
    ending: Ending,
    duration_ms: u64,
) -> RunOutcome {
    RunOutcome {
        run,
        conversation,
        reply: Reply::default(),
        recorded: false,
        ending,
        partial: false,
        silent: true,
        usage: Usage::default(),
        duration_ms,
        model: String::new(),
        failover_history: Vec::new(),
    }
}

/// The last event of a run.
pub fn settled_event(outcome: &RunOutcome) -> RunEvent {
    let (failure_kind, error) = match &outcome.ending {
        Ending::Failed { kind, error } => (Some(kind.to_string()), Some(error.clone())),
        Ending::Interrupted { kind } => (Some(kind.to_string()), None),
        Ending::Succeeded | Ending::Cancelled => (None, None),
    };
    RunEvent::RunSettled {
        run: outcome.run.clone(),
        status: outcome.ending.status().to_owned(),
        failure_kind,
        error,
        text: outcome.reply.text.clone(),
        partial: outcome.partial,
        usage: outcome.usage,
        duration_ms: outcome.duration_ms,
        notices: outcome.reply.notices.clone(),
    }
}

#[cfg(test)]
mod tests;
