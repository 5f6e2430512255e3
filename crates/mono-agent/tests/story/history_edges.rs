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
        vec!["runs", "search", "x", "--json"],
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

// SRC-1: two equal runs are the same, whatever their commands took.
#[test]
fn equal_runs_that_ran_commands_do_not_differ() {
    let script = [
        json!({"text": "", "toolCalls": [{"name": "Bash", "arguments": {"command": "sleep 0.$((RANDOM % 5))1"}}]}),
        json!({"text": "done"}),
    ];
    let agent = Agent::scripted(&script, json!({}));
    for conversation in ["terminal:a", "terminal:b", "terminal:c"] {
        agent.run(&["run", "go", "--conversation", conversation]).ends(0);
    }
    let runs = agent.run(&["runs", "list", "--json"]).ends(0).json();
    let id = |n: usize| runs["runs"][n]["runId"].as_str().unwrap();
    for (a, b) in [(0, 1), (1, 2)] {
        agent.run(&["runs", "diff", id(a), id(b)]).ends(0);
    }
}

// SRC-1: a call of a withheld tool is refused again in the words of then.
#[test]
fn a_replay_with_a_withheld_tool_is_the_same() {
    let script = [
        json!({"text": "", "toolCalls": [{"name": "Edit", "arguments": {"file_path": "a", "old_string": "b", "new_string": "c"}}]}),
        json!({"text": "done"}),
    ];
    let agent = Agent::scripted(&script, json!({"tools": {"disallowedTools": ["Edit"]}}));
    agent.run(&["run", "go"]).ends(0);
    let runs = agent.run(&["runs", "list", "--json"]).ends(0).json();
    let replayed = agent.run(&["runs", "replay", runs["runs"][0]["runId"].as_str().unwrap(), "--json"]);
    assert_eq!(replayed.json()["same"], true, "{}", replayed.stdout);
}

// SRC-1: a run that was stopped inside a call is stopped inside it again, before another request.
#[test]
fn a_replay_of_a_run_that_was_stopped_in_a_call_is_the_same() {
    let script = [
        json!({"text": "", "toolCalls": [{"name": "Bash", "arguments": {"command": "sleep 20"}}]}),
        json!({"text": "done"}),
    ];
    let agent = Agent::scripted(&script, json!({}));
    let mut child = agent.command(&["run", "wait"]).spawn().unwrap();
    super::agent::eventually(std::time::Duration::from_secs(20), || {
        agent.run(&["audit", "list", "--json"]).json()["decisions"][0]["what"] == "started"
    });
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    child.wait().unwrap();
    let runs = agent.run(&["runs", "list", "--json"]).ends(0).json();
    assert_eq!(runs["runs"][0]["status"], "cancelled", "{runs}");
    let replayed = agent.run(&["runs", "replay", runs["runs"][0]["runId"].as_str().unwrap(), "--json"]);
    assert_eq!(replayed.json()["same"], true, "{}", replayed.stdout);
}

// RUN-8: an id that became a secret later is hidden in every view of its conversation.
#[test]
fn a_conversation_whose_id_became_a_secret_is_hidden() {
    let agent = Agent::scripted(&[json!({"text": "ok"})], json!({}));
    let named = format!("terminal:{SECRET}");
    agent.run(&["run", "hello", "--conversation", &named]).ends(0);
    let agent = keyed(agent);
    for view in [vec!["sessions", "list"], vec!["sessions", "show", &named], vec!["runs", "list"]] {
        let shown = agent.run(&[view.as_slice(), &["--json"]].concat()).ends(0).stdout;
        assert!(!shown.contains(SECRET), "{view:?}: {shown}");
    }
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

// HIS-4, RUN-2: `5.0` is an integer to a schema; a number that is none of ours is an error with its name.
#[test]
fn whole_numbers_may_be_written_as_floats() {
    let agent = Agent::scripted(&[json!({"text": "ok"})], json!({}));
    agent.run(&["run", "hello"]).ends(0);
    for tool in ["RunHistory", "SessionHistory"] {
        assert_eq!(agent.call(tool, json!({"limit": 5.0}))["settled"], "done", "{tool}");
        let refused = agent.run(&["call", tool, r#"{"limit":11.0}"#, "--json"]).ends(1).json();
        assert!(refused.to_string().contains("limit"), "{refused}");
    }
    let huge = agent.run(&["call", "SessionHistory", r#"{"fromMs":1e30}"#, "--json"]).ends(1).json();
    assert!(huge["content"].to_string().contains("fromMs"), "{huge}");
}
