//! What comes from the registry: the schema, the reference page, the view, the starting config.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test of files in the repository")]

mod folder;

use folder::{Folder, config};
use host_config::{
    InitChoices, InitSandbox, InitTools, allow_all_opens, init_files, init_template,
    needs_second_confirmation, not_built_yet, reference_markdown, schema, source, view,
};
use insta::assert_snapshot;
use std::path::Path;

// CFG-2: `UPDATE_DOCS=1 cargo test -p host-config reference` writes the page anew.
#[test]
fn the_reference_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let text = reference_markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == text, "docs/configuration.md is not what the registry says; run with UPDATE_DOCS=1");
}

fn is_valid(text: &str) -> bool {
    let json = source::read(text.as_bytes()).unwrap().root.to_json();
    jsonschema::validator_for(&schema()).unwrap().is_valid(&json)
}

// CFG-2
#[test]
fn the_schema_agrees_with_the_loader() {
    assert!(jsonschema::meta::is_valid(&schema()));
    let good = [
        config(""),
        config(
            r#"  "$schema": "x", "tools": { "mcpServers": { "a": { "command": "x", "sandbox": "off" } } }"#,
        ),
        config(r#"  "providers": { "x": { "type": "ollama" }, "piNative": { "piMaxRetries": 1 } }"#),
        config(r#"  "telegram": { "reactions": { "done": true }, "allowedChatIds": [1, "a"] }"#),
        config(r#"  "interaction": { "askUser": { "timeoutMs": null } }, "monitors": { "a": 1 }"#),
    ];
    for text in &good {
        assert!(is_valid(text), "{text}");
        assert!(Folder::with(text).load().spec.is_some(), "{text}\n{}", Folder::with(text).said());
    }
    let bad = [
        config(r#"  "toolz": {}"#),
        config(r#"  "tools": { "allowedTools": "Read" }"#),
        config(r#"  "webhook": { "port": 70000 }"#),
        config(r#"  "sandbox": { "mode": "on" }"#),
        config(r#"  "cron": { "jobs": [{ "id": "a" }] }"#),
        config(r#"  "telegram": { "reactions": { "done": 1 } }"#),
    ];
    for text in &bad {
        assert!(!is_valid(text), "{text}");
        assert!(Folder::with(text).load().spec.is_none(), "{text}");
    }
}

// CFG-2: `mono-agent config`.
#[test]
fn the_view_says_where_a_value_came_from() {
    let folder = Folder::with(&config(
        r#"  "providers": { "x": { "type": "ollama", "apiKey": "SECRETVALUE", "headers": { "A": "SECRETVALUE" } } },
  "tools": { "mcpServers": { "a": { "url": "https://u:SECRETVALUE@h", "headers": { "A": "SECRETVALUE" } } } },
  "channels": { "plugins": [{ "package": "p", "config": { "token": "SECRETVALUE", "port": 1 } }] }"#,
    ))
    .env("MONO_AGENT_EFFORT", "low")
    .env("MONO_AGENT_SLACK_BOT_TOKEN", "SECRETVALUE");
    let rows = view(&folder.load().settings);
    assert_eq!(rows.len(), host_config::registry::fields().filter(|f| f.is_concrete()).count());
    let lines: Vec<String> = rows.iter().map(host_config::ViewRow::line).collect();
    let wanted = [
        "runtime.model",
        "runtime.effort",
        "runtime.maxTurns",
        "providers ",
        "tools.mcpServers",
        "tools.allowedTools",
        "channels.plugins",
        "slack.botToken",
        "slack.appToken",
        "sandbox.readableRoots",
    ];
    let shown: Vec<&str> = lines
        .iter()
        .map(String::as_str)
        .filter(|line| wanted.iter().any(|want| line.starts_with(want)))
        .collect();
    assert_snapshot!(shown.join("\n"));
    let json = serde_json::to_string(&rows).unwrap();
    assert!(!lines.join("\n").contains("SECRETVALUE") && !json.contains("SECRETVALUE"));
}

// POL-17
#[test]
fn the_starting_config_loads() {
    for model in [None, Some("ollama:qwen3".to_owned())] {
        for tools in [InitTools::AllowAll, InitTools::Only(vec![]), InitTools::Only(vec!["Read".into()])] {
            for sandbox in [InitSandbox::Native, InitSandbox::NativeLocalhost, InitSandbox::Off] {
                let name = Some("A \"quoted\" name".to_owned());
                let choices = InitChoices {
                    name,
                    model: model.clone(),
                    tools: tools.clone(),
                    sandbox,
                    names_mcp_file: false,
                };
                let loaded = Folder::with(&init_template(&choices)).load();
                assert_eq!(loaded.findings, [], "{}", init_template(&choices));
                assert!(loaded.spec.is_some());
            }
        }
    }
    assert_snapshot!(init_template(&InitChoices::default()));
    let files = init_files(&InitChoices::default(), &|name| name == "IDENTITY.md");
    assert_eq!(files.iter().map(|file| file.is_there).collect::<Vec<_>>(), [false, true]);
}

// POL-17
#[test]
fn allow_all_is_named_and_confirmed() {
    let choices = InitChoices::default();
    assert!(!needs_second_confirmation(&choices, true));
    assert!(needs_second_confirmation(&choices, false));
    assert!(needs_second_confirmation(&InitChoices { sandbox: InitSandbox::Off, ..choices.clone() }, true));
    assert!(!needs_second_confirmation(&InitChoices { tools: InitTools::Only(vec![]), ..choices }, false));
    let text = allow_all_opens(&["SlackSendMessage"]).join("\n");
    for word in ["code", "files", "web", "SlackSendMessage"] {
        assert!(text.contains(word));
    }
    assert!(!text.contains("safe") && !text.contains("risk"));
}

#[test]
fn what_is_read_and_not_run_is_listed() {
    let paths = |more: &str| {
        let spec = Folder::with(&config(more)).load().spec.unwrap();
        not_built_yet(&spec).iter().map(|part| part.path).collect::<Vec<_>>()
    };
    assert_eq!(paths(""), [] as [&str; 0]);
    assert_eq!(
        paths(
            r#"  "webhook": { "enabled": true }, "cron": { "enabled": false }, "tui": { "enabled": true }, "memory": {}"#
        ),
        ["webhook.enabled", "tui.enabled"]
    );
    let some = r#"  "memory": { "mode": "lite", "operatorActions": { "enabled": true } }, "continuations": { "enabled": false }"#;
    assert_eq!(paths(some), ["memory.operatorActions.enabled"]);
}
