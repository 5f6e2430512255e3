//! Bad input in the config: each has its place and a way out, and no file is touched.

use super::agent::{Agent, eventually};
use serde_json::json;
use std::time::Duration;

fn broken(text: &str) -> Agent {
    let agent = Agent::scripted(&[json!({"text": "ok"})], json!({}));
    agent.write("mono-agent.config.json", text);
    agent
}

// CFG-3
#[test]
fn a_broken_file_is_named_with_its_place_and_never_rewritten() {
    for (text, parts) in [
        ("{\n  \"runtime\": {\n", vec!["mono-agent.config.json:"]),
        ("{\"runtime\": {\"model\": \"scripted:answers.jsonl\"}, \"tols\": {}}", vec!["tols", "tools"]),
        (
            "{\"runtime\": {\"model\": 7}, \"context\": {\"identityPath\": \"IDENTITY.md\"}}",
            vec!["runtime.model", ":1:"],
        ),
        (
            "{\"runtime\": {\"model\": \"scripted:answers.jsonl\", \"fallbackModels\": []}, \"context\": {\"identityPath\": \"IDENTITY.md\"}}",
            vec!["fallbackModels", "fallbacks"],
        ),
        (
            "{\"runtime\": {}, \"context\": {\"identityPath\": \"IDENTITY.md\"}}",
            vec!["runtime.model", "MONO_AGENT_MODEL"],
        ),
        (
            "{\"runtime\": {\"model\": \"claude:opus\"}, \"context\": {\"identityPath\": \"IDENTITY.md\"}}",
            vec!["claude:", "anthropic:"],
        ),
        (
            "{\"runtime\": {\"model\": \"nonesuch:x\"}, \"context\": {\"identityPath\": \"IDENTITY.md\"}}",
            vec!["nonesuch", "providers"],
        ),
    ] {
        let agent = broken(text);
        for verb in ["validate", "explain"] {
            let answer = agent.run(&[verb]).ends(1);
            let all = format!("{}{}", answer.stdout, answer.stderr);
            for part in &parts {
                assert!(all.contains(part), "{verb} of {text}\nlacks {part}:\n{all}");
            }
        }
        assert_eq!(agent.read("mono-agent.config.json"), text, "the file is as it was");
    }
}

// CFG-1, CFG-3, T1-01
#[test]
fn comments_trailing_commas_and_a_bom_are_accepted() {
    let agent = broken(
        "\u{feff}{\n  // the model\n  \"runtime\": {\"model\": \"scripted:answers.jsonl\",},\n  /* who */ \"context\": {\"identityPath\": \"IDENTITY.md\"},\n}\n",
    );
    agent.run(&["run", "hi"]).ends(0);
}

#[test]
fn a_named_config_that_is_missing_is_a_usage_error() {
    let agent = Agent::empty();
    let answer = agent.run(&["validate", "--config", "nope.json"]).ends(2);
    assert!(answer.stderr.contains("nope.json"), "{}", answer.stderr);
    let answer = agent.run(&["run", "hi", "--env-file", "nope.env"]).ends(2);
    assert!(answer.stderr.contains("nope.env"), "{}", answer.stderr);
    let answer = agent.run(&["start"]).ends(2);
    assert!(
        answer.stderr.contains("mono-agent.config.json") && answer.stderr.contains("init"),
        "{}",
        answer.stderr
    );
}

// CFG-2
#[test]
fn config_says_where_a_value_comes_from_and_never_shows_a_secret() {
    let mut agent = Agent::scripted(
        &[json!({"text": "ok"})],
        json!({"telegram": {"botToken": "12345678:AAHhVw1v9c0nR2dP5sLxQ8yTzK4bM6eJ7fG"}}),
    );
    agent.write(".env", "MONO_AGENT_NAME=from-dotenv\nMONO_AGENT_EFFORT=low\n");
    agent.env = vec![("MONO_AGENT_EFFORT".into(), "high".into())];
    let answer = agent.run(&["config"]).ends(0);
    let line =
        |key: &str| answer.stdout.lines().find(|line| line.contains(key)).unwrap_or_default().to_owned();
    assert!(
        line("runtime.effort").contains("high") && line("runtime.effort").contains("env"),
        "{}",
        answer.stdout
    );
    assert!(line("agent.name").contains("from-dotenv"), "{}", answer.stdout);
    assert!(
        line("runtime.model").contains("[json]") || line("runtime.model").contains("[file]"),
        "{}",
        answer.stdout
    );
    assert!(line("telegram.botToken").contains("set"), "{}", answer.stdout);
    assert!(!answer.stdout.contains("AAHhVw1v9c0nR2dP5sLxQ8yTzK4bM6eJ7fG"));
    let json = agent.run(&["config", "--json"]).ends(0);
    json.json();
    assert!(!json.stdout.contains("AAHhVw1v9c0nR2dP5sLxQ8yTzK4bM6eJ7fG"));
}

// CLI-2
#[test]
fn validate_has_sections_and_the_next_step() {
    let agent = Agent::scripted(&[json!({"text": "ok"})], json!({"tools": {"mcpConfigPath": "./mcp.json"}}));
    let answer = agent.run(&["validate"]).ends(0);
    assert!(answer.stdout.contains("an MCP config file is missing:"), "{}", answer.stdout);
    agent.write("mcp.json", "{\"mcpServers\": {}}\n");
    let answer = agent.run(&["validate"]);
    assert!(answer.stdout.contains("MCP config:") && answer.stdout.contains("mcp.json"), "{}", answer.stdout);
    let report = agent.run(&["validate", "--json"]).json();
    assert!(report["ok"].is_boolean());
    for section in report["sections"].as_array().unwrap() {
        let status = section["status"].as_str().unwrap();
        assert!(["ok", "waiting", "disabled", "error"].contains(&status), "{section}");
    }
    assert!(!answer.stdout.contains('\u{1b}'), "no colour in a pipe");
}

// CFG-1: init makes an agent and never writes over one.
#[test]
fn init_makes_an_agent_and_never_writes_over_one() {
    let agent = Agent::empty();
    let answer = agent.run(&["init", "--dry-run"]).ends(0);
    assert!(!agent.has("mono-agent.config.json"), "{}", answer.stdout);
    agent.run(&["init", "--model", "scripted:answers.jsonl"]).ends(0);
    agent.write("answers.jsonl", "{\"text\": \"made\"}\n");
    assert_eq!(agent.run(&["run", "hi"]).ends(0).stdout.trim(), "made");
    let before = (agent.read("mono-agent.config.json"), agent.read("IDENTITY.md"));
    agent.write("IDENTITY.md", "mine\n");
    let again = agent.run(&["init", "--model", "anthropic:x"]);
    assert!(format!("{}{}", again.stdout, again.stderr).contains("is there already"), "{}", again.stdout);
    assert_eq!(
        (agent.read("mono-agent.config.json"), agent.read("IDENTITY.md")),
        (before.0, "mine\n".to_owned())
    );
}

// CFG-2, POL-9: a `.env` that is there and can't be read might close a tool; it never counts as absent.
#[test]
fn an_environment_file_that_cannot_be_read_stops_the_agent() {
    for make in [(|at| std::fs::create_dir(at).unwrap()) as fn(std::path::PathBuf), |at| {
        std::os::unix::fs::symlink("nowhere", at).unwrap()
    }] {
        let agent = Agent::scripted(&[json!({"text": "ok"})], json!({}));
        make(agent.path().join(".env"));
        for args in [&["call", "ListDir"][..], &["run", "hi"], &["validate"]] {
            let answer = agent.run(args).ends(1);
            let all = format!("{}{}", answer.stdout, answer.stderr);
            assert!(all.contains(".env: the environment file can't be read: it is a"), "{all}");
        }
    }
}

// CFG-3, SBX-1: what the sandbox puts in a free name's place is no config, not while a command runs and not
// after a crash.
#[test]
fn a_stand_in_of_the_sandbox_is_no_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let agent = Agent::empty();
    let put = |name: &str| {
        agent.write(name, "");
        std::fs::set_permissions(agent.path().join(name), std::fs::Permissions::from_mode(0o1400)).unwrap();
    };
    for name in ["mono-agent.config.json", ".env", "mcp.json"] {
        put(name);
    }
    assert_eq!(agent.call("ListDir", json!({}))["settled"], "done");
    let wrote = agent.run(&["init", "--name", "x", "--json"]).ends(0).json();
    assert!(wrote["files"].as_array().unwrap().iter().all(|it| it["written"] == true), "{wrote}");
    assert!(agent.read("mono-agent.config.json").contains("runtime"));
    // An empty file of a person's is an error as before.
    agent.write("mono-agent.config.json", "");
    agent.run(&["call", "ListDir"]).ends(1);
}

// CFG-3, SBX-1: while a command runs, a person may make and change what its child may not.
#[test]
fn a_person_can_change_a_protected_file_while_a_command_runs() {
    let agent = Agent::empty();
    let slow = agent.command(&["call", "Exec", r#"{"executable": "sleep", "args": ["3"]}"#, "--json"]);
    let mut slow = { slow }.spawn().unwrap();
    eventually(Duration::from_secs(30), || agent.has("mono-agent.config.json"));
    agent.run(&["explain", "--json"]).ends(0);
    agent.run(&["init", "--name", "x"]).ends(0);
    assert!(slow.wait().unwrap().success());
    assert!(agent.read("mono-agent.config.json").contains("runtime"));
}
