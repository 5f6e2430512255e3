//! Daily buckets of a conversation.

use host_vocab::ConversationId;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Whether a conversation begins anew every day, and where the day begins.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Rollover {
    /// It goes on.
    #[default]
    Off,
    /// It gets a `#YYYY-MM-DD` bucket.
    Daily {
        /// The zone whose midnight counts.
        zone: TimeZone,
        /// Channels that never roll over: the operator's own.
        except: Vec<String>,
    },
}

impl Rollover {
    /// Daily in an IANA zone; the terminal and the web console go on.
    ///
    /// # Errors
    /// The zone is not known.
    pub fn daily(zone: &str) -> Result<Self, jiff::Error> {
        let except = vec!["terminal".to_owned(), "web".to_owned()];
        Ok(Rollover::Daily { zone: TimeZone::get(zone)?, except })
    }
}

/// The exact id of a conversation at a moment.
pub fn bucketed(
    conversation: &ConversationId,
    rollover: &Rollover,
    channel: &str,
    now_ms: i64,
) -> ConversationId {
    let Rollover::Daily { zone, except } = rollover else { return conversation.clone() };
    if except.iter().any(|it| it == channel) {
        return conversation.clone();
    }
    Timestamp::from_millisecond(now_ms)
        .ok()
        .map(|now| zone.to_datetime(now).date())
        .and_then(|day| ConversationId::parse(format!("{conversation}#{day}")).ok())
        .unwrap_or_else(|| conversation.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    // ENG-4
    #[test]
    fn the_day_is_the_zones_day() {
        let id = ConversationId::parse("slack:c1").unwrap();
        // 2026-11-29T23:30:00Z
        let now = 1_795_995_000_000;
        let at = |zone: &str| bucketed(&id, &Rollover::daily(zone).unwrap(), "slack", now).to_string();
        assert_eq!(at("UTC"), "slack:c1#2026-11-29");
        assert_eq!(at("Europe/Vienna"), "slack:c1#2026-11-30");
        assert_eq!(at("America/Los_Angeles"), "slack:c1#2026-11-29");
        let daily = Rollover::daily("UTC").unwrap();
        assert_eq!(bucketed(&id, &daily, "web", now), id);
        assert_eq!(bucketed(&id, &Rollover::Off, "slack", now), id);
        assert!(Rollover::daily("Mars/Olympus").is_err());
    }
}
