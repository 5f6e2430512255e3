//! The compact overview of one run.

use super::{RunViews, TOOL, is_incomplete};
use crate::error::HistoryError;
use crate::navigation::{Navigation, NextAction};
use crate::scope::HistoryScope;
use crate::store::RunRow;
use host_event::{Fact, StoredEvent};
use host_redact::Omission;
use host_turn::Ending;
use serde_json::{Map, Value, json};

/// How many events of a run are read for its overview.
const EVENTS_MAX: usize = 2000;
/// How much of the final text is shown, in bytes.
const OUTPUT_BYTES_MAX: usize = 4096;
/// How many warnings, failures and tools are shown.
const LINES_MAX: usize = 10;
/// The longest of them, in bytes.
const LINE_BYTES_MAX: usize = 400;
/// How many tools are counted by name.
const TOOLS_MAX: usize = 40;

/// An overview in its parts.
pub(super) struct Overview {
    pub(super) body: Value,
    pub(super) timeline_cursor: Option<String>,
    pub(super) navigation: Navigation,
}

#[derive(Default)]
struct Gathered {
    output: String,
    error: Option<String>,
    warnings: Vec<Value>,
    failures: Vec<Value>,
    more_lines: bool,
    details: bool,
}

impl RunViews {
    pub(super) fn overview(&self, scope: &HistoryScope, run: &str) -> Result<Value, HistoryError> {
        let row = self.seen(scope, run)?;
        let whole = self.overview_of(scope, &row)?;
        let mut page = Map::new();
        page.insert("kind".into(), "run_overview".into());
        page.insert("overview".into(), whole.body);
        page.insert("timelineCursor".into(), whole.timeline_cursor.into());
        page.insert("navigation".into(), json!(whole.navigation));
        Ok(Value::Object(page))
    }

    pub(super) fn overview_of(&self, scope: &HistoryScope, row: &RunRow) -> Result<Overview, HistoryError> {
        let (body, details) = self.body_of(row)?;
        let timeline_cursor = details.then(|| self.timeline_cursor(scope, row, row.seq));
        let navigation = self.overview_navigation(row, timeline_cursor.as_deref());
        Ok(Overview { body, timeline_cursor, navigation })
    }

    /// What an overview shows, and whether there is a timeline to it.
    pub(super) fn body_of(&self, row: &RunRow) -> Result<(Value, bool), HistoryError> {
        let mut events = self.store.events_of(row, row.seq, EVENTS_MAX)?;
        let cut = events.len() == EVENTS_MAX;
        let there = |events: &[StoredEvent]| events.iter().any(|event| Some(event.seq) == row.settled_seq);
        if cut && !there(&events) {
            // The end of a long run is worth more than its middle.
            events.extend(row.settled_seq.map(|seq| self.store.event(seq)).transpose()?.flatten());
        }
        let gathered = self.gather(&events);
        let incomplete = is_incomplete(&row.status) || row.settled_seq.is_none();
        let mut body = self.row(row);
        if let Some(map) = body.as_object_mut() {
            map.insert("evidence".into(), if incomplete { "incomplete" } else { "complete" }.into());
            map.insert("output".into(), gathered.output.into());
            if let Some(error) = gathered.error {
                map.insert("error".into(), error.into());
            }
            map.insert("warnings".into(), gathered.warnings.into());
            map.insert("failures".into(), gathered.failures.into());
            let mut tools = self.store.tool_counts(row)?;
            tools.truncate(TOOLS_MAX);
            let shown: Vec<Value> = tools
                .iter()
                .map(|count| {
                    let name = self.view.clipped(&count.tool, Omission::Diagnostic, 200);
                    json!({"tool": name, "calls": count.calls, "errors": count.errors})
                })
                .collect();
            map.insert("tools".into(), shown.into());
            if cut || (row.settled_seq.is_some() && !there(&events)) {
                let note = "not every event of this run could be looked at; counts and lists may lack some";
                map.insert("incompleteEvents".into(), note.into());
            } else if gathered.more_lines {
                map.insert("moreLines".into(), "the timeline has more warnings or failures".into());
            }
        }
        Ok((body, gathered.details))
    }

    fn gather(&self, events: &[StoredEvent]) -> Gathered {
        let mut gathered = Gathered::default();
        let line = |text: &str| self.view.clipped(text, Omission::Diagnostic, LINE_BYTES_MAX);
        for event in events {
            let (list, shown) = match &event.fact {
                Some(Fact::Warning { code, message }) => {
                    (&mut gathered.warnings, json!({"code": line(code), "message": line(message)}))
                }
                Some(Fact::ModelFailed { model, failure_kind, error, then, .. }) => {
                    let shown = json!({"model": line(model), "failureKind": line(failure_kind), "error": line(error), "then": line(then)});
                    (&mut gathered.failures, shown)
                }
                Some(Fact::CallRefused { tool, code, why, .. }) => (
                    &mut gathered.failures,
                    json!({"tool": line(tool), "code": line(code), "why": line(why)}),
                ),
                Some(Fact::CallSettled { tool, settled, code, .. }) if settled != "done" => (
                    &mut gathered.failures,
                    json!({"tool": line(tool), "code": line(code), "settled": settled}),
                ),
                Some(Fact::RunSettled { ending, text, .. }) => {
                    gathered.output = self.view.clipped(text, Omission::Diagnostic, OUTPUT_BYTES_MAX);
                    if let Ending::Failed { error, .. } = ending {
                        gathered.error = Some(line(error));
                    }
                    gathered.details = true;
                    continue;
                }
                _ => {
                    gathered.details = true;
                    continue;
                }
            };
            gathered.details = true;
            if list.len() < LINES_MAX {
                list.push(shown);
            } else {
                gathered.more_lines = true;
            }
        }
        gathered
    }

    /// RUN-3, RUN-4.
    fn overview_navigation(&self, row: &RunRow, cursor: Option<&str>) -> Navigation {
        let run = row.run.as_str();
        let mut navigation = Navigation::default();
        if let Some(cursor) = cursor {
            let arguments = json!({"runId": run, "cursor": cursor});
            let action = NextAction::new(TOOL, "read its timeline", arguments);
            navigation.next_actions.push(action.with_status(&row.status));
        }
        navigation.next_actions.push(NextAction::new(
            TOOL,
            "list the newest runs",
            json!({"action": "list"}),
        ));
        if !is_incomplete(&row.status) {
            navigation.guidance = "The overview of a finished run; its timeline has the steps.".to_owned();
            return navigation;
        }
        navigation.guidance = format!(
            "This run was {} before it finished: what is shown is incomplete evidence, not a result. Nothing of it is \
             resumed, replayed or rerun; going on is fresh work in the present run, with the tools at hand now, and what \
             it left behind is checked afresh.",
            row.status
        );
        if self.session_history {
            navigation.guidance.push_str(
                " SessionHistory holds the exact calls: search them as related, then read each record whole with get and \
                 chunkBytes 8192. An empty search is not to be broadened to other runs or conversations, and a preview \
                 does not stand in for its record.",
            );
            let arguments = json!({"action": "search", "runIds": [run], "includeIsolated": true});
            let action =
                NextAction::new("SessionHistory", "find this run's calls, in every state", arguments);
            navigation.related_tools.push(action.with_status(&row.status));
        }
        navigation
    }
}
