//! What time it is.

use std::time::{Duration, Instant};

/// The time of day and a time that never jumps.
pub trait Clock: Send + Sync {
    /// Unix milliseconds.
    fn now_ms(&self) -> i64;
    /// A point in monotonic time.
    fn instant(&self) -> Instant;
    /// Waits.
    fn sleep(&self, duration: Duration) -> crate::BoxFuture<'static, ()>;
}
