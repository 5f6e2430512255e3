//! A corpus of broken configs: what each is told, all at once. `// CFG-3`
#![allow(clippy::unwrap_used, reason = "a test")]

mod folder;

use folder::{Folder, config};
use insta::assert_snapshot;

// CFG-3: comments, trailing commas and a byte order mark are fine.
#[test]
fn what_is_accepted() {
    let text = "\u{feff}// head\n{ /* a */ \"runtime\": { \"model\": \"manual:operator\", }, // b\n  \
                \"context\": { \"identityPath\": \"IDENTITY.md\" },\n  \"tools\": { \"allowedTools\": [\"Read\",] },\n}\n";
    let loaded = Folder::with(text).load();
    assert_eq!(loaded.findings, []);
    let spec = loaded.spec.unwrap();
    let list = spec.tools.allowed.unwrap();
    assert_eq!(list.names, ["Read"]);
    // The mark takes no column, and columns are counted in characters.
    assert_eq!(list.places[0].to_string(), "mono-agent.config.json:4:31 (tools.allowedTools[0])");
}

// CFG-3
#[test]
fn text_that_is_no_json() {
    let broken = [
        "",
        "   // nothing\n",
        "{",
        "{\n  \"runtime\": {\n    \"model\": \"a:b\"\n",
        "{ \"a\": 1 \"b\": 2 }",
        "{ a: 1 }",
        "{ 'a': 1 }",
        "{ \"a\": 'x' }",
        "{ \"a\": True }",
        "{ \"a\": None }",
        "{ \"a\": 01 }",
        "{ \"a\": .5 }",
        "{ \"a\": 0x10 }",
        "{ \"a\": 1_000 }",
        "{ \"a\": NaN }",
        "{ \"a\": 1e999 }",
        "{ \"a\": \"never closed\n}",
        "{ \"a\": \"C:\\path\" }",
        "{ \"a\": \"\\ud83d\" }",
        "{ \"a\" = 1 }",
        "{ \"a\": 1; \"b\": 2 }",
        "{ \"a\": 1,, \"b\": 2 }",
        "{ \"a\": [1, 2 }",
        "{ \"a\": { \"b\": 1 ] }",
        "{ \"a\": 1 } }",
        "{ \u{201c}a\u{201d}: 1 }",
        "{\n<<<<<<< HEAD\n  \"a\": 1\n}",
        "# comment\n{}",
        "{ \"a\": /* never closed }",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    ];
    let mut out = String::new();
    for text in broken {
        let said = Folder::with(text).said();
        out.push_str(&format!("{text:?}\n{said}\n\n"));
    }
    assert_snapshot!(out);
    let utf16 = Folder::new().bytes("mono-agent.config.json", &[0xff, 0xfe, b'{', 0, b'}', 0]).said();
    assert!(utf16.contains("UTF-16"), "{utf16}");
    let latin1 = Folder::new().bytes("mono-agent.config.json", b"{\n \"a\": \"caf\xe9\" }").said();
    assert!(latin1.contains("mono-agent.config.json:2:11: byte 0xe9"), "{latin1}");
}

// CFG-3: everything that is wrong is said, with place, path, value and the nearest known key.
#[test]
fn unknown_keys_and_wrong_values() {
    assert_snapshot!(
        Folder::with(
            r#"{
  "runtime": {
    "model": "claude:opus",
    "retry": { "primaryAttempts": 99, "backOffMs": 5 },
    "effort": "hihg",
    "maxTurns": "5",
    "compaction": { "enabled": "true", "triggerRatio": 2 },
    "fallbacks": [{ "model": "gpt-5" }, { "effort": "low" }, "openai:x"],
    "session": { "rolloverTimezone": "Mars/Olympus", "idleTimeoutMs": 1.5 }
  },
  "contxt": { "identityPath": "./IDENTITY.md" },
  "tools": { "allowed_tools": ["Read"], "disallowedTools": "Bash", "mcpConfigPath": 7 },
  "allowedTools": [],
  "sandbox": "off",
  "webhook": { "port": 70000 },
  "zebra": { "a": [1, 2] },
  "artifacts": { "replyFiles": { "maxFileBytes": 99999999, "maxStorageBytes": "lots" } },
  "processJobs": { "enbled": true }
}"#
        )
        .said()
    );
}

// CFG-3
#[test]
fn values_are_quoted_bounded_and_on_one_line() {
    let long = "x".repeat(500);
    let said = Folder::with(&config(&format!(
        "  \"sandbox\": {{ \"mode\": \"a\\nerror: forged\\u001b[2J\\u202e\", \"fallback\": \"{long}\" }}"
    )))
    .said();
    assert_snapshot!(said);
    assert!(said.lines().all(|line| line.chars().count() < 300));
}

// CFG-3: retired keys and variables name what replaced them; what is ignored is a warning.
#[test]
fn retired_and_ignored() {
    let config = config(
        r#"  "memory": { "reflection": { "any": ["thing"] }, "migration": 1, "llm": { "executionMode": "x" } },
  "monitors": { "a": { "b": 1 } }"#,
    )
    .replace("\"model\"", "\"executionMode\": \"pi\", \"fallbackModels\": [\"a:b\"], \"routeSafety\": true, \"model\"");
    let folder = Folder::with(&config)
        .env("MONO_AGENT_ROUTE_SAFETY", "on")
        .env("MONO_AGENT_FALLBACK_MODELS", "")
        .env("MONO_AGENT_MEMORY_REFLECTION_ENABLED", "1")
        .env("MONO_AGENT_ALOWED_TOOLS", "Read")
        .env("MONO_AGENT_MCP_RUN_OUTPUT_DIR", "/x");
    assert_snapshot!(folder.said());
}

#[test]
fn keys_that_come_twice() {
    assert_snapshot!(
        Folder::with(&config(
            "  \"tools\": { \"allowedTools\": [\"Read\"],\n    \"allowedTools\": [\"*\"] }"
        ))
        .said()
    );
}

// CFG-3: a secret in a file is a warning that names the variable; the value is never printed.
#[test]
fn secrets_in_the_file() {
    let config = config(
        r#"  "telegram": { "botToken": "123:SECRETVALUE" },
  "slack": { "botToken": "xoxb-SECRETVALUE-1", "appToken": "xapp-SECRETVALUE-1" },
  "webhook": { "apiKey": "SECRETVALUE" },
  "openaiApi": { "apiKey": "SECRETVALUE" },
  "memory": { "embeddings": { "apiKey": "SECRETVALUE" } },
  "providers": { "openai": { "apiKey": "SECRETVALUE" } },
  "channels": { "plugins": [{ "package": "a2a", "config": { "bearerToken": "SECRETVALUE" } }] }"#,
    );
    let loaded = Folder::with(&config).load();
    let said = folder::said(&loaded);
    assert_snapshot!(said);
    assert!(!said.contains("SECRETVALUE"));
    assert!(!format!("{:?}", loaded.spec).contains("SECRETVALUE"));
    let view: String = host_config::view(&loaded.settings).iter().map(|row| row.line() + "\n").collect();
    assert!(!view.contains("SECRETVALUE"), "{view}");
    assert!(view.contains("telegram.botToken = (set) [file]"), "{view}");
    assert!(view.contains("tui.apiKey = (unset) [default]"), "{view}");
}

#[test]
fn secrets_are_not_shown_when_they_are_misplaced() {
    let said = Folder::with(&config(
        r#"  "webhook": { "api_key": "SECRETVALUE", "apiKey": ["SECRETVALUE"], "prot": "sk-0123456789SECRETVALUE" },
  "apiKey": "SECRETVALUE", "slack": { "bottoken": "SECRETVALUE" }"#,
    ))
    .env("MONO_AGENT_EXECUTION_MODE", "sk-0123456789SECRETVALUE")
    .env("MONO_AGENT_EFFORT", "sk-0123456789SECRETVALUE")
    .said();
    assert!(!said.contains("SECRETVALUE"), "{said}");
}

// CFG-1: only the model and the identity file are needed.
#[test]
fn what_is_needed() {
    assert_snapshot!("nothing", Folder::with("{}").said());
    assert_snapshot!("not_an_object", Folder::with("[1]").said());
    let missing = config("").replace("IDENTITY.md", "~/NOBODY.md");
    assert_snapshot!("identity_not_there", Folder::with(&missing).said());
    assert_snapshot!(
        "skill_not_there",
        Folder::with(
            &config("").replace("\"IDENTITY.md\"", "\"IDENTITY.md\", \"selectedSkills\": [\"a\", \"../b\"]")
        )
        .file("skills/a/SKILL.md", "x")
        .said()
    );
    assert_snapshot!("named_config_not_there", Folder::new().config_path("other.json").said());
    let elsewhere =
        Folder::with("{}").env("MONO_AGENT_MODEL", "ollama:x").env("MONO_AGENT_IDENTITY_PATH", "IDENTITY.md");
    assert!(elsewhere.load().spec.is_some());
}

#[test]
fn rules_between_settings() {
    assert_snapshot!(
        Folder::with(&config(
            r#"  "sandbox": {
    "fallback": "unsafe-host-process",
    "network": { "mode": "localhost", "allowlist": ["*", "https://x.y", "10.0.0.0/8", "ok.example"] }
  },
  "tools": {
    "mcpCallTimeoutMs": 5000, "mcpCallMaxTotalTimeoutMs": 1000,
    "filesystem": { "readableRoots": ["/x"] },
    "mcpSampling": ["nobody"]
  },
  "webhook": { "enabled": true, "host": "0.0.0.0" },
  "openaiApi": { "enabled": false, "host": "0.0.0.0" },
  "continuations": { "host": "10.0.0.1", "namedRoutes": { "a": { "mode": "silent", "conversationId": "x" } } },
  "memory": { "mode": "journal", "writeMode": "capture", "consolidation": { "cron": "0 25 * * *" } },
  "subagents": { "definitions": [{ "name": "a", "description": "b" }] }"#
        ))
        .said()
    );
}

// SBX-7: a broker that can't lend says so; a host or header that can't be is an error at its place.
#[test]
fn a_broker_that_lends_nothing() {
    let said = Folder::with(&config(
        r#"  "credentials": { "broker": [
    { "env": "A_TOKEN", "hosts": ["api.test", "https://x.y"], "headers": ["Authorization", "Host"] }
  ] }"#,
    ))
    .said();
    for words in
        ["no secret is lent in the network mode", "https://x.y", "can't stand in the header \"Host\""]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    let fine = config(
        r#"  "sandbox": { "network": { "mode": "allowlist", "allowlist": ["api.test"] } },
  "credentials": { "broker": [{ "env": "A_TOKEN", "hosts": ["api.test"], "headers": ["Authorization"] }] }"#,
    );
    let said = Folder::with(&fine).said();
    assert!(!said.contains("lent") && !said.contains("credential"), "{said}");
}

// ENG-2, and host-core facts 11.5: a route to an unknown provider says what to add.
#[test]
fn models_and_providers() {
    let with = |model: &str, more: &str| Folder::with(&config(more).replace("manual:operator", model));
    assert_snapshot!("unknown_provider", with("antropic:x", "").said());
    assert_snapshot!(
        "provider_definitions",
        with(
            "acme:llama",
            r#"  "providers": {
    "acme": {}, "b a d": { "type": "ollama" }, "mine": { "type": "openai_compat" },
    "two": { "type": "anthropic", "apiKey": "x", "apiKeyEnv": "Y" },
    "openai": { "baseUrl": "localhost:1", "toolCalling": "maybe" }
  },
  "pricing": { "gpt-5": { "input": 1, "output": 2 }, "openai:x": { "input": -1 } }"#
        )
        .said()
    );
}

#[test]
fn a_provider_that_is_switched_off_is_said_to_be() {
    let config = config("  \"providers\": { \"ollama\": { \"enabled\": false } }")
        .replace("manual:operator", "ollama:x");
    assert_snapshot!(Folder::with(&config).said());
}

// Whatever the bytes are, loading ends with findings or an agent, and every place is in the file.
#[test]
fn a_config_that_is_cut_anywhere() {
    let whole = config(
        "  \"tools\": { \"mcpServers\": { \"a\": { \"command\": \"x\", \"env\": { \"K\": \"v\" } } } }, // end\n  \"pricing\": { \"a:b\": { \"input\": 1.5, \"output\": 2 } }",
    );
    let lines = whole.lines().count() as u32;
    for cut in 0..whole.len() {
        let loaded = Folder::with(&whole[..cut]).load();
        assert!(loaded.spec.is_none() && !loaded.findings.is_empty(), "{cut}");
        for finding in loaded.findings {
            assert!(finding.diagnostic.place.unwrap().line.unwrap() <= lines);
        }
    }
    assert!(Folder::with(&whole).load().spec.is_some());
}

// Texts are literal: what looks like a reference is told, wherever it stands.
#[test]
fn references_are_literal() {
    let config = config(
        r#"  "tools": { "mcpConfigPath": "${HOME}/mcp.json" },
  "telegram": { "botToken": "env:BOT_TOKEN" }, "slack": { "botToken": "${SLACK}" }"#,
    );
    assert_snapshot!(Folder::with(&config).said());
}
