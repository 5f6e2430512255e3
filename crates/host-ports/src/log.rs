//! The one append-only log of an agent.

use crate::BoxFuture;
use crate::clock::Clock;
use host_event::{Fact, NewEvent, Scope, StoredEvent};
use host_redact::Redactor;
use host_vocab::{ConversationId, RunId};
use std::sync::Arc;

/// Why the log could not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// There is no room left where the log is.
    #[error("the disk that holds the log is full")]
    Full,
    /// The log was closed.
    #[error("the log is closed")]
    Closed,
    /// The file is damaged; it is never recreated by itself.
    #[error("the log is damaged: {0}")]
    Damaged(String),
    /// Anything else, in words without a path.
    #[error("the log failed: {0}")]
    Failed(String),
}

/// Appending and reading events. What `append` acknowledged survives the death of the process, and of
/// the power under `store.durability: "full"`.
pub trait Log: Send + Sync {
    /// Appends all events as one transaction and gives the sequence of the last.
    ///
    /// # Errors
    /// Nothing of the batch is in the log then.
    fn append(&self, events: Vec<NewEvent>) -> BoxFuture<'_, Result<u64, LogError>>;

    /// A keyed digest (HMAC-SHA-256, hex) under the log's own key: equal inputs can be told, and nothing
    /// can be read from it.
    fn keyed_digest(&self, bytes: &[u8]) -> String;

    /// The events of one run in order, at most `events_max` after `after_seq`.
    ///
    /// # Errors
    /// See [`LogError`].
    fn run_events(
        &self,
        run: &RunId,
        after_seq: u64,
        events_max: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredEvent>, LogError>>;

    /// The newest settled turns of a logical conversation, oldest first: what a cold session is reseeded
    /// from (HIS-9). With `rollover` the daily buckets of the conversation count as one.
    /// Turns before a [`Fact::SessionBoundary`] `cleared` of the conversation are not given: they were
    /// cleared on purpose. Isolated runs are none of its turns.
    ///
    /// # Errors
    /// See [`LogError`].
    fn past_turns(
        &self,
        conversation: &ConversationId,
        rollover: bool,
        turns_max: usize,
    ) -> BoxFuture<'_, Result<Vec<PastTurn>, LogError>>;
}

/// One settled turn, from the redacted log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastTurn {
    /// The run.
    pub run: RunId,
    /// When it began, in Unix milliseconds.
    pub at: i64,
    /// What was said.
    pub user: String,
    /// What was answered.
    pub assistant: String,
    /// How it ended (`succeeded` …).
    pub status: String,
}

/// Turns facts into events and appends them: log, redactor and clock in one hand.
#[derive(Clone)]
pub struct Recorder {
    log: Arc<dyn Log>,
    redactor: Arc<Redactor>,
    clock: Arc<dyn Clock>,
}

impl Recorder {
    /// Puts the three together.
    pub fn new(log: Arc<dyn Log>, redactor: Arc<Redactor>, clock: Arc<dyn Clock>) -> Self {
        Recorder { log, redactor, clock }
    }

    /// Appends one fact, redacted, now.
    ///
    /// # Errors
    /// See [`LogError`]; then it is not in the log.
    pub async fn record(&self, scope: Scope, fact: Fact) -> Result<u64, LogError> {
        self.record_all(vec![(scope, fact)]).await
    }

    /// Appends several facts as one transaction.
    ///
    /// # Errors
    /// See [`LogError`]; then none of them is in the log.
    pub async fn record_all(&self, facts: Vec<(Scope, Fact)>) -> Result<u64, LogError> {
        let at = self.clock.now_ms();
        let events =
            facts.iter().map(|(scope, fact)| NewEvent::of(fact, scope.clone(), at, &self.redactor)).collect();
        self.log.append(events).await
    }

    /// The log behind it.
    pub fn log(&self) -> &Arc<dyn Log> {
        &self.log
    }

    /// The redactor in front of it.
    pub fn redactor(&self) -> &Arc<Redactor> {
        &self.redactor
    }

    /// The clock beside it.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
}
