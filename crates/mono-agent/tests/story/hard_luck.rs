//! What goes wrong around an agent: it must not open what was closed, and must say what is so.

use super::agent::{Agent, eventually};
use serde_json::json;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Stdio;
use std::time::Duration;

fn agent() -> Agent {
    Agent::scripted(
        &[json!({"text": "hello"}), json!({"text": "again"}), json!({"text": "third"})],
        json!({}),
    )
}

/// An agent can't give itself more than it has: its settings are out of its reach, there or not.
#[test]
fn settings_that_are_not_there_yet_cannot_be_made_by_a_tool() {
    let agent = Agent::empty();
    for name in ["mono-agent.config.json", ".env"] {
        agent.call("Bash", json!({"command": format!("echo '{{}}' > {name}")}));
        agent.call("Write", json!({"file_path": name, "content": "{}"}));
        assert!(!agent.has(name), "{name}");
    }
    agent.write("prod.vars", "MONO_AGENT_NAME=x\n");
    let arguments = json!({"file_path": "prod.vars", "content": "MONO_AGENT_SANDBOX_MODE=off\n"}).to_string();
    agent.run(&["call", "Write", &arguments, "--env-file", "prod.vars"]).ends(1);
    assert_eq!(agent.read("prod.vars"), "MONO_AGENT_NAME=x\n");
}

#[test]
fn a_folder_with_settings_cannot_be_moved_away() {
    let agent = Agent::empty();
    agent.write("agent/answers.jsonl", "{\"text\": \"x\"}\n");
    agent.write("agent/IDENTITY.md", "x\n");
    agent.write(
        "agent/mono-agent.config.json",
        &json!({
            "runtime": {"model": "scripted:answers.jsonl", "workspace": ".."},
            "context": {"identityPath": "IDENTITY.md"},
            "tools": {"disallowedTools": ["Write"]},
        })
        .to_string(),
    );
    agent.run(&["-C", "agent", "call", "Bash", r#"{"command": "mv agent agent2; mkdir agent"}"#, "--json"]);
    let rows = agent.run(&["-C", "agent", "explain", "--json"]).ends(0).json();
    let write = rows["tools"].as_array().unwrap().iter().find(|row| row["name"] == "Write").unwrap().clone();
    assert_eq!(write["by"], "policy", "{write}");
}

// POL-9: a list that can't be read must not count as unset.
#[test]
fn a_variable_of_ours_that_is_no_text_is_refused() {
    let agent = agent();
    let mut command = agent.command(&["explain"]);
    command.env("MONO_AGENT_ALLOWED_TOOLS", std::ffi::OsStr::from_bytes(b"Read\xff"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("MONO_AGENT_ALLOWED_TOOLS"));
}

// ENG-9
#[test]
fn a_running_host_can_be_managed_while_its_config_is_broken() {
    let agent = agent();
    agent.run(&["start", "--detach"]).ends(0);
    let good = agent.read("mono-agent.config.json");
    agent.write("mono-agent.config.json", "{bad");
    agent.run(&["status"]).ends(0);
    agent.run(&["logs"]).ends(0);
    let refused = agent.run(&["restart"]).ends(1);
    assert!(refused.stderr.contains("mono-agent.config.json"), "{}", refused.stderr);
    agent.run(&["status"]).ends(0);
    agent.write("mono-agent.config.json", &good.replace("IDENTITY.md", "./IDENTITY.md"));
    let told = agent.run(&["run", "hi"]).ends(0);
    assert!(told.stderr.contains("other settings"), "{}", told.stderr);
    agent.write("mono-agent.config.json", "{bad");
    agent.run(&["stop"]).ends(0);
    agent.run(&["status"]).ends(1);
}

#[test]
fn a_host_that_hangs_is_named_and_can_be_stopped() {
    let agent = agent();
    agent.run(&["start", "--detach"]).ends(0);
    let pid = agent.run(&["status", "--json"]).ends(0).json()["pid"].as_i64().unwrap();
    let raw = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(raw, rustix::process::Signal::STOP).unwrap();
    let told = agent.run(&["run", "hi"]).ends(1);
    assert!(
        told.stderr.contains("does not answer") && told.stderr.contains(&pid.to_string()),
        "{}",
        told.stderr
    );
    agent.run(&["stop"]).ends(0);
    eventually(Duration::from_secs(10), || agent.run(&["status"]).code == 1);
}

#[test]
fn a_very_long_folder_still_has_a_host() {
    let agent = agent();
    let deep = "d".repeat(150);
    for name in ["answers.jsonl", "IDENTITY.md", "mono-agent.config.json"] {
        agent.write(&format!("{deep}/{name}"), &agent.read(name));
    }
    agent.run(&["-C", &deep, "start", "--detach"]).ends(0);
    agent.run(&["-C", &deep, "run", "hi"]).ends(0);
    agent.run(&["-C", &deep, "stop"]).ends(0);
}

// ENG-4: two processes on one conversation queue; nobody's turn is lost.
#[test]
fn two_processes_on_one_conversation_lose_no_turn() {
    let agent = Agent::scripted(&[json!({"text": "slow", "delayMs": 700})], json!({}));
    let runs: Vec<_> = ["one", "two", "three"]
        .iter()
        .map(|text| agent.command(&["run", text, "--local", "--conversation", "terminal:c"]).spawn().unwrap())
        .collect();
    for run in runs {
        assert!(run.wait_with_output().unwrap().status.success());
    }
    // the operator's desk shows the newest messages of the prompt
    agent.write("answers.jsonl", "{\"text\": \"last\", \"expect\": []}\n");
    let report = agent.run(&["validate"]).ends(0).stdout;
    for text in ["one", "two", "three"] {
        assert!(report.contains(&format!("succeeded: {text}")), "{report}");
    }
    let history = agent.call("RunHistory", json!({}));
    assert_eq!(history["settled"], "done", "{history}");
}

// CLI-1: what could not be written is no success.
#[test]
fn a_full_device_is_a_failure_and_a_closed_pipe_is_none() {
    let agent = agent();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = agent.command(&["explain", "--json"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let mut child = agent.command(&["completions", "bash"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

// ENG-2, CFG-2
#[test]
fn providers_known_by_name_need_no_more_than_a_key() {
    for reference in ["openrouter:meta-llama/x", "groq:x", "deepseek:x", "openai-chat:gpt-4o", "vllm:x"] {
        let mut agent = agent();
        agent.env = vec![("MONO_AGENT_MODEL".into(), reference.into())];
        let report = agent.run(&["validate"]).ends(0).stdout;
        assert!(report.contains(reference), "{report}");
    }
    // a key that is missing keeps nothing from starting, and each run says what to set
    let mut agent = agent();
    agent.env = vec![("MONO_AGENT_MODEL".into(), "anthropic:claude-x".into())];
    let told = agent.run(&["run", "hi"]).ends(1);
    assert!(
        told.stderr.contains("ANTHROPIC_API_KEY") && told.stderr.contains("provider_auth"),
        "{}",
        told.stderr
    );
}

// CFG-3
#[test]
fn a_whole_number_may_be_written_with_a_point() {
    let agent = Agent::scripted(&[json!({"text": "x"})], json!({"runtime": {"maxTurns": 5.0}}));
    agent.run(&["run", "hi"]).ends(0);
}

// CFG-1
#[test]
fn init_writes_nothing_that_validate_refuses() {
    for args in [vec!["init", "--model", "foo"], vec!["init", "--allow", "Raed,Write"]] {
        let agent = Agent::empty();
        agent.run(&args).ends(2);
        assert!(!agent.has("mono-agent.config.json"));
    }
}
