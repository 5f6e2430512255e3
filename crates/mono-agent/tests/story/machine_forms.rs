//! The machine forms are contracts: one object, nothing else, the documented exit codes.

use super::agent::Agent;
use serde_json::{Value, json};

fn agent() -> Agent {
    let agent = Agent::scripted(&[json!({"text": "ok"})], json!({}));
    agent.write("a.txt", "alpha\n");
    agent
}

// CLI-1
#[test]
fn call_json() {
    let agent = agent();
    let done = agent.run(&["call", "Read", r#"{"file_path":"a.txt"}"#, "--json"]).ends(0).json();
    let keys: Vec<&String> = done.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["settled", "code", "content", "structuredContent", "durationMs"]);
    assert_eq!((&done["settled"], &done["code"]), (&json!("done"), &json!("ok")));
    assert!(done["content"][0]["text"].as_str().unwrap().contains("alpha"));
    assert!(done["durationMs"].is_u64());
    let refused = agent.run(&["call", "Read", r#"{"path":"a.txt"}"#, "--json"]).ends(1).json();
    assert_eq!((&refused["settled"], &refused["code"]), (&json!("refused"), &json!("invalid_arguments")));
    let unknown = agent.run(&["call", "Nope", "{}", "--json"]).ends(1).json();
    assert_eq!(unknown["code"], "unknown_tool");
    let failed = agent.run(&["call", "Read", r#"{"file_path":"nope.txt"}"#, "--json"]).ends(1).json();
    assert_eq!(failed["settled"], "failed");
    // broken JSON is the caller's misuse
    let misuse = agent.run(&["call", "Read", "{\"file_path\":", "--json"]).ends(2);
    assert_eq!(misuse.json()["ok"], false);
}

#[test]
fn call_takes_large_input_from_a_file_or_standard_input() {
    let agent = agent();
    let content = "x".repeat(300_000);
    agent.write("args.json", &json!({"file_path": "big.txt", "content": content}).to_string());
    agent.run(&["call", "Write", "--input-file", "args.json", "--json"]).ends(0);
    assert_eq!(agent.read("big.txt").len(), 300_000);
    let input = json!({"file_path": "big2.txt", "content": content}).to_string();
    agent.run_with(&["call", "Write", "-", "--json"], &input).ends(0);
    assert_eq!(agent.read("big2.txt").len(), 300_000);
}

// CLI-1
#[test]
fn explain_json() {
    let explained = agent().run(&["explain", "--json"]).ends(0).json();
    let rows = explained["tools"].as_array().unwrap();
    assert!(rows.len() >= 8);
    for row in rows {
        let keys: Vec<&String> = row.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["name", "source", "offered", "asks", "by", "why"]);
        assert!(row["offered"].is_boolean() && row["asks"].is_boolean());
        let by = &row["by"];
        let known = ["policy", "source", "channel", "sandbox", "approval", "capability", "limit", "dialect"];
        assert!(by.is_null() || known.contains(&by.as_str().unwrap()), "{row}");
        assert_eq!(by.is_null(), row["offered"] == true, "{row}");
        assert!(!row["why"].as_str().unwrap().is_empty(), "{row}");
    }
    // the other dialect's tools are named as such
    let respond = rows.iter().find(|row| row["name"] == "Respond" || row["name"] == "respond");
    assert_eq!(respond.map(|row| row["by"].clone()), Some(json!("dialect")));
}

#[test]
fn tools_json_is_what_the_model_sees_and_small() {
    let tools = agent().run(&["tools", "--json"]).ends(0).json();
    for tool in tools["tools"].as_array().unwrap() {
        assert!(
            tool["name"].is_string() && tool["description"].is_string() && tool["inputSchema"].is_object(),
            "{tool}"
        );
    }
    let bytes = tools["promptBytes"].as_u64().unwrap();
    assert!(bytes <= 12_000, "the prompt of a default agent has {bytes} bytes");
}

// CLI-1
#[test]
fn misuse_ends_with_two_and_unknown_commands_get_help() {
    let agent = agent();
    for args in [vec!["nonesuch"], vec!["run"], vec!["explain", "--nope"], vec![]] {
        let answer = agent.run(&args).ends(2);
        assert!(answer.stderr.contains("Usage"), "{args:?}: {}", answer.stderr);
    }
    let help = agent.run(&["--help"]).ends(0);
    for verb in [
        "init", "chat", "run", "start", "stop", "restart", "status", "logs", "validate", "config", "tools",
        "explain", "call",
    ] {
        assert!(help.stdout.contains(verb), "{verb}");
    }
    assert!(agent.run(&["completions", "bash"]).ends(0).stdout.contains("mono-agent"));
}

#[test]
fn errors_are_one_object_under_json() {
    let agent = Agent::empty();
    agent.write("mono-agent.config.json", "{");
    let answer = agent.run(&["explain", "--json"]).ends(1);
    let object: Value = answer.json();
    assert_eq!(object["ok"], false);
    assert!(object["error"]["message"].is_string(), "{object}");
}

// CLI-1
#[test]
fn a_mistyped_command_line_is_one_object_under_json_too() {
    let agent = Agent::empty();
    for args in [&["explain", "--nope", "--json"][..], &["--json", "run"], &["--json", "nonesuch"]] {
        let answer = agent.run(args).ends(2);
        let object: Value = answer.json();
        assert_eq!(object["error"]["kind"], "usage", "{object}");
        assert!(object["error"]["hints"].to_string().contains("Usage"), "{object}");
    }
    // Behind `--` everything is a word of the prompt.
    assert_eq!(agent.run(&["nonesuch", "--", "--json"]).ends(2).stdout, "");
}

// CLI-1: a word that is no channel is not judged as one.
#[test]
fn a_channel_that_is_not_there_is_misuse() {
    let agent = agent();
    for verb in [&["explain"][..], &["tools"], &["call", "ListDir"]] {
        let args: Vec<&str> = verb.iter().copied().chain(["--channel", "termnal", "--json"]).collect();
        let answer = agent.run(&args).ends(2);
        assert!(
            answer.json()["error"]["message"].as_str().unwrap().contains("openai-api"),
            "{}",
            answer.stdout
        );
    }
    agent.run(&["explain", "--channel", "telegram"]).ends(0);
}
