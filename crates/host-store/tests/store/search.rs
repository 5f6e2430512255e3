//! Full text of the log.

use crate::events::*;
use host_event::{Fact, Scope};
use host_store::{EventLog, OpenOptions, SearchError, SearchScope};
use std::time::{Duration, Instant};

fn of(id: &str, rollover: bool) -> SearchScope {
    SearchScope::Conversation { id: conversation(id), rollover }
}

fn without_worker(dir: &std::path::Path) -> EventLog {
    EventLog::open(OpenOptions { search: false, ..OpenOptions::new(dir) }).unwrap()
}

fn fill(log: &EventLog) {
    turn(log, "web:a#2026-11-29", "r1", "The Quick brown fox", "jumps");
    turn(log, "web:a#2026-11-30", "r2", "a quick \"quoted\" AND (strange) thing*", "over");
    turn(log, "web:b", "r3", "ALPHA-77 quick", "lazy");
    let scope = Scope::of_run(&conversation("web:a#2026-11-30"), &run("r4"));
    let call = Fact::CallStarted {
        tool: "Grep".into(),
        source: "built-in".into(),
        arguments: serde_json::json!({"pattern": "周五上午在三楼评审预算方案"}),
        arguments_digest: "0".into(),
        rule: "allow-all".into(),
    };
    append(log, vec![event(&call, scope, 1)]).unwrap();
}

#[test]
fn words_are_found_anywhere_in_the_text_of_their_conversation_alone() {
    // T9-07: scope comes from the caller and is never empty.
    let dir = tempfile::tempdir().unwrap();
    let log = without_worker(dir.path());
    fill(&log);
    let find = |scope: SearchScope, query: &str| log.search_text(&scope, query, 10).unwrap();
    assert_eq!(find(of("web:a", true), "quick"), [3, 1]);
    assert_eq!(find(of("web:a#2026-11-30", true), "QUICK"), [3, 1]);
    assert_eq!(find(of("web:a#2026-11-30", false), "quick"), [3]);
    assert_eq!(find(of("web:a", false), "quick"), [0_u64; 0]);
    assert_eq!(find(of("web:a", true), "uic fox"), [1]);
    assert_eq!(find(of("web:a", true), "ALPHA-77"), [0_u64; 0]);
    assert_eq!(find(SearchScope::Everything, "quick"), [5, 3, 1]);
    assert_eq!(log.search_text(&SearchScope::Everything, "quick", 2).unwrap(), [5, 3]);
    assert_eq!(find(of("web:a", true), "评审预算 grep"), [7]);
}

#[test]
fn nothing_in_a_query_is_an_operator() {
    let dir = tempfile::tempdir().unwrap();
    let log = without_worker(dir.path());
    fill(&log);
    let find = |query: &str| log.search_text(&SearchScope::Everything, query, 10);
    for query in ["\"quoted\"", "(strange)", "thing*", "AND (strange)"] {
        assert_eq!(find(query).unwrap(), [3], "{query}");
    }
    for query in ["text:quick", "quick OR zzzzz", "NEAR(quick)", "\"\"\"", "^quick", "a\0bcd", "quick\0\"x"] {
        let found = find(query);
        assert!(!matches!(found, Err(SearchError::Log(_))), "{query}: {found:?}");
        assert!(found.unwrap_or_default().is_empty(), "{query}");
    }
    assert_eq!(find(" \t").unwrap_err(), SearchError::Empty);
    assert_eq!(find("quick 评审").unwrap_err(), SearchError::ShortWord { word: "评审".into() });
    assert_eq!(find(&"abc ".repeat(17)).unwrap_err(), SearchError::TooLong);
    assert_eq!(find(&"x".repeat(513)).unwrap_err(), SearchError::TooLong);
    assert_eq!(find("quick").unwrap().len(), 3, "no query cost the index");
}

#[test]
fn the_worker_keeps_up_outside_the_append() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    for n in 0..600 {
        append(&log, vec![note(&format!("needle{n} in the hay"))]).unwrap();
    }
    let began = Instant::now();
    while log.search_behind().unwrap() > 0 {
        assert!(began.elapsed() < Duration::from_secs(20), "the worker does not keep up");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(log.search_text(&SearchScope::Everything, "needle599", 10).unwrap(), [600]);
}

#[test]
fn the_file_can_be_lost_damaged_or_anothers_and_is_built_anew() {
    let dir = tempfile::tempdir().unwrap();
    let log = without_worker(dir.path());
    fill(&log);
    let path = dir.path().join("search.sqlite");
    let answer = |log: &EventLog| log.search_text(&SearchScope::Everything, "quick", 10).unwrap();
    assert_eq!(answer(&log), [5, 3, 1]);
    log.close().unwrap();
    let other = tempfile::tempdir().unwrap();
    let foreign = without_worker(other.path());
    append(&foreign, vec![note("something quick")]).unwrap();
    assert_eq!(answer(&foreign), [1]);
    foreign.close().unwrap();
    let whole = std::fs::read(&path).unwrap();
    let mut scrambled = whole.clone();
    scrambled[8192..].fill(0x5A);
    let cases: [Option<Vec<u8>>; 6] = [
        None,
        Some(Vec::new()),
        Some(b"rubbish".to_vec()),
        Some(scrambled),
        Some(whole[..whole.len() / 2].to_vec()),
        Some(std::fs::read(other.path().join("search.sqlite")).unwrap()),
    ];
    for (n, bytes) in cases.into_iter().enumerate() {
        match bytes {
            None => std::fs::remove_file(&path).unwrap(),
            Some(bytes) => std::fs::write(&path, bytes).unwrap(),
        }
        let log = without_worker(dir.path());
        assert_eq!(answer(&log), [5, 3, 1], "case {n}");
        log.close().unwrap();
    }
}
