//! Recovery of running turns, in one process.

use crate::events::*;
use host_event::{Fact, Scope};
use host_ports::log::Log;
use host_store::{Incarnation, RunQuery};
use host_turn::{Ending, FailureKind};
use host_vocab::CallId;

#[test]
fn a_dead_run_is_settled_and_its_open_call_stays_without_an_end() {
    // ENG-7: a call that started and never settled is interrupted by definition; nothing is run again.
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    let incarnation = Incarnation::take(dir.path()).unwrap();
    let scope = Scope::of_run(&conversation("web:a"), &run("r"));
    let call = Fact::CallStarted {
        tool: "Exec".into(),
        source: "built-in".into(),
        arguments: serde_json::json!({}),
        arguments_digest: "0".into(),
        rule: "allow-all".into(),
    };
    append(
        &log,
        vec![
            event(&started(incarnation.id(), "go", false), scope.clone(), 100),
            event(&call, scope.call(&CallId::parse("c").unwrap()), 110),
        ],
    )
    .unwrap();
    assert!(log.recover_interrupted(1).unwrap().is_empty(), "we live");
    drop(incarnation);
    let found = log.recover_interrupted(350).unwrap();
    assert_eq!(found.len(), 1);
    let events = block_on(log.run_events(&run("r"), 0, 9)).unwrap();
    assert_eq!(
        events.iter().map(|event| event.kind.as_str()).collect::<Vec<_>>(),
        ["run_started", "call_started", "run_settled"]
    );
    let Some(Fact::RunSettled { ending, duration_ms, .. }) = &events[2].fact else { panic!("{events:?}") };
    assert_eq!(*ending, Ending::Interrupted { kind: FailureKind::ProcessDeath });
    assert_eq!(*duration_ms, 250);
    assert!(log.recover_interrupted(400).unwrap().is_empty(), "once");
}

#[test]
fn a_run_of_an_incarnation_that_can_be_none_is_dead_and_touches_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let log = open(dir.path());
    let outside = dir.path().join("outside.lock");
    std::fs::write(&outside, b"keep").unwrap();
    for (n, incarnation) in ["../outside", "", "a/b", &"x".repeat(65)].iter().enumerate() {
        let scope = Scope::of_run(&conversation("web:a"), &run(&format!("r{n}")));
        append(&log, vec![event(&started(incarnation, "go", false), scope, 1)]).unwrap();
    }
    assert_eq!(log.recover_interrupted(2).unwrap().len(), 4);
    assert_eq!(std::fs::read(&outside).unwrap(), b"keep");
    assert!(
        log.runs(&RunQuery { status: Some("running".into()), limit: 9, ..RunQuery::default() })
            .unwrap()
            .is_empty()
    );
}

#[test]
fn two_incarnations_never_share_an_id() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (Incarnation::take(dir.path()).unwrap(), Incarnation::take(dir.path()).unwrap());
    assert_ne!(one.id(), two.id());
}
