#![allow(clippy::disallowed_methods, reason = "tests stand outside the rules of the host's own code")]

use super::*;
use crate::SessionHistoryTool;
use host_event::{Fact, NewEvent, Scope};
use host_policy::{ApprovalRules, ToolPolicy};
use host_ports::log::Log as _;
use host_redact::Redactor;
use host_store::{EventLog, OpenOptions};
use host_surface::Offer;
use host_testkit::TestSurface;
use host_turn::{Ending, FailureKind, Usage};
use host_vocab::{Block, CallId, ConversationId, RunId};
use serde_json::json;

async fn add(log: &EventLog, scope: Scope, facts: Vec<Fact>) {
    let events =
        facts.iter().map(|fact| NewEvent::of(fact, scope.clone(), 1_790_000_000_000, &Redactor::default()));
    log.append(events.collect()).await.expect("the log takes it");
}

/// A finished run and one that died with a call open, in the conversation of the test surface.
async fn past(log: &EventLog) {
    for (id, ending) in [
        ("run-done", Ending::Succeeded),
        ("run-dead", Ending::Interrupted { kind: FailureKind::ProcessDeath }),
    ] {
        let conversation = ConversationId::parse("terminal:test").expect("an id");
        let scope = Scope::of_run(&conversation, &RunId::parse(id).expect("an id"));
        let call = scope.call(&CallId::parse(format!("call-{id}")).expect("an id"));
        let started = Fact::RunStarted {
            incarnation: "i".into(),
            source: "terminal".into(),
            source_detail: None,
            user_input: format!("deploy {id} from /home/alice/app"),
            attachments: vec![],
            model: "scripted:a".into(),
            effort: None,
            isolated: false,
            offered: vec![],
            withheld: vec![],
        };
        add(log, scope.clone(), vec![started]).await;
        let begun = Fact::CallStarted {
            tool: "Bash".into(),
            source: "builtin".into(),
            arguments: json!({"command": "make deploy"}),
            arguments_digest: "d".into(),
            rule: "allow-all".into(),
        };
        add(log, call.clone(), vec![begun]).await;
        if id == "run-done" {
            let settled = Fact::CallSettled {
                tool: "Bash".into(),
                settled: "done".into(),
                code: "ok".into(),
                content: vec![Block::text("deployed needle")],
                structured: None,
                outcome: None,
                duration_ms: 3,
                original_bytes: 8,
                truncated: false,
                kept: vec![],
            };
            add(log, call, vec![settled]).await;
        }
        let done = Fact::RunSettled {
            ending,
            text: "bye".into(),
            usage: Usage::default(),
            duration_ms: 9,
            failover_history: vec![],
        };
        add(log, scope, vec![done]).await;
    }
}

async fn surface(dir: &std::path::Path, policy: ToolPolicy) -> TestSurface {
    let log = Arc::new(EventLog::open(OpenOptions::new(dir)).expect("it opens"));
    past(&log).await;
    let store = log as Arc<dyn HistoryStore>;
    let offers = vec![
        Offer::ready(RunHistoryTool::new(Arc::clone(&store), View::default(), false, true)),
        Offer::ready(SessionHistoryTool::new(store, View::default(), false, None)),
    ];
    TestSurface::seal(offers, policy, ApprovalRules::default()).await
}

// RUN-1, RUN-2, RUN-4, HIS-1, HIS-6: through the gate, from the list to the whole record.
#[tokio::test]
async fn interrupted_work_is_found_by_following_the_actions() {
    let dir = tempfile::tempdir().expect("a folder");
    let it = surface(dir.path(), ToolPolicy::allow_all()).await;
    let ask =
        async |tool: &str, arguments: Value| it.call(tool, arguments).await.structured.expect("an object");
    let list = ask("RunHistory", json!({})).await;
    assert_eq!(list["runs"][0]["runId"], "run-dead");
    let action = &list["navigation"]["nextActions"][0];
    assert_eq!(action["status"], "interrupted");
    let overview = ask("RunHistory", action["arguments"].clone()).await;
    assert_eq!(overview["overview"]["evidence"], "incomplete");
    let related = &overview["navigation"]["relatedTools"][0];
    assert_eq!(related["tool"], "SessionHistory");
    let calls = ask("SessionHistory", related["arguments"].clone()).await;
    assert_eq!(calls["calls"][0]["state"], "interrupted");
    let record = ask("SessionHistory", calls["navigation"]["nextActions"][0]["arguments"].clone()).await;
    assert_eq!(record["chunk"], "{\"tool\":\"Bash\",\"arguments\":{\"command\":\"make deploy\"}}");
    let found = ask("SessionHistory", json!({"query": "needle"})).await;
    assert_eq!(found["calls"][0]["runId"], "run-done");
    let alias = ask("RunHistory", json!({"run_id": "run-done"})).await;
    assert_eq!(alias["overview"]["userInput"], "deploy run-done from [host-path]/app");
}

// RUN-2, HIS-4: wrong arguments are named, by the schema or by the tool, and nothing is clamped.
#[tokio::test]
async fn wrong_arguments_are_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let it = surface(dir.path(), ToolPolicy::allow_all()).await;
    for (tool, arguments, code, place) in [
        ("RunHistory", json!({"limit": 11}), "invalid_arguments", "limit"),
        ("RunHistory", json!({"limit": "5"}), "invalid_arguments", "limit"),
        ("RunHistory", json!({"runID": "x"}), "invalid_arguments", "runID"),
        ("RunHistory", json!({"action": "search"}), "invalid_input", "query"),
        ("RunHistory", json!({"runId": "a", "run_id": "b"}), "invalid_input", "run_id"),
        ("RunHistory", json!({"query": "x".repeat(600)}), "invalid_input", "512"),
        ("RunHistory", json!({"runId": "no-such"}), "not_found", "settled"),
        ("RunHistory", json!({"cursor": "forged"}), "invalid_cursor", "cursor"),
        ("SessionHistory", json!({"limit": 50}), "invalid_arguments", "limit"),
        ("SessionHistory", json!({"states": ["bad"]}), "invalid_input", "exit_nonzero"),
        ("SessionHistory", json!({"action": "get"}), "invalid_input", "recordId"),
        (
            "SessionHistory",
            json!({"action": "get", "recordId": "x", "chunkBytes": 9000}),
            "invalid_arguments",
            "chunkBytes",
        ),
        ("SessionHistory", json!({"action": "get", "recordId": "sth1_x"}), "not_found", "settled"),
    ] {
        let settled = it.call(tool, arguments.clone()).await;
        assert_eq!(settled.code.as_str(), code, "{arguments}: {}", settled.text());
        assert!(settled.text().contains(place), "{arguments}: {}", settled.text());
    }
    // T9-07: null and empty filters say nothing.
    let settled =
        it.call("SessionHistory", json!({"query": null, "tools": [], "runIds": null, "cursor": ""})).await;
    assert_eq!(settled.code.as_str(), "ok", "{}", settled.text());
}

// RUN-1, HIS-1: a restrictive list names them; a deny wins.
#[tokio::test]
async fn the_lists_gate_both() {
    let dir = tempfile::tempdir().expect("a folder");
    let it = surface(dir.path(), ToolPolicy::fail_closed()).await;
    assert_eq!(it.call("RunHistory", json!({})).await.code.as_str(), "tool_denied");
    assert_eq!(it.call("SessionHistory", json!({})).await.code.as_str(), "tool_denied");
}

// REC-1: the descriptions divide the work.
#[test]
fn descriptions_divide_the_work() {
    for about in [RunHistoryTool::DECL.about, SessionHistoryTool::DECL.about] {
        for word in ["MemoryRecall", "MemoryJournal", "RunHistory and SessionHistory", "untrusted"] {
            assert!(about.contains(word), "{word}");
        }
    }
    assert!(RunHistoryTool::DECL.about.contains("pick up, continue or recover interrupted work"));
}
