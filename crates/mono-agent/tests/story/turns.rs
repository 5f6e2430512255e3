//! Turns: a prompt, a model, tools, an answer, a record.

use super::agent::Agent;
use serde_json::{Value, json};

// ENG-5, ENG-1
#[test]
fn a_folder_with_a_config_answers_and_calls_real_tools() {
    let agent = Agent::scripted(
        &[
            json!({"text": "Let me look.", "toolCalls": [{"name": "Read", "arguments": {"file_path": "notes.txt"}}]}),
            json!({"text": "The word is heron.", "expect": [{"contains": "heron"}]}),
        ],
        json!({}),
    );
    agent.write("notes.txt", "the code word is heron\n");
    let answer = agent.run(&["run", "What is the word?"]).ends(0);
    assert!(answer.stdout.trim().ends_with("The word is heron."), "{}", answer.stdout);
}

// CLI-1, CLI-3
#[test]
fn run_json_is_lines_and_the_last_is_the_result() {
    let agent = Agent::scripted(
        &[
            json!({"toolCalls": [{"name": "Glob", "arguments": {"pattern": "*.md"}}]}),
            json!({"text": "one file"}),
        ],
        json!({}),
    );
    let lines = agent.run(&["run", "list", "--json"]).ends(0).lines();
    let kinds: Vec<&str> = lines.iter().filter_map(|line| line["type"].as_str()).collect();
    assert_eq!(kinds.first(), Some(&"run_started"));
    assert_eq!(kinds.last(), Some(&"run_settled"));
    assert!(
        kinds.contains(&"call_started") && kinds.contains(&"call_settled") && kinds.contains(&"text_delta")
    );
    assert_eq!(lines.last().unwrap()["text"], "one file");
    assert_eq!(lines.last().unwrap()["status"], "succeeded");
}

#[test]
fn a_failed_run_exits_with_one_and_says_why() {
    let agent =
        Agent::scripted(&[json!({"error": {"kind": "provider_auth", "message": "bad key"}})], json!({}));
    let answer = agent.run(&["run", "hi"]).ends(1);
    assert!(answer.stderr.contains("bad key"), "{}", answer.stderr);
    let last = agent.run(&["run", "hi", "--json"]).ends(1).lines().pop().unwrap();
    assert_eq!((&last["type"], &last["status"]), (&json!("run_settled"), &json!("failed")));
}

// ENG-4
#[test]
fn a_named_conversation_goes_on_and_a_plain_run_stands_alone() {
    let agent = Agent::scripted(&[json!({"text": "hello"})], json!({}));
    agent.run(&["run", "first", "--conversation", "terminal:a"]).ends(0);
    let again = agent.run(&["run", "second", "--conversation", "terminal:a", "--json"]).ends(0);
    assert_eq!(again.lines().pop().unwrap()["status"], "succeeded");
    agent.run(&["run", "third"]).ends(0);
}

// ENG-1: broken arguments and unknown names are answers to the model, and the run goes on.
#[test]
fn a_model_that_calls_wrongly_is_told_and_goes_on() {
    let agent = Agent::scripted(
        &[
            json!({"toolCalls": [{"name": "Read", "arguments": "{\"file_path\": "}]}),
            json!({"toolCalls": [{"name": "Raed", "arguments": {"file_path": "a"}}], "expect": [{"contains": "not valid JSON", "isError": true}]}),
            json!({"toolCalls": [{"name": "Read", "arguments": {"path": "a"}}], "expect": [{"contains": "did you mean Read", "isError": true}]}),
            json!({"text": "done", "expect": [{"contains": "file_path", "isError": true}]}),
        ],
        json!({}),
    );
    let answer = agent.run(&["run", "go"]).ends(0);
    assert_eq!(answer.stdout.trim(), "done", "{}", answer.stderr);
}

// ENG-5
#[test]
fn with_nothing_configured_the_operator_plays_the_model() {
    let agent = Agent::empty();
    agent.write("notes.txt", "heron\n");
    let input = "what is the word?\n/Read {\"file_path\": \"notes.txt\"}\nThe word is heron.\n";
    let mut command = vec!["chat", "--local"];
    command.push("--json");
    let answer = agent.run_with(&["chat", "--local"], input).ends(0);
    assert!(answer.stdout.contains("The word is heron."), "{}\n{}", answer.stdout, answer.stderr);
    assert!(answer.stderr.contains("manual:operator"), "{}", answer.stderr);
    assert!(answer.stderr.contains("runtime.model"), "it says how to set a model: {}", answer.stderr);
}

#[test]
fn attachments_are_stored_and_named_to_the_model() {
    let agent = Agent::scripted(&[json!({"text": "seen"})], json!({}));
    agent.write("in.txt", "some text\n");
    let lines = agent.run(&["run", "look", "--attach", "in.txt", "--json"]).ends(0).lines();
    assert_eq!(lines.last().unwrap()["status"], "succeeded");
    // it lies below the host's own folder, which is otherwise out of reach
    let stored = agent.state_bytes().into_iter().find(|(_, bytes)| bytes == b"some text\n").unwrap().0;
    let read = agent.call("Read", json!({"file_path": stored}));
    assert!(read.to_string().contains("some text"), "{read}");
    let key = agent.path().join(".mono-agent/log/keys/log.key");
    assert!(key.exists());
    assert_eq!(agent.call("Read", json!({"file_path": key}))["settled"], "failed");
    let stored: Vec<_> = agent
        .state_bytes()
        .into_iter()
        .filter(|(path, _)| path.to_string_lossy().contains("/attachments/"))
        .collect();
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].1, b"some text\n");
    let missing = agent.run(&["run", "look", "--attach", "nope.txt"]).ends(1);
    assert!(missing.stderr.contains("nope.txt"), "{}", missing.stderr);
}

// ENG-3 at the command line: a chain of two scripted models.
#[test]
fn a_fallback_answers_where_the_first_route_fails() {
    let agent = Agent::scripted(
        &[json!({"error": {"kind": "provider_auth", "message": "no"}})],
        json!({"runtime": {"fallbacks": [{"model": "scripted:second.jsonl"}]}}),
    );
    agent.write("second.jsonl", "{\"text\": \"from the second\"}\n");
    let answer = agent.run(&["run", "hi"]).ends(0);
    assert!(answer.stdout.contains("from the second"), "{}", answer.stdout);
    let lines: Vec<Value> = agent.run(&["run", "hi", "--json"]).ends(0).lines();
    assert!(lines.iter().any(|line| line["type"] == "failover"), "{lines:?}");
}
