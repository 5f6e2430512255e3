//! Resources and prompts of servers, and the agent's model for servers, through the whole program (MCP-14, POL-7).

use super::agent::Agent;
use serde_json::{Value, json};

fn server() -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/hostile.py");
    json!({"command": "python3", "args": ["-u", script, "library"], "timeout": 60_000, "sandbox": "off"})
}

fn with(turns: &[Value], tools: Value) -> Agent {
    let mut all = json!({"mcpServers": {"books": server()}});
    all.as_object_mut().unwrap().extend(tools.as_object().unwrap().clone());
    Agent::scripted(turns, json!({"tools": all}))
}

#[test]
fn a_resource_and_a_prompt_reach_the_model() {
    let agent = with(
        &[
            json!({"toolCalls": [{"name": "McpResources", "arguments": {}}]}),
            json!({"toolCalls": [{"name": "McpResources", "arguments": {"uri": "book://one"}}],
                "expect": [{"contains": "book://one"}]}),
            json!({"toolCalls": [{"name": "McpPrompts", "arguments": {"name": "review", "arguments": {"book": "one"}}}],
                "expect": [{"contains": "page one"}]}),
            json!({"text": "done", "expect": [{"contains": "Review one."}]}),
        ],
        json!({}),
    );
    assert_eq!(agent.run(&["run", "read"]).ends(0).stdout.trim(), "done");
}

// POL-5, POL-7: the lists gate both tools, and a denied server is in neither.
#[test]
fn lists_gate_them_and_a_denied_server_is_not_in_them() {
    let turns = [json!({"text": "x"})];
    assert_eq!(with(&turns, json!({})).explained("McpResources")["offered"], true);
    let row = with(&turns, json!({"disallowedTools": ["McpResources"]})).explained("McpResources");
    assert_eq!((&row["offered"], &row["by"]), (&json!(false), &json!("policy")), "{row}");
    let row = with(&turns, json!({"allowedTools": []})).explained("McpPrompts");
    assert_eq!(row["by"], "policy", "{row}");
    for deny in ["mcp__books__*", "mcp__*"] {
        let row = with(&turns, json!({"disallowedTools": [deny]})).explained("McpResources");
        assert_eq!((&row["offered"], &row["by"]), (&json!(false), &json!("capability")), "{row}");
    }
    // One denied tool is no denied server.
    let row = with(&turns, json!({"disallowedTools": ["mcp__books__ping"]})).explained("McpResources");
    assert_eq!(row["offered"], true, "{row}");
}

// MCP-14: what a listed server has written is a run of its own without tools; one that is not listed gets nothing.
#[test]
fn a_listed_server_uses_the_model_on_the_record() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/hostile.py");
    let asks =
        json!({"command": "python3", "args": ["-u", script, "asks"], "timeout": 60_000, "sandbox": "off"});
    let turns = [
        json!({"toolCalls": [{"name": "mcp__asks__sample", "arguments": {}}]}),
        json!({"text": "a haiku"}),
        json!({"text": "done", "expect": [{"contains": "a haiku"}]}),
    ];
    let agent =
        Agent::scripted(&turns, json!({"tools": {"mcpServers": {"asks": asks}, "mcpSampling": ["asks"]}}));
    let lines = agent.run(&["run", "go", "--json"]).ends(0).lines();
    assert_eq!(lines.last().unwrap()["text"], "done", "{lines:#?}");
    let runs = agent.run(&["runs", "list", "--json"]).ends(0).json()["runs"].as_array().unwrap().clone();
    let of_server = runs.iter().find(|run| run["sourceDetail"] != "run").unwrap();
    let parent = runs.iter().find(|run| run["sourceDetail"] == "run").unwrap();
    let detail = of_server["sourceDetail"].as_str().unwrap();
    assert!(
        detail.starts_with("sampling by asks in ") && detail.contains(parent["runId"].as_str().unwrap()),
        "{detail}"
    );
    let told = agent.run(&["runs", "show", of_server["runId"].as_str().unwrap(), "--json"]).ends(0).stdout;
    assert!(told.contains("write"), "{told}");
    let off = Agent::scripted(
        &[turns[0].clone(), json!({"text": "done"})],
        json!({"tools": {"mcpServers": {"asks": asks}}}),
    );
    let lines = off.run(&["run", "go", "--json"]).ends(0).lines();
    let settled = lines.iter().find(|line| line["type"] == "call_settled").unwrap();
    assert!(!settled["preview"].as_str().unwrap().contains("haiku"), "{settled}");
    assert_eq!(off.run(&["runs", "list", "--json"]).json()["runs"].as_array().unwrap().len(), 1);
}

// MCP-14: roots give the workspace.
#[test]
fn a_server_is_told_the_workspace() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/hostile.py");
    let entry = json!({"command": "python3", "args": ["-u", script, "modern-library"], "timeout": 60_000, "sandbox": "off"});
    let agent = Agent::scripted(&[json!({"text": "x"})], json!({"tools": {"mcpServers": {"books": entry}}}));
    let answer = agent.call("McpResources", json!({"uri": "book://asks"})).to_string();
    let folder = agent.path().canonicalize().unwrap();
    assert!(answer.contains(&format!("file://{}", folder.display())), "{answer}");
}
