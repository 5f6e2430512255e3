//! How a run ends.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The one end of a run (ENG-1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Ending {
    /// It came to an answer.
    Succeeded,
    /// It failed.
    Failed {
        /// In which of the closed ways.
        #[serde(rename = "failureKind")]
        kind: FailureKind,
        /// What happened, for people; bounded and redacted before it is recorded.
        error: String,
    },
    /// Somebody stopped it.
    Cancelled,
    /// The process ended under it.
    Interrupted {
        /// Why: [`FailureKind::ProcessDeath`].
        #[serde(rename = "failureKind")]
        kind: FailureKind,
    },
}

impl Ending {
    /// `succeeded`, `failed`, `cancelled` or `interrupted`.
    pub fn status(&self) -> &'static str {
        match self {
            Ending::Succeeded => "succeeded",
            Ending::Failed { .. } => "failed",
            Ending::Cancelled => "cancelled",
            Ending::Interrupted { .. } => "interrupted",
        }
    }
}

macro_rules! failure_kinds {
    ($($(#[$doc:meta])* $variant:ident = $text:literal),+ $(,)?) => {
        /// In which way a run or a request to a model failed: a closed list.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum FailureKind {
            $($(#[$doc])* #[serde(rename = $text)] $variant),+
        }
        impl FailureKind {
            /// All of them.
            pub const ALL: &[FailureKind] = &[$(FailureKind::$variant),+];
            /// The code.
            pub const fn as_str(self) -> &'static str {
                match self { $(FailureKind::$variant => $text),+ }
            }
        }
    };
}

failure_kinds! {
    /// The prompt does not fit the model.
    ContextLimit = "context_limit",
    /// The account's allowance is used up.
    UsageLimit = "usage_limit",
    /// The provider asked to slow down.
    RateLimited = "rate_limited",
    /// The provider is overloaded.
    Overloaded = "overloaded",
    /// The provider did not answer in time.
    Timeout = "timeout",
    /// The provider can't be reached.
    Network = "network",
    /// The provider failed (5xx).
    ServerError = "server_error",
    /// The answer broke off before its end.
    StreamTerminated = "stream_terminated",
    /// The key is missing, wrong or lacks rights.
    ProviderAuth = "provider_auth",
    /// The provider refuses this request as it is (4xx).
    InvalidRequest = "invalid_request",
    /// No such model there.
    ModelNotFound = "model_not_found",
    /// The provider declined to answer for safety reasons.
    ContentFilter = "content_filter",
    /// The provider can't be used as configured.
    ProviderUnavailable = "provider_unavailable",
    /// Every route of the chain failed.
    ProviderUnavailableExhausted = "provider_unavailable_exhausted",
    /// The model answered with nothing.
    EmptyResponse = "empty_response",
    /// The answer hit the output limit.
    OutputLimit = "output_limit",
    /// The run took as many steps as it may.
    MaxTurns = "max_turns",
    /// A route can't do what the run needs (POL-13).
    CapabilityMismatch = "capability_mismatch",
    /// The session's earlier state can't be found.
    SessionNotFound = "session_not_found",
    /// The conversation is busy.
    SessionBusy = "session_busy",
    /// The record could not be written.
    RecordFailed = "record_failed",
    /// The process ended under the run.
    ProcessDeath = "process_death",
    /// Something of ours went wrong.
    RuntimeError = "runtime_error",
}

impl FailureKind {
    /// Whether the same request may go through a little later (ENG-3).
    pub const fn is_transient(self) -> bool {
        matches!(
            self,
            FailureKind::RateLimited
                | FailureKind::Overloaded
                | FailureKind::Timeout
                | FailureKind::Network
                | FailureKind::ServerError
                | FailureKind::StreamTerminated
        )
    }

    /// Whether the next route of the chain may be tried at once (ENG-3).
    pub const fn advances_at_once(self) -> bool {
        matches!(
            self,
            FailureKind::ContextLimit
                | FailureKind::ProviderAuth
                | FailureKind::ModelNotFound
                | FailureKind::ProviderUnavailable
        )
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a run or a request used.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens of the prompt that were not read from a cache.
    pub input_tokens: u64,
    /// Tokens of the answer, reasoning included.
    pub output_tokens: u64,
    /// Tokens of the prompt that came from the provider's cache.
    #[serde(default)]
    pub cache_read_tokens: u64,
    /// Tokens of the prompt that were written to the provider's cache.
    #[serde(default)]
    pub cache_write_tokens: u64,
    /// What it cost in US dollars by the configured price table; `None` = not priced, never zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Adds another request's use. A sum with an unpriced part is unpriced.
    #[must_use]
    pub fn plus(self, other: Usage) -> Usage {
        Usage {
            input_tokens: self.input_tokens + other.input_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            cache_read_tokens: self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens: self.cache_write_tokens + other.cache_write_tokens,
            cost_usd: match (self.cost_usd, other.cost_usd) {
                (Some(a), Some(b)) => Some(a + b),
                (None, b) if self == Usage::default() => b,
                _ => None,
            },
        }
    }
}
