//! The process model: a running host, joining it, ending it, two processes on one agent (ENG-9).

use super::agent::{Agent, eventually, program};
use serde_json::json;
use std::process::{Child, Stdio};
use std::time::Duration;

pub struct Host(Child);

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn host(agent: &Agent) -> Host {
    let mut command = agent.command(&["start"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let host = Host(command.spawn().unwrap());
    eventually(Duration::from_secs(30), || agent.run(&["status", "--json"]).code == 0);
    host
}

fn agent() -> Agent {
    Agent::scripted(&[json!({"text": "hello"})], json!({}))
}

fn status(agent: &Agent) -> serde_json::Value {
    agent.run(&["status", "--json"]).ends(0).json()
}

// ENG-9
#[test]
fn a_host_starts_answers_restarts_and_stops() {
    let agent = agent();
    assert_eq!(agent.run(&["status", "--json"]).ends(1).json()["ok"], false);
    let mut host = host(&agent);
    let first = status(&agent);
    assert_eq!(first["ok"], true);
    assert_eq!(agent.run(&["run", "hi"]).ends(0).stdout.trim(), "hello");
    let done = agent.call("Glob", json!({"pattern": "*.md"}));
    assert_eq!(done["settled"], "done", "{done}");
    agent.run(&["restart"]).ends(0);
    eventually(Duration::from_secs(30), || {
        let answer = agent.run(&["status", "--json"]);
        answer.code == 0 && answer.json()["generation"].as_u64() > first["generation"].as_u64()
    });
    assert_eq!(agent.run(&["run", "hi"]).ends(0).stdout.trim(), "hello");
    agent.run(&["restart", "--clear-sessions"]).ends(0);
    eventually(Duration::from_secs(30), || agent.run(&["status", "--json"]).code == 0);
    agent.run(&["stop"]).ends(0);
    eventually(Duration::from_secs(30), || host.0.try_wait().unwrap().is_some());
    assert_eq!(agent.run(&["status", "--json"]).ends(1).json()["ok"], false);
}

#[test]
fn a_second_host_is_refused_with_a_clear_message() {
    let agent = agent();
    let _host = host(&agent);
    let second = agent.run(&["start"]).ends(1);
    assert!(second.stderr.contains("already running"), "{}", second.stderr);
}

#[test]
fn a_detached_host_goes_on_and_its_log_can_be_read() {
    let agent = agent();
    agent.run(&["start", "--detach"]).ends(0);
    assert_eq!(status(&agent)["ok"], true);
    let logs = agent.run(&["logs"]).ends(0);
    assert!(!logs.stdout.is_empty());
    for line in agent.run(&["logs", "--json"]).ends(0).lines() {
        assert!(line.is_object());
    }
    agent.run(&["stop"]).ends(0);
    eventually(Duration::from_secs(30), || agent.run(&["status"]).code == 1);
}

// ENG-9, ENG-7: a host that dies is brought back, and a run it was in is interrupted, once.
#[test]
fn a_killed_host_comes_back() {
    let agent = agent();
    let _host = host(&agent);
    let before = status(&agent);
    let pid = i32::try_from(before["pid"].as_i64().unwrap()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    eventually(Duration::from_secs(30), || {
        let answer = agent.run(&["status", "--json"]);
        answer.code == 0 && answer.json()["pid"] != before["pid"]
    });
    agent.run(&["stop"]).ends(0);
}

// ENG-7: what the dead process was in the middle of is interrupted, once, and said so.
#[test]
fn a_run_that_its_host_died_in_is_interrupted() {
    let agent =
        Agent::scripted(&[json!({"text": "late", "delayMs": 120_000}), json!({"text": "next"})], json!({}));
    let _host = host(&agent);
    let client = agent.command(&["run", "wait", "--conversation", "terminal:x"]).spawn().unwrap();
    eventually(Duration::from_secs(30), || {
        let running = agent.run(&["runs", "list", "--status", "running", "--json"]).ends(0).json();
        running["runs"].as_array().unwrap().len() == 1
    });
    let pid = i32::try_from(status(&agent)["pid"].as_i64().unwrap()).unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    let output = client.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("went away") || told.contains("broke"), "{told}");
    eventually(Duration::from_secs(30), || {
        let answer = agent.run(&["status", "--json"]);
        answer.code == 0 && answer.json()["pid"].as_i64() != Some(i64::from(pid))
    });
    let report = agent.run(&["validate"]).ends(0).stdout;
    assert_eq!(report.matches("interrupted: wait").count(), 1, "{report}");
    agent.run(&["stop"]).ends(0);
}

// ENG-9: two processes on one agent.
#[test]
fn two_processes_work_on_one_agent_at_once() {
    let agent = agent();
    let runs: Vec<Child> =
        (0..4).map(|_| agent.command(&["run", "hi", "--local", "--json"]).spawn().unwrap()).collect();
    for run in runs {
        let output = run.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!(last["status"], "succeeded");
    }
    let report = agent.run(&["validate", "--json"]).ends(0).json();
    assert!(!report.to_string().contains("damaged"), "{report}");
}

// ENG-1: Ctrl-C ends a turn and leaves no process behind.
#[test]
fn an_interrupt_cancels_the_turn_and_its_commands() {
    let marker = format!("{}", 30_000 + std::process::id() % 10_000);
    let agent = Agent::scripted(
        &[
            json!({"toolCalls": [{"name": "Exec", "arguments": {"executable": "sleep", "args": [marker]}}]}),
            json!({"text": "never"}),
        ],
        json!({}),
    );
    let child = agent.command(&["run", "wait", "--local", "--json"]).spawn().unwrap();
    let running = || {
        std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            std::fs::read(entry.path().join("cmdline"))
                .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).starts_with(&format!("sleep\0{marker}")))
        })
    };
    eventually(Duration::from_secs(30), running);
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["status"], "cancelled");
    eventually(Duration::from_secs(10), || !running());
    assert!(program().exists());
}

// ENG-9, CFG-2: what a command names for itself is not ignored because a host runs with something else.
#[test]
fn a_command_with_settings_of_its_own_works_beside_the_host() {
    let agent = agent();
    agent.write("note.txt", "hello");
    let _host = host(&agent);
    let read = [&["call", "Read", r#"{"file_path": "note.txt"}"#, "--json"][..], &["explain", "--json"]];
    let plain = agent.run(read[0]).ends(0);
    assert!(!plain.stderr.contains("note:"), "{}", plain.stderr);
    let with = |args: &[&str], value: &str| {
        let output = agent.command(args).env("MONO_AGENT_DISALLOWED_TOOLS", value).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), output.stderr)
    };
    let (code, denied, note) = with(read[0], "Read");
    assert!(code == Some(1) && denied.contains("tool_denied"), "{denied}");
    assert!(String::from_utf8_lossy(&note).contains("MONO_AGENT_DISALLOWED_TOOLS"));
    let (_, explained, _) = with(read[1], "Read");
    let explained: serde_json::Value = serde_json::from_str(&explained).unwrap();
    let row = explained["tools"].as_array().unwrap().iter().find(|row| row["name"] == "Read").unwrap();
    assert_eq!(row["offered"], false, "{row}");
    assert_eq!(with(read[0], "Nope").0, Some(1), "a broken list is an error, host or not");
}

// POL-8: `explain` speaks of the settings as they stand, and says that the host has others.
#[test]
fn explain_follows_the_file_beside_a_running_host() {
    let agent = agent();
    let _host = host(&agent);
    let config = agent.read("mono-agent.config.json");
    let mut config: serde_json::Value = serde_json::from_str(&config).unwrap();
    config["tools"] = json!({"disallowedTools": ["Read"]});
    agent.write("mono-agent.config.json", &config.to_string());
    let answer = agent.run(&["explain", "--json"]).ends(0);
    assert!(answer.stderr.contains("until `mono-agent restart`"), "{}", answer.stderr);
    assert_eq!(agent.explained("Read")["by"], "policy");
}
