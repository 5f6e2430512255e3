//! The resolved settings of an engine. Units are in the names.

use crate::compaction::CompactionConfig;
use std::time::Duration;

/// How often and how slowly a route is asked again (ENG-3).
#[derive(Debug, Clone, PartialEq)]
pub struct RetryConfig {
    /// The first wait.
    pub backoff: Duration,
    /// The longest wait; it doubles from attempt to attempt up to here.
    pub backoff_max: Duration,
    /// The longest `Retry-After` that is waited for. A provider that asks for more is left at once.
    pub retry_after_max: Duration,
}

impl Default for RetryConfig {
    fn default() -> Self {
        RetryConfig {
            backoff: Duration::from_millis(500),
            backoff_max: Duration::from_secs(8),
            retry_after_max: Duration::from_secs(60),
        }
    }
}

/// The bounds of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunLimits {
    /// The most requests to a model (`maxTurns`); compaction and finalisation don't count.
    pub steps_max: u32,
    /// The most calls of one answer; those beyond are refused.
    pub calls_per_answer_max: usize,
    /// The most calls that run side by side.
    pub calls_together_max: usize,
    /// The most bytes of text and reasoning, and of arguments, that one answer may have.
    pub answer_bytes_max: usize,
    /// The most tokens that a model may answer with; `None` = the model's own limit.
    pub output_tokens_max: Option<u32>,
    /// How long a stream may be silent before it counts as broken. Not for models that a person plays.
    pub stream_idle: Duration,
    /// How long calls may take to settle after a cancellation; the gate's own grace is shorter.
    pub stop_grace: Duration,
}

impl Default for RunLimits {
    fn default() -> Self {
        RunLimits {
            steps_max: 100,
            calls_per_answer_max: 64,
            calls_together_max: 8,
            answer_bytes_max: 8 * 1024 * 1024,
            output_tokens_max: None,
            stream_idle: Duration::from_secs(300),
            stop_grace: Duration::from_secs(8),
        }
    }
}

/// Everything that an engine is set to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EngineConfig {
    /// The bounds of one run.
    pub limits: RunLimits,
    /// Back-off.
    pub retry: RetryConfig,
    /// Compaction.
    pub compaction: CompactionConfig,
}
