//! What is kept, what goes, and what is left of it.

use crate::past::*;
use host_history::{HistoryError, OwnerViews, Removal, RunListQuery, RunListing, ScopeFilter, View};
use host_store::RetentionPolicy;
use host_turn::Ending;
use serde_json::json;

const DAY: i64 = 24 * 60 * 60 * 1000;

fn web() -> host_history::HistoryScope {
    asks("web:a", false)
}

fn filled(runs: usize) -> Past {
    let past = Past::new();
    for n in 0..runs {
        let run = scope("web:a", &format!("r{n}"));
        past.begin(&run, &format!("turn {n}"), false);
        past.call(&run, &format!("c{n}"), "Read", "ok", &format!("result {n}"));
        past.end(&run, Ending::Succeeded, "done");
    }
    past
}

fn listed(past: &Past) -> Vec<String> {
    ids(&past.runs(&web(), json!({"limit": 10})).unwrap())
}

// HIS-4: the owner's cursors fail too where what they stand behind was removed.
#[test]
fn a_cursor_whose_run_was_removed_fails() {
    let past = filled(6);
    let views = OwnerViews::new(past.store(), View::default());
    let asked = RunListing { limit: 4, ..RunListing::default() };
    let cursor = views.list(&asked).unwrap().next_cursor;
    let searched = views.search("turn", &asked).unwrap().next_cursor;
    let turns = views.transcript(&ScopeFilter::Everything, None, 4).unwrap().next_cursor.unwrap();
    let question = json!([]);
    let decisions = views.decisions_cursor(&question, 12);
    assert_eq!(views.list(&RunListing { cursor: cursor.clone(), ..asked.clone() }).unwrap().runs.len(), 2);
    assert_eq!(
        views.search("turn", &RunListing { cursor: searched.clone(), ..asked.clone() }).unwrap().runs.len(),
        2
    );
    assert_eq!(views.transcript(&ScopeFilter::Everything, Some(&turns), 4).unwrap().turns.len(), 2);
    assert_eq!(views.decisions_before(&question, &decisions).unwrap(), 12);
    past.log.retain(&RetentionPolicy { runs_max: 2, ..RetentionPolicy::default() }, past.at()).unwrap();
    let all = [
        views.list(&RunListing { cursor, ..asked.clone() }).unwrap_err(),
        views.search("turn", &RunListing { cursor: searched, ..asked }).unwrap_err(),
        views.transcript(&ScopeFilter::Everything, Some(&turns), 4).unwrap_err(),
        views.decisions_before(&question, &decisions).unwrap_err(),
    ];
    assert!(all.iter().all(|it| *it == HistoryError::Cursor), "{all:?}");
}

// HIS-7, AUD-1: the oldest go, tombstones stay, the chain goes on from a signed checkpoint.
#[test]
fn a_count_moves_the_horizon_and_leaves_tombstones() {
    let past = filled(6);
    let page = past.calls(&web(), json!({"runIds": ["r1"]})).unwrap();
    let record = page["calls"][0]["resultRecordId"].clone();
    let policy = RetentionPolicy { runs_max: 2, ..RetentionPolicy::default() };
    let would = past.log.retain(&RetentionPolicy { dry_run: true, ..policy.clone() }, past.at()).unwrap();
    assert_eq!(listed(&past).len(), 6);
    let report = past.log.retain(&policy, past.at()).unwrap();
    assert_eq!((report.events, report.calls, report.reason), (16, 4, Some(Removal::Count)));
    assert_eq!((would.events, would.calls, &would.runs), (16, 4, &report.runs));
    assert_eq!(report.runs.len(), 4);
    assert_eq!(listed(&past), ["r5", "r4"]);
    let stone = past.calls(&web(), json!({"action": "get", "recordId": record})).unwrap();
    assert_eq!(
        (&stone["kind"], &stone["removedBy"], &stone["phase"]),
        (&json!("tombstone"), &json!("count"), &json!("result"))
    );
    assert!(!stone.to_string().contains("result 1"));
    // Somebody else's tombstone is nothing.
    assert!(past.calls(&asks("web:b", false), json!({"action": "get", "recordId": record})).is_err());
    assert!(past.calls(&web(), json!({"query": "result"})).unwrap()["calls"].as_array().unwrap().len() == 2);
    assert!(past.log.check_full().unwrap().is_sound());
    past.turn("web:a", "after", "more", "x");
    assert!(past.log.check_full().unwrap().is_sound());
    let again = past.log.retain(&policy, past.at()).unwrap();
    assert_eq!(again.runs.len(), 1);
    let dir = past.dir.path().to_owned();
    past.log.close().unwrap();
    let opened = open(&dir);
    assert!(opened.check_full().unwrap().is_sound());
    let kept = std::fs::read(dir.join("log.sqlite")).unwrap();
    assert!(!kept.windows(8).any(|bytes| bytes == b"result 1"), "what went is gone from the file");
}

// HIS-7
#[test]
fn age_and_bytes_and_calls_move_it_too() {
    let past = filled(3);
    past.set(past.at() + 10 * DAY);
    past.turn("web:a", "young", "x", "y");
    let by_age = RetentionPolicy { age_ms_max: 5 * DAY, ..RetentionPolicy::default() };
    let report = past.log.retain(&by_age, past.at()).unwrap();
    assert_eq!((report.reason, listed(&past)), (Some(Removal::Age), vec!["young".to_owned()]));
    assert_eq!(past.log.retain(&by_age, past.at()).unwrap().events, 0);

    let past = filled(4);
    let report =
        past.log.retain(&RetentionPolicy { calls_max: 2, ..RetentionPolicy::default() }, past.at()).unwrap();
    assert_eq!((report.reason, report.calls), (Some(Removal::Count), 2));
    assert_eq!(past.calls(&web(), json!({})).unwrap()["calls"].as_array().unwrap().len(), 2);

    let past = filled(4);
    let report = past
        .log
        .retain(&RetentionPolicy { call_bytes_max: 1, ..RetentionPolicy::default() }, past.at())
        .unwrap();
    assert_eq!((report.reason, report.calls), (Some(Removal::Bytes), 4));
}

// A running run, and everything since it began, stays whatever the bounds say.
#[test]
fn a_running_run_holds_the_horizon() {
    let past = Past::new();
    past.turn("web:a", "r0", "x", "y");
    past.begin(&scope("web:a", "running"), "long", false);
    for n in 1..5 {
        past.turn("web:a", &format!("r{n}"), "x", "y");
    }
    let none = RetentionPolicy { runs_max: 0, age_ms_max: 0, ..RetentionPolicy::default() };
    let report = past.log.retain(&none, past.at() + DAY).unwrap();
    assert_eq!(report.runs.len(), 1);
    let query =
        RunListQuery { scope: ScopeFilter::Everything, before: None, status: Some("any".into()), limit: 10 };
    assert_eq!(host_history::HistoryStore::list_runs(past.log.as_ref(), &query).unwrap().len(), 5);
}

#[test]
fn tombstones_go_by_age_and_count() {
    let past = filled(5);
    let page = past.calls(&web(), json!({"runIds": ["r0"]})).unwrap();
    let record = page["calls"][0]["recordId"].clone();
    let get = json!({"action": "get", "recordId": record});
    let policy = RetentionPolicy { runs_max: 1, ..RetentionPolicy::default() };
    past.log.retain(&policy, past.at()).unwrap();
    assert!(past.calls(&web(), get.clone()).is_ok());
    past.log.retain(&RetentionPolicy { tombstones_max: 2, ..policy.clone() }, past.at()).unwrap();
    assert!(past.calls(&web(), get.clone()).is_err());
    past.log.retain(&policy, past.at() + 31 * DAY).unwrap();
    let left: u64 = rusqlite::Connection::open(past.dir.path().join("log.sqlite"))
        .unwrap()
        .query_row("SELECT count(*) FROM tombstones", [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 0);
}

// HIS-4: a cursor whose anchor was pruned fails like a forged one.
#[test]
fn a_pruned_anchor_is_a_stale_cursor() {
    let past = filled(6);
    let runs = past.runs(&web(), json!({"limit": 3})).unwrap()["nextCursor"].clone();
    let calls = past.calls(&web(), json!({"limit": 3})).unwrap()["nextCursor"].clone();
    past.log.retain(&RetentionPolicy { runs_max: 1, ..RetentionPolicy::default() }, past.at()).unwrap();
    assert_eq!(past.runs(&web(), json!({"cursor": runs})), Err(host_history::HistoryError::Cursor));
    assert_eq!(past.calls(&web(), json!({"cursor": calls})), Err(host_history::HistoryError::Cursor));
}

// The derived file can be lost at any time.
#[test]
fn a_lost_index_is_made_anew() {
    let past = filled(3);
    let (runs, calls) = (past.runs(&web(), json!({})).unwrap(), past.calls(&web(), json!({})).unwrap());
    let dir = past.dir.path().to_owned();
    past.log.close().unwrap();
    std::fs::remove_file(dir.join("search.sqlite")).unwrap();
    let again = past.reopened(open(&dir));
    assert_eq!(again.runs(&web(), json!({})).unwrap()["runs"], runs["runs"]);
    assert_eq!(again.calls(&web(), json!({})).unwrap()["calls"], calls["calls"]);
}
