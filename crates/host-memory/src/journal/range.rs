//! Local dates in a zone as two instants (JRN-1).

use host_ports::memory::{JournalError, JournalRange};
use jiff::civil::Date;
use jiff::tz::{AmbiguousOffset, TimeZone};

/// The most days of a range.
const DAYS_MAX: i64 = 31;

/// A range as instants: from the first day's 00:00 until the 00:00 after the last day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from_date: Date,
    pub(super) through_date: Date,
    pub(super) time_zone: String,
    pub(super) from_ms: i64,
    pub(super) until_ms: i64,
}

impl Span {
    pub(super) fn resolve(range: &JournalRange) -> Result<Span, JournalError> {
        let from_date = date(&range.from_date, "fromDate")?;
        let through_date = date(&range.through_date, "throughDate")?;
        let zone = zone(&range.time_zone)?;
        if through_date < from_date {
            return Err(JournalError::Reversed);
        }
        let boundary = |day: Date| JournalError::Boundary { date: day.to_string() };
        let days = day_number(through_date) - day_number(from_date) + 1;
        if days > DAYS_MAX {
            return Err(JournalError::TooLong { days_max: DAYS_MAX });
        }
        let after = through_date.tomorrow().map_err(|_| boundary(through_date))?;
        let from_ms = midnight(from_date, &zone).ok_or_else(|| boundary(from_date))?;
        let until_ms = midnight(after, &zone).ok_or_else(|| boundary(after))?;
        // A day that a zone skips as a whole has no 00:00, but so may have the day beside it.
        if until_ms <= from_ms {
            return Err(boundary(from_date));
        }
        Ok(Span { from_date, through_date, time_zone: range.time_zone.clone(), from_ms, until_ms })
    }
}

/// A date of exactly ten characters.
fn date(text: &str, field: &'static str) -> Result<Date, JournalError> {
    let bytes = text.as_bytes();
    let shape = bytes.len() == 10
        && bytes
            .iter()
            .enumerate()
            .all(|(at, b)| if matches!(at, 4 | 7) { *b == b'-' } else { b.is_ascii_digit() });
    shape.then(|| text.parse().ok()).flatten().ok_or(JournalError::Date { field })
}

/// A zone of the IANA database: never the host's own, and no bare offset.
fn zone(name: &str) -> Result<TimeZone, JournalError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'-' | b'+');
    let named =
        name.len() <= 64 && name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.bytes().all(plain);
    if !named || ["local", "localtime", "posixrules", "factory"].contains(&name.to_ascii_lowercase().as_str())
    {
        return Err(JournalError::Zone);
    }
    jiff::tz::db().get(name).map_err(|_| JournalError::Zone)
}

/// The first instant of a day. One that comes twice counts from its first; one that never comes is none.
fn midnight(day: Date, zone: &TimeZone) -> Option<i64> {
    let local = zone.to_ambiguous_timestamp(day.at(0, 0, 0, 0));
    if matches!(local.offset(), AmbiguousOffset::Gap { .. }) {
        return None;
    }
    local.earlier().ok().map(|at| at.as_millisecond())
}

fn day_number(day: Date) -> i64 {
    let (year, month) = (i64::from(day.year()), i64::from(day.month()));
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    year * 365 + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (month * 306 + 5) / 10
        + i64::from(day.day())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bullet::instant;

    fn span(from: &str, through: &str, zone: &str) -> Result<(String, String), &'static str> {
        let range = JournalRange {
            from_date: from.into(),
            through_date: through.into(),
            time_zone: zone.into(),
            limit: None,
        };
        Span::resolve(&range).map(|it| (instant(it.from_ms), instant(it.until_ms))).map_err(|err| err.code())
    }

    fn ok(from: &str, until: &str) -> Result<(String, String), &'static str> {
        Ok((format!("{from}:00.000Z"), format!("{until}:00.000Z")))
    }

    // JRN-1
    #[test]
    fn dates_in_zones() {
        assert_eq!(
            span("2026-09-01", "2026-09-07", "Europe/Amsterdam"),
            ok("2026-08-31T22:00", "2026-09-07T22:00")
        );
        assert_eq!(span("2026-09-01", "2026-09-01", "UTC"), ok("2026-09-01T00:00", "2026-09-02T00:00"));
        assert_eq!(span("2026-01-01", "2026-01-01", "CET"), ok("2025-12-31T23:00", "2026-01-01T23:00"));
        // A day of 23 and one of 25 hours.
        assert_eq!(
            span("2026-03-29", "2026-03-29", "Europe/Berlin"),
            ok("2026-03-28T23:00", "2026-03-29T22:00")
        );
        assert_eq!(
            span("2026-10-25", "2026-10-25", "Europe/Berlin"),
            ok("2026-10-24T22:00", "2026-10-25T23:00")
        );
        assert_eq!(
            span("2024-02-29", "2024-02-29", "Asia/Kathmandu"),
            ok("2024-02-28T18:15", "2024-02-29T18:15")
        );
        // Midnight comes twice in Havana in the autumn: the first counts, so that nothing is lost.
        assert_eq!(
            span("2024-11-03", "2024-11-03", "America/Havana"),
            ok("2024-11-03T04:00", "2024-11-04T05:00")
        );
        assert_eq!(
            span("2024-11-02", "2024-11-02", "America/Havana"),
            ok("2024-11-02T04:00", "2024-11-03T04:00")
        );
    }

    // JRN-1
    #[test]
    fn a_midnight_that_is_skipped_fails_closed() {
        for (from, through, zone) in [
            ("2018-11-04", "2018-11-04", "America/Sao_Paulo"),
            ("2018-11-01", "2018-11-03", "America/Sao_Paulo"),
            ("2024-04-26", "2024-04-30", "Africa/Cairo"),
            ("2011-12-30", "2011-12-30", "Pacific/Apia"),
            ("2011-12-29", "2011-12-29", "Pacific/Apia"),
            ("9999-12-31", "9999-12-31", "UTC"),
        ] {
            assert_eq!(span(from, through, zone), Err("invalid_boundary"), "{zone}");
        }
        // The skipped day inside a range is no boundary.
        assert!(span("2011-12-28", "2011-12-31", "Pacific/Apia").is_ok());
    }

    // JRN-1
    #[test]
    fn bad_input_is_an_error() {
        assert_eq!(span("2026-09-02", "2026-09-01", "UTC"), Err("reversed_range"));
        assert_eq!(span("2026-01-01", "2026-01-31", "UTC").map(|_| ()), Ok(()));
        assert_eq!(span("2026-01-01", "2026-02-01", "UTC"), Err("range_too_long"));
        assert_eq!(span("2026-02-10", "2026-03-12", "UTC").map(|_| ()), Ok(()));
        assert_eq!(span("0001-01-01", "9999-12-30", "UTC"), Err("range_too_long"));
        for zone in [
            "",
            "local",
            "Europe/Amsterdam ",
            "+02:00",
            "EST5EDT,M3.2.0,M11.1.0",
            "Mars/Base",
            "../UTC",
            "/etc/localtime",
            "Europe/Amsterdam\0",
            ":UTC",
        ] {
            assert_eq!(span("2026-09-01", "2026-09-01", zone), Err("invalid_time_zone"), "{zone:?}");
        }
        for date in [
            "2026-02-29",
            "2026-13-01",
            "2026-9-1",
            "20260901",
            "2026-09-01T00:00",
            "+026-09-01",
            "２０２６-09-01",
            "",
            " 2026-09-01",
        ] {
            assert_eq!(span(date, "2026-09-30", "UTC"), Err("invalid_date"), "{date:?}");
            assert_eq!(span("2026-09-30", date, "UTC"), Err("invalid_date"), "{date:?}");
        }
    }
}
