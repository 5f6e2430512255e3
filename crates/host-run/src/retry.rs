//! What to do when a request to a model failed: ask again, ask another, or stop (ENG-3).
//!
//! Pure decisions over a chain of routes. Nothing is asked twice once a tool ran or text was shown, because
//! a second answer could do things twice or contradict what a person already read.

use crate::config::RetryConfig;
use host_ports::model::{Effort, ModelError};
use host_turn::FailureKind;
use serde_json::{Value, json};
use std::time::Duration;

/// One route of the chain, as plain data.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// The reference, `<provider>:<model>`.
    pub reference: String,
    /// The provider, whose reasoning blocks it can read.
    pub provider: String,
    /// Its context window in tokens.
    pub context_window: u64,
    /// Whether it takes pictures.
    pub images: bool,
    /// Whether a person plays it.
    pub operator: bool,
    /// How hard it should think; not inherited from another route.
    pub effort: Option<Effort>,
    /// How often it is asked in all, at least once.
    pub attempts_max: u32,
}

/// An attempt that failed, for `failoverHistory`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempted {
    /// The route.
    pub model: String,
    /// In which way it failed.
    pub kind: &'static str,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// Which retry it was, where it was one.
    pub retry_index: Option<u32>,
}

impl Attempted {
    /// The object of the record.
    pub fn to_json(&self) -> Value {
        let mut row = json!({ "model": self.model, "failureKind": self.kind });
        if let Some(id) = &self.request_id {
            row["requestId"] = json!(id);
        }
        if let Some(index) = self.retry_index {
            row["retryIndex"] = json!(index);
        }
        row
    }
}

/// Why nothing may be asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocked {
    /// A tool ran in this run.
    ToolAlreadyExecuted,
    /// A part of the answer was shown.
    AnswerAlreadyShown,
    /// A follow-up was taken into the turn (ENG-8).
    LiveInputConsumed,
}

impl Blocked {
    /// The reason in the warning `provider_failover_blocked`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Blocked::ToolAlreadyExecuted => "tool_already_executed",
            Blocked::AnswerAlreadyShown => "answer_already_shown",
            Blocked::LiveInputConsumed => "live_input_consumed",
        }
    }
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// The same route, after a wait.
    Retry(Duration),
    /// Another route, at once.
    Advance(usize),
    /// Nothing; with the reason, where something would have been tried but for it.
    Stop(Option<Blocked>),
    /// The chain is at its end.
    Exhausted,
}

/// Where a run stands when a request fails.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing {
    /// The route that failed.
    pub(crate) route: usize,
    /// Which attempt at it this was, from 0.
    pub(crate) attempt: u32,
    /// What forbids another request.
    pub(crate) blocked: Option<Blocked>,
}

/// Decides. `usable` says whether a route can do what the turn needs.
pub(crate) fn decide(
    error: &ModelError,
    at: Standing,
    chain: &[Route],
    config: &RetryConfig,
    usable: impl Fn(&Route) -> bool,
) -> Next {
    let transient = error.kind.is_transient();
    if !transient && !error.kind.advances_at_once() {
        return Next::Stop(None);
    }
    if at.blocked.is_some() {
        return Next::Stop(at.blocked);
    }
    let attempts_max = chain.get(at.route).map_or(1, |route| route.attempts_max.max(1));
    if transient && at.attempt + 1 < attempts_max {
        let asked = error.retry_after.unwrap_or_default();
        if asked <= config.retry_after_max {
            return Next::Retry(backoff(at.attempt, config).max(asked));
        }
    }
    let next = chain.iter().enumerate().skip(at.route + 1).find(|(_, route)| usable(route));
    next.map_or(Next::Exhausted, |(index, _)| Next::Advance(index))
}

/// The wait before the attempt after `attempt` (from 0): it doubles, up to the bound.
pub fn backoff(attempt: u32, config: &RetryConfig) -> Duration {
    config
        .backoff
        .saturating_mul(1u32.checked_shl(attempt.min(30)).unwrap_or(u32::MAX))
        .min(config.backoff_max)
}

/// How a chain that is at its end is named: a single route that can't be used keeps its own name, since
/// there was nothing to fall back to.
pub(crate) fn exhausted_kind(error: &ModelError, routes: usize) -> FailureKind {
    if routes == 1 && !error.kind.is_transient() {
        error.kind
    } else {
        FailureKind::ProviderUnavailableExhausted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn route(name: &str, attempts_max: u32) -> Route {
        Route {
            reference: name.into(),
            provider: "p".into(),
            context_window: 100_000,
            images: true,
            operator: false,
            effort: None,
            attempts_max,
        }
    }

    fn error(kind: FailureKind) -> ModelError {
        ModelError::new(kind, "x")
    }

    fn at(route: usize, attempt: u32, blocked: Option<Blocked>) -> Standing {
        Standing { route, attempt, blocked }
    }

    // ENG-3
    #[test]
    fn transient_failures_are_tried_again_and_then_elsewhere() {
        let chain = [route("a", 3), route("b", 1)];
        let config = RetryConfig::default();
        let next =
            |kind, route, attempt| decide(&error(kind), at(route, attempt, None), &chain, &config, |_| true);
        assert_eq!(next(FailureKind::Overloaded, 0, 0), Next::Retry(Duration::from_millis(500)));
        assert_eq!(next(FailureKind::Overloaded, 0, 1), Next::Retry(Duration::from_millis(1000)));
        assert_eq!(next(FailureKind::Overloaded, 0, 2), Next::Advance(1));
        assert_eq!(next(FailureKind::Overloaded, 1, 0), Next::Exhausted);
        for kind in [FailureKind::ProviderAuth, FailureKind::ContextLimit, FailureKind::ModelNotFound] {
            assert_eq!(next(kind, 0, 0), Next::Advance(1), "{kind}");
        }
        for kind in [FailureKind::UsageLimit, FailureKind::ContentFilter, FailureKind::InvalidRequest] {
            assert_eq!(next(kind, 0, 0), Next::Stop(None), "{kind}");
        }
    }

    #[test]
    fn retry_after_is_waited_for_within_its_bound() {
        let chain = [route("a", 3), route("b", 1)];
        let config = RetryConfig::default();
        let mut limited = error(FailureKind::RateLimited);
        limited.retry_after = Some(Duration::from_secs(20));
        assert_eq!(
            decide(&limited, at(0, 0, None), &chain, &config, |_| true),
            Next::Retry(Duration::from_secs(20))
        );
        limited.retry_after = Some(Duration::from_secs(61));
        assert_eq!(decide(&limited, at(0, 0, None), &chain, &config, |_| true), Next::Advance(1));
        assert_eq!(decide(&limited, at(0, 0, None), &chain, &config, |_| false), Next::Exhausted);
    }

    proptest! {
        // ENG-3
        #[test]
        fn nothing_is_asked_again_once_a_tool_ran(kind in 0..FailureKind::ALL.len(), r in 0usize..3, n in 0u32..5) {
            let chain = [route("a", 9), route("b", 9), route("c", 9)];
            let blocked = Some(Blocked::ToolAlreadyExecuted);
            let next = decide(&error(FailureKind::ALL[kind]), at(r, n, blocked), &chain, &RetryConfig::default(), |_| true);
            prop_assert!(matches!(next, Next::Stop(_)));
        }

        #[test]
        fn back_off_is_bounded(attempt in 0u32..u32::MAX) {
            prop_assert!(backoff(attempt, &RetryConfig::default()) <= RetryConfig::default().backoff_max);
        }
    }
}
