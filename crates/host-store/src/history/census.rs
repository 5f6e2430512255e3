//! A count of everything in the log, for the inventory of `runs audit`.

use crate::log::EventLog;
use crate::row;
use host_ports::log::LogError;
use std::collections::BTreeMap;

/// How many different kinds are counted by name.
const KINDS_MAX: usize = 100;
/// How many events one read takes.
const PART: i64 = 5_000;
/// How many events that can't be read are named.
const NAMED_MAX: usize = 20;

/// What the log holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Census {
    /// How many events.
    pub total: u64,
    /// How many of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// How many can't be read: their row or their body is none.
    pub unreadable: u64,
    /// The first of those, by their numbers.
    pub unreadable_events: Vec<u64>,
    /// How many can be read and are of a kind that this program doesn't know.
    pub unknown: u64,
}

impl EventLog {
    /// Counts all events and reads each. Blocks, for about 10 µs an event.
    ///
    /// # Errors
    /// Where the file can't be read; an event that can't be is counted.
    pub fn census(&self) -> Result<Census, LogError> {
        let mut census = Census::default();
        let mut after = 0_i64;
        loop {
            let read = self.core().read(|conn| {
                let mut events = conn.prepare_cached(&format!(
                    "SELECT {} FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2",
                    row::COLUMNS
                ))?;
                let mut rows = events.query([after, PART])?;
                let mut read = 0;
                while let Some(event) = rows.next()? {
                    read += 1;
                    after = event.get(0)?;
                    census.take(after.unsigned_abs(), row::stored(event).ok());
                }
                Ok(read)
            })?;
            if read < PART {
                return Ok(census);
            }
        }
    }
}

impl Census {
    fn take(&mut self, seq: u64, event: Option<host_event::StoredEvent>) {
        self.total += 1;
        let Some(event) = event else {
            self.unreadable += 1;
            if self.unreadable_events.len() < NAMED_MAX {
                self.unreadable_events.push(seq);
            }
            return;
        };
        self.unknown += u64::from(event.fact.is_none());
        let known = self.kinds.contains_key(&event.kind) || self.kinds.len() < KINDS_MAX;
        let kind = if known { event.kind } else { "(other)".to_owned() };
        *self.kinds.entry(kind).or_default() += 1;
    }
}
