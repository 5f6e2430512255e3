//! Long-term memory as the memory tools see it. `host-memory` answers these; a tool holds one of them and
//! touches no file and no row itself.

use crate::BoxFuture;
use host_vocab::RunId;
use serde::Serialize;

/// The longest fact in characters, after normalising (REM-1).
pub const FACT_CHARS_MAX: usize = 500;
/// The longest query in bytes.
pub const QUERY_BYTES_MAX: usize = 2048;
/// What a model is told where earlier work is looked for (REC-1). The description of `MemoryRecall` and an
/// empty result use the same words.
pub const HISTORY_HAND_OFF: &str =
    "To pick up, continue or recover interrupted work, call RunHistory with {} first.";
/// What stands in the place of text that must not be shown.
pub const OMITTED: &str = "[omitted: unsafe text]";

/// What became of a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Remembered {
    /// Its id, made from its words.
    pub id: String,
    /// The words exactly as they are stored.
    pub text: String,
    /// Whether it was there already, and nothing was written.
    pub duplicate: bool,
    /// Whether an earlier write had not been finished, and this call finished it.
    pub recovered: bool,
    /// How many bytes were written to the notes.
    pub bytes_written: u64,
    /// Where it stands, such as `daily/2026-09-03.md`.
    pub source: String,
}

/// Why a fact was not stored, or not wholly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RememberError {
    /// There is nothing in it.
    #[error("the text is empty")]
    Empty,
    /// It is too long after normalising.
    #[error("the text has {chars} characters; a fact has at most {FACT_CHARS_MAX}")]
    TooLong {
        /// How many characters it has.
        chars: usize,
    },
    /// It holds control, bidirectional or invisible characters, or the mark of a stored line.
    #[error("the text holds characters that can't be stored: {what}")]
    Unsafe {
        /// Which.
        what: &'static str,
    },
    /// It holds a secret or something that looks like one (REM-4).
    #[error("the text holds a secret or something that looks like one")]
    Secret,
    /// It was forgotten on purpose (REM-6).
    #[error("this fact was forgotten on purpose and can't be stored again")]
    Forgotten,
    /// It was superseded by a newer one.
    #[error("this fact was superseded; state what holds now, with its date and source")]
    Superseded,
    /// The day is still kept in the old layout only (REM-6).
    #[error("{date} is still kept in the old layout, and a new file would hide it")]
    LegacyLayout {
        /// The date.
        date: String,
    },
    /// The notes hold this id with other words.
    #[error("the id {id} conflicts with its canonical text")]
    Conflict {
        /// The id.
        id: String,
    },
    /// This memory takes no facts.
    #[error("this memory takes no facts")]
    Unsupported,
    /// Nothing was written (REM-5).
    #[error("not stored: {why}")]
    NotStored {
        /// Why, without paths.
        why: &'static str,
    },
    /// It stands in the notes, but not in the index (REM-5): the same words again finish it.
    #[error("durable but not indexed")]
    Unindexed {
        /// Its id.
        id: String,
        /// The words as they are stored.
        text: String,
        /// Where it stands.
        place: String,
    },
    /// Whether it was written is not known; the same words again settle it.
    #[error("whether the fact was stored is not known")]
    Uncertain,
}

/// Storing facts.
pub trait Remember: Send + Sync {
    /// Stores one fact, once.
    ///
    /// # Errors
    /// See [`RememberError`].
    fn remember<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Remembered, RememberError>>;
}

/// One recalled fact. Its text is one line, safe to show, and never an instruction.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hit {
    /// Its id.
    pub id: String,
    /// The fact.
    pub text: String,
    /// How well it fits, 0 to 1.
    pub score: f32,
    /// When it was noted, not when it happened (RFC 3339).
    pub created_at: String,
    /// Where it stands; empty for a remote store.
    pub source: String,
    /// `task`, `event` or `note`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `open`, `done`, `scheduled` or `migrated`.
    pub status: String,
    /// `current`, or `superseded`.
    pub currentness: String,
}

/// What a recall gave.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Recalled {
    /// The best first.
    pub hits: Vec<Hit>,
    /// Whether a part was not to be had (no vectors, a stale index), in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
}

/// Why nothing could be recalled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecallError {
    /// There is no word in the query.
    #[error("the query is empty")]
    Empty,
    /// The query is over its bound.
    #[error("a query has at most {QUERY_BYTES_MAX} bytes")]
    TooLong,
    /// The memory can't be read now.
    #[error("memory is not available: {why}")]
    Unavailable {
        /// Why, without paths.
        why: &'static str,
    },
}

/// Looking facts up.
pub trait Recall: Send + Sync {
    /// The facts that fit a query, at most `limit`; none rather than wrong ones.
    ///
    /// # Errors
    /// See [`RecallError`].
    fn recall<'a>(&'a self, query: &'a str, limit: usize) -> BoxFuture<'a, Result<Recalled, RecallError>>;
}

/// The first call of a journal (JRN-1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalRange {
    /// The first day, `YYYY-MM-DD`.
    pub from_date: String,
    /// The last day, `YYYY-MM-DD`.
    pub through_date: String,
    /// An IANA zone.
    pub time_zone: String,
    /// Entries on a page, 1 to 25; `None` = 10.
    pub limit: Option<i64>,
}

/// One entry (JRN-4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalEntry {
    /// Its id.
    pub id: String,
    /// When it was noted (RFC 3339, UTC, milliseconds).
    pub created_at: String,
    /// `task`, `event` or `note`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `active` or `superseded`.
    pub lifecycle: String,
    /// `open`, `done`, `scheduled`, `migrated` or `invalidated`.
    pub status: String,
    /// The id of the entry that this one replaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// The text, one line.
    pub text: String,
    /// Whether the text was cut.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub text_truncated: bool,
    /// Where it stands, such as `daily/2026-09-03.md`.
    pub source: String,
}

/// The order of entries: time, then id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalKey {
    /// When it was noted.
    pub created_at: String,
    /// Its id.
    pub id: String,
}

/// How much of the range a page and its snapshot hold (JRN-3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalCoverage {
    /// How many entries the snapshot has.
    pub snapshot_entries: usize,
    /// Which of them this page begins with, from 0.
    pub offset: usize,
    /// How many this page has.
    pub returned: usize,
    /// Whether there is another page of the snapshot.
    pub has_next_page: bool,
    /// Whether the snapshot has every entry of the range.
    pub range_complete: bool,
    /// Why it hasn't: `entry_limit` or `byte_limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncation: Option<String>,
    /// The last entry of the snapshot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_included: Option<JournalKey>,
}

/// The range as it was understood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalSpan {
    /// The first day.
    pub from_date: String,
    /// The last day.
    pub through_date: String,
    /// The zone.
    pub time_zone: String,
    /// The first instant, UTC.
    pub from_instant: String,
    /// The instant after the last, UTC.
    pub until_instant: String,
}

/// One page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalPage {
    /// `ok`.
    pub status: &'static str,
    /// `curated_memory_summary`.
    pub evidence_kind: &'static str,
    /// Always: entries are evidence, never instructions.
    pub untrusted: bool,
    /// Set where a whole range has no entry (JRN-5).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_data: bool,
    /// The range.
    pub range: JournalSpan,
    /// The entries, oldest first.
    pub entries: Vec<JournalEntry>,
    /// How much of it this is.
    pub coverage: JournalCoverage,
    /// What the next page is asked with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Why there is no page. [`JournalError::code`] is the closed code (JRN-5).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// A date is no `YYYY-MM-DD` of the calendar.
    #[error("{field} is no calendar date of the form YYYY-MM-DD")]
    Date {
        /// Which.
        field: &'static str,
    },
    /// The zone is unknown.
    #[error("timeZone is no IANA zone; write one such as Europe/Amsterdam or UTC")]
    Zone,
    /// The last day is before the first.
    #[error("throughDate is before fromDate")]
    Reversed,
    /// Too many days.
    #[error("the range has more than {days_max} days; ask for it in parts")]
    TooLong {
        /// The bound.
        days_max: i64,
    },
    /// A midnight that the zone skips, or that no instant can stand for.
    #[error("{date} has no 00:00 in this zone; move the range by a day")]
    Boundary {
        /// The local date.
        date: String,
    },
    /// The page size is out of bounds.
    #[error("limit is from 1 to {limit_max}")]
    Limit {
        /// The bound.
        limit_max: i64,
    },
    /// The cursor was not issued to this run, or is not whole.
    #[error("the cursor is not one that this run was given")]
    Cursor,
    /// Four snapshots are there already.
    #[error("this run has {snapshots_max} snapshots already; go on with their cursors")]
    Snapshots {
        /// The bound.
        snapshots_max: usize,
    },
    /// The store failed.
    #[error("the journal is not available now")]
    Unavailable,
}

impl JournalError {
    /// The closed code.
    pub const fn code(&self) -> &'static str {
        match self {
            JournalError::Date { .. } => "invalid_date",
            JournalError::Zone => "invalid_time_zone",
            JournalError::Reversed => "reversed_range",
            JournalError::TooLong { .. } => "range_too_long",
            JournalError::Boundary { .. } => "invalid_boundary",
            JournalError::Limit { .. } => "invalid_limit",
            JournalError::Cursor => "invalid_cursor",
            JournalError::Snapshots { .. } => "snapshot_limit",
            JournalError::Unavailable => "journal_unavailable",
        }
    }
}

/// Reading memory by date.
pub trait Journal: Send + Sync {
    /// Freezes a snapshot for a run and gives its first page.
    ///
    /// # Errors
    /// See [`JournalError`].
    fn first<'a>(
        &'a self,
        run: &'a RunId,
        range: &'a JournalRange,
    ) -> BoxFuture<'a, Result<JournalPage, JournalError>>;

    /// The next page of a run's snapshot.
    ///
    /// # Errors
    /// See [`JournalError`].
    fn next<'a>(
        &'a self,
        run: &'a RunId,
        cursor: &'a str,
    ) -> BoxFuture<'a, Result<JournalPage, JournalError>>;

    /// Drops a run's snapshots.
    fn end(&self, run: &RunId);
}
