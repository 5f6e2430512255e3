//! The foreground ceiling of the writer (HIS-2).

use host_event::{NewEvent, StoredEvent};
use host_ports::BoxFuture;
use host_ports::log::{Log, LogError, PastTurn};
use host_vocab::{ConversationId, RunId};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

/// How long a caller waits for a write that may be finished later.
pub const CEILING: Duration = Duration::from_millis(250);
/// The most events that a failed write keeps for the next one.
const HELD_EVENTS_MAX: usize = 10_000;

/// How the writer is getting on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CeilingState {
    /// Writes that were accepted and are not finished yet.
    pub deferred: u64,
    /// Writes that were deferred and then refused; their events wait for the next write.
    pub failed: u64,
    /// Events that wait for the next write.
    pub held: u64,
}

/// A log whose callers wait for at most [`CEILING`] for what may come later.
///
/// What must be on record before its effect can be seen (a run's beginning, a call's start, a question, a
/// boundary, a run's end) always waits: a started call is durable before it runs (ENG-7). Everything keeps
/// its order, so when a run's end is on record, everything that was deferred before it is too. A deferred
/// write that is refused in the end is not lost: it goes with the next one, whose caller is told if that
/// fails.
pub struct CeilingLog {
    inner: Arc<dyn Log>,
    ceiling: Duration,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Whose turn it is. It is fair, so writes keep the order in which they were asked for.
    turn: Arc<tokio::sync::Mutex<()>>,
    held: Mutex<Vec<NewEvent>>,
    deferred: AtomicU64,
    failed: AtomicU64,
    last: AtomicU64,
}

impl CeilingLog {
    /// Puts the usual ceiling over a log.
    pub fn new(inner: Arc<dyn Log>) -> Self {
        Self::with_ceiling(inner, CEILING)
    }

    /// The same with another ceiling.
    pub fn with_ceiling(inner: Arc<dyn Log>, ceiling: Duration) -> Self {
        CeilingLog { inner, ceiling, shared: Arc::default() }
    }

    /// How it is getting on.
    pub fn state(&self) -> CeilingState {
        CeilingState {
            deferred: self.shared.deferred.load(Ordering::Acquire),
            failed: self.shared.failed.load(Ordering::Acquire),
            held: self.shared.held().len() as u64,
        }
    }

    /// Waits until nothing is deferred any more, and tries once more to write what was refused.
    ///
    /// # Errors
    /// What is held could not be written; it is still held.
    pub async fn drain(&self) -> Result<(), LogError> {
        let _turn = self.shared.turn.lock().await;
        let held = std::mem::take(&mut *self.shared.held());
        if held.is_empty() {
            return Ok(());
        }
        match self.inner.append(held.clone()).await {
            Ok(_) => Ok(()),
            Err(error) => {
                self.shared.hold(held);
                Err(error)
            }
        }
    }
}

impl Shared {
    fn held(&self) -> std::sync::MutexGuard<'_, Vec<NewEvent>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hold(&self, events: Vec<NewEvent>) {
        let mut held = self.held();
        let mut whole = events;
        whole.append(&mut held);
        whole.truncate(HELD_EVENTS_MAX);
        *held = whole;
    }

    /// Writes in turn, what is held first. Where it fails, what was held is held again.
    async fn write(&self, inner: Arc<dyn Log>, events: Vec<NewEvent>) -> Result<u64, LogError> {
        let _turn = Arc::clone(&self.turn).lock_owned().await;
        let held = std::mem::take(&mut *self.held());
        let done = if held.is_empty() {
            inner.append(events).await
        } else {
            let whole = held.iter().cloned().chain(events).collect();
            let done = inner.append(whole).await;
            if done.is_err() {
                self.hold(held);
            }
            done
        };
        if let Ok(seq) = done {
            self.last.store(seq, Ordering::Release);
        }
        done
    }
}

/// Whether an event may be written a moment after its caller went on.
fn may_wait(event: &NewEvent) -> bool {
    matches!(
        event.kind,
        "call_settled"
            | "call_refused"
            | "model_asked"
            | "model_answered"
            | "model_failed"
            | "context_compacted"
            | "warning"
    )
}

impl Log for CeilingLog {
    /// Gives the sequence of the last event; for a deferred write that of the last finished one. A caller that
    /// goes away takes nothing back: what was asked for is written.
    fn append(&self, events: Vec<NewEvent>) -> BoxFuture<'_, Result<u64, LogError>> {
        Box::pin(async move {
            let kept = events.iter().all(may_wait).then(|| events.clone());
            let (inner, shared) = (Arc::clone(&self.inner), Arc::clone(&self.shared));
            let mut write: BoxFuture<'static, Result<u64, LogError>> =
                Box::pin(async move { shared.write(inner, events).await });
            // The first look takes its place in the line, and mostly it is done with that.
            if let Poll::Ready(done) = futures_util::poll!(&mut write) {
                return done;
            }
            let mut task = tokio::spawn(write);
            let stopped = |_| LogError::Failed("the runtime stopped under it".to_owned());
            let Some(kept) = kept else { return task.await.unwrap_or_else(|error| Err(stopped(error))) };
            tokio::select! {
                biased;
                done = &mut task => done.unwrap_or_else(|error| Err(stopped(error))),
                () = tokio::time::sleep(self.ceiling) => {
                    let shared = Arc::clone(&self.shared);
                    shared.deferred.fetch_add(1, Ordering::AcqRel);
                    let last = shared.last.load(Ordering::Acquire);
                    tokio::spawn(async move {
                        if let Err(error) = task.await.unwrap_or_else(|error| Err(stopped(error))) {
                            tracing::warn!(%error, "a deferred write was refused; it goes with the next one");
                            shared.failed.fetch_add(1, Ordering::AcqRel);
                            shared.hold(kept);
                        }
                        shared.deferred.fetch_sub(1, Ordering::AcqRel);
                    });
                    Ok(last)
                }
            }
        })
    }

    fn keyed_digest(&self, bytes: &[u8]) -> String {
        self.inner.keyed_digest(bytes)
    }

    fn run_events(
        &self,
        run: &RunId,
        after_seq: u64,
        events_max: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredEvent>, LogError>> {
        self.inner.run_events(run, after_seq, events_max)
    }

    fn past_turns(
        &self,
        conversation: &ConversationId,
        rollover: bool,
        turns_max: usize,
    ) -> BoxFuture<'_, Result<Vec<PastTurn>, LogError>> {
        self.inner.past_turns(conversation, rollover, turns_max)
    }
}

#[cfg(test)]
mod tests;
