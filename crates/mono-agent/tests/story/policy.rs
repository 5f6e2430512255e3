//! Which tools there are, and who says so.

use super::agent::Agent;
use serde_json::{Value, json};

fn with_tools(tools: Value) -> Agent {
    Agent::scripted(&[json!({"text": "ok"})], json!({ "tools": tools }))
}

fn offered(agent: &Agent) -> Vec<String> {
    agent
        .explain()
        .into_iter()
        .filter(|row| row["offered"] == true)
        .map(|row| row["name"].as_str().unwrap().to_owned())
        .collect()
}

// POL-1, T6-03
#[test]
fn the_shapes_of_the_allow_list() {
    let all = offered(&with_tools(json!({})));
    for name in ["Read", "Write", "Edit", "Glob", "Grep", "Bash", "Exec"] {
        assert!(all.contains(&name.to_owned()), "{name} in {all:?}");
    }
    assert_eq!(offered(&with_tools(json!({"allowedTools": ["*"]}))), all);
    assert_eq!(offered(&with_tools(json!({"allowedTools": ["*", "Read"]}))), all);
    assert_eq!(offered(&with_tools(json!({"allowedTools": ["Read", "bash"]}))), ["Bash", "Read"]);
    assert!(offered(&with_tools(json!({"allowedTools": []}))).is_empty());
}

// POL-9, T6-03
#[test]
fn the_environment_forms() {
    let mut agent = with_tools(json!({"disallowedTools": ["Bash"]}));
    assert!(!offered(&agent).contains(&"Bash".to_owned()));
    agent.env = vec![("MONO_AGENT_ALLOWED_TOOLS".into(), String::new())];
    assert!(offered(&agent).is_empty());
    agent.env = vec![("MONO_AGENT_ALLOWED_TOOLS".into(), "Read, Grep".into())];
    assert_eq!(offered(&agent), ["Grep", "Read"]);
    agent.env = vec![("MONO_AGENT_DISALLOWED_TOOLS".into(), "*".into())];
    assert!(offered(&agent).is_empty());
    // POL-3 for the merged result
    agent.env = vec![("MONO_AGENT_ALLOWED_TOOLS".into(), "Bash".into())];
    let answer = agent.run(&["explain"]).ends(1);
    assert!(answer.stderr.contains("Tools cannot be both allowed and disallowed."), "{}", answer.stderr);
    assert!(answer.stderr.contains("Bash"), "{}", answer.stderr);
}

// POL-2
#[test]
fn deny_wins_and_explain_says_who() {
    let agent = with_tools(json!({"disallowedTools": ["Bash", "run_history"]}));
    let row = agent.explained("Bash");
    assert_eq!((&row["offered"], &row["by"]), (&json!(false), &json!("policy")));
    assert!(row["why"].as_str().unwrap().contains("disallowedTools"), "{row}");
    assert_eq!(agent.explained("Read")["by"], Value::Null);
}

// POL-3, POL-4, POL-10, POL-12
#[test]
fn faulty_lists_fail_the_agent_and_name_the_place() {
    for (tools, parts) in [
        (
            json!({"allowedTools": ["Read"], "disallowedTools": ["read"]}),
            vec!["both allowed and disallowed", "Read"],
        ),
        (json!({"disallowedTools": ["Bash", "bash"]}), vec!["disallowedTools", "bash"]),
        (json!({"disallowedTools": [""]}), vec!["disallowedTools"]),
        (json!({"disallowedTools": ["Bsah"]}), vec!["Bsah", "Bash"]),
        (json!({"disallowedTools": ["memory_journal"]}), vec!["memory_journal"]),
        (json!({"disallowedTools": ["mcp__db"]}), vec!["mcp__db"]),
        (json!({"disallowedTools": ["mcp__nope__x"]}), vec!["nope"]),
    ] {
        let agent = with_tools(tools.clone());
        for verb in [vec!["explain"], vec!["run", "hi"], vec!["validate"]] {
            let answer = agent.run(&verb).ends(1);
            let all = format!("{}{}", answer.stdout, answer.stderr);
            for part in &parts {
                assert!(all.contains(part), "{tools} {verb:?} lacks {part}: {all}");
            }
        }
    }
}

// POL-8
#[test]
fn an_empty_list_is_said_and_never_silently_ok() {
    let answer = with_tools(json!({"allowedTools": []})).run(&["validate"]).ends(0);
    assert!(answer.stdout.contains("waiting"), "{}", answer.stdout);
    let answer = with_tools(json!({"disallowedTools": ["Bash"]})).run(&["validate"]).ends(0);
    assert!(
        answer.stdout.contains("All tools allowed") && answer.stdout.contains("Bash"),
        "{}",
        answer.stdout
    );
}

// T6-07, TOO-8
#[test]
fn a_hidden_tool_cannot_be_called_by_name_and_the_run_goes_on() {
    let call = |name: &str| json!({"toolCalls": [{"name": name, "arguments": {"file_path": "x.txt", "content": "no"}}]});
    let agent = Agent::scripted(
        &[call("Write"), call("write"), call("mcp__builtin__Write"), json!({"text": "gave up"})],
        json!({"tools": {"disallowedTools": ["Write"]}}),
    );
    let answer = agent.run(&["run", "write x"]).ends(0);
    assert_eq!(answer.stdout.trim(), "gave up");
    assert!(!agent.has("x.txt"));
    let direct = agent.run(&["call", "Write", r#"{"file_path":"x.txt","content":"no"}"#, "--json"]).ends(1);
    assert_eq!(direct.json()["settled"], "refused");
    assert_eq!(direct.json()["code"], "tool_denied");
    assert!(!agent.has("x.txt"));
}
