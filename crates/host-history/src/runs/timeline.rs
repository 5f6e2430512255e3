//! A run's timeline, page by page.

use super::events::entry;
use super::{RunViews, TOOL};
use crate::cursor::{self, Kind};
use crate::error::HistoryError;
use crate::limits::{TIMELINE_BYTES_MAX, TIMELINE_ENTRIES_MAX};
use crate::navigation::{Navigation, NextAction};
use crate::scope::HistoryScope;
use crate::store::RunRow;
use serde_json::{Value, json};

/// How many events are read for one page; not every one is shown.
const EVENTS_READ: usize = 64;

impl RunViews {
    pub(super) fn timeline_cursor(&self, scope: &HistoryScope, row: &RunRow, after: u64) -> String {
        cursor::seal(
            self.store.as_ref(),
            scope.binding(),
            Kind::Timeline,
            &json!([row.run.as_str(), row.seq]),
            &after,
        )
    }

    /// The entries behind an event, within both bounds, and the event behind which more follow.
    pub(super) fn entries(
        &self,
        row: &RunRow,
        mut after: u64,
        entries_max: usize,
        bytes_max: usize,
    ) -> Result<(Vec<Value>, Option<u64>), HistoryError> {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        loop {
            let events = self.store.events_of(row, after, EVENTS_READ)?;
            for event in &events {
                let Some(entry) = entry(event, &self.view) else {
                    after = event.seq;
                    continue;
                };
                let size = entry.to_string().len();
                let full = entries.len() == entries_max || bytes + size > bytes_max;
                if full && !entries.is_empty() {
                    return Ok((entries, Some(after)));
                }
                bytes += size;
                after = event.seq;
                entries.push(entry);
            }
            if events.len() < EVENTS_READ {
                return Ok((entries, None));
            }
        }
    }

    pub(super) fn timeline(
        &self,
        scope: &HistoryScope,
        run: &str,
        cursor: &str,
    ) -> Result<Value, HistoryError> {
        let row = self.seen(scope, run)?;
        let question = json!([row.run.as_str(), row.seq]);
        let after: u64 =
            cursor::open(self.store.as_ref(), scope.binding(), Kind::Timeline, &question, cursor)?;
        let (entries, following) = self.entries(&row, after, TIMELINE_ENTRIES_MAX, TIMELINE_BYTES_MAX)?;
        let done = following.is_none();
        let next = following.map(|after| self.timeline_cursor(scope, &row, after));
        let mut navigation = Navigation {
            guidance: if done {
                "This is the end of the run's timeline.".to_owned()
            } else {
                "More of the timeline follows.".to_owned()
            },
            ..Navigation::default()
        };
        if let Some(cursor) = &next {
            let arguments = json!({"runId": row.run.as_str(), "cursor": cursor});
            navigation.next_actions.push(NextAction::new(TOOL, "next page", arguments));
        }
        let back = NextAction::new(TOOL, "back to the overview", json!({"runId": row.run.as_str()}));
        navigation.next_actions.push(back.with_status(&row.status));
        Ok(json!({
            "kind": "run_timeline",
            "runId": row.run.as_str(),
            "status": row.status,
            "entries": entries,
            "nextCursor": next,
            "navigation": navigation,
        }))
    }
}
