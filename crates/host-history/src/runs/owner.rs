//! What the owner of an agent sees of its runs: those of every conversation, the running ones too. The projection
//! is the same as for a model (RUN-8): redacted again, without paths, bounded.

use super::search::scored;
use super::{RunViews, rfc3339};
use crate::cursor::{self, Kind, Who};
use crate::error::HistoryError;
use crate::fold::{fold, terms};
use crate::store::{ConversationRow, HistoryStore, RunListQuery, RunRow, RunSearchQuery, ScopeFilter};
use crate::transcript::{TranscriptTurn, transcript};
use crate::view::View;
use host_redact::Omission;
use host_turn::Usage;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// The most runs or entries of one page.
const PAGE_MAX: usize = 100;
/// About the most bytes of a page of a timeline.
const TIMELINE_BYTES_MAX: usize = 256 * 1024;
/// Among how many of the newest runs a like one is looked for.
const LIKE_AMONG: usize = 1_000;
/// How many like ones are named.
const LIKE_MAX: usize = 3;
/// The owner, as cursors are bound to.
const OWNER: Who<'_> = ["", "", "owner"];

/// The statuses that a run can have.
pub(crate) const STATUSES: [&str; 5] = ["running", "succeeded", "failed", "cancelled", "interrupted"];

/// One run in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunLine {
    /// The run.
    pub run_id: String,
    /// Its exact conversation.
    pub conversation: Option<String>,
    /// `running`, `succeeded`, `failed`, `cancelled` or `interrupted`.
    pub status: String,
    /// The failure kind.
    pub failure_kind: Option<String>,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
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
    /// Whether it stands alone.
    pub isolated: bool,
    /// The beginning of what was said.
    pub user_input: String,
    /// What it used.
    pub usage: Option<Usage>,
}

/// Which runs to list, and how many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunListing {
    /// Only those of one conversation.
    pub scope: Option<ScopeFilter>,
    /// Only those in this status; `None` = in any, running ones too.
    pub status: Option<String>,
    /// How many, 1 to 100.
    pub limit: usize,
    /// Where to go on.
    pub cursor: Option<String>,
}

/// A page of runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunPage {
    /// The runs.
    pub runs: Vec<RunLine>,
    /// Where it goes on.
    pub next_cursor: Option<String>,
    /// Of a search: whether these runs carry every word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched_all_terms: Option<bool>,
}

/// One run, with a page of its timeline.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunShown {
    /// The run.
    pub run: RunLine,
    /// Its final text, warnings, failures and counts of calls; only with the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overview: Option<Value>,
    /// What happened, in order.
    pub timeline: Vec<Value>,
    /// Where it goes on.
    pub next_cursor: Option<String>,
}

/// A conversation in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationLine {
    /// Its exact id.
    pub conversation: String,
    /// How many runs of it are kept.
    pub runs: u64,
    /// When the newest began, RFC 3339 in UTC.
    pub last_at: String,
}

/// A page of conversations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationPage {
    /// The conversations.
    pub conversations: Vec<ConversationLine>,
    /// Where it goes on.
    pub next_cursor: Option<String>,
}

/// A page of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptPage {
    /// The turns, oldest first.
    pub turns: Vec<TranscriptTurn>,
    /// Where older ones are.
    pub next_cursor: Option<String>,
}

/// The owner's views of runs. Everything blocks for a moment.
#[derive(Clone)]
pub struct OwnerViews {
    views: RunViews,
}

impl OwnerViews {
    /// The views of a store.
    pub fn new(store: Arc<dyn HistoryStore>, view: View) -> Self {
        OwnerViews { views: RunViews::new(store, view, false) }
    }

    fn store(&self) -> &dyn HistoryStore {
        self.views.store.as_ref()
    }

    /// Runs, newest first.
    ///
    /// # Errors
    /// See [`HistoryError`].
    pub fn list(&self, asked: &RunListing) -> Result<RunPage, HistoryError> {
        let limit = page_limit(asked.limit)?;
        if let Some(status) = asked.status.as_deref().filter(|it| !STATUSES.contains(it)) {
            let shown = host_vocab::text::one_line(status, 60);
            let known = STATUSES.join(", ");
            return Err(HistoryError::Input(format!("status: {shown:?} is none; there are {known}")));
        }
        let scope = asked.scope.clone().unwrap_or(ScopeFilter::Everything);
        let question = json!([format!("{scope:?}"), asked.status]);
        let before =
            asked.cursor.as_deref().map(|it| self.opened::<u64>(Kind::Runs, &question, it)).transpose()?;
        self.anchored(&scope, before)?;
        let status = Some(asked.status.clone().unwrap_or_else(|| "any".to_owned()));
        let mut rows = self.store().list_runs(&RunListQuery { scope, before, status, limit: limit + 1 })?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more);
        let next_cursor = next.map(|row| cursor::seal(self.store(), OWNER, Kind::Runs, &question, &row.seq));
        Ok(RunPage {
            runs: rows.iter().map(|row| self.line(row)).collect(),
            next_cursor,
            matched_all_terms: None,
        })
    }

    /// Settled runs that carry words, as RUN-5 ranks them.
    ///
    /// # Errors
    /// See [`HistoryError`].
    pub fn search(&self, query: &str, asked: &RunListing) -> Result<RunPage, HistoryError> {
        let limit = page_limit(asked.limit)?;
        let terms = scored(terms(query)?);
        if terms.is_empty() {
            return Err(HistoryError::Input("query: there is no word in it".to_owned()));
        }
        let scope = asked.scope.clone().unwrap_or(ScopeFilter::Everything);
        let question = json!([format!("{scope:?}"), fold(query)]);
        let opened = |it| self.opened::<(usize, u64)>(Kind::RunSearch, &question, it);
        let after = asked.cursor.as_deref().map(opened).transpose()?;
        self.anchored(&scope, after.map(|it| it.1))?;
        let query = RunSearchQuery { scope, terms, after, without: None, limit: limit + 1 };
        let mut found = self.store().search_runs(&query)?;
        let more = found.hits.len() > limit;
        found.hits.truncate(limit);
        let next_cursor = found.hits.last().filter(|_| more).map(|hit| {
            let anchor = (hit.matched.len(), hit.row.seq);
            cursor::seal(self.store(), OWNER, Kind::RunSearch, &question, &anchor)
        });
        let runs = found.hits.iter().map(|hit| self.line(&hit.row)).collect();
        Ok(RunPage { runs, next_cursor, matched_all_terms: Some(found.all_terms) })
    }

    /// One run: its overview with the first page of its timeline, or another page.
    ///
    /// # Errors
    /// See [`HistoryError`].
    pub fn show(&self, run: &str, cursor: Option<&str>, limit: usize) -> Result<RunShown, HistoryError> {
        let limit = page_limit(limit)?;
        let row = self.row(run)?;
        let question = json!([row.run.as_str(), row.seq]);
        let (after, overview) = match cursor {
            None => (row.seq, Some(self.views.body_of(&row)?.0)),
            Some(cursor) => (self.opened(Kind::Timeline, &question, cursor)?, None),
        };
        let (timeline, following) = self.views.entries(&row, after, limit, TIMELINE_BYTES_MAX)?;
        let next_cursor =
            following.map(|after| cursor::seal(self.store(), OWNER, Kind::Timeline, &question, &after));
        Ok(RunShown { run: self.line(&row), overview, timeline, next_cursor })
    }

    /// Conversations by their newest run, newest first.
    ///
    /// # Errors
    /// See [`HistoryError`].
    pub fn conversations(
        &self,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<ConversationPage, HistoryError> {
        let limit = page_limit(limit)?;
        let before = cursor.map(|it| self.opened(Kind::Conversations, &Value::Null, it)).transpose()?;
        let mut rows = self.store().list_conversations(before, limit + 1)?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next_cursor = rows
            .last()
            .filter(|_| more)
            .map(|row| cursor::seal(self.store(), OWNER, Kind::Conversations, &Value::Null, &row.last_seq));
        let conversations = rows.iter().map(|row| self.conversation(row)).collect();
        Ok(ConversationPage { conversations, next_cursor })
    }

    fn conversation(&self, row: &ConversationRow) -> ConversationLine {
        ConversationLine {
            conversation: self.views.view.text(&row.conversation, Omission::Diagnostic),
            runs: row.runs,
            last_at: rfc3339(row.last_at_ms),
        }
    }

    /// The turns of a conversation, oldest first, the newest page first.
    ///
    /// # Errors
    /// [`HistoryError::NotFound`] where there are none; see the others.
    pub fn transcript(
        &self,
        scope: &ScopeFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<TranscriptPage, HistoryError> {
        let limit = page_limit(limit)?;
        let question = json!(format!("{scope:?}"));
        let before = cursor.map(|it| self.opened(Kind::Transcript, &question, it)).transpose()?;
        self.anchored(scope, before)?;
        let page = transcript(self.store(), &self.views.view, scope, before, limit)?;
        if page.turns.is_empty() {
            return Err(HistoryError::NotFound);
        }
        let seal = |before: u64| cursor::seal(self.store(), OWNER, Kind::Transcript, &question, &before);
        Ok(TranscriptPage { turns: page.turns, next_cursor: page.before.map(seal) })
    }

    /// A cursor over the gate's decisions, behind which older ones follow.
    pub fn decisions_cursor(&self, question: &Value, before: u64) -> String {
        cursor::seal(self.store(), OWNER, Kind::Decisions, question, &before)
    }

    /// Where a cursor over the gate's decisions stands.
    ///
    /// # Errors
    /// [`HistoryError::Cursor`] for any other.
    pub fn decisions_before(&self, question: &Value, cursor: &str) -> Result<u64, HistoryError> {
        let before = self.opened(Kind::Decisions, question, cursor)?;
        match self.store().event(before) {
            Ok(None) => Err(HistoryError::Cursor),
            _ => Ok(before),
        }
    }

    /// The run of an id, in any conversation; the newest where there are several.
    ///
    /// # Errors
    /// [`HistoryError::NotFound`], or why it can't be read.
    pub fn row(&self, run: &str) -> Result<RunRow, HistoryError> {
        let run = host_vocab::RunId::parse(run.trim()).map_err(|_| HistoryError::NotFound)?;
        self.store().find_run(&ScopeFilter::Everything, &run)?.ok_or(HistoryError::NotFound)
    }

    /// Runs among the newest whose ids hold the text; what somebody may have meant who typed a part of one.
    ///
    /// # Errors
    /// See [`HistoryError`].
    pub fn like(&self, text: &str) -> Result<Vec<String>, HistoryError> {
        let text = text.trim().to_lowercase();
        if text.len() < 4 {
            return Ok(Vec::new());
        }
        let status = Some("any".to_owned());
        let newest = RunListQuery { scope: ScopeFilter::Everything, before: None, status, limit: LIKE_AMONG };
        let rows = self.store().list_runs(&newest)?;
        let like = rows.iter().map(|row| row.run.as_str()).filter(|id| id.to_lowercase().contains(&text));
        Ok(like.take(LIKE_MAX).map(str::to_owned).collect())
    }

    /// A run as a list shows it.
    pub fn line(&self, row: &RunRow) -> RunLine {
        let show = |text: &str| self.views.view.text(text, Omission::Diagnostic);
        RunLine {
            run_id: row.run.to_string(),
            conversation: row.conversation.as_ref().map(|id| show(id.as_str())),
            status: row.status.clone(),
            failure_kind: row.failure_kind.clone(),
            started_at: rfc3339(row.started_at),
            ended_at: row.ended_at.map(rfc3339),
            duration_ms: row.duration_ms,
            source: show(&row.source),
            source_detail: row.source_detail.as_deref().map(show),
            model: show(&row.model),
            effort: row.effort.as_deref().map(show),
            isolated: row.isolated,
            user_input: show(&row.user_input),
            usage: row.usage,
        }
    }

    /// A cursor counts while the run that it stands behind is there.
    fn anchored(&self, scope: &ScopeFilter, anchor: Option<u64>) -> Result<(), HistoryError> {
        let Some(seq) = anchor else { return Ok(()) };
        let (before, status) = (Some(seq.saturating_add(1)), Some("any".to_owned()));
        let query = RunListQuery { scope: scope.clone(), before, status, limit: 1 };
        let there = self.store().list_runs(&query)?.first().is_some_and(|row| row.seq == seq);
        if there { Ok(()) } else { Err(HistoryError::Cursor) }
    }

    fn opened<T: serde::de::DeserializeOwned>(
        &self,
        kind: Kind,
        question: &Value,
        cursor: &str,
    ) -> Result<T, HistoryError> {
        cursor::open(self.store(), OWNER, kind, question, cursor)
    }
}

fn page_limit(limit: usize) -> Result<usize, HistoryError> {
    if (1..=PAGE_MAX).contains(&limit) {
        return Ok(limit);
    }
    Err(HistoryError::Input(format!("limit: a number from 1 to {PAGE_MAX}, and this is {limit}")))
}
