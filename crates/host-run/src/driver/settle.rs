//! The end of a run: its record first, then its session, then its reply.

use super::EngineParts;
use crate::machine::Finished;
use crate::outcome::RunOutcome;
use crate::sessions::{Warm, account};
use crate::silence::is_silent;
use host_event::{Fact, Scope};
use host_surface::RunFacts;
use host_turn::{Ending, Reply};
use host_vocab::ConversationId;

/// What the driver knows of a run that the machine does not.
pub(super) struct Settling {
    pub(super) facts: RunFacts,
    pub(super) notices: Vec<String>,
    pub(super) recorded: bool,
    pub(super) duration_ms: u64,
    /// The conversation without its bucket.
    pub(super) logical: ConversationId,
    pub(super) proactive: bool,
}

pub(super) async fn settle(
    parts: &EngineParts,
    warm: Option<&mut Warm>,
    finished: Finished,
    settling: Settling,
) -> RunOutcome {
    let silent =
        matches!(finished.ending, Ending::Succeeded) && settling.proactive && is_silent(&finished.text);
    let mut notices = settling.notices;
    notices.extend(finished.notices);
    let mut outcome = RunOutcome {
        run: settling.facts.run.clone(),
        conversation: settling.facts.conversation.clone(),
        reply: Reply { text: finished.text, parts: Vec::new(), notices },
        ending: finished.ending,
        partial: finished.partial,
        silent,
        usage: finished.usage,
        duration_ms: settling.duration_ms,
        model: finished.model.clone(),
        failover_history: finished.failover_history,
        recorded: settling.recorded,
    };
    parts.hub.learn_windows(&finished.learned_windows);
    let scope = Scope::of_run(&settling.facts.conversation, &settling.facts.run);
    outcome.recorded &= record_end(parts, scope.clone(), &outcome).await;
    if !outcome.recorded {
        let notice = "This run is not durably recorded yet; the host keeps trying.";
        outcome.reply.notices.push(notice.to_owned());
    }
    if let Some(warm) = warm {
        let mut messages = finished.history;
        messages.extend(account(finished.turn, &outcome.ending));
        let exact = &settling.facts.conversation;
        if let Err(error) = parts.hub.close(warm, exact, messages, finished.model).await {
            let message = error.to_string();
            tracing::warn!(conversation = %exact, "{message}");
            parts.hub.backlog.later(scope, Fact::Warning { code: "session_not_stored".into(), message });
            let notice = "The session's exact state could not be stored; after a restart it is rebuilt from the \
                          redacted history.";
            outcome.reply.notices.push(notice.to_owned());
        }
        parts.hub.touch(&settling.logical);
    }
    outcome
}

/// Puts the end on record, now or later. Says whether it is there now.
pub(super) async fn record_end(parts: &EngineParts, scope: Scope, outcome: &RunOutcome) -> bool {
    let fact = Fact::RunSettled {
        ending: outcome.ending.clone(),
        text: outcome.reply.text.clone(),
        usage: outcome.usage,
        duration_ms: outcome.duration_ms,
        failover_history: outcome.failover_history.clone(),
    };
    // What waits from this run stands before its end.
    if parts.hub.backlog.waiting() > 0 {
        parts.hub.backlog.flush().await;
    }
    if parts.hub.recorder.record(scope.clone(), fact.clone()).await.is_ok() {
        return true;
    }
    parts.hub.backlog.later(scope, fact);
    false
}
