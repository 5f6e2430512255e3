//! The past where it is empty, redacted or disturbed.

use super::agent::Agent;
use serde_json::{Value, json};

const SECRET: &str = "canary-Wq7-configured-value-42";

fn keyed(mut agent: Agent) -> Agent {
    agent.env = vec![("SERVICE_API_TOKEN".into(), SECRET.into())];
    agent
}

fn keys(value: &Value) -> Vec<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

// Nothing recorded yet: every view has the form that it has later.
#[test]
fn an_empty_past_has_the_form_of_a_full_one() {
    let agent = Agent::scripted(&[json!({"text": "ok"})], json!({}));
    let views = [
        vec!["runs", "list", "--json"],
        vec!["runs", "audit", "--json"],
        vec!["runs", "report", "--json"],
        vec!["sessions", "list", "--json"],
        vec!["audit", "list", "--json"],
        vec!["audit", "verify", "--json"],
    ];
    let empty: Vec<Value> = views.iter().map(|view| agent.run(view).ends(0).json()).collect();
    agent.run(&["run", "hello"]).ends(0);
    for (view, empty) in views.iter().zip(&empty) {
        assert_eq!(keys(empty), keys(&agent.run(view).ends(0).json()), "{view:?}");
    }
}

// SRC-1, RUN-9: what was redacted when it was recorded is replayed as it was recorded.
#[test]
fn a_replay_of_redacted_turns_is_the_same() {
    let agent = keyed(Agent::scripted(
        &[
            json!({"text": format!("I try {SECRET}"), "toolCalls": [
                {"name": "Bash", "arguments": {"command": format!("echo {SECRET}; cat keys.txt")}},
                {"name": "Write", "arguments": {"file_path": "copy.txt", "content": format!("k={SECRET}")}},
                {"name": "Nope", "arguments": {"api_key": SECRET}},
            ]}),
            json!({"text": format!("It is {SECRET}")}),
        ],
        json!({}),
    ));
    agent.write("keys.txt", SECRET);
    agent.run(&["run", &format!("use {SECRET}")]).ends(0);
    let runs = agent.run(&["runs", "list", "--json"]).ends(0).json();
    let run = runs["runs"][0]["runId"].as_str().unwrap();
    let replayed = agent.run(&["runs", "replay", run, "--json"]).ends(0);
    assert_eq!(replayed.json()["same"], true, "{}", replayed.stdout);
    assert!(!replayed.stdout.contains(SECRET), "{}", replayed.stdout);
}

// QUA-5: ids stand in the log as they are, so one with a secret in it begins no run.
#[test]
fn a_conversation_named_by_a_secret_is_refused() {
    let agent = keyed(Agent::scripted(&[json!({"text": "ok"})], json!({})));
    agent.run(&["run", "hello"]).ends(0);
    let named = format!("terminal:{SECRET}");
    let told = agent.run(&["run", "hello", "--conversation", &named]);
    assert_ne!(told.code, 0);
    assert!(told.stderr.contains("use another id"), "{}", told.stderr);
    for (path, bytes) in agent.state_bytes() {
        let found = bytes.windows(SECRET.len()).any(|it| it == SECRET.as_bytes());
        assert!(!found, "{}", path.display());
    }
}

// The index is derived: a folder in its place is moved aside, with what is in it, and the past is there.
#[test]
fn a_folder_in_the_place_of_the_index_takes_nothing_away() {
    let agent = Agent::scripted(&[json!({"text": "ok"})], json!({}));
    agent.run(&["run", "about an invoice"]).ends(0);
    let index = agent.path().join(".mono-agent/log/search.sqlite");
    agent.run(&["runs", "list"]).ends(0);
    std::fs::remove_file(&index).unwrap();
    std::fs::create_dir(&index).unwrap();
    std::fs::write(index.join("mine.txt"), "mine").unwrap();
    let found = agent.run(&["runs", "search", "invoice", "--json"]).ends(0).json();
    assert_eq!(found["runs"].as_array().unwrap().len(), 1);
    let aside = agent.path().join(".mono-agent/log/search.sqlite.aside-0/mine.txt");
    assert_eq!(std::fs::read_to_string(aside).unwrap(), "mine");
}
