//! Times by a cron expression: five fields, evaluated in a time zone (CHN-4).

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};
use std::ops::RangeInclusive;

/// The longest expression, in bytes.
pub const EXPRESSION_BYTES_MAX: usize = 256;
/// How far ahead a time is looked for: 29 February comes at the latest after eight years.
const DAYS_AHEAD_MAX: usize = 366 * 9;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Why an expression is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// Not five fields.
    #[error("a cron expression has five fields (minute hour day month weekday), and this has {0}")]
    Fields(usize),
    /// Over the bound.
    #[error("a cron expression has at most {EXPRESSION_BYTES_MAX} bytes")]
    TooLong,
    /// One field is wrong.
    #[error("{field}: {part:?} is none; {expected}")]
    Field {
        /// Which one.
        field: &'static str,
        /// What stands there.
        part: String,
        /// What could stand there.
        expected: String,
    },
    /// No day of any year fits.
    #[error("no day of the calendar fits this day and month")]
    Never,
}

/// A cron expression: `minute hour day month weekday`, each `*`, a number, a range `a-b`, with a step `/n`, or a list
/// of these; months and weekdays also by their first three letters, Sunday is 0 or 7. `H` (also `H/n`, `H(a-b)`) is
/// a fixed value drawn from a seed, so that many schedules don't come at once. Where both day and weekday are
/// restricted, either of them is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronSchedule {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    either_day: bool,
    every_hour: bool,
}

impl CronSchedule {
    /// Reads an expression; the seed is what `H` is drawn from (a job's id).
    ///
    /// # Errors
    /// See [`CronError`]; it names the field.
    pub fn parse(expression: &str, seed: &str) -> Result<Self, CronError> {
        if expression.len() > EXPRESSION_BYTES_MAX {
            return Err(CronError::TooLong);
        }
        let fields: Vec<&str> = expression.split_ascii_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(CronError::Fields(fields.len()));
        };
        let field = |name, range, words: &'static [&'static str]| Field { name, range, words, seed };
        let minutes = field("minute", 0..=59, &[]).bits(minute)?;
        let hours = field("hour", 0..=23, &[]).bits(hour)?;
        // A drawn day is one that every month has.
        let days = field("day", 1..=31, &[]).bits(day)?;
        let months = field("month", 1..=12, &MONTHS).bits(month)?;
        let weekdays = field("weekday", 0..=7, &WEEKDAYS).bits(weekday)?;
        let schedule = CronSchedule {
            minutes,
            hours,
            days,
            months,
            weekdays: (weekdays | weekdays >> 7) & 0x7f,
            either_day: !day.starts_with('*') && !weekday.starts_with('*'),
            every_hour: hours.count_ones() == 24,
        };
        // 2000 is a leap year and holds every day that there is.
        let there = |month, day| has(months, month) && has(days, day) && Date::new(2000, month, day).is_ok();
        let day_exists = (1..=12).any(|month| (1..=31).any(|day| there(month, day)));
        if day_exists || schedule.either_day { Ok(schedule) } else { Err(CronError::Never) }
    }

    /// The first time after a moment. A time that a change of the clocks skips comes as much later as the clocks went
    /// ahead; one that comes twice counts the first time. A schedule of every hour follows the real hours instead:
    /// nothing for hours that aren't there, both of those that come twice. `None` = none within nine years.
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        // The day before, too: a change of the clocks can carry a time over midnight.
        let mut date = zone.to_datetime(after).date().yesterday().ok()?;
        for _ in 0..DAYS_AHEAD_MAX {
            if self.fits(date) {
                let times = self.times(date, zone);
                if let Some(first) = times.into_iter().filter(|it| *it > after).min() {
                    return Some(first);
                }
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    fn fits(&self, date: Date) -> bool {
        let day = has(self.days, date.day());
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        has(self.months, date.month()) && if self.either_day { day || weekday } else { day && weekday }
    }

    fn times(&self, date: Date, zone: &TimeZone) -> Vec<Timestamp> {
        let mut times = Vec::new();
        for hour in (0..24).filter(|it| has(self.hours, *it)) {
            for minute in (0..60).filter(|it| has(self.minutes, *it)) {
                self.moments(date.at(hour, minute, 0, 0), zone, &mut times);
            }
        }
        times
    }

    fn moments(&self, time: DateTime, zone: &TimeZone, out: &mut Vec<Timestamp>) {
        let ambiguous = zone.to_ambiguous_timestamp(time);
        match ambiguous.offset() {
            AmbiguousOffset::Gap { .. } if self.every_hour => {}
            AmbiguousOffset::Fold { .. } if self.every_hour => {
                out.extend(ambiguous.earlier().ok());
                out.extend(ambiguous.later().ok());
            }
            _ => out.extend(ambiguous.compatible().ok()),
        }
    }
}

fn has(bits: u64, value: i8) -> bool {
    u32::try_from(value).is_ok_and(|value| bits >> value & 1 == 1)
}

struct Field<'a> {
    name: &'static str,
    range: RangeInclusive<u32>,
    words: &'static [&'static str],
    seed: &'a str,
}

impl Field<'_> {
    fn bits(&self, text: &str) -> Result<u64, CronError> {
        text.split(',').try_fold(0, |bits, part| Ok(bits | self.part(part)?))
    }

    fn part(&self, part: &str) -> Result<u64, CronError> {
        let wrong = || self.wrong(part);
        let (span, step) = match part.split_once('/') {
            Some((span, step)) => (span, Some(number(step).filter(|it| *it > 0).ok_or_else(wrong)?)),
            None => (part, None),
        };
        let (low, high) = (*self.range.start(), *self.range.end());
        // Sunday has two numbers; a star means each day once, and so does a draw.
        let last = if self.name == "weekday" { 6 } else { high };
        let (from, to) = if span == "*" {
            (low, last)
        } else if let Some(drawn) = span.strip_prefix('H') {
            let (from, to) = self.drawn_from(drawn, last).ok_or_else(wrong)?;
            let width = step.unwrap_or(to - from + 1).min(to - from + 1);
            let first = from + draw(self.seed, self.name) % width;
            if step.is_none() { (first, first) } else { (first, to) }
        } else if let Some((from, to)) = span.split_once('-') {
            (self.value(from).ok_or_else(wrong)?, self.value(to).ok_or_else(wrong)?)
        } else {
            let value = self.value(span).ok_or_else(wrong)?;
            (value, if step.is_some() { last } else { value })
        };
        if from > to {
            return Err(wrong());
        }
        let step = usize::try_from(step.unwrap_or(1)).unwrap_or(usize::MAX);
        Ok((from..=to).step_by(step).fold(0, |bits, value| bits | 1 << value))
    }

    /// The range behind an `H`: the whole field, or `(a-b)`. A drawn day is one that every month has.
    fn drawn_from(&self, text: &str, last: u32) -> Option<(u32, u32)> {
        if text.is_empty() {
            return Some((*self.range.start(), if self.name == "day" { 28 } else { last }));
        }
        let (from, to) = text.strip_prefix('(')?.strip_suffix(')')?.split_once('-')?;
        let (from, to) = (self.value(from)?, self.value(to)?);
        (from <= to).then_some((from, to))
    }

    fn value(&self, text: &str) -> Option<u32> {
        let lower = text.to_ascii_lowercase();
        let word = self.words.iter().position(|it| *it == lower).and_then(|at| u32::try_from(at).ok());
        // Months count from 1, weekdays from 0.
        let first = if self.name == "month" { 1 } else { 0 };
        word.map(|at| at + first).or_else(|| number(text)).filter(|it| self.range.contains(it))
    }

    fn wrong(&self, part: &str) -> CronError {
        let words = self.words.first().map_or(String::new(), |first| format!(" or a word like {first}"));
        let (low, high) = (self.range.start(), self.range.end());
        CronError::Field {
            field: self.name,
            part: crate::text::one_line(part, 40),
            expected: format!("numbers from {low} to {high}{words}, ranges a-b, steps /n, lists, * or H"),
        }
    }
}

/// A plain number without a sign.
fn number(text: &str) -> Option<u32> {
    (text.len() <= 4 && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

/// FNV-1a: the same for the same job on every machine.
fn draw(seed: &str, field: &str) -> u32 {
    seed.bytes()
        .chain([0])
        .chain(field.bytes())
        .fold(0x811c_9dc5, |sum, b| (sum ^ u32::from(b)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(expression: &str, zone: &str, after: &str) -> String {
        let schedule = CronSchedule::parse(expression, "seed").unwrap();
        let zone = TimeZone::get(zone).unwrap();
        let after: Timestamp = after.parse().unwrap();
        schedule.next_after(after, &zone).map_or("never".to_owned(), |it| it.to_string())
    }

    // CHN-4
    #[test]
    fn times_follow_their_fields() {
        for (expression, after, expected) in [
            ("0 */2 * * *", "2026-11-30T17:44:00Z", "2026-11-30T18:00:00Z"),
            ("0 */2 * * *", "2026-11-30T18:00:00Z", "2026-11-30T20:00:00Z"),
            ("*/15 9-17 * * mon-fri", "2026-11-28T12:00:00Z", "2026-11-30T09:00:00Z"),
            ("5,35 * * * *", "2026-12-31T23:40:00Z", "2027-01-01T00:05:00Z"),
            ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
            ("0 0 31 * *", "2026-04-01T00:00:00Z", "2026-05-31T00:00:00Z"),
            // Either the 13th or a Friday.
            ("0 0 13 * FRI", "2026-11-30T00:00:00Z", "2026-12-04T00:00:00Z"),
            ("0 0 13 * 5", "2026-12-11T12:00:00Z", "2026-12-13T00:00:00Z"),
            // A star with a step restricts nothing: both must fit.
            ("0 0 */2 * 7", "2026-11-30T00:00:00Z", "2026-12-13T00:00:00Z"),
            ("30 6 1 JAN,jul 0-7", "2026-11-30T00:00:00Z", "2027-01-01T06:30:00Z"),
            ("10/20 3 * * *", "2026-11-30T03:10:00Z", "2026-11-30T03:30:00Z"),
        ] {
            assert_eq!(next(expression, "UTC", after), expected, "{expression}");
        }
    }

    // CHN-4: gaps and repeats of the clock.
    #[test]
    fn changes_of_the_clock_lose_and_double_nothing() {
        let zurich = |expression, after| next(expression, "Europe/Zurich", after);
        // 02:30 isn't there on 29 March 2026; it comes at 03:30.
        assert_eq!(zurich("30 2 * * *", "2026-03-28T12:00:00Z"), "2026-03-29T01:30:00Z");
        assert_eq!(zurich("30 2 * * *", "2026-03-29T01:30:00Z"), "2026-03-30T00:30:00Z");
        // 02:30 comes twice on 25 October; once is enough.
        assert_eq!(zurich("30 2 * * *", "2026-10-24T12:00:00Z"), "2026-10-25T00:30:00Z");
        assert_eq!(zurich("30 2 * * *", "2026-10-25T00:30:00Z"), "2026-10-26T01:30:00Z");
        // Every half hour means every half hour.
        let mut at: Timestamp = "2026-10-24T22:00:00Z".parse().unwrap();
        let schedule = CronSchedule::parse("*/30 * * * *", "").unwrap();
        for zone in ["Europe/Zurich", "Australia/Lord_Howe", "Pacific/Apia"] {
            let zone = TimeZone::get(zone).unwrap();
            for _ in 0..200 {
                let next = schedule.next_after(at, &zone).unwrap();
                assert_eq!((next - at).as_secs(), 1800, "{zone:?} {at}");
                at = next;
            }
        }
        // Samoa had no 30 December 2011: what was due then comes a day later, once.
        let apia = |after| next("0 8 30,31 * *", "Pacific/Apia", after);
        assert_eq!(apia("2011-12-29T20:00:00Z"), "2011-12-30T18:00:00Z");
        assert_eq!(apia("2011-12-30T18:00:00Z"), "2012-01-29T18:00:00Z");
    }

    #[test]
    fn what_is_no_expression_names_its_place() {
        for (bad, place) in [
            ("", "five fields"),
            ("* * * *", "has 4"),
            ("0 0 * * * *", "has 6"),
            ("@daily", "has 1"),
            ("60 * * * *", "minute"),
            ("-1 * * * *", "minute"),
            ("+1 * * * *", "minute"),
            ("* 24 * * *", "hour"),
            ("* * 0 * *", "day"),
            ("* * * 13 *", "month"),
            ("* * * jann *", "month"),
            ("* * * * 8", "weekday"),
            ("* * * * fri-mon", "weekday"),
            ("*/0 * * * *", "minute"),
            ("5-1 * * * *", "minute"),
            ("1,, * * * *", "minute"),
            ("H(5-70) * * * *", "minute"),
            ("* * * * L", "weekday"),
            ("0 0 30 2 *", "no day"),
            ("٣ * * * *", "minute"),
        ] {
            let why = CronSchedule::parse(bad, "x").unwrap_err().to_string();
            assert!(why.contains(place), "{bad}: {why}");
        }
        assert_eq!(CronSchedule::parse(&"1,".repeat(200), "x"), Err(CronError::TooLong));
    }

    #[test]
    fn a_drawn_time_is_fixed_and_in_its_range() {
        for seed in ["a", "b", "report", "日次"] {
            let one = CronSchedule::parse("H H(3-5) H * H", seed).unwrap();
            assert_eq!(one, CronSchedule::parse("H H(3-5) H * H", seed).unwrap());
            let single = |bits: u64| bits.count_ones() == 1;
            assert!(single(one.minutes) && single(one.hours) && single(one.days) && single(one.weekdays));
            assert!(one.hours & !0b11_1000 == 0 && one.days < 1 << 29 && one.weekdays < 1 << 7);
            let stepped = CronSchedule::parse("H/15 * * * *", seed).unwrap();
            assert_eq!(stepped.minutes.count_ones(), 4);
        }
        let drawn = |seed: &str| CronSchedule::parse("H * * * *", seed).unwrap().minutes;
        assert!(
            (0..20).map(|n| drawn(&format!("job-{n}"))).collect::<std::collections::HashSet<_>>().len() > 5
        );
    }
}
