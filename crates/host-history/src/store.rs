//! What this crate asks of the store. Every question costs about the same at any size of the history, but for
//! the two searches.

use host_event::StoredEvent;
use host_ports::log::LogError;
use host_turn::Usage;
use host_vocab::{ConversationId, RunId};
use serde::Serialize;

/// Whose rows are asked for. There is no default: nothing given is never everything (T9-07).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScopeFilter {
    /// Of one exact conversation.
    Exact(ConversationId),
    /// Of a conversation whose daily buckets count as one; its id without a bucket.
    Logical(String),
    /// Everybody's, for the operator alone.
    Everything,
}

/// A run, as the index holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    /// The event that began it; newer runs have a higher one.
    pub seq: u64,
    /// The event that ended it; `None` = it runs.
    pub settled_seq: Option<u64>,
    /// Its id.
    pub run: RunId,
    /// Its exact conversation; `None` where it belongs to none.
    pub conversation: Option<ConversationId>,
    /// Whether it stands alone.
    pub isolated: bool,
    /// `running`, `succeeded`, `failed`, `cancelled` or `interrupted`.
    pub status: String,
    /// The failure kind.
    pub failure_kind: Option<String>,
    /// When it began, in Unix milliseconds.
    pub started_at: i64,
    /// When it ended, in Unix milliseconds.
    pub ended_at: Option<i64>,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<u64>,
    /// The channel or trigger kind.
    pub source: String,
    /// The job, endpoint or command.
    pub source_detail: Option<String>,
    /// The model reference.
    pub model: String,
    /// The effort.
    pub effort: Option<String>,
    /// The beginning of what was said, redacted and without paths.
    pub user_input: String,
    /// What it used.
    pub usage: Option<Usage>,
}

/// Which runs to list, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct RunListQuery {
    /// Whose.
    pub scope: ScopeFilter,
    /// Only those that began before this event.
    pub before: Option<u64>,
    /// Only those in this state; `None` = the settled ones, `any` = the running ones too.
    pub status: Option<String>,
    /// How many at most.
    pub limit: usize,
}

/// Which settled runs to search, best first.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSearchQuery {
    /// Whose.
    pub scope: ScopeFilter,
    /// Folded terms ([`crate::terms`]); never empty.
    pub terms: Vec<String>,
    /// Go on behind this hit: how many terms it matched, and where it began.
    pub after: Option<(usize, u64)>,
    /// A run that is left out.
    pub without: Option<(Option<ConversationId>, RunId)>,
    /// How many at most.
    pub limit: usize,
}

/// One hit.
#[derive(Debug, Clone, PartialEq)]
pub struct RunHit {
    /// The run.
    pub row: RunRow,
    /// Which of the terms it carries, by their places.
    pub matched: Vec<usize>,
}

/// The hits of a search: all-terms matches alone where there are any, else ranked partial ones (RUN-5).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunMatches {
    /// The hits, best first, newest first among equals.
    pub hits: Vec<RunHit>,
    /// Whether they carry every term.
    pub all_terms: bool,
}

/// How often a tool was called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolCount {
    /// The tool.
    pub tool: String,
    /// How often it was called.
    pub calls: u64,
    /// How often that did not end in success.
    pub errors: u64,
}

/// The two records of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// What was asked.
    Invocation,
    /// What came of it.
    Result,
}

impl Phase {
    /// `invocation` or `result`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Phase::Invocation => "invocation",
            Phase::Result => "result",
        }
    }
}

/// A completed call, as the index holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRow {
    /// The event that began it (or refused it); newer calls have a higher one.
    pub seq: u64,
    /// The event that ended it; `None` where nothing did (an interrupted call).
    pub end_seq: Option<u64>,
    /// The provider's id.
    pub call: String,
    /// Its run.
    pub run: RunId,
    /// Its exact conversation.
    pub conversation: Option<ConversationId>,
    /// Whether its run stands alone.
    pub isolated: bool,
    /// The tool.
    pub tool: String,
    /// The terminal state: `success`, `rejected`, `error`, `exit_nonzero`, `timeout`, `signal`, `cancelled`
    /// or `interrupted`.
    pub state: String,
    /// The code it ended with, or `run_<status>` where its run ended first.
    pub code: String,
    /// When it began, in Unix milliseconds.
    pub started_at: i64,
    /// When it ended, in Unix milliseconds.
    pub ended_at: Option<i64>,
    /// How long it ran, in milliseconds.
    pub duration_ms: Option<u64>,
    /// Whether its end was found by a recovery.
    pub recovered: bool,
    /// The id of its invocation record.
    pub invocation: String,
    /// The id of its result record.
    pub result: Option<String>,
}

/// Which completed calls to search, newest first. All filters must fit.
#[derive(Debug, Clone, PartialEq)]
pub struct CallQuery {
    /// Whose.
    pub scope: ScopeFilter,
    /// Folded terms that all must occur.
    pub terms: Vec<String>,
    /// Any of these tools; empty = any tool.
    pub tools: Vec<String>,
    /// Any of these states.
    pub states: Vec<String>,
    /// Any of these runs.
    pub runs: Vec<String>,
    /// Begun at or after, in Unix milliseconds.
    pub from_ms: Option<i64>,
    /// Begun at or before.
    pub to_ms: Option<i64>,
    /// Whether runs that stand alone count.
    pub isolated: bool,
    /// A run whose calls are left out.
    pub without: Option<(Option<ConversationId>, RunId)>,
    /// Only those that began before this event.
    pub before: Option<u64>,
    /// How many at most.
    pub limit: usize,
}

/// A record that is there.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its call.
    pub call: CallRow,
    /// Which of the call's two.
    pub phase: Phase,
}

/// Why retention removed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Removal {
    /// It was older than is kept.
    Age,
    /// There were more than are kept.
    Count,
    /// They were larger than is kept.
    Bytes,
}

impl Removal {
    /// `age`, `count` or `bytes`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Removal::Age => "age",
            Removal::Count => "count",
            Removal::Bytes => "bytes",
        }
    }

    /// The reason of a word.
    pub fn parse(word: &str) -> Option<Self> {
        [Removal::Age, Removal::Count, Removal::Bytes].into_iter().find(|it| it.as_str() == word)
    }
}

/// What is left of a record that retention removed: that it was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// Which of the call's two records.
    pub phase: Phase,
    /// Why it went.
    pub reason: Removal,
    /// When, in Unix milliseconds.
    pub removed_at: i64,
    /// Whether its run stood alone.
    pub isolated: bool,
}

/// A conversation in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationRow {
    /// Its exact id.
    pub conversation: String,
    /// How many runs of it are in the index.
    pub runs: u64,
    /// When the newest began, in Unix milliseconds.
    pub last_at_ms: i64,
    /// The event that began the newest: where the next page begins.
    pub last_seq: u64,
}

/// The questions. All of them block for a moment: call from a blocking thread.
pub trait HistoryStore: Send + Sync {
    /// A list of runs, newest first.
    ///
    /// # Errors
    /// See [`LogError`]; so for all below.
    fn list_runs(&self, query: &RunListQuery) -> Result<Vec<RunRow>, LogError>;

    /// A search of settled runs over their stored summary fields alone (RUN-5).
    ///
    /// # Errors
    /// See [`LogError`].
    fn search_runs(&self, query: &RunSearchQuery) -> Result<RunMatches, LogError>;

    /// The newest run of that id in scope, running or not.
    ///
    /// # Errors
    /// See [`LogError`].
    fn find_run(&self, scope: &ScopeFilter, run: &RunId) -> Result<Option<RunRow>, LogError>;

    /// How often each tool was called in a run, by name.
    ///
    /// # Errors
    /// See [`LogError`].
    fn tool_counts(&self, run: &RunRow) -> Result<Vec<ToolCount>, LogError>;

    /// The events of a run in order, at most `events_max` after `after_seq`.
    ///
    /// # Errors
    /// See [`LogError`].
    fn events_of(
        &self,
        run: &RunRow,
        after_seq: u64,
        events_max: usize,
    ) -> Result<Vec<StoredEvent>, LogError>;

    /// A search of completed calls.
    ///
    /// # Errors
    /// See [`LogError`].
    fn search_calls(&self, query: &CallQuery) -> Result<Vec<CallRow>, LogError>;

    /// A record by its id, in scope.
    ///
    /// # Errors
    /// See [`LogError`].
    fn find_record(&self, scope: &ScopeFilter, record: &str) -> Result<Option<Record>, LogError>;

    /// The newest completed call with a provider's id, in scope and outside the run `without`.
    ///
    /// # Errors
    /// See [`LogError`].
    fn find_call(
        &self,
        scope: &ScopeFilter,
        call: &str,
        isolated: bool,
        without: &(Option<ConversationId>, RunId),
    ) -> Result<Option<CallRow>, LogError>;

    /// What is left of a removed record, in scope.
    ///
    /// # Errors
    /// See [`LogError`].
    fn find_tombstone(&self, scope: &ScopeFilter, record: &str) -> Result<Option<Tombstone>, LogError>;

    /// One event.
    ///
    /// # Errors
    /// See [`LogError`].
    fn event(&self, seq: u64) -> Result<Option<StoredEvent>, LogError>;

    /// The conversations by their newest run, newest first: at most `limit` whose newest began before `before`.
    ///
    /// # Errors
    /// See [`LogError`].
    fn list_conversations(&self, before: Option<u64>, limit: usize)
    -> Result<Vec<ConversationRow>, LogError>;

    /// How many events the index has not taken in yet; more than none is announced (RUN-10).
    ///
    /// # Errors
    /// See [`LogError`].
    fn behind(&self) -> Result<u64, LogError>;

    /// A keyed digest under the log's own key, in hex: cursors are signed with it.
    fn keyed_digest(&self, bytes: &[u8]) -> String;
}
