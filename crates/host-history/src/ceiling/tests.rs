use super::*;
use host_event::{Fact, Scope};
use host_redact::Redactor;
use host_testkit::MemoryLog;
use tokio::sync::Semaphore;

/// A log that writes when it is let, and fails when it is told to.
struct Slow {
    inner: MemoryLog,
    gate: Semaphore,
}

impl Log for Slow {
    fn append(&self, events: Vec<NewEvent>) -> BoxFuture<'_, Result<u64, LogError>> {
        Box::pin(async move {
            self.gate.acquire().await.map_err(|_| LogError::Closed)?.forget();
            self.inner.append(events).await
        })
    }
    fn keyed_digest(&self, bytes: &[u8]) -> String {
        self.inner.keyed_digest(bytes)
    }
    fn run_events(
        &self,
        run: &RunId,
        after: u64,
        max: usize,
    ) -> BoxFuture<'_, Result<Vec<StoredEvent>, LogError>> {
        self.inner.run_events(run, after, max)
    }
    fn past_turns(
        &self,
        id: &ConversationId,
        rollover: bool,
        max: usize,
    ) -> BoxFuture<'_, Result<Vec<PastTurn>, LogError>> {
        self.inner.past_turns(id, rollover, max)
    }
}

fn slow() -> (Arc<Slow>, Arc<CeilingLog>) {
    let slow = Arc::new(Slow { inner: MemoryLog::default(), gate: Semaphore::new(0) });
    let log = CeilingLog::new(Arc::clone(&slow) as Arc<dyn Log>);
    (slow, Arc::new(log))
}

fn warning(n: u32) -> Vec<NewEvent> {
    let fact = Fact::Warning { code: format!("w{n}"), message: String::new() };
    vec![NewEvent::of(&fact, Scope::default(), 0, &Redactor::default())]
}

fn started() -> Vec<NewEvent> {
    let fact = Fact::CallStarted {
        tool: "T".into(),
        source: "s".into(),
        arguments: serde_json::json!({}),
        arguments_digest: String::new(),
        rule: String::new(),
    };
    vec![NewEvent::of(&fact, Scope::default(), 0, &Redactor::default())]
}

// HIS-2: a caller waits for 250 ms at most; a call's start waits for the disk, and the order stays.
#[tokio::test(start_paused = true)]
async fn what_may_come_later_is_deferred_and_starts_are_not() {
    let (slow, log) = slow();
    let before = tokio::time::Instant::now();
    log.append(warning(1)).await.unwrap();
    assert_eq!(before.elapsed(), CEILING);
    assert_eq!(log.state().deferred, 1);
    let start = tokio::spawn({
        let log = Arc::clone(&log);
        async move { log.append(started()).await }
    });
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!start.is_finished() && slow.inner.events().is_empty());
    slow.gate.add_permits(10);
    start.await.unwrap().unwrap();
    assert_eq!(slow.inner.kinds(), ["warning", "call_started"]);
    log.drain().await.unwrap();
    assert_eq!(log.state(), CeilingState::default());
}

// HIS-2, T9-05: only a definite refusal fails, and nothing of it is lost when there is room again.
#[tokio::test(start_paused = true)]
async fn a_refused_deferred_write_goes_with_the_next_one() {
    let (slow, log) = slow();
    log.append(warning(1)).await.unwrap();
    slow.inner.fail_with(Some(LogError::Full));
    slow.gate.add_permits(1);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(log.state(), CeilingState { deferred: 0, failed: 1, held: 1 });
    slow.gate.add_permits(10);
    assert_eq!(log.append(started()).await, Err(LogError::Full));
    assert_eq!(log.state().held, 1);
    slow.inner.fail_with(None);
    log.append(started()).await.unwrap();
    assert_eq!(slow.inner.kinds(), ["warning", "call_started"]);
    assert_eq!(log.state().held, 0);
}

#[tokio::test]
async fn a_quick_log_is_written_at_once() {
    let inner = Arc::new(MemoryLog::default());
    let log = CeilingLog::new(Arc::clone(&inner) as Arc<dyn Log>);
    assert_eq!(log.append(warning(1)).await, Ok(1));
    assert_eq!(log.append(warning(2)).await, Ok(2));
    assert_eq!(log.state(), CeilingState::default());
}

// A cancelled caller loses no event.
#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_takes_nothing_back() {
    let (slow, log) = slow();
    for events in [warning(1), started()] {
        let gone = tokio::time::timeout(Duration::from_millis(10), log.append(events)).await;
        assert!(gone.is_err());
    }
    slow.gate.add_permits(10);
    log.drain().await.unwrap();
    assert_eq!(slow.inner.kinds(), ["warning", "call_started"]);
}
