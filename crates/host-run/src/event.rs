//! What a listener sees of a run while it goes.

use host_turn::Usage;
use host_vocab::{ConversationId, RunId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// The longest text that waiting deltas are joined to, in bytes.
const JOINED_BYTES_MAX: usize = 64 * 1024;

/// One live event: a line of `run --json`, a frame for a console. The names are a contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum RunEvent {
    /// The run is on record and about to ask its model.
    RunStarted {
        /// The run.
        run: RunId,
        /// The exact conversation.
        conversation: ConversationId,
        /// The configured route.
        model: String,
        /// The names of the tools that it has.
        tools: Vec<String>,
    },
    /// A piece of the answer.
    TextDelta {
        /// The piece.
        text: String,
    },
    /// A piece of readable reasoning; never a part of the answer.
    ReasoningDelta {
        /// The piece.
        text: String,
    },
    /// A call goes to the gate.
    CallStarted {
        /// The call.
        id: String,
        /// The tool's name as the model wrote it.
        name: String,
        /// The arguments, redacted; a string where they are no JSON.
        arguments: Value,
    },
    /// A running call says how far it is.
    CallProgress {
        /// The call.
        id: String,
        /// A line for people.
        message: String,
        /// How much is done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        done: Option<f64>,
        /// Of how much.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
    },
    /// A call is over.
    CallSettled {
        /// The call.
        id: String,
        /// `done`, `refused`, `failed` or `unknown`.
        settled: String,
        /// Its code.
        code: String,
        /// How long it ran.
        duration_ms: u64,
        /// The beginning of its result, redacted, at most 4,000 bytes.
        preview: String,
        /// What let it through, in words that name the setting; none = it was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// How large the whole result is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result_bytes: Option<u64>,
    },
    /// A part of the reply stands: a file, quick replies, a restart proposal, a failure (REP-1).
    Part {
        /// The part, as the reply will carry it.
        part: Value,
    },
    /// The model has read what people said to the running turn (ENG-8).
    FollowUpsRead {
        /// Which, in their order.
        ids: Vec<String>,
    },
    /// The model proposes a title for the conversation (TIT-1). It counts once its call has settled as done.
    Title {
        /// The call.
        call: String,
        /// The title, normalised.
        title: String,
    },
    /// A server that gets the run's context says how far it is (CTX-4). A later one with the same key replaces it.
    Status {
        /// Names the line.
        key: String,
        /// The words.
        message: String,
        /// `working`, `done` or `failed`.
        state: String,
    },
    /// A line of the host for people.
    Notice {
        /// The line.
        text: String,
    },
    /// Something that an operator should know.
    Warning {
        /// A code.
        code: String,
        /// What it is.
        message: String,
    },
    /// The same route is asked again after a wait. What was thought so far is void.
    Retry {
        /// The route.
        model: String,
        /// Which attempt comes now, from 1 (0 was the first).
        attempt: u32,
        /// How long the host waits first.
        wait_ms: u64,
        /// Why.
        failure_kind: String,
    },
    /// Another route is asked.
    Failover {
        /// The route that failed.
        from: String,
        /// The next one.
        to: String,
        /// Why.
        failure_kind: String,
    },
    /// The prompt was shortened, or that was tried.
    Compaction {
        /// Whether it worked.
        applied: bool,
        /// Estimated tokens before.
        tokens_before: u64,
        /// Estimated tokens after; as before where it did not work.
        tokens_after: u64,
        /// `before` the request or `after` an overflow.
        when: String,
    },
    /// The listener was too slow; this many events are missing here.
    Lagged {
        /// How many.
        missed: u64,
    },
    /// The run is over. The last event.
    RunSettled {
        /// The run.
        run: RunId,
        /// `succeeded`, `failed`, `cancelled` or `interrupted`.
        status: String,
        /// In which way it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure_kind: Option<String>,
        /// What happened, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// The final text.
        text: String,
        /// Whether the text broke off.
        partial: bool,
        /// What it used.
        usage: Usage,
        /// How long it took.
        duration_ms: u64,
        /// Lines of the host for people.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notices: Vec<String>,
    },
}

/// Both ends of a bounded feed. A slow or absent listener never holds the run up: text deltas that wait are
/// joined, and events beyond `events_max` are dropped with a [`RunEvent::Lagged`] in their place. The
/// last event always gets through.
pub fn channel(events_max: usize) -> (EventSink, EventStream) {
    let shared = Arc::new(Shared { queue: Mutex::new(Queue::default()), wake: Notify::new() });
    let sink =
        EventSink(Some(Arc::new(Sending { shared: Arc::clone(&shared), events_max: events_max.max(2) })));
    (sink, EventStream(shared))
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<RunEvent>,
    closed: bool,
    deaf: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Notify,
}

struct Sending {
    shared: Arc<Shared>,
    events_max: usize,
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.shared.wake.notify_one();
    }
}

/// Where a run tells its events. The default one tells nobody.
#[derive(Clone, Default)]
pub struct EventSink(Option<Arc<Sending>>);

impl EventSink {
    /// Tells one event; never waits.
    pub fn send(&self, event: RunEvent) {
        let Some(sending) = &self.0 else { return };
        let mut queue = sending.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.deaf {
            return;
        }
        push(&mut queue.waiting, event, sending.events_max);
        drop(queue);
        sending.shared.wake.notify_one();
    }
}

fn push(waiting: &mut VecDeque<RunEvent>, event: RunEvent, events_max: usize) {
    let waits = waiting.len();
    match (waiting.back_mut(), &event) {
        (Some(RunEvent::TextDelta { text: held }), RunEvent::TextDelta { text })
        | (Some(RunEvent::ReasoningDelta { text: held }), RunEvent::ReasoningDelta { text })
            if held.len() + text.len() <= JOINED_BYTES_MAX =>
        {
            held.push_str(text);
        }
        (_, RunEvent::RunSettled { .. }) => waiting.push_back(event),
        (Some(RunEvent::Lagged { missed }), _) if waits >= events_max => *missed += 1,
        _ if waits + 1 >= events_max => waiting.push_back(RunEvent::Lagged { missed: 1 }),
        _ => waiting.push_back(event),
    }
}

/// The listener's end.
pub struct EventStream(Arc<Shared>);

impl EventStream {
    /// The next event; `None` when the run is over and all were taken.
    pub async fn recv(&mut self) -> Option<RunEvent> {
        loop {
            {
                let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(event) = queue.waiting.pop_front() {
                    return Some(event);
                }
                if queue.closed {
                    return None;
                }
            }
            self.0.wake.notified().await;
        }
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.deaf = true;
        queue.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(n: usize) -> RunEvent {
        RunEvent::Notice { text: n.to_string() }
    }

    #[tokio::test]
    async fn a_slow_listener_loses_events_and_is_told_how_many() {
        let (sink, mut stream) = channel(4);
        (0..10).for_each(|n| sink.send(notice(n)));
        let run = RunId::parse("r").unwrap();
        sink.send(RunEvent::RunSettled {
            run,
            status: "succeeded".into(),
            failure_kind: None,
            error: None,
            text: "t".into(),
            partial: false,
            usage: Usage::default(),
            duration_ms: 1,
            notices: vec![],
        });
        drop(sink);
        let mut got = Vec::new();
        while let Some(event) = stream.recv().await {
            got.push(event);
        }
        assert_eq!(got[..3], [notice(0), notice(1), notice(2)]);
        assert_eq!(got[3], RunEvent::Lagged { missed: 7 });
        assert!(matches!(&got[4], RunEvent::RunSettled { .. }) && got.len() == 5);
    }

    #[tokio::test]
    async fn waiting_deltas_are_joined_and_nothing_of_them_is_lost() {
        let (sink, mut stream) = channel(2);
        for piece in ["a", "b", "c", "d"] {
            sink.send(RunEvent::TextDelta { text: piece.into() });
        }
        drop(sink);
        assert_eq!(stream.recv().await, Some(RunEvent::TextDelta { text: "abcd".into() }));
        assert_eq!(stream.recv().await, None);
    }

    #[tokio::test]
    async fn what_comes_after_a_gap_stands_after_its_marker() {
        let (sink, mut stream) = channel(3);
        (0..5).for_each(|n| sink.send(notice(n)));
        assert_eq!(stream.recv().await, Some(notice(0)));
        assert_eq!(stream.recv().await, Some(notice(1)));
        sink.send(notice(9));
        assert_eq!(stream.recv().await, Some(RunEvent::Lagged { missed: 3 }));
        assert_eq!(stream.recv().await, Some(notice(9)));
    }

    #[test]
    fn the_wire_form() {
        let event = RunEvent::CallSettled {
            id: "c1".into(),
            settled: "done".into(),
            code: "ok".into(),
            duration_ms: 3,
            preview: "x".into(),
            rule: None,
            result_bytes: None,
        };
        assert_eq!(
            serde_json::to_string(&event).unwrap(),
            r#"{"type":"call_settled","id":"c1","settled":"done","code":"ok","durationMs":3,"preview":"x"}"#
        );
    }
}
