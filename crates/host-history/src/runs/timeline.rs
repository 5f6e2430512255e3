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
        cursor::seal(self.store.as_ref(), scope, Kind::Timeline, &json!([row.run.as_str(), row.seq]), &after)
    }

    pub(super) fn timeline(
        &self,
        scope: &HistoryScope,
        run: &str,
        cursor: &str,
    ) -> Result<Value, HistoryError> {
        let row = self.seen(scope, run)?;
        let question = json!([row.run.as_str(), row.seq]);
        let mut after: u64 = cursor::open(self.store.as_ref(), scope, Kind::Timeline, &question, cursor)?;
        let (mut entries, mut bytes, mut done) = (Vec::new(), 0, false);
        'pages: loop {
            let events = self.store.events_of(&row, after, EVENTS_READ)?;
            let last = events.len() < EVENTS_READ;
            for event in &events {
                let Some(entry) = entry(event, &self.view) else {
                    after = event.seq;
                    continue;
                };
                let size = entry.to_string().len();
                let full = entries.len() == TIMELINE_ENTRIES_MAX || bytes + size > TIMELINE_BYTES_MAX;
                if full && !entries.is_empty() {
                    break 'pages;
                }
                bytes += size;
                after = event.seq;
                entries.push(entry);
            }
            if last {
                done = true;
                break;
            }
        }
        let next = (!done).then(|| self.timeline_cursor(scope, &row, after));
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
