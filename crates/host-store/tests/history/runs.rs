//! `RunHistory` over a real log.

use crate::past::*;
use host_event::Fact;
use host_history::HistoryError;
use host_turn::Ending;
use serde_json::{Value, json};

fn web() -> host_history::HistoryScope {
    asks("web:a", false)
}

// RUN-2, RUN-7
#[test]
fn settled_runs_of_the_conversation_newest_first_page_by_page() {
    let past = Past::new();
    for n in 0..12 {
        past.turn("web:a", &format!("r{n}"), &format!("turn {n}"), "done");
    }
    past.turn("web:b", "other", "ALPHA-77", "secret of b");
    past.begin(&scope("web:a", "running"), "still at it", false);
    past.begin(&scope("web:a", "run-now"), "the one that asks", false);
    let first = past.runs(&web(), json!({})).unwrap();
    assert_eq!(ids(&first), ["r11", "r10", "r9", "r8", "r7"]);
    assert_eq!(first["untrusted"], true);
    let second = past.runs(&web(), json!({"cursor": first["nextCursor"], "limit": 10})).unwrap();
    assert_eq!(ids(&second), ["r6", "r5", "r4", "r3", "r2", "r1", "r0"]);
    assert!(second["nextCursor"].is_null());
    // The action that goes on can be submitted as it stands.
    let action = first["navigation"]["nextActions"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        past.runs(&web(), action["arguments"].clone()).unwrap()["runs"],
        past.runs(&web(), json!({"cursor": first["nextCursor"]})).unwrap()["runs"]
    );
    assert_eq!(first["navigation"]["nextActions"][0]["status"], "succeeded");
}

// RUN-7
#[test]
fn daily_buckets_are_one_conversation_only_with_rollover() {
    let past = Past::new();
    past.turn("web:a#2026-11-29", "r1", "yesterday", "y");
    past.turn("web:a#2026-11-30", "r2", "today", "t");
    past.turn("web:a", "r3", "bare", "b");
    let day = |rollover| asks("web:a#2026-11-30", rollover);
    assert_eq!(ids(&past.runs(&day(true), json!({})).unwrap()), ["r3", "r2", "r1"]);
    assert_eq!(ids(&past.runs(&day(false), json!({})).unwrap()), ["r2"]);
    assert_eq!(ids(&past.runs(&asks("web:a", false), json!({})).unwrap()), ["r3"]);
}

// T9-07: nothing of another conversation, and no way to tell that it is there.
#[test]
fn other_conversations_can_not_be_told_from_nothing() {
    let past = Past::new();
    past.turn("chat:1", "run-alpha", "ALPHA-77", "ALPHA-77 it is");
    past.turn("chat:2", "run-beta", "hello", "hi");
    let two = asks("chat:2", true);
    for arguments in [
        json!({"query": "ALPHA-77"}),
        json!({"query": "run-alpha"}),
        json!({"action": "search", "query": "alpha 77"}),
        json!({"query": "chat:1"}),
    ] {
        let page = past.runs(&two, arguments.clone()).unwrap();
        assert!(ids(&page).is_empty() || !page.to_string().contains("ALPHA"), "{arguments}: {page}");
    }
    assert_eq!(ids(&past.runs(&two, json!({"query": ""})).unwrap()), ["run-beta"]);
    let theirs = past.runs(&two, json!({"runId": "run-alpha"})).unwrap_err();
    let nobodys = past.runs(&two, json!({"runId": "no-such-run"})).unwrap_err();
    assert_eq!((theirs.clone(), theirs.to_string()), (HistoryError::NotFound, nobodys.to_string()));
    for bad in ["../../etc", "", " ", "a/b"] {
        let answer = past.runs(&two, json!({"runId": bad, "action": "inspect"}));
        assert!(matches!(answer, Err(HistoryError::NotFound | HistoryError::Input(_))), "{bad}");
    }
}

fn worked(past: &Past, ending: Ending) {
    let run = scope("web:a", "worked");
    past.begin(&run, "fix /home/alice/project/src/main.rs please", false);
    past.call(&run, "c1", "Read", "ok", "fn main() {} // in /home/alice/project/src/main.rs:3:1");
    past.call(&run, "c2", "Bash", "nonzero_exit", "exit 1");
    past.call(&run, "c3", "Read", "ok", "password=hunter2");
    past.call(&run, "c4", "RunHistory", "ok", "{\"runs\":[\"INNER-BODY\"]}");
    past.add(&run, Fact::Warning { code: "slow".into(), message: "took long".into() });
    past.end(&run, ending, "I changed /home/alice/project/src/main.rs");
}

// RUN-2, RUN-8
#[test]
fn an_overview_has_the_outcome_and_no_paths() {
    let past = Past::new();
    worked(&past, Ending::Succeeded);
    let page = past.runs(&web(), json!({"runId": "worked"})).unwrap();
    let body = &page["overview"];
    assert_eq!(body["output"], "I changed [host-path]/src/main.rs");
    assert_eq!(body["userInput"], "fix [host-path]/src/main.rs please");
    assert_eq!((&body["status"], &body["evidence"]), (&json!("succeeded"), &json!("complete")));
    assert_eq!(body["warnings"][0]["code"], "slow");
    let tools: Vec<(&str, u64, u64)> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            (it["tool"].as_str().unwrap(), it["calls"].as_u64().unwrap(), it["errors"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(tools, [("Read", 2, 0), ("Bash", 1, 1), ("RunHistory", 1, 0)]);
    assert!(page["timelineCursor"].is_string());
    assert!(!page.to_string().contains("alice"));
    assert!(page["navigation"]["relatedTools"].is_null());
}

// RUN-2, RUN-9, RUN-10
#[test]
fn a_timeline_is_bounded_and_never_holds_an_earlier_inspection() {
    let past = Past::new();
    worked(&past, Ending::Succeeded);
    let mut page = past.runs(&web(), json!({"runId": "worked"})).unwrap();
    let mut arguments = page["navigation"]["nextActions"][0]["arguments"].clone();
    let (mut entries, mut pages) = (Vec::new(), 0);
    loop {
        page = past.runs(&web(), arguments.clone()).unwrap();
        let own = page["entries"].as_array().unwrap();
        assert!(own.len() <= 10 && page["entries"].to_string().len() <= 17 * 1024);
        entries.extend(own.iter().cloned());
        pages += 1;
        if page["nextCursor"].is_null() {
            break;
        }
        arguments = page["navigation"]["nextActions"][0]["arguments"].clone();
    }
    assert_eq!((pages, entries.len()), (1, 10));
    let text = Value::Array(entries).to_string();
    assert!(text.contains("[nested history result omitted]") && !text.contains("INNER-BODY"));
    assert!(text.contains("[tool result omitted") && !text.contains("hunter2"));
    assert!(text.contains("[host-path]/src/main.rs:3:1") && !text.contains("/home/"));
}

// RUN-2: at most ten entries and about 16 KiB, whatever a run holds.
#[test]
fn a_long_timeline_comes_in_pages() {
    let past = Past::new();
    let run = scope("web:a", "long");
    past.begin(&run, "many", false);
    for n in 0..40 {
        past.call(&run, &format!("c{n}"), "Read", "ok", &"lorem ipsum ".repeat(2000));
    }
    past.end(&run, Ending::Succeeded, "done");
    let mut cursor = past.runs(&web(), json!({"runId": "long"})).unwrap()["timelineCursor"].clone();
    let (mut seen, mut pages) = (0, 0);
    while cursor.is_string() {
        let page = past.runs(&web(), json!({"runId": "long", "cursor": cursor})).unwrap();
        let own = page["entries"].as_array().unwrap();
        assert!(
            own.len() <= 10 && page["entries"].to_string().len() <= 17 * 1024,
            "{}",
            page["entries"].to_string().len()
        );
        seen += own.len();
        pages += 1;
        cursor = page["nextCursor"].clone();
    }
    assert_eq!((seen, pages), (81, 9));
}

// RUN-4
#[test]
fn a_run_that_broke_off_is_incomplete_evidence_with_a_way_to_its_calls() {
    let past = Past::new();
    let run = scope("web:a", "dead");
    past.begin(&run, "deploy", false);
    past.start_call(&run, "c1", "Bash", json!({"command": "make deploy"}));
    past.end(&run, died(), "");
    let page = past.runs(&web(), json!({"runId": "dead"})).unwrap();
    assert_eq!(page["overview"]["evidence"], "incomplete");
    assert_eq!(
        page["navigation"]["relatedTools"][0]["arguments"],
        json!({"action": "search", "runIds": ["dead"], "includeIsolated": true})
    );
    let guidance = page["navigation"]["guidance"].as_str().unwrap();
    for word in [
        "incomplete evidence",
        "not to be broadened",
        "does not stand in",
        "8192",
        "resumed, replayed or rerun",
        "fresh work",
    ] {
        assert!(guidance.contains(word), "{word}: {guidance}");
    }
    let found = past.calls(&web(), page["navigation"]["relatedTools"][0]["arguments"].clone()).unwrap();
    assert_eq!(found["calls"][0]["state"], "interrupted");
    assert_eq!(found["calls"][0]["recovered"], true);
    let without = host_history::RunViews::new(past.store(), host_history::View::default(), false);
    let page = without.answer(&web(), &run_arguments(&json!({"runId": "dead"}))).unwrap();
    assert!(page["navigation"]["relatedTools"].is_null());
    assert!(!page["navigation"]["guidance"].as_str().unwrap().contains("SessionHistory"));
}

// RUN-2, RUN-7, HIS-4: forged, foreign and stale cursors all fail alike.
#[test]
fn cursors_count_only_where_they_were_made() {
    let past = Past::new();
    for n in 0..8 {
        past.turn("web:a", &format!("a{n}"), "word here", "x");
        past.turn("web:b", &format!("b{n}"), "word here", "x");
    }
    let page = past.runs(&web(), json!({"limit": 2})).unwrap();
    let cursor = page["nextCursor"].as_str().unwrap().to_owned();
    let search = past.runs(&web(), json!({"query": "word", "limit": 2})).unwrap();
    let search = search["nextCursor"].as_str().unwrap().to_owned();
    let other_run =
        host_history::HistoryScope { current: host_vocab::RunId::parse("later").unwrap(), ..web() };
    let flipped: String = cursor.chars().rev().collect();
    for (scope, arguments) in [
        (asks("web:b", false), json!({"cursor": cursor})),
        (asks("web:a", true), json!({"query": "word", "cursor": cursor})),
        (other_run.clone(), json!({"cursor": cursor})),
        (web(), json!({"cursor": flipped})),
        (web(), json!({"cursor": "AAAA"})),
        (web(), json!({"cursor": "ä"})),
        (web(), json!({"cursor": search})),
        (web(), json!({"query": "other", "cursor": search})),
        (web(), json!({"runId": "a1", "cursor": cursor})),
        (web(), json!({"cursor": "A".repeat(4000)})),
    ] {
        assert_eq!(past.runs(&scope, arguments.clone()), Err(HistoryError::Cursor), "{arguments}");
    }
    assert_eq!(
        ids(&past.runs(&web(), json!({"query": "WORD", "limit": 2, "cursor": search})).unwrap()),
        ["a5", "a4"]
    );
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]
    // HIS-4: no forged cursor reads.
    #[test]
    fn no_changed_cursor_counts(at in 0usize..200, with in "[A-Za-z0-9_-]") {
        let past = Past::new();
        for n in 0..3 {
            past.turn("web:a", &format!("a{n}"), "x", "y");
        }
        let page = past.runs(&web(), json!({"limit": 1})).unwrap();
        let cursor = page["nextCursor"].as_str().unwrap();
        let at = at % cursor.len();
        let changed = format!("{}{with}{}", &cursor[..at], &cursor[at + 1..]);
        let answer = past.runs(&web(), json!({"cursor": changed}));
        // The last letter of base64 may say the same in two ways.
        proptest::prop_assert!(answer == Err(HistoryError::Cursor) || changed == cursor || at + 1 == cursor.len());
    }
}
