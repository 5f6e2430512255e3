//! A clock that moves when it is told to.

use host_ports::BoxFuture;
use host_ports::clock::Clock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// Starts at a fixed moment and moves only by [`TestClock::advance`]; sleeping goes by tokio's own (pausable)
/// time.
#[derive(Debug)]
pub struct TestClock(AtomicI64);

impl Default for TestClock {
    fn default() -> Self {
        TestClock(AtomicI64::new(1_790_000_000_000))
    }
}

impl TestClock {
    /// A clock that shows these Unix milliseconds.
    pub fn at(ms: i64) -> Self {
        TestClock(AtomicI64::new(ms))
    }

    /// Moves it.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn instant(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}
