//! When a provider asks to come again.

use http::HeaderMap;
use serde_json::Value;
use std::time::Duration;

/// The longest wait that is believed.
const WAIT_MAX: Duration = Duration::from_secs(24 * 3600);

/// `retry-after-ms`, or `Retry-After` in seconds or as an HTTP date (RFC 9110 §10.2.3).
pub(super) fn of_headers(headers: &HeaderMap, now_ms: i64) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return seconds(ms / 1000.0);
    }
    let text = text("retry-after")?;
    if let Ok(count) = text.parse::<f64>() {
        return seconds(count);
    }
    let at = jiff::fmt::rfc2822::parse(text).ok()?.timestamp().as_millisecond();
    Some(Duration::from_millis(u64::try_from(at.saturating_sub(now_ms)).unwrap_or(0)).min(WAIT_MAX))
}

/// Google's `RetryInfo` detail (`"retryDelay": "34.5s"`).
pub(super) fn of_details(error: &Value) -> Option<Duration> {
    let delay =
        error.get("details")?.as_array()?.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    seconds(delay.strip_suffix('s')?.parse().ok()?)
}

fn seconds(count: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(count).ok().map(|wait| wait.min(WAIT_MAX))
}
