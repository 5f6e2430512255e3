//! Facts that could not be put on record when they happened, and are put there later (T9-05).

use host_event::{Fact, Scope};
use host_ports::log::Recorder;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The most facts that wait.
const FACTS_MAX: usize = 1_024;
/// The first and the longest wait between two attempts.
const WAIT: Duration = Duration::from_millis(500);
const WAIT_MAX: Duration = Duration::from_secs(60);
/// How often one fact is tried: more than a day at the longest wait.
const ATTEMPTS_MAX: u32 = 2_000;

/// Facts that wait for the log to work again. They are tried in their order, with back-off, in the background.
#[derive(Clone)]
pub struct Backlog {
    recorder: Recorder,
    shared: Arc<Mutex<Waiting>>,
    /// One at a time tries, so that facts keep their order.
    turn: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct Waiting {
    facts: VecDeque<(Scope, Fact)>,
    working: bool,
    lost: u64,
}

impl Backlog {
    /// An empty one in front of a log.
    pub fn new(recorder: Recorder) -> Self {
        Backlog { recorder, shared: Arc::default(), turn: Arc::default() }
    }

    /// Keeps a fact and tries to record it until it is in. Beyond 1,024 waiting facts the new one is lost, which
    /// [`Backlog::lost`] counts. Must be called inside a runtime.
    pub fn later(&self, scope: Scope, fact: Fact) {
        let mut waiting = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.facts.len() >= FACTS_MAX {
            waiting.lost += 1;
            tracing::error!(kind = fact.kind(), "a fact is lost: too many wait for the log");
            return;
        }
        waiting.facts.push_back((scope, fact));
        if !std::mem::replace(&mut waiting.working, true) {
            let backlog = self.clone();
            tokio::spawn(async move { backlog.work().await });
        }
    }

    /// How many facts wait.
    pub fn waiting(&self) -> usize {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).facts.len()
    }

    /// How many facts were lost for good.
    pub fn lost(&self) -> u64 {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).lost
    }

    /// Tries each waiting fact once, now, until one fails. Gives how many still wait; for the end of a host.
    pub async fn flush(&self) -> usize {
        while self.record_first().await == Some(true) {}
        self.waiting()
    }

    async fn work(&self) {
        let mut wait = WAIT;
        let mut attempts = 0;
        loop {
            self.recorder.clock().sleep(wait).await;
            match self.record_first().await {
                Some(true) => {
                    wait = Duration::ZERO;
                    attempts = 0;
                }
                Some(false) => {
                    attempts += 1;
                    wait = (wait.max(WAIT) * 2).min(WAIT_MAX);
                    if attempts >= ATTEMPTS_MAX {
                        self.drop_first();
                        attempts = 0;
                    }
                }
                None => {}
            }
            let mut waiting = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            if waiting.facts.is_empty() {
                waiting.working = false;
                return;
            }
        }
    }

    /// Tries the oldest fact; `None` = there is none.
    async fn record_first(&self) -> Option<bool> {
        let _turn = self.turn.lock().await;
        let (scope, fact) =
            self.shared.lock().unwrap_or_else(PoisonError::into_inner).facts.front().cloned()?;
        let recorded = self.recorder.record(scope, fact).await.is_ok();
        if recorded {
            self.shared.lock().unwrap_or_else(PoisonError::into_inner).facts.pop_front();
        }
        Some(recorded)
    }

    fn drop_first(&self) {
        let mut waiting = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, fact)) = waiting.facts.pop_front() {
            waiting.lost += 1;
            tracing::error!(kind = fact.kind(), "a fact is lost: the log did not take it for a day");
        }
    }
}
