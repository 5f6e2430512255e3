//! What an operator decides of searching.

use super::engine::SearchEngine;
use std::time::Duration;

/// Settings of `WebSearch`.
#[derive(Debug, Clone)]
pub struct WebSearchSettings {
    /// Who is asked, in order: the next one only where one gives no answer.
    pub chain: Vec<SearchEngine>,
    /// How many requests a run may send (`tools.web.search.maxRequestsPerRun`).
    pub requests_per_run_max: u32,
    /// Bounds; the defaults are those of the documentation.
    pub limits: WebSearchLimits,
}

impl WebSearchSettings {
    /// Four requests a run and the usual bounds.
    pub fn new(chain: Vec<SearchEngine>) -> Self {
        WebSearchSettings { chain, requests_per_run_max: 4, limits: WebSearchLimits::default() }
    }
}

/// Bounds of searching.
#[derive(Debug, Clone)]
pub struct WebSearchLimits {
    /// How long a whole call may take.
    pub total: Duration,
    /// How long one request may take.
    pub request: Duration,
    /// The same for a local engine that others stand behind.
    pub local_request: Duration,
    /// The largest answer, in decoded bytes.
    pub answer_bytes_max: usize,
    /// How long an engine is left alone that has had enough.
    pub cool_down: Duration,
    /// How long an answer is used again.
    pub cache: Duration,
    /// The time between two requests to one public engine.
    pub pace: Duration,
    /// How many requests to public engines run at a time.
    pub public_at_a_time: usize,
}

impl Default for WebSearchLimits {
    /// 60 s, 15 s, 3 s, 2 MiB, 5 min, 15 min, 1.5 s, 3.
    fn default() -> Self {
        WebSearchLimits {
            total: Duration::from_secs(60),
            request: Duration::from_secs(15),
            local_request: Duration::from_secs(3),
            answer_bytes_max: 2 * 1024 * 1024,
            cool_down: Duration::from_secs(300),
            cache: Duration::from_secs(900),
            pace: Duration::from_millis(1500),
            public_at_a_time: 3,
        }
    }
}
