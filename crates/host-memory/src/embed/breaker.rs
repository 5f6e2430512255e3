//! A rest after failures, so that a server that is down costs nothing.

use super::{CosineScale, EmbedError, Embedder, Purpose};
use crate::VectorIdentity;
use host_ports::BoxFuture;
use host_ports::clock::Clock;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// When it rests, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerConfig {
    /// After how many failures in a row.
    pub failures: u32,
    /// How long until one trial.
    pub rest: Duration,
}

impl Default for BreakerConfig {
    fn default() -> Self {
        BreakerConfig { failures: 3, rest: Duration::from_secs(30) }
    }
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    until: Option<Instant>,
}

/// An embedder that rests after failures.
pub struct Breaker {
    inner: Arc<dyn Embedder>,
    config: BreakerConfig,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

impl Breaker {
    /// Around another embedder.
    pub fn new(inner: Arc<dyn Embedder>, config: BreakerConfig, clock: Arc<dyn Clock>) -> Self {
        Breaker { inner, config, clock, state: Mutex::default() }
    }

    /// Whether a request may go out. The first one after the rest is the trial; others wait for how it ends.
    fn admit(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.until {
            None => true,
            Some(until) if self.clock.instant() >= until => {
                state.until = Some(self.clock.instant() + self.config.rest);
                true
            }
            Some(_) => false,
        }
    }

    fn note(&self, worked: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if worked {
            *state = State::default();
            return;
        }
        state.failures = state.failures.saturating_add(1);
        if state.failures >= self.config.failures {
            state.until = Some(self.clock.instant() + self.config.rest);
        }
    }
}

impl Embedder for Breaker {
    fn identity(&self) -> VectorIdentity {
        self.inner.identity()
    }

    fn scale(&self) -> CosineScale {
        self.inner.scale()
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        purpose: Purpose,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(async move {
            if !self.admit() {
                return Err(EmbedError::Open);
            }
            let done = self.inner.embed(texts, purpose).await;
            self.note(done.is_ok());
            done
        })
    }
}
