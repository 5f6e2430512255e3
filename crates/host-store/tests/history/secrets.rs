//! Secrets in the log and in every view of it (T9-09, QUA-5).

use crate::past::*;
use host_event::{Fact, NewEvent};
use host_history::{CallViews, RunViews, View};
use host_redact::Redactor;
use host_turn::{Ending, FailureKind, Usage};
use host_vocab::{Block, CallId, Secret};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

const CONFIGURED: &str = "sk-zz-QRSTUVWX55667788.mnop_77AB";
const SHAPES: [&str; 3] = [
    "xoxb-123456789012-abcdefghijklmnop",
    "ghp_0123456789abcdefghij0123456789abcdef",
    "AKIAIOSFODNN7EXAMPLE",
];
/// Configured only after the past was recorded.
const LATER: &str = "later-configured-value-0042";

fn carriers(secret: &str) -> Vec<String> {
    let percent: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
    vec![
        secret.to_owned(),
        format!("token is {secret}, really"),
        format!("postgres://u:{secret}@h/d"),
        format!("{{\"Authorization\":\"Bearer {secret}\"}}"),
        percent,
    ]
}

fn facts(text: &str) -> Vec<Fact> {
    let value = json!({"note": text, (text): 1, "deep": [{"x": text}]});
    vec![
        Fact::ModelAnswered {
            step: 0,
            model: "scripted:a".into(),
            text: text.into(),
            calls: vec![host_event::ModelCall {
                id: "c".into(),
                name: "Bash".into(),
                arguments: value.clone(),
            }],
            finish: "tool_calls".into(),
            usage: Usage::default(),
        },
        Fact::CallRefused {
            tool: "Bash".into(),
            code: "approval_denied".into(),
            by: "approval".into(),
            why: text.into(),
            arguments: value.clone(),
            arguments_digest: "d".into(),
            asked_at: 1,
        },
        Fact::CallStarted {
            tool: "Bash".into(),
            source: "builtin".into(),
            arguments: value.clone(),
            arguments_digest: "d".into(),
            rule: "allow-all".into(),
        },
        Fact::CallSettled {
            tool: "Bash".into(),
            settled: "failed".into(),
            code: "nonzero_exit".into(),
            content: vec![Block::text(text)],
            structured: Some(value.clone()),
            outcome: Some(value),
            duration_ms: 1,
            original_bytes: 1,
            truncated: false,
            kept: vec![],
        },
        Fact::ModelFailed {
            step: 1,
            attempt: 0,
            model: "scripted:a".into(),
            failure_kind: "timeout".into(),
            error: text.into(),
            partial_text: text.into(),
            then: "stop".into(),
        },
        Fact::Warning { code: "w".into(), message: text.into() },
    ]
}

fn recorded(redactor: &Redactor, secrets: &[&str]) -> Past {
    let past = Past::new();
    let run = scope("web:a", "r1");
    let mut n = 0;
    let add = |fact: &Fact, scope: host_event::Scope| {
        past.append(vec![NewEvent::of(fact, scope, past.at(), redactor)]);
    };
    let words: Vec<String> = secrets.iter().flat_map(|secret| carriers(secret)).collect();
    add(
        &Fact::RunStarted {
            incarnation: "i".into(),
            source: "web".into(),
            source_detail: Some(words[0].clone()),
            user_input: words.join(" and "),
            attachments: words.clone(),
            model: "scripted:a".into(),
            effort: None,
            isolated: false,
            offered: vec![],
            withheld: vec![],
        },
        run.clone(),
    );
    for text in &words {
        for fact in facts(text) {
            if matches!(fact, Fact::CallStarted { .. } | Fact::CallRefused { .. }) {
                n += 1;
            }
            add(&fact, run.call(&CallId::parse(format!("c{n}")).unwrap()));
        }
    }
    let ending = Ending::Failed { kind: FailureKind::Timeout, error: words.join(" ") };
    add(
        &Fact::RunSettled {
            ending,
            text: words.join("\n"),
            usage: Usage::default(),
            duration_ms: 1,
            failover_history: vec![],
        },
        run,
    );
    past
}

/// Everything that both tools show, page by page.
fn shown(past: &Past, view: &View) -> String {
    let runs = RunViews::new(past.store(), view.clone(), true);
    let calls = CallViews::new(past.store(), view.clone(), None);
    let web = asks("web:a", false);
    let mut all = String::new();
    let mut look = |page: &Value| all.push_str(&page.to_string());
    for arguments in [json!({}), json!({"query": "token really"}), json!({"runId": "r1"})] {
        look(&runs.answer(&web, &run_arguments(&arguments)).unwrap());
    }
    let mut cursor =
        runs.answer(&web, &run_arguments(&json!({"runId": "r1"}))).unwrap()["timelineCursor"].clone();
    while cursor.is_string() {
        let page = runs.answer(&web, &run_arguments(&json!({"runId": "r1", "cursor": cursor}))).unwrap();
        look(&page);
        cursor = page["nextCursor"].clone();
    }
    let mut arguments = json!({"limit": 10});
    loop {
        let page = calls.answer(&web, &call_arguments(&arguments)).unwrap();
        look(&page);
        for call in page["calls"].as_array().unwrap() {
            for id in ["recordId", "resultRecordId"] {
                let get = json!({"action": "get", "recordId": call[id]});
                look(&calls.answer(&web, &call_arguments(&get)).unwrap());
            }
        }
        if page["nextCursor"].is_null() {
            return all;
        }
        arguments = json!({"limit": 10, "cursor": page["nextCursor"]});
    }
}

fn grep(dir: &Path, needle: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(grep(&path, needle));
        } else if std::fs::read(&path).unwrap().windows(needle.len()).any(|bytes| bytes == needle.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

// T9-09
#[test]
fn no_secret_is_stored_or_shown() {
    let redactor = Redactor::new([Secret::new(CONFIGURED)]);
    let secrets: Vec<&str> = std::iter::once(CONFIGURED).chain(SHAPES).collect();
    let past = recorded(&redactor, &secrets);
    let all = shown(&past, &View::default());
    past.log.checkpoint().unwrap();
    for secret in secrets {
        assert!(!all.contains(secret), "{secret} is shown");
        assert_eq!(grep(past.dir.path(), secret), [""; 0], "{secret}");
    }
    assert!(all.contains("[redacted]"));
}

// RUN-9: a value that was configured only later is not shown either.
#[test]
fn what_became_a_secret_later_is_not_shown() {
    let past = recorded(&Redactor::default(), &[LATER]);
    assert!(shown(&past, &View::default()).contains(LATER));
    let view = View::new(Arc::new(Redactor::new([Secret::new(LATER)])), []);
    assert!(!shown(&past, &view).contains(LATER));
}
