//! Plugins: tools under names of their own, gated by the lists (LIB-2).

use super::agent::Agent;
use serde_json::{Value, json};

const PROGRAM: &str = include_str!("../../../../examples/plugin-dice/plugins/dice/dice.py");
const MANIFEST: &str = include_str!("../../../../examples/plugin-dice/plugins/dice/plugin.json");

fn agent(more: Value) -> Agent {
    let agent = Agent::scripted(&[json!({"text": "ok"})], more);
    agent.write("plugins/dice/dice.py", PROGRAM);
    agent.write("plugins/dice/plugin.json", MANIFEST);
    agent
}

/// Writes the manifest with some keys changed.
fn manifest(agent: &Agent, plugin: &str, change: &Value) {
    let mut manifest: Value = serde_json::from_str(MANIFEST).unwrap();
    manifest.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    agent.write(&format!("plugins/{plugin}/plugin.json"), &manifest.to_string());
}

// LIB-2
#[test]
fn a_plugins_tool_has_its_own_name_and_answers_to_the_lists() {
    let with = agent(json!({}));
    let rolled = with.call("RollDice", json!({"sides": 1}));
    assert_eq!((&rolled["settled"], rolled.to_string().contains("[1]")), (&json!("done"), true), "{rolled}");
    assert_eq!(with.call("RollDice", json!({"sides": "six"}))["code"], "invalid_arguments");
    let row = with.explained("RollDice");
    assert_eq!((&row["source"], &row["offered"]), (&json!("plugin:dice"), &json!(true)), "{row}");
    // A tool that the manifest doesn't name is not there.
    let row = with.explained("PeekAtDice");
    assert_eq!(row["offered"], false, "{row}");
    assert_ne!(with.call("PeekAtDice", json!({}))["settled"], "done");

    let denied = agent(json!({"tools": {"disallowedTools": ["RollDice"]}}));
    assert_eq!(denied.call("RollDice", json!({}))["code"], "tool_denied");
    let only = agent(json!({"tools": {"allowedTools": ["rolldice"]}}));
    assert_eq!(only.call("RollDice", json!({"sides": 1}))["settled"], "done");
    assert_eq!(only.explained("Read")["offered"], false);
    let none = agent(json!({"tools": {"allowedTools": []}}));
    assert_eq!(none.call("RollDice", json!({}))["code"], "tool_denied");
}

// LIB-2
#[test]
fn the_config_of_a_plugin_is_held_to_its_schema() {
    let agent = agent(json!({}));
    agent.write("plugins/dice/config.json", r#"{"count": 3}"#);
    let rolled = agent.call("RollDice", json!({"sides": 1}));
    assert!(rolled.to_string().contains("[1, 1, 1]"), "{rolled}");
    for (config, words) in [
        (r#"{"count": "many"}"#, "count"),
        (r#"{"cuont": 2}"#, "cuont"),
        (r#"{"count": 11}"#, "count"),
        ("{", "no JSON"),
    ] {
        agent.write("plugins/dice/config.json", config);
        let row = agent.explained("plugin:dice");
        let why = row["why"].as_str().unwrap();
        assert!(why.contains("config.json") && why.contains(words), "{config}: {row}");
        let called = agent.call("RollDice", json!({}));
        assert!(called["settled"] != "done" && called.to_string().contains("config.json"), "{called}");
    }
}

// LIB-2
#[test]
fn what_is_wrong_with_a_plugin_costs_that_one_and_is_said() {
    for (change, words) in [
        (json!({"tools": ["Read"]}), "name of a tool of ours"),
        (json!({"tools": ["read"]}), "name of a tool of ours"),
        (json!({"tools": ["MCP__a__b"]}), "those of servers"),
        (json!({"tools": ["a b"]}), "a b"),
        (json!({"tools": ["A", "a"]}), "twice"),
        (json!({"tools": []}), "names 0"),
        (json!({"name": "other"}), "must be the same"),
        (json!({"version": ""}), "version"),
        (json!({"sandbox": "of"}), "neither"),
        (json!({"sandbox": {"network": "some"}}), "sandbox.network"),
        (json!({"sandbox": {"readable": []}}), "readable"),
        (json!({"configSchema": {"type": 7}}), "configSchema"),
        (json!({"typo": 1}), "typo"),
    ] {
        let agent = agent(json!({}));
        manifest(&agent, "dice", &change);
        let row = agent.explained("plugin:dice");
        assert!(row["why"].as_str().unwrap().contains(words), "{change}: {row}");
        assert_eq!(agent.explained("Read")["offered"], true);
    }
    // One that can't start is named under each of its tools.
    let agent = agent(json!({}));
    manifest(&agent, "dice", &json!({"args": ["none.py"]}));
    let row = agent.explained("RollDice");
    assert_eq!((&row["source"], &row["offered"]), (&json!("plugin:dice"), &json!(false)), "{row}");
    let report = agent.run(&["validate"]);
    assert!(report.stdout.contains("plugin dice: "), "{}", report.stdout);
}

// LIB-2: a name that two plugins want is refused to both.
#[test]
fn two_plugins_never_share_a_name() {
    let agent = agent(json!({}));
    manifest(&agent, "aaa", &json!({"name": "aaa", "tools": ["rollDICE"]}));
    for plugin in ["plugin:aaa", "plugin:dice"] {
        let row = agent.explained(plugin);
        assert!(row["why"].as_str().unwrap().contains("aaa and dice"), "{row}");
    }
    assert_ne!(agent.call("RollDice", json!({}))["settled"], "done");
}

// LIB-2: the agent can't give itself a plugin, and a folder of its project that has the same name is its own.
#[test]
fn plugins_are_not_written_by_the_agents_tools() {
    let agent = agent(json!({}));
    agent.write("plugins/mine/notes.txt", "mine");
    let write = |path: &str| agent.call("Write", json!({"file_path": path, "content": "{}"}));
    for path in
        ["plugins/dice/dice.py", "plugins/dice/new.py", "plugins/new/plugin.json", "plugins/mine/plugin.json"]
    {
        let answer = write(path);
        assert_ne!(answer["settled"], "done", "{path}: {answer}");
    }
    for path in ["plugins/mine/more.txt", "plugins/readme.txt", "web/plugins/mine/plugin.json"] {
        let answer = write(path);
        assert_eq!(answer["settled"], "done", "{path}: {answer}");
    }
    let command = "echo x > plugins/dice/dice.py; mkdir plugins/new; echo {} > plugins/new/plugin.json; \
                   echo {} > plugins/mine/plugin.json; mv plugins/dice plugins/gone";
    agent.call("Bash", json!({"command": command}));
    assert_eq!(agent.read("plugins/dice/dice.py"), PROGRAM);
    assert!(!agent.has("plugins/new/plugin.json") && !agent.has("plugins/mine/plugin.json"));
    assert_eq!(agent.call("RollDice", json!({"sides": 1}))["settled"], "done");
}
