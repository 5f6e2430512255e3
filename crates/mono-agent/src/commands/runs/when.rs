//! Moments as people type them.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// A moment in Unix milliseconds: `2026-11-30T12:00:00Z`, `2026-11-30T12:00` and `2026-11-30` (in the zone of this
/// machine), or so long ago: `90s`, `15m`, `24h`, `7d`, `2w`.
pub fn parse(text: &str) -> Result<i64, String> {
    let text = text.trim();
    if let Some(ago) = ago(text) {
        return Timestamp::now()
            .checked_sub(ago)
            .map(Timestamp::as_millisecond)
            .map_err(|_| "too long ago".into());
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at.as_millisecond());
    }
    let zoned = |at: DateTime| TimeZone::system().to_timestamp(at);
    let local = text.parse::<DateTime>().or_else(|_| text.parse::<Date>().map(|date| date.at(0, 0, 0, 0)));
    match local.and_then(zoned) {
        Ok(at) => Ok(at.as_millisecond()),
        Err(_) => {
            Err("a date (2026-11-30), a time (2026-11-30T12:00:00Z), or so long ago (24h, 7d)".to_owned())
        }
    }
}

fn ago(text: &str) -> Option<SignedDuration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        "w" => 7 * 24 * 60 * 60,
        _ => return None,
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let count: i64 = digits.parse().ok()?;
    count.checked_mul(seconds).map(SignedDuration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        assert_eq!(parse("1970-01-01T00:00:01Z"), Ok(1000));
        assert_eq!(parse("1970-01-01T01:00:00+01:00"), Ok(0));
        assert!(parse("2026-11-30").is_ok() && parse("2026-11-30T10:00").is_ok());
        let day = Timestamp::now().as_millisecond() - 24 * 60 * 60 * 1000;
        assert!((parse("1d").unwrap_or_default() - day).abs() < 5000);
        for bad in
            ["", "d", "yesterday", "-1d", "1x", "2026-13-01", "99999999999999999999w", "9999999999999w", "ä"]
        {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
