//! What an operator decides of fetching.

use crate::web::WebReach;
use std::time::Duration;

/// Settings of `WebFetch`.
#[derive(Debug, Clone)]
pub struct WebFetchSettings {
    /// Where it may go.
    pub reach: WebReach,
    /// `tools.web.fetch.render`.
    pub render: RenderCeiling,
    /// Bounds; the defaults are those of the documentation.
    pub limits: WebFetchLimits,
}

impl WebFetchSettings {
    /// The usual bounds, and no browser.
    pub fn new(reach: WebReach) -> Self {
        WebFetchSettings { reach, render: RenderCeiling::Never, limits: WebFetchLimits::default() }
    }
}

/// The most that a call may ask of a browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenderCeiling {
    /// Nothing.
    Never,
    /// To draw pages where that helps.
    Auto,
}

/// Bounds of one call.
#[derive(Debug, Clone)]
pub struct WebFetchLimits {
    /// How long all of it may take.
    pub total: Duration,
    /// How long one request may take, its body included.
    pub request: Duration,
    /// The largest body, in decoded bytes.
    pub body_bytes_max: usize,
    /// How many redirects are followed.
    pub redirects_max: u32,
    /// The waits before further tries, one for each.
    pub waits: Vec<Duration>,
    /// The longest `Retry-After` that is waited for.
    pub retry_after_max: Duration,
}

impl Default for WebFetchLimits {
    /// 45 s, 15 s, 20 MiB, 5 redirects, tries after 1 s and 2 s, `Retry-After` up to 5 s.
    fn default() -> Self {
        WebFetchLimits {
            total: Duration::from_secs(45),
            request: Duration::from_secs(15),
            body_bytes_max: 20 * 1024 * 1024,
            redirects_max: 5,
            waits: vec![Duration::from_secs(1), Duration::from_secs(2)],
            retry_after_max: Duration::from_secs(5),
        }
    }
}
