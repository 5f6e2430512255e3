//! `SessionHistory` over a real log.

use crate::past::*;
use host_event::Fact;
use host_history::{CallViews, HistoryError, KeptText, View};
use host_turn::Ending;
use host_vocab::{Block, CallId, RunId};
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;

fn web() -> host_history::HistoryScope {
    asks("web:a", false)
}

fn found(past: &Past, scope: &host_history::HistoryScope, arguments: Value) -> Vec<String> {
    let page = past.calls(scope, arguments).unwrap();
    page["calls"].as_array().unwrap().iter().map(|it| it["toolCallId"].as_str().unwrap().to_owned()).collect()
}

fn some(past: &Past) {
    let one = scope("web:a", "r1");
    past.begin(&one, "one", false);
    past.call(&one, "c1", "Read", "ok", "alpha beta");
    past.call(&one, "c2", "Bash", "nonzero_exit", "alpha gamma");
    past.add(
        &one.call(&CallId::parse("c3").unwrap()),
        Fact::CallRefused {
            tool: "Write".into(),
            code: "tool_denied".into(),
            by: "surface".into(),
            why: "not here".into(),
            arguments: json!({"path": "a"}),
            arguments_digest: "d".into(),
            asked_at: 1,
        },
    );
    past.end(&one, Ending::Succeeded, "done");
    let alone = scope("web:a", "r2");
    past.begin(&alone, "two", true);
    past.call(&alone, "c4", "Read", "ok", "alpha isolated");
    past.end(&alone, Ending::Succeeded, "done");
    let other = scope("web:b", "r3");
    past.begin(&other, "three", false);
    past.call(&other, "c5", "Read", "ok", "alpha of b");
    past.end(&other, Ending::Succeeded, "done");
    let now = scope("web:a", "run-now");
    past.begin(&now, "now", false);
    past.call(&now, "c6", "Read", "ok", "alpha of now");
    past.start_call(&now, "c7", "Read", json!({"path": "open"}));
}

// HIS-3, HIS-5
#[test]
fn completed_earlier_calls_and_every_filter() {
    let past = Past::new();
    some(&past);
    for (arguments, calls) in [
        (json!({}), vec!["c3", "c2", "c1"]),
        (json!({"action": "search"}), vec!["c3", "c2", "c1"]),
        (json!({"includeIsolated": true}), vec!["c4", "c3", "c2", "c1"]),
        (json!({"query": "alpha"}), vec!["c2", "c1"]),
        (json!({"query": "ALPHA gam"}), vec!["c2"]),
        (json!({"query": "alpha zzz"}), vec![]),
        (json!({"tools": ["Read"]}), vec!["c1"]),
        (json!({"tools": ["read"]}), vec![]),
        (json!({"tools": ["Read", "Bash"], "states": ["exit_nonzero"]}), vec!["c2"]),
        (json!({"states": ["rejected"]}), vec!["c3"]),
        (json!({"runIds": ["r1"], "limit": 1}), vec!["c3"]),
        (json!({"runIds": ["r2"]}), vec![]),
        (json!({"runIds": ["r2"], "includeIsolated": true}), vec!["c4"]),
        (json!({"runIds": ["r3"], "includeIsolated": true}), vec![]),
        (json!({"runIds": ["run-now"]}), vec![]),
        (json!({"fromMs": AT + 5000}), vec!["c3"]),
        (json!({"toMs": AT + 2500}), vec!["c1"]),
        (json!({"tools": [], "states": [], "runIds": [], "query": ""}), vec!["c3", "c2", "c1"]),
    ] {
        assert_eq!(found(&past, &web(), arguments.clone()), calls, "{arguments}");
    }
}

// T9-07
#[test]
fn another_conversation_sees_nothing() {
    let past = Past::new();
    some(&past);
    let c = asks("web:c", true);
    for arguments in [
        json!({}),
        json!({"query": "alpha"}),
        json!({"runIds": ["r1"], "includeIsolated": true}),
        json!({"tools": ["Read"]}),
        json!({"tools": [], "states": []}),
    ] {
        assert!(found(&past, &c, arguments).is_empty());
    }
    let page = past.calls(&web(), json!({"query": "alpha"})).unwrap();
    let record = page["calls"][0]["recordId"].as_str().unwrap();
    let theirs = past.calls(&c, json!({"action": "get", "recordId": record})).unwrap_err();
    let nobodys = past.calls(&c, json!({"action": "get", "recordId": "sth1_nothing"})).unwrap_err();
    assert_eq!((theirs.to_string(), theirs), (nobodys.to_string(), HistoryError::NotFound));
    let by_call = past.calls(&c, json!({"action": "get", "toolCallId": "c1"}));
    assert_eq!(by_call, Err(HistoryError::NotFound));
}

// HIS-5: only the exact pair is blocked; an older bucket with the same run id is seen.
#[test]
fn only_the_very_run_that_asks_is_left_out() {
    let past = Past::new();
    for (day, call) in [("web:a#2026-11-29", "old"), ("web:a#2026-11-30", "new")] {
        let run = scope(day, "run-now");
        past.begin(&run, "x", false);
        past.call(&run, call, "Read", "ok", "word");
    }
    past.end(&scope("web:a#2026-11-29", "run-now"), Ending::Succeeded, "");
    assert_eq!(found(&past, &asks("web:a#2026-11-30", true), json!({"query": "word"})), ["old"]);
    assert!(found(&past, &asks("web:a#2026-11-30", false), json!({"query": "word"})).is_empty());
    assert_eq!(found(&past, &asks("web:a#2026-11-29", true), json!({})), ["new"]);
}

// HIS-6
#[test]
fn navigation_leads_to_whole_records() {
    let past = Past::new();
    some(&past);
    let page = past.calls(&web(), json!({"query": "isolated", "includeIsolated": true})).unwrap();
    let actions = page["navigation"]["nextActions"].as_array().unwrap();
    let (record, result) = (&page["calls"][0]["recordId"], &page["calls"][0]["resultRecordId"]);
    assert_eq!(
        actions[0]["arguments"],
        json!({"action": "get", "recordId": result, "chunkBytes": 8192, "includeIsolated": true})
    );
    assert_eq!(actions[1]["arguments"]["recordId"], *record);
    let got = past.calls(&web(), actions[0]["arguments"].clone()).unwrap();
    assert_eq!(
        (&got["chunk"], &got["complete"], &got["phase"]),
        (&json!("alpha isolated"), &json!(true), &json!("result"))
    );
    let got = past.calls(&web(), actions[1]["arguments"].clone()).unwrap();
    assert_eq!(got["chunk"], json!("{\"tool\":\"Read\",\"arguments\":{\"path\":\"src/c4.rs\"}}"));
    // Isolation has to be said every time.
    let without = past.calls(&web(), json!({"action": "get", "recordId": record}));
    assert_eq!(without, Err(HistoryError::NotFound));
    let empty = past.calls(&web(), json!({"runIds": ["nothing"], "includeIsolated": true})).unwrap();
    assert!(empty["navigation"]["nextActions"].as_array().unwrap().is_empty());
    assert!(empty["navigation"]["guidance"].as_str().unwrap().contains("Do not broaden"));
}

// HIS-3, HIS-4: chunks end on characters, say how much there is, and go on by their cursor alone.
#[test]
fn a_record_comes_whole_in_chunks() {
    let past = Past::new();
    let run = scope("web:a", "r1");
    let text: String = (0..4000).map(|n| format!("zeile {n} \"äöü\" 评审\n")).collect();
    past.begin(&run, "x", true);
    past.call(&run, "c1", "Read", "ok", &text);
    past.end(&run, Ending::Succeeded, "");
    let first =
        past.calls(&web(), json!({"action": "get", "toolCallId": "c1", "includeIsolated": true})).unwrap();
    assert_eq!(first["retainedBytes"], text.len());
    let (mut whole, mut page, mut pages) = (String::new(), first, 0);
    loop {
        let model_text = page.to_string();
        assert!(model_text.chars().count() <= 10_000, "{}", model_text.chars().count());
        whole.push_str(page["chunk"].as_str().unwrap());
        assert!(page["chunk"].as_str().unwrap().len() <= 8192);
        pages += 1;
        if page["complete"] == true {
            break;
        }
        let next = page["navigation"]["nextActions"][0]["arguments"].clone();
        assert_eq!(next["includeIsolated"], true);
        let without = past.calls(&web(), json!({"action": "get", "cursor": next["cursor"]}));
        assert_eq!(without, Err(HistoryError::Cursor));
        page = past.calls(&web(), next).unwrap();
    }
    assert!(whole == text && pages > 10, "{pages}");
    let tiny = past
        .calls(&web(), json!({"action": "get", "toolCallId": "c1", "includeIsolated": true, "chunkBytes": 1}))
        .unwrap();
    assert_eq!(tiny["chunk"], "z");
}

// HIS-4
#[test]
fn cursors_are_bound_to_scope_and_filters() {
    let past = Past::new();
    let run = scope("web:a", "r1");
    past.begin(&run, "x", false);
    for n in 0..9 {
        past.call(&run, &format!("c{n}"), if n % 2 == 0 { "Read" } else { "Bash" }, "ok", "word");
    }
    past.end(&run, Ending::Succeeded, "");
    let page = past.calls(&web(), json!({"tools": ["Read", "Bash"], "query": "word", "limit": 4})).unwrap();
    let next = page["navigation"]["nextActions"].as_array().unwrap().last().unwrap()["arguments"].clone();
    let second = past.calls(&web(), next.clone()).unwrap();
    assert_eq!(second["calls"].as_array().unwrap().len(), 4);
    assert_eq!(second["calls"][0]["toolCallId"], "c4");
    let cursor = &page["nextCursor"];
    for (scope, arguments) in [
        (web(), json!({"cursor": cursor})),
        (web(), json!({"tools": ["Read"], "query": "word", "cursor": cursor})),
        (
            web(),
            json!({"tools": ["Read", "Bash"], "query": "word", "includeIsolated": true, "cursor": cursor}),
        ),
        (web(), json!({"action": "get", "cursor": cursor})),
        (asks("web:b", false), next),
    ] {
        assert_eq!(past.calls(&scope, arguments.clone()), Err(HistoryError::Cursor), "{arguments}");
    }
    // The order of a list's values is no other question.
    assert!(
        past.calls(&web(), json!({"tools": ["Bash", "Read"], "query": "word", "cursor": cursor})).is_ok()
    );
}

// HIS-4, HIS-7: ten results with large previews fit, and nothing of the host shows.
#[test]
fn a_full_page_fits_and_is_opaque() {
    let past = Past::new();
    let run = scope("web:a", "r1");
    past.begin(&run, "x", false);
    for n in 0..12 {
        past.call(&run, &format!("c{n}"), "Bash", "ok", &"out \"/home/alice/p/q\" ".repeat(200));
    }
    past.call(&run, "nested", "SessionHistory", "ok", "INNER-BODY");
    past.end(&run, Ending::Succeeded, "");
    let page = past.calls(&web(), json!({"limit": 10})).unwrap();
    let text = page.to_string();
    assert!(text.chars().count() <= 10_000, "{}", text.chars().count());
    assert_eq!(page["calls"].as_array().unwrap().len(), 10);
    assert!(page["calls"].as_array().unwrap().iter().all(|it| it["preview"].as_str().unwrap().len() <= 1024));
    assert!(text.contains("[host-path]") && !text.contains("alice") && !text.contains("INNER-BODY"));
    assert!(page["calls"].as_array().unwrap().iter().all(|it| it["untrusted"] == true));
    assert!(found(&past, &web(), json!({"query": "INNER-BODY"})).is_empty());
    let nested = past.calls(&web(), json!({"action": "get", "toolCallId": "nested"})).unwrap();
    assert_eq!(nested["chunk"], "[nested history result omitted]");
}

// A provider that gives the same id twice loses neither call.
#[test]
fn one_id_for_two_calls_makes_two_records() {
    let past = Past::new();
    let run = scope("web:a", "r1");
    past.begin(&run, "x", false);
    past.call(&run, "call_0", "Read", "ok", "first");
    past.call(&run, "call_0", "Read", "ok", "second");
    past.end(&run, Ending::Succeeded, "");
    let page = past.calls(&web(), json!({})).unwrap();
    let chunks: Vec<Value> = page["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            past.calls(&web(), json!({"action": "get", "recordId": it["resultRecordId"]})).unwrap()["chunk"]
                .clone()
        })
        .collect();
    assert_eq!(chunks, [json!("second"), json!("first")]);
    assert_eq!(
        past.calls(&web(), json!({"action": "get", "toolCallId": "call_0"})).unwrap()["chunk"],
        "second"
    );
}

struct Folder(Vec<u8>);

impl KeptText for Folder {
    fn size(&self, run: &RunId, id: &str) -> Option<u64> {
        (run.as_str() == "r1" && id == "k1").then_some(self.0.len() as u64)
    }
    fn read(&self, _run: &RunId, _id: &str, offset: u64, bytes_max: usize) -> io::Result<Vec<u8>> {
        let from = usize::try_from(offset).unwrap().min(self.0.len());
        Ok(self.0[from..(from + bytes_max).min(self.0.len())].to_vec())
    }
}

// HIS-8, TOO-7: a reference is an id and whether it is there; the content streams, redacted, in chunks.
#[test]
fn kept_output_is_read_by_its_opaque_id() {
    let past = Past::new();
    let run = scope("web:a", "r1");
    past.begin(&run, "x", false);
    past.start_call(&run, "c1", "Bash", json!({}));
    let secret = "ghp_0123456789abcdefghij0123456789abcdef";
    let mut whole = String::new();
    for n in 0..3000 {
        whole.push_str(&format!("line {n} in /home/alice/p/q.rs\n"));
        if n % 100 == 50 {
            whole.push_str(&format!("GH {secret} end\n"));
        }
    }
    past.add(
        &run.call(&CallId::parse("c1").unwrap()),
        Fact::CallSettled {
            tool: "Bash".into(),
            settled: "done".into(),
            code: "ok".into(),
            content: vec![Block::text("a preview")],
            structured: None,
            outcome: Some(json!({"code": "ok", "exitCode": 0})),
            duration_ms: 1,
            original_bytes: whole.len() as u64,
            truncated: true,
            kept: vec!["k1".into(), "k2".into()],
        },
    );
    past.end(&run, Ending::Succeeded, "");
    let views =
        CallViews::new(past.store(), View::default(), Some(Arc::new(Folder(whole.clone().into_bytes()))));
    let ask = |arguments: Value| views.answer(&web(), &call_arguments(&arguments));
    let record = ask(json!({"action": "get", "toolCallId": "c1"})).unwrap();
    assert_eq!(
        record["artifacts"],
        json!([{"artifactId": "k1", "available": true, "bytes": whole.len()},
        {"artifactId": "k2", "available": false}])
    );
    assert_eq!((&record["truncated"], &record["originalBytes"]), (&json!(true), &json!(whole.len())));
    let mut arguments = record["navigation"]["nextActions"][0]["arguments"].clone();
    assert_eq!(arguments["artifactId"], "k1");
    let mut read = String::new();
    loop {
        let page = ask(arguments.clone()).unwrap();
        assert!(page.to_string().chars().count() <= 10_000);
        read.push_str(page["chunk"].as_str().unwrap());
        if page["complete"] == true {
            break;
        }
        arguments = page["navigation"]["nextActions"][0]["arguments"].clone();
    }
    let expected = whole.replace(secret, "[redacted]").replace("/home/alice/p", "[host-path]/p");
    assert_eq!(read.len(), expected.len());
    assert!(read == expected);
    for id in ["k2", "k3", "../k1", "/etc/passwd"] {
        let answer = ask(json!({"action": "get", "recordId": record["recordId"], "artifactId": id}));
        assert_eq!(answer, Err(HistoryError::NotFound), "{id}");
    }
}
