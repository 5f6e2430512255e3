//! A log in memory and a clock that doesn't wait, for a replay.

use host_event::{NewEvent, StoredEvent};
use host_ports::BoxFuture;
use host_ports::clock::Clock;
use host_ports::log::{Log, LogError, PastTurn};
use host_vocab::{ConversationId, RunId};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How many events a replay may leave.
const EVENTS_MAX: usize = 100_000;

/// A log in memory; its digests are those of the log that the recording comes from.
pub struct ScratchLog {
    events: Mutex<Vec<StoredEvent>>,
    digests: Arc<dyn Log>,
    past: Past,
    order: Order,
}

/// The order in which calls that ran side by side left their events: it is kept in a replay, where none of them
/// takes any time.
#[derive(Default)]
struct Order {
    left: Mutex<VecDeque<Step>>,
    moved: Notify,
}

/// One event of a call: its kind, and the call.
type Step = (String, String);

/// How long an event waits for its turn. Another order than then is a difference to be seen, not a reason to hang.
const TURN_WAIT: Duration = Duration::from_secs(2);

impl Order {
    fn left(&self) -> std::sync::MutexGuard<'_, VecDeque<Step>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until everything that came before this event is there. One that never came has no turn.
    async fn turn(&self, step: &Step) {
        let reached = async {
            loop {
                let moved = self.moved.notified();
                match self.left().iter().position(|it| it == step) {
                    None | Some(0) => return,
                    Some(_) => {}
                }
                moved.await;
            }
        };
        if tokio::time::timeout(TURN_WAIT, reached).await.is_err() {
            // The order is lost; nothing waits for it any more.
            self.left().clear();
            self.moved.notify_waiters();
        }
    }

    fn done(&self, step: &Step) {
        let mut left = self.left();
        if left.front() == Some(step) {
            left.pop_front();
        }
        drop(left);
        self.moved.notify_waiters();
    }
}

/// The step of an event, if it is a call's.
fn step(kind: &str, call: Option<&host_vocab::CallId>) -> Option<Step> {
    let ordered = ["call_started", "call_settled", "call_refused", "approval_asked", "approval_answered"];
    ordered.contains(&kind).then(|| (kind.to_owned(), call.map(ToString::to_string).unwrap_or_default()))
}

/// Whether the recorded run found earlier turns of its conversation in the log: of the same day, of another one.
/// What they said is not needed, since no event quotes a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Past {
    pub(super) same_day: bool,
    pub(super) other_day: bool,
}

impl ScratchLog {
    /// An empty one. `digests` is the log that the recording comes from; nothing is written to it.
    pub fn new(digests: Arc<dyn Log>) -> Self {
        ScratchLog { events: Mutex::default(), digests, past: Past::default(), order: Order::default() }
    }

    /// The same, which keeps the order of the events of calls.
    pub(super) fn in_order_of(self, events: &[StoredEvent]) -> Self {
        let steps = events.iter().filter_map(|event| step(&event.kind, event.scope.call.as_ref())).collect();
        ScratchLog { order: Order { left: Mutex::new(steps), moved: Notify::new() }, ..self }
    }

    pub(super) fn with_past(self, past: Past) -> Self {
        ScratchLog { past, ..self }
    }

    /// Everything in it.
    pub fn events(&self) -> Vec<StoredEvent> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ScratchLog {
    fn store(&self, events: Vec<NewEvent>) -> Result<u64, LogError> {
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
    }
}

impl Log for ScratchLog {
    fn append(&self, events: Vec<NewEvent>) -> BoxFuture<'_, Result<u64, LogError>> {
        Box::pin(async move {
            let steps: Vec<Step> =
                events.iter().filter_map(|event| step(event.kind, event.scope.call.as_ref())).collect();
            if let Some(first) = steps.first() {
                self.order.turn(first).await;
            }
            let last = self.store(events)?;
            steps.iter().for_each(|step| self.order.done(step));
            Ok(last)
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
        rollover: bool,
        _turns_max: usize,
    ) -> BoxFuture<'_, Result<Vec<PastTurn>, LogError>> {
        let there = self.past.same_day || (rollover && self.past.other_day);
        let turn = || PastTurn {
            run: RunId::fresh(),
            at: i64::MAX,
            user: "an earlier turn".to_owned(),
            assistant: String::new(),
            status: "succeeded".to_owned(),
        };
        let turns: Vec<PastTurn> = there.then(turn).into_iter().collect();
        Box::pin(async move { Ok(turns) })
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
