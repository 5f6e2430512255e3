//! How a run ended, for programs and for the log.

use host_ports::CancellationToken;
use host_run::{EventSink, RunOutcome, settled_event};
use host_surface::Settled;
use host_turn::{Ending, Turn, Usage};
use host_vocab::{ConversationId, RunId};
use serde_json::{Value, json};

/// The object that a run ends with for programs.
pub fn outcome_json(outcome: &RunOutcome) -> Value {
    let (kind, error) = match &outcome.ending {
        Ending::Failed { kind, error } => (Some(kind.as_str()), Some(error.clone())),
        Ending::Interrupted { kind } => (Some(kind.as_str()), None),
        Ending::Succeeded | Ending::Cancelled => (None, None),
    };
    json!({
        "run": outcome.run,
        "conversation": outcome.conversation,
        "status": outcome.ending.status(),
        "failureKind": kind,
        "error": error,
        "text": outcome.reply.text,
        "parts": outcome.reply.parts,
        "notices": outcome.reply.notices,
        "partial": outcome.partial,
        "usage": outcome.usage,
        "durationMs": outcome.duration_ms,
        "model": outcome.model,
        "recorded": outcome.recorded,
    })
}

/// An outcome without a run, which its listener hears of as well.
pub(super) fn told(outcome: RunOutcome, events: &EventSink) -> RunOutcome {
    events.send(settled_event(&outcome));
    outcome
}

pub(super) fn no_model(turn: Turn) -> RunOutcome {
    let error = "this agent was opened without a model; set runtime.model";
    not_begun(turn, host_turn::FailureKind::ProviderUnavailable, error)
}

/// A conversation's id is what the log is keyed by, so it stands there as it is: one that holds a secret is refused
/// before anything is written (QUA-5).
pub(super) fn telltale(turn: Turn) -> RunOutcome {
    let error = "the conversation's id holds a configured secret or a token, and ids stand in the log as they are; \
                 use another id";
    let conversation = ConversationId::parse("redacted").unwrap_or_else(|_| turn.conversation.clone());
    not_begun(Turn { conversation, ..turn }, host_turn::FailureKind::InvalidRequest, error)
}

fn not_begun(turn: Turn, kind: host_turn::FailureKind, error: &str) -> RunOutcome {
    RunOutcome {
        run: RunId::fresh(),
        conversation: turn.conversation,
        reply: host_turn::Reply::default(),
        ending: Ending::Failed { kind, error: error.to_owned() },
        partial: false,
        silent: false,
        usage: Usage::default(),
        duration_ms: 0,
        model: String::new(),
        failover_history: Vec::new(),
        recorded: false,
    }
}

/// How the run of a single call ended.
pub(super) fn ending_of(settled: &Settled, cancel: &CancellationToken) -> Ending {
    if cancel.is_cancelled() {
        return Ending::Cancelled;
    }
    if !settled.is_error() {
        return Ending::Succeeded;
    }
    let error = format!("the call was {} ({})", settled.how.as_str(), settled.code);
    Ending::Failed { kind: host_turn::FailureKind::RuntimeError, error }
}
