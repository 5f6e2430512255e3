//! An agent's past, opened for reading: for the command line, beside a running host or without one. Nothing is
//! written but the derived index, and nothing is started.

use crate::parts::{history, models, store};
use crate::state::StateFolder;
use host_config::{AgentSpec, Loaded};
use host_event::StoredEvent;
use host_history::audit::{Anchor, Decision, decision};
use host_history::diff::{Difference, diff};
use host_history::inventory::{Inventory, inventory};
use host_history::report::{Report, ReportQuery, report};
use host_history::{HistoryError, HistoryStore, OwnerViews, ScopeFilter, View};
use host_ports::clock::Clock as _;
use host_ports::log::LogError;
use host_redact::{Omission, Redactor};
use host_run::Rollover;
pub use host_store::HeadCheck;
use host_store::{AuditReport, Census, EventLog, OpenError};
use host_vocab::{Code, ConversationId, Diagnostic, Kind};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The most events of one run that are read.
const RUN_EVENTS_MAX: usize = 10_000;
/// How many events one page of decisions looks through.
const DECISION_EVENTS_MAX: usize = 50_000;
/// The most decisions of a page.
const DECISIONS_MAX: usize = 100;

/// An agent's log and how it is shown.
#[derive(Clone)]
pub struct Archive {
    pub(crate) log: Arc<EventLog>,
    pub(crate) redactor: Arc<Redactor>,
    view: View,
    rollover: bool,
}

/// The inventory of `runs audit`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunsAudit {
    /// Of runs.
    #[serde(flatten)]
    pub inventory: Inventory,
    /// Of events.
    pub events: Census,
}

/// Which decisions of the gate to show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecisionQuery {
    /// Only of this run.
    pub run: Option<String>,
    /// Only about this tool.
    pub tool: Option<String>,
    /// How many, 1 to 100.
    pub limit: usize,
    /// Where to go on.
    pub cursor: Option<String>,
}

/// A page of decisions, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionPage {
    /// The decisions.
    pub decisions: Vec<Decision>,
    /// Where it goes on.
    pub next_cursor: Option<String>,
}

impl Archive {
    /// Opens the past of an agent. `None` where nothing was ever recorded.
    ///
    /// # Errors
    /// The log can't be used; the diagnostic names the file and the way out.
    pub fn open(loaded: &Loaded) -> Result<Option<Archive>, Diagnostic> {
        let Some(spec) = &loaded.spec else {
            return Err(Diagnostic::new(
                Kind::Config,
                Code::new("config"),
                "the agent's settings can't be read",
            ));
        };
        let state = state_of(spec);
        let unusable = |error: OpenError| {
            Diagnostic::new(Kind::Environment, Code::new("store_unusable"), error.to_string())
        };
        let Some(log) = EventLog::open_to_read(&state.log()).map_err(unusable)? else {
            return match host_files::state::is_file(&state.log().join("audit.head")) {
                true => Err(lost()),
                false => Ok(None),
            };
        };
        let redactor = Arc::new(store::redactor(spec, &loaded.env));
        let view = history::view(spec, &loaded.env, &state, &redactor);
        let rollover = models::sessions(spec).rollover != Rollover::Off;
        Ok(Some(Archive { log: Arc::new(log), redactor, view, rollover }))
    }

    /// The past of an agent that is open here.
    pub(crate) fn beside(
        spec: &AgentSpec,
        log: &Arc<EventLog>,
        redactor: &Arc<Redactor>,
        view: &View,
    ) -> Archive {
        let rollover = models::sessions(spec).rollover != Rollover::Off;
        Archive { log: Arc::clone(log), redactor: Arc::clone(redactor), view: view.clone(), rollover }
    }

    /// How many events the index has not taken in.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn behind(&self) -> Result<u64, LogError> {
        self.log.search_behind()
    }

    /// Brings the index up.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn catch_up(&self) -> Result<(), LogError> {
        self.log.catch_up()
    }

    /// The views of runs and conversations.
    pub fn views(&self) -> OwnerViews {
        OwnerViews::new(Arc::clone(&self.log) as Arc<dyn HistoryStore>, self.view.clone())
    }

    /// Whose history a conversation's id names: with `session.rollover: "daily"` that of all its days, unless the
    /// id names one day.
    pub fn scope_of(&self, conversation: &ConversationId) -> ScopeFilter {
        if self.rollover && conversation.without_bucket() == conversation.as_str() {
            ScopeFilter::Logical(conversation.as_str().to_owned())
        } else {
            ScopeFilter::Exact(conversation.clone())
        }
    }

    /// The runs without an end whose process is gone.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn dead_runs(&self) -> Result<BTreeSet<String>, LogError> {
        Ok(self.log.dead_runs()?.iter().map(ToString::to_string).collect())
    }

    /// The same, looked up only where one of these statuses is `running`; else empty.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn dead_among<'s>(
        &self,
        mut statuses: impl Iterator<Item = &'s str>,
    ) -> Result<BTreeSet<String>, LogError> {
        if statuses.any(|status| status == "running") { self.dead_runs() } else { Ok(BTreeSet::new()) }
    }

    /// Rates, durations, cost.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn report(&self, query: &ReportQuery) -> Result<Report, LogError> {
        report(self.log.as_ref(), query)
    }

    /// What is there, and what of it is odd. Reads every event.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn audit_runs(&self) -> Result<RunsAudit, LogError> {
        let dead: Vec<String> = self.dead_runs()?.into_iter().collect();
        Ok(RunsAudit { inventory: inventory(self.log.as_ref(), &dead)?, events: self.log.census()? })
    }

    /// All events of a run, and whether there were more than are read.
    ///
    /// # Errors
    /// See [`HistoryError`].
    pub fn events(&self, run: &str) -> Result<Vec<StoredEvent>, HistoryError> {
        let row = self.views().row(run)?;
        Ok(self.log.events_of(&row, row.seq.saturating_sub(1), RUN_EVENTS_MAX)?)
    }

    /// Two runs side by side, as they may be shown.
    ///
    /// # Errors
    /// See [`HistoryError`].
    pub fn diff(&self, first: &[StoredEvent], second: &[StoredEvent]) -> Difference {
        let mut difference = diff(first, second);
        for change in &mut difference.changes {
            for side in [&mut change.first, &mut change.second] {
                *side = side.take().map(|value| self.view.value(value, Omission::ToolResult));
            }
        }
        difference
    }

    /// The gate's decisions, newest first.
    ///
    /// # Errors
    /// See [`HistoryError`].
    pub fn decisions(&self, query: &DecisionQuery) -> Result<DecisionPage, HistoryError> {
        if !(1..=DECISIONS_MAX).contains(&query.limit) {
            return Err(HistoryError::Input(format!("limit: a number from 1 to {DECISIONS_MAX}")));
        }
        let views = self.views();
        let row = query.run.as_deref().map(|run| views.row(run)).transpose()?;
        let question = json!([query.run, query.tool]);
        let mut before = match &query.cursor {
            Some(cursor) => views.decisions_before(&question, cursor)?,
            None => u64::MAX,
        };
        let (mut decisions, mut looked) = (Vec::new(), 0);
        loop {
            let events = match &row {
                Some(row) => {
                    let mut all = self.log.events_of(row, row.seq, RUN_EVENTS_MAX)?;
                    all.retain(|event| event.seq < before);
                    all.reverse();
                    all
                }
                None => self.log.events_before(before, 2_000)?,
            };
            looked += events.len();
            let last = events.is_empty() || row.is_some();
            for event in &events {
                if decisions.len() == query.limit {
                    let next_cursor = Some(views.decisions_cursor(&question, before));
                    return Ok(DecisionPage { decisions, next_cursor });
                }
                before = event.seq;
                decisions.extend(decision(event).filter(|it| fits(it, query)).map(|it| self.shown(it)));
            }
            if last {
                return Ok(DecisionPage { decisions, next_cursor: None });
            }
            if looked >= DECISION_EVENTS_MAX {
                let next_cursor = Some(views.decisions_cursor(&question, before));
                return Ok(DecisionPage { decisions, next_cursor });
            }
        }
    }

    fn shown(&self, mut decision: Decision) -> Decision {
        decision.tool = self.clipped(&decision.tool);
        for text in [&mut decision.rule, &mut decision.outcome, &mut decision.conversation] {
            *text = text.as_deref().map(|text| self.clipped(text));
        }
        decision
    }

    fn clipped(&self, text: &str) -> String {
        self.view.clipped(text, Omission::Diagnostic, 400)
    }

    /// Checks the whole chain and every anchor, those kept elsewhere too.
    ///
    /// # Errors
    /// Where it can't be read at all.
    pub fn verify(&self, elsewhere: &[Anchor]) -> Result<AuditReport, LogError> {
        self.log.audit_verify(elsewhere)
    }

    /// The head of the chain, for keeping elsewhere.
    ///
    /// # Errors
    /// See [`LogError`].
    pub fn head(&self) -> Result<Option<Anchor>, LogError> {
        self.log.head_anchor(crate::clock::SystemClock.now_ms())
    }

    /// How things are shown.
    pub(crate) fn view(&self) -> View {
        self.view.clone()
    }

    /// A value as it may be shown.
    pub fn show(&self, value: Value) -> Value {
        self.view.value(value, Omission::ToolResult)
    }
}

fn fits(decision: &Decision, query: &DecisionQuery) -> bool {
    query.tool.as_ref().is_none_or(|tool| decision.tool.eq_ignore_ascii_case(tool))
}

fn lost() -> Diagnostic {
    Diagnostic::new(
        Kind::Environment,
        Code::new("log_missing"),
        "the log is gone: audit.head names heads of a log, and there is no log.sqlite beside it",
    )
    .hint("restore .mono-agent/log from a backup; the agent begins a new log when it is started without one")
}

pub(crate) fn state_of(spec: &AgentSpec) -> StateFolder {
    StateFolder::new(spec.places.state.clone(), Some(spec.artifacts.dir.clone()))
}
