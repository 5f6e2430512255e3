//! The views of settled runs (RUN).

mod arguments;
mod events;
mod overview;
mod owner;
mod search;
mod timeline;

pub use arguments::RunArguments;
pub(crate) use arguments::limit;
pub(crate) use owner::STATUSES;
pub use owner::{
    ConversationLine, ConversationPage, OwnerViews, RunLine, RunListing, RunPage, RunShown, TranscriptPage,
};

use crate::cursor::{self, Kind};
use crate::error::HistoryError;
use crate::navigation::{Navigation, NextAction};
use crate::scope::HistoryScope;
use crate::store::{HistoryStore, RunListQuery, RunRow};
use crate::time::rfc3339;
use crate::view::{NOTICE, View};
use arguments::{Asked, Question};
use host_redact::Omission;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The tool's name.
pub(crate) const TOOL: &str = "RunHistory";

/// Answers `RunHistory`. Everything blocks for a moment: call from a blocking thread.
#[derive(Clone)]
pub struct RunViews {
    store: Arc<dyn HistoryStore>,
    view: View,
    session_history: bool,
}

impl RunViews {
    /// The views of a store. `session_history` says whether the reader has `SessionHistory` too (RUN-4).
    pub fn new(store: Arc<dyn HistoryStore>, view: View, session_history: bool) -> Self {
        RunViews { store, view, session_history }
    }

    /// Answers one call: the object that the model is given.
    ///
    /// # Errors
    /// See [`HistoryError`].
    pub fn answer(&self, scope: &HistoryScope, arguments: &RunArguments) -> Result<Value, HistoryError> {
        let asked = Asked::of(arguments)?;
        let mut answer = match &asked.question {
            Question::List => self.list(scope, &asked)?,
            Question::Search(query) => self.search(scope, &asked, query)?,
            Question::Inspect(run) => match &asked.cursor {
                None => self.overview(scope, run)?,
                Some(cursor) => self.timeline(scope, run, cursor)?,
            },
        };
        if let Some(map) = answer.as_object_mut() {
            let behind = self.store.behind()?;
            if behind > 0 {
                let note = format!("the index is {behind} events behind the log; the newest may be missing");
                map.insert("incomplete".into(), Value::String(note));
            }
            map.insert("untrusted".into(), Value::Bool(true));
            map.insert("notice".into(), NOTICE.into());
        }
        Ok(answer)
    }

    fn list(&self, scope: &HistoryScope, asked: &Asked) -> Result<Value, HistoryError> {
        let before: Option<u64> = match &asked.cursor {
            None => None,
            Some(cursor) => {
                let seq =
                    cursor::open(self.store.as_ref(), scope.binding(), Kind::Runs, &Value::Null, cursor)?;
                self.anchored(scope, seq)?;
                Some(seq)
            }
        };
        // One more than asked says whether there are more; another for the run that asks.
        let query = RunListQuery { scope: scope.filter(), before, status: None, limit: asked.limit + 2 };
        let mut rows = self.store.list_runs(&query)?;
        rows.retain(|row| !scope.is_current(row.conversation.as_ref(), &row.run));
        let more = rows.len() > asked.limit;
        rows.truncate(asked.limit);
        let next = rows.last().filter(|_| more).map(|row| {
            cursor::seal(self.store.as_ref(), scope.binding(), Kind::Runs, &Value::Null, &row.seq)
        });
        let mut navigation = Navigation { next_actions: candidates(&rows), ..Navigation::default() };
        navigation.guidance = if rows.is_empty() {
            "No earlier settled run of this conversation is recorded. There is nothing to go on from."
                .to_owned()
        } else {
            "Settled runs of this conversation, newest first. Open the one you need by its runId; narrow with a query \
             where there are many. A cancelled or interrupted run did not finish."
                .to_owned()
        };
        if let Some(cursor) = &next {
            let mut arguments = json!({"action": "list", "cursor": cursor});
            set_limit(&mut arguments, asked);
            navigation.next_actions.push(NextAction::new(TOOL, "older runs", arguments));
        }
        let mut page = Map::new();
        page.insert("kind".into(), "runs".into());
        page.insert("runs".into(), rows.iter().map(|row| self.row(row)).collect());
        page.insert("nextCursor".into(), next.into());
        page.insert("navigation".into(), json!(navigation));
        Ok(Value::Object(page))
    }

    /// A cursor counts while the run that it stands behind is there.
    fn anchored(&self, scope: &HistoryScope, seq: u64) -> Result<(), HistoryError> {
        let query = RunListQuery { scope: scope.filter(), before: Some(seq + 1), status: None, limit: 1 };
        let there = self.store.list_runs(&query)?.first().is_some_and(|row| row.seq == seq);
        if there { Ok(()) } else { Err(HistoryError::Cursor) }
    }

    /// A run that may be seen: settled, in scope, and not the one that asks.
    fn seen(&self, scope: &HistoryScope, run: &str) -> Result<RunRow, HistoryError> {
        let run = host_vocab::RunId::parse(run).map_err(|_| HistoryError::NotFound)?;
        let row = self.store.find_run(&scope.filter(), &run)?.ok_or(HistoryError::NotFound)?;
        let hidden = row.settled_seq.is_none() || scope.is_current(row.conversation.as_ref(), &row.run);
        if hidden { Err(HistoryError::NotFound) } else { Ok(row) }
    }

    /// The summary of a run.
    fn row(&self, row: &RunRow) -> Value {
        let show = |text: &str| self.view.text(text, Omission::Diagnostic);
        let mut shown = Map::new();
        shown.insert("runId".into(), row.run.as_str().into());
        shown.insert("status".into(), row.status.as_str().into());
        if let Some(kind) = &row.failure_kind {
            shown.insert("failureKind".into(), kind.as_str().into());
        }
        shown.insert("startedAt".into(), rfc3339(row.started_at).into());
        if let Some(at) = row.ended_at {
            shown.insert("endedAt".into(), rfc3339(at).into());
        }
        shown.insert("durationMs".into(), row.duration_ms.into());
        shown.insert("source".into(), show(&row.source).into());
        if let Some(detail) = &row.source_detail {
            shown.insert("sourceDetail".into(), show(detail).into());
        }
        shown.insert("model".into(), show(&row.model).into());
        if let Some(effort) = &row.effort {
            shown.insert("effort".into(), show(effort).into());
        }
        if row.isolated {
            shown.insert("isolated".into(), true.into());
        }
        shown.insert("userInput".into(), show(&row.user_input).into());
        Value::Object(shown)
    }
}

/// An action for each run of a page.
fn candidates(rows: &[RunRow]) -> Vec<NextAction> {
    rows.iter()
        .map(|row| {
            NextAction::new(TOOL, "open this run", json!({"runId": row.run.as_str()}))
                .with_status(&row.status)
        })
        .collect()
}

fn set_limit(arguments: &mut Value, asked: &Asked) {
    if let (Some(map), true) = (arguments.as_object_mut(), asked.limit_given) {
        map.insert("limit".into(), asked.limit.into());
    }
}

/// Whether a run ended before its work was done.
pub(crate) fn is_incomplete(status: &str) -> bool {
    matches!(status, "cancelled" | "interrupted")
}
