//! Searching calls (HIS-3, HIS-6).

use super::arguments::Search;
use super::record::preview;
use super::{CallViews, TOOL};
use crate::cursor::{self, Kind};
use crate::error::HistoryError;
use crate::limits::{CHUNK_BYTES_MAX, PREVIEW_BYTES_MAX};
use crate::navigation::{Navigation, NextAction};
use crate::scope::HistoryScope;
use crate::store::{CallQuery, CallRow};
use host_redact::Omission;
use serde_json::{Map, Value, json};

/// Previews of these sizes are tried in turn until the whole fits.
const ROOMS: [usize; 6] = [PREVIEW_BYTES_MAX, 640, 384, 192, 96, 0];
/// A provider's id of a call that is longer is not shown.
const CALL_ID_BYTES_MAX: usize = 128;

impl CallViews {
    pub(super) fn search(&self, scope: &HistoryScope, search: &Search) -> Result<Value, HistoryError> {
        let question = search.question();
        let mut query = CallQuery {
            scope: scope.filter(),
            terms: search.terms.clone(),
            tools: search.tools.clone(),
            states: search.states.clone(),
            runs: search.runs.clone(),
            from_ms: search.from_ms,
            to_ms: search.to_ms,
            isolated: search.isolated,
            without: Some((Some(scope.conversation.clone()), scope.current.clone())),
            before: None,
            limit: search.limit + 1,
        };
        if let Some(cursor) = &search.cursor {
            let anchor: u64 =
                cursor::open(self.store.as_ref(), scope.binding(), Kind::Calls, &question, cursor)?;
            // The anchor must still be there: what follows a pruned one can't be told.
            let at = CallQuery { before: Some(anchor + 1), limit: 1, ..query.clone() };
            if self.store.search_calls(&at)?.first().is_none_or(|call| call.seq != anchor) {
                return Err(HistoryError::Cursor);
            }
            query.before = Some(anchor);
        }
        let mut calls = self.store.search_calls(&query)?;
        let more = calls.len() > search.limit;
        calls.truncate(search.limit);
        let next = calls.last().filter(|_| more).map(|call| {
            cursor::seal(self.store.as_ref(), scope.binding(), Kind::Calls, &question, &call.seq)
        });
        let mut previews = Vec::with_capacity(calls.len());
        for call in &calls {
            previews.push(preview(self.store.as_ref(), &self.view, call, PREVIEW_BYTES_MAX)?);
        }
        let navigation = json!(navigation(search, &calls, next.as_deref()));
        self.fitting(&ROOMS, |room| {
            let items: Vec<Value> =
                calls.iter().zip(&previews).map(|(call, preview)| self.item(call, preview, room)).collect();
            json!({"kind": "calls", "calls": items, "nextCursor": next, "navigation": navigation})
        })
    }

    fn item(&self, call: &CallRow, preview: &str, room: usize) -> Value {
        let show = |text: &str| self.view.clipped(text, Omission::Diagnostic, 200);
        let mut item = Map::new();
        let mut put = |name: &str, value: Value| {
            item.insert(name.into(), value);
        };
        put("recordId", call.invocation.as_str().into());
        if let Some(result) = &call.result {
            put("resultRecordId", result.as_str().into());
        }
        put("runId", call.run.as_str().into());
        if call.call.len() <= CALL_ID_BYTES_MAX {
            put("toolCallId", show(&call.call).into());
        }
        put("tool", show(&call.tool).into());
        put("state", call.state.as_str().into());
        put("code", show(&call.code).into());
        put("startedAtMs", call.started_at.into());
        if let Some(took) = call.duration_ms {
            put("durationMs", took.into());
        }
        if call.recovered {
            put("recovered", true.into());
        }
        if call.isolated {
            put("isolated", true.into());
        }
        put("preview", crate::view::clip(preview, room).into());
        put("untrusted", true.into());
        Value::Object(item)
    }
}

fn navigation(search: &Search, calls: &[CallRow], next: Option<&str>) -> Navigation {
    let guidance = match (calls.is_empty(), search.runs.is_empty()) {
        (true, false) => {
            "No retained call of these runs fits. Do not broaden this search to other runs or \
                          conversations: that these have none is the answer."
        }
        (true, true) => "No completed earlier call of this conversation fits.",
        (false, _) => {
            "Completed earlier calls, newest first. A preview does not stand in for its record: read the \
                       result whole, and the invocation where its arguments matter. Nothing is run again by reading."
        }
    };
    let mut navigation = Navigation { guidance: guidance.to_owned(), ..Navigation::default() };
    for call in calls {
        if let Some(result) = &call.result {
            navigation.next_actions.push(get(result, search.isolated, "read what came of it"));
        }
        let purpose =
            if call.result.is_some() { "read its arguments" } else { "read what was asked; nothing came" };
        navigation.next_actions.push(get(&call.invocation, search.isolated, purpose));
    }
    if let Some(cursor) = next {
        navigation.next_actions.push(NextAction::new(TOOL, "older calls", search.arguments(cursor)));
    }
    navigation
}

/// A `get` of one record, with the isolation of what found it.
fn get(record: &str, isolated: bool, purpose: &'static str) -> NextAction {
    let mut arguments = json!({"action": "get", "recordId": record, "chunkBytes": CHUNK_BYTES_MAX});
    if let (Some(map), true) = (arguments.as_object_mut(), isolated) {
        map.insert("includeIsolated".into(), true.into());
    }
    NextAction::new(TOOL, purpose, arguments)
}
