//! A log in memory and a clock that doesn't wait, for a replay.

use host_event::{NewEvent, StoredEvent};
use host_ports::BoxFuture;
use host_ports::clock::Clock;
use host_ports::log::{Log, LogError, PastTurn};
use host_vocab::{ConversationId, RunId};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many events a replay may leave.
const EVENTS_MAX: usize = 100_000;

/// A log in memory; its digests are those of the log that the recording comes from.
pub struct ScratchLog {
    events: Mutex<Vec<StoredEvent>>,
    digests: Arc<dyn Log>,
}

impl ScratchLog {
    /// An empty one. `digests` is the log that the recording comes from; nothing is written to it.
    pub fn new(digests: Arc<dyn Log>) -> Self {
        ScratchLog { events: Mutex::default(), digests }
    }

    /// Everything in it.
    pub fn events(&self) -> Vec<StoredEvent> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Log for ScratchLog {
    fn append(&self, events: Vec<NewEvent>) -> BoxFuture<'_, Result<u64, LogError>> {
        Box::pin(async move {
            let mut stored = self.events.lock().unwrap_or_else(PoisonError::into_inner);
            if stored.len() + events.len() > EVENTS_MAX {
                return Err(LogError::Full);
            }
            for event in events {
                let seq = stored.len() as u64 + 1;
                let kind = event.kind.to_owned();
                stored.push(StoredEvent::from_row(seq, event.at, event.scope, kind, event.body.into_inner()));
            }
            Ok(stored.len() as u64)
        })
    }

    fn keyed_digest(&self, bytes: &[u8]) -> String {
        self.digests.keyed_digest(bytes)
    }

    fn run_events(
        &self,
        run: &RunId,
        after_seq: u64,
        events_max: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredEvent>, LogError>> {
        let mut events = self.events();
        events.retain(|event| event.seq > after_seq && event.scope.run.as_ref() == Some(run));
        events.truncate(events_max);
        Box::pin(async move { Ok(events) })
    }

    fn past_turns(
        &self,
        _conversation: &ConversationId,
        _rollover: bool,
        _turns_max: usize,
    ) -> BoxFuture<'_, Result<Vec<PastTurn>, LogError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// A clock that never waits.
#[derive(Debug, Clone, Copy)]
pub struct QuickClock {
    /// What it says the time is, in Unix milliseconds.
    pub now_ms: i64,
}

impl Clock for QuickClock {
    fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn instant(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        // The longer waits of a host are bounds that a replay never reaches; waits between attempts are short.
        if duration > Duration::from_secs(120) {
            return Box::pin(tokio::time::sleep(duration));
        }
        Box::pin(tokio::task::yield_now())
    }
}
