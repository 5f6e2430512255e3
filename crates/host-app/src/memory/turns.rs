//! What memory gives to a turn, and what it takes from one that is over.

use super::{AgentMemory, Kept};
use host_config::spec::memory::{MemorySpec, MemoryWriteMode};
use host_memory::{CompletedTurn, MemoryStore, Speaker, Tier};
use host_ports::memory::RememberError;
use host_ports::{BoxFuture, CancellationToken};
use host_run::{Background, Completed, RunOutcome};
use host_turn::{Trigger, Turn};
use host_vocab::RunId;
use std::time::Duration;

/// How long looking something up may hold a turn up.
const RECALL_MAX: Duration = Duration::from_secs(5);
/// Channels on which whoever writes is the owner: they go over the owner's own terminal, socket or console.
const OWNERS: &[&str] = &["terminal", "web", "tui"];
/// The code of a turn that memory did not take.
const DEGRADED: &str = "memory_persistence_degraded";

impl AgentMemory {
    /// Facts that go along with a turn unasked (A8): for the owner's own turns alone, and only what fits well.
    pub(crate) async fn background(&self, turn: &Turn, cancel: &CancellationToken) -> Option<Background> {
        let (Kept::Here(local), Some(spec)) = (&self.kept, &self.spec) else { return None };
        if !is_owner(turn) {
            return None;
        }
        let found = tokio::select! {
            found = tokio::time::timeout(RECALL_MAX, local.store.background(&turn.text, spec.max_bytes)) => found,
            () = cancel.cancelled() => return None,
        };
        let found = found.ok().flatten()?;
        tracing::info!(source = %found.source, bytes = found.text.len(), "memory_recalled");
        Some(found)
    }

    /// A run is over: what was frozen for it goes.
    pub(crate) fn ended(&self, run: &RunId) {
        if let Kept::Here(local) = &self.kept {
            host_ports::memory::Journal::end(local.journal.as_ref(), run);
        }
    }
}

impl Completed for AgentMemory {
    fn completed<'a>(
        &'a self,
        turn: &'a Turn,
        outcome: &'a RunOutcome,
    ) -> BoxFuture<'a, Option<(&'static str, String)>> {
        Box::pin(async move {
            let spec = self.spec.as_ref().filter(|it| it.write_mode != MemoryWriteMode::Disabled)?;
            let done = match &self.kept {
                Kept::Nowhere => return None,
                Kept::Broken(_) => Err("it can't be used".to_owned()),
                Kept::There(store) => {
                    store.ingest(&completed(turn, outcome)).await.map_err(|error| error.to_string())
                }
                Kept::Here(local) => {
                    let (store, it, spec) = (local.store.clone(), completed(turn, outcome), spec.clone());
                    let taken = tokio::task::spawn_blocking(move || take(&store, &it, &spec)).await;
                    local.touch();
                    taken.unwrap_or_else(|_| Err("the work broke off".to_owned()))
                }
            };
            let why = done.err()?;
            tracing::warn!(run = %outcome.run, why, "{DEGRADED}");
            Some((DEGRADED, format!("Long-term memory did not take this turn: {why}.")))
        })
    }
}

/// Takes a turn by the rules of the tier (A2, A3). When this returns, it is on the disk.
fn take(store: &MemoryStore, turn: &CompletedTurn, spec: &MemorySpec) -> Result<(), String> {
    let failed = |error: host_memory::IntakeError| error.to_string();
    if store.tier() == Tier::Bujo {
        store.note_audit(turn).map_err(failed)?;
    }
    if spec.write_mode == MemoryWriteMode::Capture {
        return store.admit(turn).map(|_| ()).map_err(failed);
    }
    if store.tier() == Tier::Bujo {
        return Ok(());
    }
    match store.note_summary(turn) {
        Ok(_) => Ok(()),
        // There is nothing that may be stored; that is no failure.
        Err(RememberError::Secret | RememberError::Unsafe { .. } | RememberError::Empty) => Ok(()),
        Err(RememberError::Forgotten | RememberError::Superseded) => Ok(()),
        // Another try later finishes it: what was written is found by its words.
        Err(_) => store.admit(turn).map(|_| ()).map_err(failed),
    }
}

/// Whether the host itself knows that the owner wrote it (A2.5, A8.6).
fn is_owner(turn: &Turn) -> bool {
    turn.trigger == Trigger::Interactive && turn.sender.is_none() && OWNERS.contains(&turn.channel.as_str())
}

fn completed(turn: &Turn, outcome: &RunOutcome) -> CompletedTurn {
    let (speaker, label) = match turn.trigger {
        _ if is_owner(turn) => (Speaker::HumanTurn, "User".to_owned()),
        Trigger::Proactive => (Speaker::Trigger, "scheduled task".to_owned()),
        Trigger::Request if turn.channel.as_str() == "webhook" => (Speaker::Trigger, "webhook".to_owned()),
        Trigger::Interactive | Trigger::Request => {
            (Speaker::Unknown, turn.sender.clone().unwrap_or_else(|| "Somebody".to_owned()))
        }
    };
    CompletedTurn {
        run: outcome.run.to_string(),
        speaker,
        label,
        said: turn.text.clone(),
        answer: outcome.reply.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_turn::Channel;
    use host_vocab::ConversationId;

    fn turn(channel: &str, trigger: Trigger, sender: Option<&str>) -> Turn {
        let conversation = ConversationId::parse("terminal:x").unwrap();
        let sender = sender.map(str::to_owned);
        Turn { channel: Channel::new(channel), trigger, sender, ..Turn::terminal(conversation, "hello") }
    }

    // A2.4, A2.5: who spoke is the host's own knowledge, and no text can claim it.
    #[test]
    fn only_the_host_says_who_is_the_owner() {
        for (it, owner) in [
            (turn("terminal", Trigger::Interactive, None), true),
            (turn("web", Trigger::Interactive, None), true),
            (turn("terminal", Trigger::Interactive, Some("owner")), false),
            (turn("terminal", Trigger::Proactive, None), false),
            (turn("webhook", Trigger::Request, None), false),
            (turn("telegram", Trigger::Interactive, Some("Ada")), false),
            (turn("telegram", Trigger::Interactive, None), false),
        ] {
            assert_eq!(is_owner(&it), owner, "{it:?}");
        }
    }
}
