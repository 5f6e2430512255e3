//! A log in memory.

use host_event::{Fact, NewEvent, StoredEvent};
use host_ports::BoxFuture;
use host_ports::log::{Log, LogError, PastTurn};
use host_vocab::{ConversationId, RunId};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

/// Keeps events in memory, and fails when it is told to.
#[derive(Default)]
pub struct MemoryLog {
    events: Mutex<Vec<StoredEvent>>,
    failing: Mutex<Option<LogError>>,
}

impl MemoryLog {
    /// Every append fails with this until it is called with `None`.
    pub fn fail_with(&self, error: Option<LogError>) {
        *self.failing.lock().expect("no test panics while it holds this") = error;
    }

    /// Everything in it.
    pub fn events(&self) -> Vec<StoredEvent> {
        self.events.lock().expect("no test panics while it holds this").clone()
    }

    /// The facts in it.
    pub fn facts(&self) -> Vec<Fact> {
        self.events().into_iter().filter_map(|event| event.fact).collect()
    }

    /// The kinds in it, in order.
    pub fn kinds(&self) -> Vec<String> {
        self.events().into_iter().map(|event| event.kind).collect()
    }
}

impl Log for MemoryLog {
    fn append(&self, events: Vec<NewEvent>) -> BoxFuture<'_, Result<u64, LogError>> {
        Box::pin(async move {
            if let Some(error) = self.failing.lock().expect("no test panics while it holds this").clone() {
                return Err(error);
            }
            let mut stored = self.events.lock().expect("no test panics while it holds this");
            for event in events {
                let seq = stored.len() as u64 + 1;
                let kind = event.kind.to_owned();
                stored.push(StoredEvent::from_row(seq, event.at, event.scope, kind, event.body.into_inner()));
            }
            Ok(stored.len() as u64)
        })
    }

    fn keyed_digest(&self, bytes: &[u8]) -> String {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    fn run_events(
        &self,
        run: &RunId,
        after_seq: u64,
        events_max: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredEvent>, LogError>> {
        let run = run.clone();
        Box::pin(async move {
            Ok(self
                .events()
                .into_iter()
                .filter(|event| event.seq > after_seq && event.scope.run.as_ref() == Some(&run))
                .take(events_max)
                .collect())
        })
    }

    fn past_turns(
        &self,
        conversation: &ConversationId,
        rollover: bool,
        turns_max: usize,
    ) -> BoxFuture<'_, Result<Vec<PastTurn>, LogError>> {
        let wanted = conversation.clone();
        Box::pin(async move {
            let same = |id: &ConversationId| {
                if rollover { id.without_bucket() == wanted.without_bucket() } else { *id == wanted }
            };
            let mut turns: Vec<PastTurn> = Vec::new();
            for event in self.events() {
                let cleared = matches!(&event.fact,
                    Some(Fact::SessionBoundary { boundary, .. }) if boundary == "cleared");
                if cleared && event.scope.conversation.as_ref().is_none_or(same) {
                    turns.clear();
                }
                let Some(id) = &event.scope.conversation else { continue };
                if !same(id) {
                    continue;
                }
                let Some(run) = &event.scope.run else { continue };
                match event.fact {
                    Some(Fact::RunStarted { user_input, isolated: false, .. }) => turns.push(PastTurn {
                        run: run.clone(),
                        at: event.at,
                        user: user_input,
                        assistant: String::new(),
                        status: String::new(),
                    }),
                    Some(Fact::RunSettled { ending, text, .. }) => {
                        if let Some(turn) = turns.iter_mut().find(|turn| turn.run == *run) {
                            turn.assistant = text;
                            turn.status = ending.status().to_owned();
                        }
                    }
                    _ => {}
                }
            }
            turns.retain(|turn| !turn.status.is_empty());
            let from = turns.len().saturating_sub(turns_max);
            Ok(turns.split_off(from))
        })
    }
}
