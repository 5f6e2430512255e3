//! Lists of runs, and the past turns of a conversation.

use crate::events::*;
use host_event::{Fact, Scope};
use host_ports::log::Log;
use host_store::RunQuery;
use host_turn::{Ending, FailureKind};

fn past(log: &host_store::EventLog, id: &str, rollover: bool, max: usize) -> Vec<String> {
    let turns = block_on(log.past_turns(&conversation(id), rollover, max)).unwrap();
    turns
        .iter()
        .map(|turn| format!("{}: {} -> {} ({})", turn.run, turn.user, turn.assistant, turn.status))
        .collect()
}

#[test]
fn past_turns_are_those_of_the_conversation_alone() {
    // HIS-9, RUN-7, T9-07
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    turn(&log, "web:a#2026-11-29", "r1", "monday", "one");
    turn(&log, "web:a#2026-11-30", "r2", "tuesday", "two");
    turn(&log, "web:a", "r3", "no bucket", "three");
    turn(&log, "web:b#2026-11-30", "r4", "ALPHA-77", "four");
    let alone = Scope::of_run(&conversation("web:a"), &run("r5"));
    append(&log, vec![event(&started("i", "alone", true), alone.clone(), 1)]).unwrap();
    append(&log, vec![event(&settled(Ending::Succeeded, "x"), alone, 1)]).unwrap();
    let running = Scope::of_run(&conversation("web:a"), &run("r6"));
    append(&log, vec![event(&started("i", "running", false), running, 1)]).unwrap();

    let all = [
        "r1: monday -> one (succeeded)",
        "r2: tuesday -> two (succeeded)",
        "r3: no bucket -> three (succeeded)",
    ];
    for any_bucket in ["web:a", "web:a#2026-11-30", "web:a#2031-01-01"] {
        assert_eq!(past(&log, any_bucket, true, 10), all);
    }
    assert_eq!(past(&log, "web:a", true, 2), all[1..]);
    assert_eq!(past(&log, "web:a", false, 10), all[2..]);
    assert_eq!(past(&log, "web:a#2026-11-29", false, 10), all[..1]);
    assert!(past(&log, "web:c", true, 10).is_empty());
}

#[test]
fn a_cleared_session_is_not_seeded_with_what_was_before() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    let boundary =
        |kind: &str| Fact::SessionBoundary { boundary: kind.to_owned(), reason: "test".to_owned() };
    let of = |id: &str| Scope { conversation: Some(conversation(id)), ..Scope::default() };
    turn(&log, "web:a", "r1", "one", "1");
    turn(&log, "web:b", "r2", "two", "2");
    append(&log, vec![event(&boundary("reseeded"), of("web:a"), 1)]).unwrap();
    assert_eq!(past(&log, "web:a", false, 9).len(), 1);
    append(&log, vec![event(&boundary("cleared"), of("web:a"), 1)]).unwrap();
    assert_eq!((past(&log, "web:a", false, 9).len(), past(&log, "web:b", false, 9).len()), (0, 1));
    turn(&log, "web:a", "r3", "three", "3");
    assert_eq!(past(&log, "web:a", true, 9), ["r3: three -> 3 (succeeded)"]);
    append(&log, vec![event(&boundary("cleared"), Scope::default(), 1)]).unwrap();
    assert_eq!((past(&log, "web:a", true, 9).len(), past(&log, "web:b", true, 9).len()), (0, 0));
}

#[test]
fn runs_are_listed_newest_first_page_by_page_and_by_state() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    for n in 0..25 {
        turn(
            &log,
            if n % 2 == 0 { "web:even" } else { "web:odd" },
            &format!("r{n}"),
            &format!("say {n}"),
            "ok",
        );
    }
    let scope = Scope::of_run(&conversation("web:even#2026-11-30"), &run("bad"));
    append(&log, vec![event(&started("inc", &"ä".repeat(1000), false), scope.clone(), 7)]).unwrap();
    let list = |query: RunQuery| log.runs(&query).unwrap();
    let running = list(RunQuery { status: Some("running".into()), limit: 10, ..RunQuery::default() });
    assert_eq!(running.len(), 1);
    assert_eq!((running[0].run.as_str(), running[0].incarnation.as_str()), ("bad", "inc"));
    assert_eq!(running[0].user_input.chars().count(), 400);
    let failed = Ending::Failed { kind: FailureKind::Timeout, error: "late".into() };
    append(&log, vec![event(&settled(failed, ""), scope, 9)]).unwrap();

    let mut ids = Vec::new();
    let mut before_seq = None;
    loop {
        let page = list(RunQuery { before_seq, limit: 10, ..RunQuery::default() });
        let Some(last) = page.last() else { break };
        before_seq = Some(last.started_seq);
        ids.extend(page.iter().map(|run| run.run.as_str().to_owned()));
    }
    let expected: Vec<String> =
        std::iter::once("bad".to_owned()).chain((0..25).rev().map(|n| format!("r{n}"))).collect();
    assert_eq!(ids, expected);
    let bad = &list(RunQuery { status: Some("failed".into()), limit: 10, ..RunQuery::default() })[0];
    assert_eq!((bad.failure_kind.as_deref(), bad.started_at, bad.ended_at), (Some("timeout"), 7, Some(9)));
    let of = |id: &str, rollover| {
        list(RunQuery { conversation: Some(conversation(id)), rollover, limit: 100, ..RunQuery::default() })
            .len()
    };
    assert_eq!(
        (of("web:even", false), of("web:even", true), of("web:odd", true), of("web:none", true)),
        (13, 14, 12, 0)
    );

    let before = list(RunQuery { limit: 100, ..RunQuery::default() });
    log.rebuild_projections().unwrap();
    assert_eq!(list(RunQuery { limit: 100, ..RunQuery::default() }), before);
}

#[test]
fn the_first_end_of_a_run_counts() {
    // ENG-7: a run that was found dead stays interrupted, whatever comes late.
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    let scope = Scope::of_run(&conversation("web:a"), &run("r"));
    let dead = Ending::Interrupted { kind: FailureKind::ProcessDeath };
    append(&log, vec![event(&started("i", "a", false), scope.clone(), 1)]).unwrap();
    append(&log, vec![event(&settled(dead, ""), scope.clone(), 2)]).unwrap();
    append(&log, vec![event(&settled(Ending::Succeeded, "late"), scope, 3)]).unwrap();
    let found = log.runs(&RunQuery { limit: 9, ..RunQuery::default() }).unwrap();
    assert_eq!((found[0].status.as_str(), found[0].ended_at), ("interrupted", Some(2)));
}
