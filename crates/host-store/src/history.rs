//! The store's answers to the questions of `host-history`: rows and grams of runs and calls, in the derived
//! file beside the log, made from its events in the same pass as the full text.

mod anchors;
mod call_queries;
mod call_rows;
mod census;
pub(crate) mod checkpoint;
mod find;
mod project;
mod retention;
mod run_queries;
mod run_rows;
mod scope;
mod tables;
mod tokens;

pub use anchors::{AuditReport, HeadCheck};
pub use census::Census;
pub use retention::{RetentionPolicy, RetentionReport};

pub(crate) use project::project;
pub(crate) use retention::follow_retention;
pub(crate) use tables::TABLES;

use crate::log::EventLog;
use crate::{lookup, row};
use host_event::StoredEvent;
use host_history::{
    CallQuery, CallRow, ConversationRow, HistoryStore, Record, RunListQuery, RunMatches, RunRow,
    RunSearchQuery, ScopeFilter, Tombstone, ToolCount,
};
use host_ports::log::LogError;
use host_vocab::{ConversationId, RunId};
use rusqlite::params;

/// The most events of one read.
const EVENTS_MAX: usize = 10_000;

impl EventLog {
    /// The events behind `after_seq` in order, at most `events_max` (up to 10,000): for exports and audits.
    /// Blocks.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn events_after(&self, after_seq: u64, events_max: usize) -> Result<Vec<StoredEvent>, LogError> {
        self.events("seq > ?1 ORDER BY seq", after_seq, events_max)
    }

    /// The events before `before_seq`, newest first, at most `events_max` (up to 10,000). Blocks.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn events_before(&self, before_seq: u64, events_max: usize) -> Result<Vec<StoredEvent>, LogError> {
        self.events("seq < ?1 ORDER BY seq DESC", before_seq, events_max)
    }

    /// The events on one side of a sequence; `side` is a condition with its order, in SQL of ours.
    fn events(&self, side: &str, seq: u64, events_max: usize) -> Result<Vec<StoredEvent>, LogError> {
        let columns = row::COLUMNS;
        let seq = i64::try_from(seq).unwrap_or(i64::MAX);
        let max = i64::try_from(events_max.min(EVENTS_MAX)).unwrap_or(0);
        self.core().read(|conn| {
            let mut events =
                conn.prepare_cached(&format!("SELECT {columns} FROM events WHERE {side} LIMIT ?2"))?;
            let mut rows = events.query(params![seq, max])?;
            let mut found = Vec::new();
            while let Some(event) = rows.next()? {
                found.push(row::stored(event)?);
            }
            Ok(found)
        })
    }
}

impl HistoryStore for EventLog {
    fn list_runs(&self, query: &RunListQuery) -> Result<Vec<RunRow>, LogError> {
        self.on_index(|index| run_queries::list(index, query))
    }

    fn search_runs(&self, query: &RunSearchQuery) -> Result<RunMatches, LogError> {
        self.on_index(|index| run_queries::search(index, query))
    }

    fn find_run(&self, scope: &ScopeFilter, run: &RunId) -> Result<Option<RunRow>, LogError> {
        self.on_index(|index| run_queries::find(index, scope, run))
    }

    fn tool_counts(&self, run: &RunRow) -> Result<Vec<ToolCount>, LogError> {
        self.on_index(|index| run_queries::tool_counts(index, run.seq))
    }

    fn list_conversations(
        &self,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<ConversationRow>, LogError> {
        self.on_index(|index| run_queries::conversations(index, before, limit))
    }

    fn events_of(
        &self,
        run: &RunRow,
        after_seq: u64,
        events_max: usize,
    ) -> Result<Vec<StoredEvent>, LogError> {
        let after = i64::try_from(after_seq.max(run.seq.saturating_sub(1))).unwrap_or(i64::MAX);
        let upto = run.settled_seq.and_then(|seq| i64::try_from(seq).ok()).unwrap_or(i64::MAX);
        let max = events_max.min(EVENTS_MAX);
        self.core().read(|conn| {
            let mut found = Vec::new();
            // Two statements and a look at each event, so that no plan can turn this into a scan.
            for sql in [lookup::SEQS_OF_RUN, lookup::NEW_SEQS_OF_RUN] {
                let mut seqs = conn.prepare_cached(sql)?;
                let mut one =
                    conn.prepare_cached(&format!("SELECT {} FROM events WHERE seq = ?1", row::COLUMNS))?;
                let mut rows = seqs.query(params![run.run.as_str(), after, upto])?;
                while found.len() < max
                    && let Some(seq) = rows.next()?
                {
                    let mut event = one.query([seq.get::<_, i64>(0)?])?;
                    let Some(event) = event.next()? else { continue };
                    let event = row::stored(event)?;
                    if event.scope.conversation == run.conversation {
                        found.push(event);
                    }
                }
            }
            Ok(found)
        })
    }

    fn search_calls(&self, query: &CallQuery) -> Result<Vec<CallRow>, LogError> {
        self.on_index(|index| call_queries::search(index, query))
    }

    fn find_record(&self, scope: &ScopeFilter, record: &str) -> Result<Option<Record>, LogError> {
        self.on_index(|index| call_queries::record(index, scope, record))
    }

    fn find_call(
        &self,
        scope: &ScopeFilter,
        call: &str,
        isolated: bool,
        without: &(Option<ConversationId>, RunId),
    ) -> Result<Option<CallRow>, LogError> {
        self.on_index(|index| call_queries::newest(index, scope, call, isolated, without))
    }

    fn find_tombstone(&self, scope: &ScopeFilter, record: &str) -> Result<Option<Tombstone>, LogError> {
        self.core().read(|conn| Ok(retention::tombstone(conn, scope, record)?))
    }

    fn event(&self, seq: u64) -> Result<Option<StoredEvent>, LogError> {
        EventLog::event(self, seq)
    }

    fn behind(&self) -> Result<u64, LogError> {
        self.search_behind()
    }

    fn keyed_digest(&self, bytes: &[u8]) -> String {
        host_ports::log::Log::keyed_digest(self, bytes)
    }
}
