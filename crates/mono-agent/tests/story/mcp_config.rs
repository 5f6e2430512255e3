//! `mcp add`, `mcp remove`, `mcp list`: the config is edited as a person would (MCP-17).

use super::agent::Agent;
use serde_json::{Value, json};

const COMMENTED: &str = r#"// our servers
{
  "mcpServers": {
    // the clock
    "time": { "command": "mcp-server-time" }, /* by pip */
    "tracker": {
      "url": "https://tracker.example/mcp" // the new one
    }
    // the end
  }
}
"#;

fn agent(mcp: &str) -> Agent {
    let agent = Agent::scripted(&[json!({"text": "ok"})], json!({"tools": {"mcpConfigPath": "./mcp.json"}}));
    agent.write("mcp.json", mcp);
    agent
}

fn servers(agent: &Agent) -> Value {
    let text = agent.read("mcp.json");
    let plain: String =
        text.lines().map(|line| line.split("// ").next().unwrap().to_owned() + "\n").collect();
    let plain = plain.replace("/* by pip */", "");
    serde_json::from_str::<Value>(&plain).unwrap_or_else(|error| panic!("{error}: {text}"))["mcpServers"]
        .clone()
}

// MCP-17
#[test]
fn a_server_is_added_and_removed_and_comments_and_order_stay() {
    let agent = agent(COMMENTED);
    let added = agent
        .run(&[
            "mcp",
            "add",
            "fs",
            "--json",
            "--env",
            "MODE=read only",
            "--timeout",
            "90000",
            "--",
            "node",
            "fs.js",
            "-x",
        ])
        .ends(0);
    assert_eq!((&added.json()["ok"], &added.json()["added"]), (&json!(true), &json!("fs")));
    let url = ["mcp", "add", "shop", "--url", "https://shop.example/mcp", "--type", "http"];
    agent.run(&[&url[..], &["--header-from-env", "Authorization=PATH", "--required"]].concat()).ends(0);
    let now = servers(&agent);
    assert_eq!(
        now["fs"],
        json!({"command": "node", "args": ["fs.js", "-x"], "env": {"MODE": "read only"}, "timeout": 90000})
    );
    assert_eq!(
        now["shop"],
        json!({"url": "https://shop.example/mcp", "type": "http", "headersFromEnv": {"Authorization": "PATH"}, "required": true})
    );
    let order: Vec<&String> = now.as_object().unwrap().keys().collect();
    assert_eq!(order, ["time", "tracker", "fs", "shop"]);
    agent.run(&["mcp", "remove", "shop"]).ends(0);
    let removed = agent.run(&["mcp", "remove", "fs", "--json"]).ends(0).json();
    assert_eq!(removed["removed"], "fs");
    assert_eq!(agent.read("mcp.json"), COMMENTED.replace("(// the new one)", ""));
    agent.run(&["mcp", "remove", "time"]).ends(0);
    let text = agent.read("mcp.json");
    for comment in ["// our servers", "// the clock", "/* by pip */", "// the new one", "// the end"] {
        assert!(text.contains(comment), "lacks {comment}: {text}");
    }
}

// MCP-17: a first server makes the file, and the config names it; inline servers get company inline.
#[test]
fn a_first_server_goes_where_it_is_read() {
    let agent = Agent::scripted(&[json!({"text": "ok"})], json!({}));
    agent.run(&["mcp", "add", "one", "--", "no-such-program"]).ends(0);
    let config: Value = serde_json::from_str(&agent.read("mono-agent.config.json")).unwrap();
    assert_eq!(config["tools"]["mcpConfigPath"], "./mcp.json");
    let listed = agent.run(&["mcp", "list", "--json"]).ends(1).json();
    assert_eq!(listed["servers"][0]["name"], "one");
    assert_eq!(listed["servers"][0]["state"], "degraded");
    assert!(listed["servers"][0]["error"].as_str().unwrap().contains("no-such-program"), "{listed}");
    let inline = json!({"tools": {"mcpServers": {"a": {"command": "x", "disabled": true}}}});
    let agent = Agent::scripted(&[json!({"text": "ok"})], inline);
    agent.run(&["mcp", "add", "b", "--url", "http://127.0.0.1:9/mcp"]).ends(0);
    assert!(!agent.has("mcp.json"));
    let listed = agent.run(&["mcp", "list", "--json"]).ends(1).json();
    assert_eq!(listed["disabled"], json!(["a"]));
    assert_eq!(listed["servers"][0]["name"], "b");
    agent.run(&["mcp", "remove", "a"]).ends(0);
    let config: Value = serde_json::from_str(&agent.read("mono-agent.config.json")).unwrap();
    assert_eq!(config["tools"]["mcpServers"], json!({"b": {"url": "http://127.0.0.1:9/mcp"}}));
}

// MCP-17
#[test]
fn what_cannot_be_added_or_removed_changes_nothing_and_says_why() {
    let agent = agent(COMMENTED);
    for (args, words) in [
        (&["time", "--", "x"][..], "declared already"),
        (&["a__b", "--", "x"], "name"),
        (&["new"], "--url"),
        (&["new", "--url", "https://x.example", "--", "x"], "cannot be used with"),
        (&["new", "--env", "NOVALUE", "--", "x"], "NAME=VALUE"),
        (&["new", "--env", "LD_PRELOAD=/x.so", "--", "x"], "LD_PRELOAD"),
        (&["new", "--url", "ftp://x.example"], "url"),
        (&["new", "--timeout", "0", "--", "x"], "timeout"),
        (&["new", "--more", "[1]", "--", "x"], "JSON object"),
        (&["new", "--more", "{\"sandboxx\": \"off\"}", "--", "x"], "sandboxx"),
        (&["new", "--header", "X-Y: a\nb", "--url", "https://x.example"], "control character"),
    ] {
        let mut all = vec!["mcp", "add"];
        all.extend(args);
        let answer = agent.run(&all);
        assert!(
            answer.code != 0 && answer.stderr.contains(words),
            "{args:?}: {} {}",
            answer.code,
            answer.stderr
        );
        assert_eq!(agent.read("mcp.json"), COMMENTED, "{args:?}");
    }
    let answer = agent.run(&["mcp", "remove", "nobody", "--json"]).ends(2);
    assert!(
        answer.json()["error"]["message"].as_str().unwrap().contains("time, tracker"),
        "{}",
        answer.stdout
    );
    agent.write("mcp.json", "{ \"mcpServers\": {\n  broken\n} }");
    let answer = agent.run(&["mcp", "add", "new", "--json", "--", "x"]).ends(1);
    assert_eq!(answer.json()["error"]["place"]["line"], 2, "{}", answer.stdout);
    let empty = Agent::empty();
    let answer = empty.run(&["mcp", "add", "new", "--", "x"]);
    assert!(answer.code != 0 && answer.stderr.contains("mono-agent init"), "{}", answer.stderr);
}

// MCP-17: two at once lose nothing.
#[test]
fn two_edits_at_once_both_count() {
    let agent = agent("{}\n");
    let children: Vec<_> = (0..6)
        .map(|i| agent.command(&["mcp", "add", &format!("s{i}"), "--", "x"]).spawn().unwrap())
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(servers(&agent).as_object().unwrap().len(), 6);
}
