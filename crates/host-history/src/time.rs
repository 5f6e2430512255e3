//! Times for people.

/// Unix milliseconds as RFC 3339 in UTC, to the second; the number itself where no calendar reaches it.
pub fn rfc3339(at_ms: i64) -> String {
    let seconds = at_ms.div_euclid(1000);
    jiff::Timestamp::from_second(seconds).map_or_else(|_| at_ms.to_string(), |at| at.to_string())
}
