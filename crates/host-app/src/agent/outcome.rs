//! How a run ended, for programs and for the log.

use host_ports::CancellationToken;
use host_run::RunOutcome;
use host_surface::Settled;
use host_turn::{Ending, Turn, Usage};
use host_vocab::RunId;
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
        "notices": outcome.reply.notices,
        "partial": outcome.partial,
        "usage": outcome.usage,
        "durationMs": outcome.duration_ms,
        "model": outcome.model,
        "recorded": outcome.recorded,
    })
}

pub(super) fn no_model(turn: Turn) -> RunOutcome {
    RunOutcome {
        run: RunId::fresh(),
        conversation: turn.conversation,
        reply: host_turn::Reply::default(),
        ending: Ending::Failed {
            kind: host_turn::FailureKind::ProviderUnavailable,
            error: "this agent was opened without a model; set runtime.model".to_owned(),
        },
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
