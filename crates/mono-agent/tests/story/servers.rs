//! Published MCP servers, attached for real. `scripts/test-servers.sh` installs them; `make test` runs it.

use super::agent::{Agent, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

fn installed() -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = std::env::var_os("MONO_AGENT_TEST_SERVERS")
        .map_or_else(|| root.join("target/test-servers"), PathBuf::from);
    let folder = folder.canonicalize().unwrap_or(folder);
    assert!(folder.join("node_modules").exists(), "run scripts/test-servers.sh first");
    folder
}

fn with_servers(servers: Value) -> Agent {
    let agent = Agent::scripted(&[json!({"text": "ok"})], json!({"tools": {"mcpConfigPath": "./mcp.json"}}));
    agent.write("mcp.json", &serde_json::to_string_pretty(&json!({ "mcpServers": servers })).unwrap());
    agent
}

fn node(package: &str) -> Value {
    let entry = installed().join(format!("node_modules/@modelcontextprotocol/{package}/dist/index.js"));
    json!(entry)
}

fn python(module: &str) -> Value {
    json!({"command": installed().join("venv/bin/python"), "args": ["-m", module], "timeout": 120_000})
}

// MCP-1, MCP-9
#[test]
fn published_servers_attach_and_their_tools_run() {
    let agent = with_servers(json!({
        "everything": {"command": "node", "args": [node("server-everything")], "timeout": 120_000},
        "memory": {"command": "node", "args": [node("server-memory")], "timeout": 120_000},
        "time": python("mcp_server_time"),
    }));
    let echoed = agent.call("mcp__everything__echo", json!({"message": "heron"}));
    assert_eq!(echoed["settled"], "done", "{echoed}");
    assert!(echoed["content"][0]["text"].as_str().unwrap().contains("heron"), "{echoed}");
    let time = agent.call("mcp__time__get_current_time", json!({"timezone": "Europe/Berlin"}));
    assert_eq!(time["settled"], "done", "{time}");
    assert_eq!(agent.explained("mcp__memory__read_graph")["source"], "mcp:memory");
}

#[test]
fn the_filesystem_and_git_servers_work_on_the_workspace() {
    let mut agent = with_servers(json!({}));
    agent.env.push(("GIT_CONFIG_GLOBAL".into(), "/dev/null".into()));
    let here = agent.path().to_owned();
    let mut git = python("mcp_server_git");
    git["args"] = json!(["-m", "mcp_server_git", "--repository", here]);
    let servers = json!({"mcpServers": {
        "fs": {"command": "node", "args": [node("server-filesystem"), here], "timeout": 120_000},
        "git": git,
    }});
    agent.write("mcp.json", &servers.to_string());
    agent.write("a.txt", "from the server\n");
    let init =
        std::process::Command::new("git").args(["init", "-q"]).current_dir(agent.path()).status().unwrap();
    assert!(init.success());
    let read = agent.call("mcp__fs__read_text_file", json!({"path": here.join("a.txt")}));
    assert!(read.to_string().contains("from the server"), "{read}");
    let status = agent.call("mcp__git__git_status", json!({"repo_path": here}));
    assert_eq!(status["settled"], "done", "{status}");
}

// MCP-4, T1-03
#[test]
fn a_bad_server_is_named_and_the_others_work() {
    let agent = with_servers(json!({
        "good": {"command": "node", "args": [node("server-everything")], "timeout": 120_000},
        "gone": {"command": "no-such-program-anywhere"},
        "dies": {"command": "sh", "args": ["-c", "echo out of luck >&2; exit 3"]},
        "bad": {"args": ["x"]},
    }));
    let echoed = agent.call("mcp__good__echo", json!({"message": "still here"}));
    assert_eq!(echoed["settled"], "done", "{echoed}");
    let report = agent.run(&["validate"]).ends(1);
    for part in ["gone", "no-such-program-anywhere", "dies", "out of luck", "bad"] {
        assert!(report.stdout.contains(part), "lacks {part}: {}", report.stdout);
    }
}

// POL-7, T6-01
#[test]
fn a_deny_reaches_the_tools_of_a_server() {
    for deny in [json!("mcp__everything__echo"), json!("mcp__everything__*"), json!("mcp__*"), json!("*")] {
        let agent = Agent::scripted(
            &[json!({"text": "ok"})],
            json!({"tools": {"disallowedTools": [deny], "mcpServers": {
                "everything": {"command": "node", "args": [node("server-everything")], "timeout": 120_000}
            }}}),
        );
        let answer = agent.call("mcp__everything__echo", json!({"message": "x"}));
        if deny == "*" {
            // POL-2: `*` is for our own tools; external ones need mcp__*
            assert_eq!(answer["settled"], "done", "{answer}");
        } else {
            assert_eq!(
                (&answer["settled"], &answer["code"]),
                (&json!("refused"), &json!("tool_denied")),
                "{deny}"
            );
        }
    }
}

/// How many processes have a word on their command line.
fn processes_with(word: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).split('\0').any(|argument| argument.ends_with(word))
    })
    .count()
}

// MCP-8: a server and its grandchild, which left its session, end with the host: on an orderly end and on `kill -9`.
#[test]
fn nothing_of_a_server_outlives_the_host() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/hostile.py");
    for sandbox in [json!("off"), json!({})] {
        for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
            let turns = [
                json!({"toolCalls": [{"name": "mcp__a__ping", "arguments": {}}]}),
                json!({"text": "late", "delayMs": 120_000}),
            ];
            let word = format!(
                "grandchild-{}-{}",
                signal.as_raw(),
                if sandbox == "off" { "bare" } else { "confined" }
            );
            let agent = Agent::scripted(&turns, json!({}));
            let note = agent.path().join(&word);
            // The interpreter of the test's machine may be anywhere; the script lies outside the agent's folder.
            agent.write("server.py", &std::fs::read_to_string(script).unwrap());
            let entry = json!({"command": "python3", "args": ["-u", "server.py", "child", note], "timeout": 60_000,
                "sandbox": sandbox});
            let mut config: Value = serde_json::from_str(&agent.read("mono-agent.config.json")).unwrap();
            config["tools"] = json!({"mcpServers": {"a": entry}});
            agent.write("mono-agent.config.json", &config.to_string());
            let mut child = agent.command(&["run", "go", "--json"]).spawn().unwrap();
            eventually(Duration::from_secs(60), || agent.has(&word) && processes_with(&word) >= 2);
            let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
            kill_process(pid, signal).unwrap();
            child.wait().unwrap();
            eventually(Duration::from_secs(15), || processes_with(&word) == 0);
        }
    }
}
