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

/// A detached agent, stopped with the test.
struct Detached<'a>(&'a Agent);

impl Drop for Detached<'_> {
    fn drop(&mut self) {
        self.0.run(&["stop"]);
    }
}

fn detached(agent: &Agent) -> Detached<'_> {
    agent.run(&["start", "--detach"]).ends(0);
    Detached(agent)
}

fn pid_of(value: &serde_json::Value) -> rustix::process::Pid {
    let number = value.as_i64().unwrap_or_else(|| panic!("no process: {value}"));
    rustix::process::Pid::from_raw(i32::try_from(number).unwrap()).unwrap()
}

fn kill(value: &serde_json::Value) {
    rustix::process::kill_process(pid_of(value), rustix::process::Signal::KILL).unwrap();
}

/// Processes of this program that work in this agent's folder.
fn processes(agent: &Agent) -> Vec<String> {
    let here = std::fs::canonicalize(agent.path()).unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let mut found = Vec::new();
    for entry in entries {
        let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        let ours = words.contains("__host") || words.contains("__supervise");
        if ours && std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == here) {
            found.push(words);
        }
    }
    found
}

/// Kills the host as soon as it answers, until its supervisor waits for some seconds with the next start.
fn crash_until_it_waits(agent: &Agent) -> serde_json::Value {
    for _ in 0..4 {
        let mut pid = serde_json::Value::Null;
        eventually(Duration::from_secs(30), || {
            let answer = agent.run(&["status", "--json"]);
            pid = answer.json()["pid"].clone();
            answer.code == 0
        });
        kill(&pid);
    }
    let mut absent = serde_json::Value::Null;
    eventually(Duration::from_secs(30), || {
        absent = agent.run(&["status", "--json"]).json();
        absent["state"] == "waiting"
    });
    absent
}

// ENG-9: between two starts an agent is there, and can be seen, ended and hurried.
#[test]
fn an_agent_that_crashes_again_and_again_is_seen_and_stopped() {
    let agent = agent();
    let _end = detached(&agent);
    let absent = crash_until_it_waits(&agent);
    assert_eq!((&absent["ok"], &absent["running"]), (&json!(false), &json!(false)));
    assert_eq!((&absent["lastExit"], &absent["crashes"]), (&json!("signal 9"), &json!(4)));
    assert_eq!(absent["generation"], 4);
    assert!(absent["startsInMs"].as_u64().is_some_and(|ms| ms <= 4000), "{absent}");
    let told = agent.run(&["status"]).ends(1).stdout;
    assert!(
        told.contains("starting again in") && told.contains("generation 4, last exit: signal 9"),
        "{told}"
    );
    // a second start makes no second supervisor
    for args in [vec!["start", "--detach"], vec!["start"]] {
        let second = agent.run(&args).ends(1);
        let supervisor = absent["supervisor"].to_string();
        assert!(
            second.stderr.contains(&supervisor) && second.stderr.contains("starting again"),
            "{}",
            second.stderr
        );
    }
    agent.run(&["restart"]).ends(0);
    assert_eq!(status(&agent)["supervisor"], absent["supervisor"]);
    kill(&status(&agent)["pid"]);
    eventually(Duration::from_secs(30), || agent.run(&["status", "--json"]).json()["state"] == "waiting");
    let stopped = agent.run(&["stop", "--json"]).ends(0).json();
    assert_eq!(stopped, json!({"ok": true, "stopping": true, "stopped": true}));
    assert_eq!(processes(&agent), Vec::<String>::new());
    assert_eq!(agent.run(&["status", "--json"]).ends(1).json()["state"], "not_running");
    agent.run(&["stop"]).ends(1);
}

// ENG-9
#[test]
fn starts_at_the_same_time_make_one_supervisor_and_name_it() {
    let agent = agent();
    let starts: Vec<Child> =
        (0..4).map(|_| agent.command(&["start", "--detach", "--json"]).spawn().unwrap()).collect();
    let _end = Detached(&agent);
    let told: Vec<serde_json::Value> = starts
        .into_iter()
        .map(|start| start.wait_with_output().unwrap())
        // one that came late enough to see that it runs says so
        .filter(|output| {
            output.status.success() || !output.stderr.windows(15).any(|it| it == b"already running")
        })
        .map(|output| serde_json::from_slice(&output.stdout).unwrap())
        .collect();
    let now = status(&agent);
    assert!(!told.is_empty());
    for one in told {
        assert_eq!((&one["supervisor"], &one["pid"]), (&now["supervisor"], &now["pid"]), "{one}");
    }
    eventually(Duration::from_secs(10), || processes(&agent).len() == 2);
    let second = agent.run(&["start", "--detach"]).ends(1);
    for pid in [&now["supervisor"], &now["pid"]] {
        assert!(second.stderr.contains(&pid.to_string()), "{}", second.stderr);
    }
}

// ENG-9: a number in a file is no process.
#[test]
fn a_lock_file_that_a_dead_process_left_means_nothing() {
    let agent = agent();
    let end = detached(&agent);
    let before = status(&agent);
    kill(&before["supervisor"]);
    // the host ends with its supervisor
    eventually(Duration::from_secs(30), || processes(&agent).is_empty());
    let absent = agent.run(&["status", "--json"]).ends(1).json();
    assert_eq!((&absent["state"], &absent["supervisor"]), (&json!("not_running"), &json!(null)));
    agent.run(&["start", "--detach"]).ends(0);
    assert_ne!(status(&agent)["supervisor"], before["supervisor"]);
    drop(end);
}

// ENG-9: what starting again can't mend is not started again.
#[test]
fn a_config_that_broke_ends_the_agent_after_a_crash() {
    let agent = agent();
    let _end = detached(&agent);
    agent.write("mono-agent.config.json", "{bad");
    kill(&status(&agent)["pid"]);
    eventually(Duration::from_secs(30), || processes(&agent).is_empty());
    let told = agent.run(&["status"]).ends(1).stdout;
    assert!(told.contains("exit code 1") && told.contains("mono-agent logs"), "{told}");
    let logs = agent.run(&["logs"]).ends(0).stdout;
    assert!(logs.contains("mono-agent.config.json") && logs.contains("would not mend that"), "{logs}");
}

// ENG-9: `stop` comes back when nothing is left, however long a command takes to end.
#[test]
fn stop_waits_for_the_end_and_the_next_start_finds_nothing() {
    let command = "trap '' TERM; while :; do sleep 1; done";
    let call = json!({"toolCalls": [{"name": "Bash", "arguments": {"command": command}}]});
    let agent = Agent::scripted(&[call, json!({"text": "done"})], json!({}));
    for _ in 0..2 {
        let _end = detached(&agent);
        let before = status(&agent);
        let mut client = agent.command(&["run", "wait"]).spawn().unwrap();
        eventually(Duration::from_secs(30), || status(&agent)["activeRuns"] == 1);
        agent.run(&["stop"]).ends(0);
        assert_eq!(processes(&agent), Vec::<String>::new());
        for pid in [&before["pid"], &before["supervisor"]] {
            let there = rustix::process::test_kill_process(pid_of(pid)).is_ok();
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            assert!(!there || stat.contains(") Z"), "{stat}");
        }
        client.wait().unwrap();
    }
}

// ENG-9, CLI-1
#[test]
fn a_start_in_the_foreground_says_when_it_is_ready() {
    use std::io::BufRead as _;
    let agent = agent();
    let mut child = agent.command(&["start", "--json"]).spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&ready["ok"], &ready["supervisor"]), (&json!(true), &json!(child.id())));
    assert_eq!(ready["pid"], status(&agent)["pid"]);
    agent.run(&["stop"]).ends(0);
    assert!(child.wait().unwrap().success());
    let mut more = String::new();
    std::io::Read::read_to_string(&mut out, &mut more).unwrap();
    assert_eq!(more, "");
}

// ENG-9: a file in the way is named by every verb.
#[test]
fn a_file_in_the_place_of_the_state_folder_is_named() {
    let agent = agent();
    agent.write(".mono-agent", "not a folder");
    for args in [
        vec!["start"],
        vec!["start", "--detach"],
        vec!["status"],
        vec!["stop"],
        vec!["restart"],
        vec!["run", "hi"],
        vec!["run", "hi", "--local"],
    ] {
        let told = agent.run(&args).ends(1).stderr;
        assert!(told.contains(".mono-agent") && told.contains("folder"), "{args:?}: {told}");
        assert!(!told.contains("os error") && !told.contains("already running"), "{args:?}: {told}");
    }
    assert_eq!(agent.read(".mono-agent"), "not a folder");
}

// ENG-9: the reason of a failed start is told, also where no disk takes a log.
#[test]
fn a_start_that_fails_says_why() {
    let agent = agent();
    std::fs::create_dir_all(agent.path().join(".mono-agent/log")).unwrap();
    agent.write(".mono-agent/log/log.sqlite", "this is no database, and long enough to be looked at as one");
    let told = agent.run(&["start", "--detach", "--json"]).ends(1);
    assert_eq!(told.json()["ok"], false);
    let message = told.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("log.sqlite"), "{message}");
    assert!(told.stderr.contains("log.sqlite"), "{}", told.stderr);
    let told = agent.run(&["start", "--json"]).ends(1);
    assert!(told.json()["error"]["message"].as_str().unwrap().contains("log.sqlite"));
}

// ENG-9, RET-1: a small file system of its own, filled to the brim.
#[test]
fn a_start_on_a_full_disk_says_so() {
    let agent = agent();
    std::fs::create_dir(agent.path().join(".mono-agent")).unwrap();
    let script = r#"
        mount -t tmpfs -o size=64k,mode=700 none .mono-agent || exit 99
        mkdir -p .mono-agent/logs .mono-agent/run
        dd if=/dev/zero of=.mono-agent/filler bs=1k count=1000 2>/dev/null
        "$0" start --detach --json; echo "code $?"
        "$0" status --json
    "#;
    let mut command = agent.command(&[]);
    let env: Vec<_> = command.get_envs().map(|(k, v)| (k.to_owned(), v.unwrap().to_owned())).collect();
    command = std::process::Command::new("unshare");
    command.args(["-Urm", "sh", "-c", script]).arg(program()).current_dir(agent.path()).env_clear().envs(env);
    let output = command.output().unwrap();
    if output.status.code() == Some(99) || output.stdout.is_empty() {
        eprintln!("no file system can be mounted here: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().collect();
    let told: serde_json::Value = serde_json::from_str(lines[0]).unwrap();
    let message = told["error"]["message"].as_str().unwrap();
    assert!(message.contains("the disk is full") && message.contains(".mono-agent/"), "{text}");
    assert_eq!(lines[1], "code 1", "{text}");
    let absent: serde_json::Value = serde_json::from_str(lines[2]).unwrap();
    assert_eq!(absent["state"], "not_running", "{text}");
}
