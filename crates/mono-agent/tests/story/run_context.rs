//! The trusted context of a run, through the example server (CTX-1 to CTX-4).

use super::agent::Agent;
use serde_json::{Value, json};
use std::path::PathBuf;

fn example() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/context-server/server.py")
        .canonicalize()
        .unwrap()
}

fn entry() -> Value {
    json!({
        "command": "python3", "args": [example()], "timeout": 60_000, "sandbox": {"network": "localhost"},
        "env": {"MONO_AGENT_MCP_PRODUCING_RUN_ID": "spoofed", "MONO_AGENT_INTERACTION_BRIDGE_TOKEN": "spoofed"},
    })
}

fn agent(turns: &[Value]) -> Agent {
    Agent::scripted(
        turns,
        json!({"tools": {
            "mcpServers": {"ctx": entry(), "plain": entry()},
            "mcpRequestContextServers": ["ctx"],
        }}),
    )
}

fn text(answer: &Value) -> String {
    answer["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

fn outbound(agent: &Agent) -> Vec<PathBuf> {
    let folder = agent.path().join(".mono-agent/artifacts/outbound");
    std::fs::read_dir(folder).map(|all| all.flatten().map(|it| it.path()).collect()).unwrap_or_default()
}

// CTX-1: the host's values win over the entry's, the master bridge is empty, and a server that is not listed
// keeps what its entry says.
#[test]
fn a_listed_server_gets_the_hosts_values_and_no_other_does() {
    let agent = agent(&[json!({"text": "ok"})]);
    let answer = agent.call("mcp__ctx__context", json!({}));
    let context: Value =
        serde_json::from_str(&text(&answer)).unwrap_or_else(|error| panic!("{error}: {answer}"));
    assert_ne!(context["MONO_AGENT_MCP_PRODUCING_RUN_ID"], "spoofed");
    assert_eq!(context["MONO_AGENT_MCP_PRODUCING_CONVERSATION_ID"], "terminal:call");
    for empty in ["MONO_AGENT_INTERACTION_BRIDGE_URL", "MONO_AGENT_INTERACTION_BRIDGE_TOKEN"] {
        assert_eq!(context[empty], "", "{empty}");
    }
    for none in ["MONO_AGENT_MCP_ALLOWED_ATTACHMENT_PATHS", "MONO_AGENT_MCP_ALLOWED_ATTACHMENT_IDENTITIES"] {
        assert_eq!(context[none], "[]", "{none}");
    }
    let output = context["MONO_AGENT_MCP_RUN_OUTPUT_DIR"].as_str().unwrap();
    let run = context["MONO_AGENT_MCP_PRODUCING_RUN_ID"].as_str().unwrap();
    assert!(output.ends_with(&format!("artifacts/outbound/{run}")), "{output}");
    assert!(
        context["MONO_AGENT_INTERACTION_PROGRESS_URL"].as_str().unwrap().starts_with("http://127.0.0.1:")
    );
    let answer = agent.call("mcp__plain__context", json!({}));
    let plain: Value = serde_json::from_str(&text(&answer)).unwrap();
    assert_eq!(
        plain,
        json!({"MONO_AGENT_MCP_PRODUCING_RUN_ID": "spoofed", "MONO_AGENT_INTERACTION_BRIDGE_TOKEN": "spoofed"})
    );
}

// CTX-2: the folder is there while the run goes on, and gone after it; looking alone makes none.
#[test]
fn the_output_folder_goes_with_the_run() {
    let agent = agent(&[json!({"text": "ok"})]);
    let answer = agent.call("mcp__ctx__write_scratch", json!({"name": "a.txt", "text": "scratch"}));
    assert_eq!(answer["settled"], "done", "{answer}");
    let path = PathBuf::from(text(&answer));
    assert!(path.starts_with(agent.path().canonicalize().unwrap()), "{}", path.display());
    assert!(!path.exists() && !path.parent().unwrap().exists(), "{}", path.display());
    agent.run(&["explain"]).ends(0);
    assert_eq!(outbound(&agent), Vec::<PathBuf>::new());
}

fn previews(lines: &[Value]) -> Vec<String> {
    let settled = lines.iter().filter(|it| it["type"] == "call_settled");
    settled.map(|it| it["preview"].as_str().unwrap().to_owned()).collect()
}

// CTX-3: a file of this turn is read, by its path and its identity; in the next turn it is not there any more.
#[test]
fn attachments_are_read_in_their_own_turn_alone() {
    let agent = agent(&[
        json!({"toolCalls": [
            {"name": "mcp__ctx__read_attachment", "arguments": {}},
            {"name": "mcp__ctx__context", "arguments": {}},
        ]}),
        json!({"text": "done"}),
    ]);
    agent.write("note.txt", "the heron is blue");
    let first = previews(&agent.run(&["run", "first", "--attach", "note.txt", "--json"]).ends(0).lines());
    assert!(first[0].contains("the heron is blue"), "{first:?}");
    let context: Value = serde_json::from_str(&first[1]).unwrap();
    let root = context["MONO_AGENT_MCP_ATTACHMENTS_ROOT"].as_str().unwrap();
    let list = |name: &str| -> Value { serde_json::from_str(context[name].as_str().unwrap()).unwrap() };
    let path = list("MONO_AGENT_MCP_ALLOWED_ATTACHMENT_PATHS")[0].as_str().unwrap().to_owned();
    let identity = list("MONO_AGENT_MCP_ALLOWED_ATTACHMENT_IDENTITIES")[0].clone();
    assert!(std::path::Path::new(&path).canonicalize().unwrap().starts_with(root), "{path} {root}");
    assert!(
        identity["path"] == json!(path) && identity["dev"].is_u64() && identity["ino"].is_u64(),
        "{identity}"
    );
    let second = previews(&agent.run(&["run", "second", "--json"]).ends(0).lines());
    assert!(second[0].contains("did not come with this turn"), "{second:?}");
    let context: Value = serde_json::from_str(&second[1]).unwrap();
    assert_eq!(context["MONO_AGENT_MCP_ALLOWED_ATTACHMENT_PATHS"], "[]");
    let answer = agent.call("mcp__ctx__read_attachment", json!({"path": path}));
    assert!(answer.to_string().contains("did not come with this turn"), "{answer}");
}

// CTX-3, CTX-4: within a turn, the file is readable and progress reaches the turn's listener.
#[test]
fn a_turn_lends_its_file_and_hears_of_progress() {
    let agent = agent(&[
        json!({"toolCalls": [{"name": "mcp__ctx__work", "arguments": {}}]}),
        json!({"text": "done"}),
    ]);
    let lines = agent.run(&["run", "go", "--json"]).ends(0).lines();
    let settled = lines.iter().find(|it| it["type"] == "call_settled").unwrap();
    assert!(settled["preview"].as_str().unwrap().contains("posted: 202, 202"), "{settled}");
    let said: Vec<&Value> = lines.iter().filter(|it| it["type"] == "status").collect();
    assert_eq!(said.len(), 2, "{lines:#?}");
    assert_eq!((&said[1]["message"], &said[1]["state"]), (&json!("all of it"), &json!("done")));
    assert_eq!(outbound(&agent), Vec::<PathBuf>::new());
}
