//! What stays in memory.

use super::*;
use host_ports::CancellationToken;
use host_ports::log::Log;
use host_redact::Redactor;
use host_testkit::{MemoryLog, MemorySessions, TestClock};

// ENG-4
#[tokio::test]
async fn idle_conversations_leave_memory_but_not_the_store() {
    let clock = Arc::new(TestClock::default());
    let log: Arc<dyn Log> = Arc::new(MemoryLog::default());
    let recorder = Recorder::new(log, Arc::new(Redactor::default()), Arc::clone(&clock) as _);
    let store = Arc::new(MemorySessions::default());
    let hub = SessionHub::new(SessionConfig::default(), Arc::clone(&store) as _, recorder);
    let id = ConversationId::parse("terminal:a").unwrap();
    let never = CancellationToken::new();
    let mut place = hub.admit(Some(&id), &never).await.unwrap();
    let warm = place.warm.as_deref_mut().unwrap();
    hub.close(warm, &id, vec![host_note("x")], "a:m".into()).await.unwrap();
    clock.advance(Duration::from_secs(3600));
    hub.sweep();
    assert_eq!(hub.in_memory(), 1, "one that is in use stays");
    drop(place);
    hub.sweep();
    assert_eq!(hub.in_memory(), 0);
    assert!(store.stored("terminal:a").is_some());
    let mut place = hub.admit(Some(&id), &never).await.unwrap();
    let opened = hub.open(place.warm.as_deref_mut(), &id, "a:m").await;
    assert_eq!(opened.history.len(), 1);
}

// ENG-4
#[tokio::test]
async fn who_waits_can_leave() {
    let clock = Arc::new(TestClock::default());
    let log: Arc<dyn Log> = Arc::new(MemoryLog::default());
    let recorder = Recorder::new(log, Arc::new(Redactor::default()), clock);
    let hub = SessionHub::new(SessionConfig::default(), Arc::new(MemorySessions::default()), recorder);
    let id = ConversationId::parse("terminal:a").unwrap();
    let place = hub.admit(Some(&id), &CancellationToken::new()).await.unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert_eq!(hub.admit(Some(&id), &cancel).await.err(), Some(Busy::Cancelled));
    drop(place);
    assert!(hub.admit(Some(&id), &cancel).await.is_ok(), "a free place needs no wait");
}
