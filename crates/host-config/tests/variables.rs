//! The environment: precedence, every variable, `.env`.
#![allow(clippy::unwrap_used, reason = "a test")]

mod folder;

use folder::{Folder, config, said};
use host_config::registry::{self, Shape};
use host_config::{Dialect, Origin};
use insta::assert_snapshot;

fn allowed(folder: Folder) -> Option<Vec<String>> {
    folder.load().spec.unwrap().tools.allowed.map(|list| list.names)
}

// POL-9, T6-03: [] and an empty variable are an empty list; nothing is no list.
#[test]
fn lists_of_tools() {
    let list = |list: &str| Folder::with(&config(&format!("  \"tools\": {{ \"allowedTools\": {list} }}")));
    let none = || Folder::with(&config(""));
    assert_eq!(allowed(none()), None);
    assert_eq!(allowed(list("[]")), Some(vec![]));
    assert_eq!(allowed(list("[\"*\"]")).unwrap(), ["*"]);
    assert_eq!(allowed(list("[\"*\", \"Read\"]")).unwrap(), ["*", "Read"]);
    for empty in ["", " "] {
        assert_eq!(allowed(none().env("MONO_AGENT_ALLOWED_TOOLS", empty)), Some(vec![]));
        assert_eq!(allowed(list("[\"Read\"]").env("MONO_AGENT_ALLOWED_TOOLS", empty)), Some(vec![]));
    }
    assert_eq!(allowed(list("[]").env("MONO_AGENT_ALLOWED_TOOLS", "Read, Bash")).unwrap(), ["Read", "Bash"]);
    assert_eq!(allowed(none().env("MONO_AGENT_ALLOWED_TOOLS", "*")).unwrap(), ["*"]);
    let denied =
        none().env("MONO_AGENT_DISALLOWED_TOOLS", "Bash,mcp__db__*").load().spec.unwrap().tools.disallowed;
    let denied = denied.unwrap();
    assert_eq!((denied.names, denied.origin), (vec!["Bash".into(), "mcp__db__*".into()], Origin::Env));
    assert_eq!(denied.place.to_string(), "env MONO_AGENT_DISALLOWED_TOOLS (tools.disallowedTools)");
}

// The lists are handed on as they were written: their owner finds overlaps, duplicates and empty names (POL-3, POL-4).
#[test]
fn odd_lists_are_handed_on() {
    let folder = Folder::with(&config(
        "  \"tools\": { \"allowedTools\": [\"Read\", \"read\", \"\"], \"disallowedTools\": [\"Read\"],\n    \"approvals\": { \"rules\": [{ \"tool\": \"Exec\" }] } }",
    ));
    let spec = folder.load().spec.unwrap();
    let list = spec.tools.allowed.unwrap();
    assert_eq!(list.names, ["Read", "read", ""]);
    assert_eq!(list.places[1].column, Some(39));
    assert_eq!(spec.tools.disallowed.unwrap().names, ["Read"]);
    let approvals = spec.tools.approvals.unwrap();
    assert_eq!(approvals.json["rules"][0]["tool"], "Exec");
    assert_eq!(approvals.place("rules[0].tool").line, Some(5));
    assert_eq!(approvals.place("rules[0].tool").path.unwrap(), "tools.approvals.rules[0].tool");
    assert_eq!(
        allowed(Folder::with(&config("")).env("MONO_AGENT_ALLOWED_TOOLS", "Read,,Bash")).unwrap().len(),
        3
    );
}

// CFG-2: environment, then file, then default; the shell wins over `.env`.
#[test]
fn precedence() {
    let model = |folder: &Folder| {
        let spec = folder.load().spec.unwrap();
        let setting = spec.settings.get("runtime.model").unwrap();
        (spec.runtime.model.unwrap().to_string(), setting.origin)
    };
    let file = || Folder::with(&config(""));
    assert_eq!(model(&file()), ("manual:operator".into(), Origin::File));
    let dotenv = || file().file(".env", "export MONO_AGENT_MODEL='ollama:a' # local\nOPENAI_API_KEY=k\n");
    assert_eq!(model(&dotenv()), ("ollama:a".into(), Origin::Env));
    assert_eq!(model(&dotenv().env("MONO_AGENT_MODEL", "ollama:b")), ("ollama:b".into(), Origin::Env));
    // An empty variable of the shell is still the shell's: it is unset, and `.env` doesn't fill it.
    assert_eq!(model(&dotenv().env("MONO_AGENT_MODEL", "")).0, "manual:operator");
    let named = dotenv().file("other.env", "MONO_AGENT_MODEL=ollama:c").env_file("other.env");
    assert_eq!(model(&named).0, "ollama:c");
    let loaded = dotenv().load();
    let openai = loaded.spec.unwrap().providers.into_iter().find(|p| p.id == "openai").unwrap();
    assert_eq!(openai.api_key.unwrap().expose(), "k");
}

#[test]
fn files_of_variables() {
    assert_snapshot!("env_file_not_there", Folder::with(&config("")).env_file("no.env").said());
    let bad = "A=1\nwhat is this\nMONO_AGENT_MODEL\n";
    assert_snapshot!("bad_lines", Folder::with(&config("")).file(".env", bad).said());
    assert_snapshot!(
        "bad_lines_in_a_named_file",
        Folder::with(&config("")).file("x", "oops").env_file("x").said()
    );
}

#[test]
fn variables_that_do_not_fit() {
    let folder = Folder::with(&config(""))
        .env("MONO_AGENT_MAX_TURNS", "many")
        .env("MONO_AGENT_RETRY_PRIMARY_ATTEMPTS", "11")
        .env("MONO_AGENT_EFFORT", "medum")
        .env("MONO_AGENT_MODEL", "opus")
        .env("MONO_AGENT_SANDBOX_MODE", "on")
        .env("MONO_AGENT_TUI_ENABLED", "perhaps")
        .env("MONO_AGENT_FALLBACKS_JSON", "[{\"model\": \"a\"}, {\"modle\": \"ollama:x\"}]")
        .env("MONO_AGENT_PROVIDERS_JSON", "{ oops }")
        .env("MONO_AGENT_WEB_SEARCH_BACKEND", "searxng,gogle")
        .env("MONO_AGENT_ASK_USER_TIMEOUT_MS", "never")
        .env("MONO_AGENT_TRACE_HEARTBEAT_MS", "1e3")
        .env("MONO_AGENT_SESSION_ROLLOVER_TIMEZONE", "Nowhere");
    assert_snapshot!(folder.said());
}

#[test]
fn variables_that_fit() {
    let spec = Folder::with(&config(""))
        .env("MONO_AGENT_ASK_USER_TIMEOUT_MS", "none")
        .env("MONO_AGENT_FALLBACKS_JSON", "[{\"model\": \"ollama:x\", /* fine */ \"attempts\": 3}]")
        .env("MONO_AGENT_WEB_SEARCH_BACKEND", "searxng,brave")
        .env("MONO_AGENT_TELEGRAM_ALLOWED_CHAT_IDS", "-100,@name")
        .env("MONO_AGENT_COMPACTION_TRIGGER_RATIO", "0.5")
        .env("MONO_AGENT_SANDBOX_WRITABLE_ROOTS", "out,~/o")
        .load()
        .spec
        .unwrap();
    assert_eq!(spec.interaction.ask_user.timeout_ms, None);
    assert_eq!(spec.runtime.fallbacks[0].attempts, 3);
    assert_eq!(spec.tools.web.search.backend, ["searxng", "brave"]);
    assert_eq!(spec.channels.telegram.allowed_chat_ids.len(), 2);
    assert_eq!(spec.runtime.compaction.trigger_ratio, 0.5);
    let roots = &spec.sandbox.writable_roots;
    assert_eq!(roots, &[std::path::Path::new("/w/a/out"), std::path::Path::new("/home/u/o")]);
    assert!(roots.iter().all(|root| spec.sandbox.readable_roots.contains(root)));
}

/// A text that a variable of this shape takes.
fn sample(name: &str, shape: &Shape) -> String {
    match shape {
        Shape::Bool => "true".into(),
        Shape::Int(least, most) => (*least).max(4).min(*most).to_string(),
        Shape::Number(least, _) => least.to_string(),
        Shape::Choice(choices) => choices[0].into(),
        Shape::Model => "ollama:x".into(),
        Shape::EnvName => "SOME_NAME".into(),
        Shape::Url => "http://localhost:1".into(),
        Shape::Zone => "UTC".into(),
        Shape::Rows => "[]".into(),
        Shape::Map | Shape::Open => "{}".into(),
        Shape::List(_) if name.ends_with("_JSON") => "[\"a\"]".into(),
        Shape::List(inner) => sample(name, inner),
        Shape::Either(shapes) => sample(name, &shapes[0]),
        _ => "IDENTITY.md".into(),
    }
}

// CFG-2: every variable of the registry is read, and the setting says so.
#[test]
fn every_variable_works() {
    for field in registry::fields() {
        let Some(name) = field.env else { continue };
        let loaded = Folder::with(&config("")).env(name, &sample(name, &field.shape)).load();
        let setting = loaded.settings.get(field.path).unwrap();
        assert_eq!(setting.origin, Origin::Env, "{name}: {}", said(&loaded));
        let empty = Folder::with(&config("")).env(name, "").load();
        let origin = empty.settings.get(field.path).unwrap().origin;
        assert_eq!(origin == Origin::Env, field.empty_env_is_list, "{name}");
    }
}

// ENG-5, SBX-1: with no config at all everything is allowed in the folder, confined and without network.
#[test]
fn no_config_at_all() {
    let loaded = Folder::default().load();
    assert_eq!(loaded.findings, []);
    assert!(!loaded.has_config);
    let spec = loaded.spec.unwrap();
    assert_eq!((spec.dialect, spec.runtime.model.clone()), (Dialect::Embedded, None));
    assert!(spec.tools.allowed.is_none() && spec.tools.disallowed.is_none());
    let sandbox = &spec.sandbox;
    assert_eq!(format!("{:?} {}", sandbox.mode, sandbox.network.as_str()), "Native none");
    assert_eq!(sandbox.readable_roots, [std::path::Path::new(folder::ROOT)]);
    assert_eq!(sandbox.writable_roots, [std::path::Path::new(folder::ROOT)]);
    assert_eq!(sandbox.deny_write, [".env", ".env.*", ".git/config", ".git/hooks/**"]);
    assert!(!sandbox.unsafe_host_process && !sandbox.is_declared);
    let same = host_config::AgentSpec::embedded_default(std::path::Path::new(folder::ROOT));
    assert_eq!(format!("{:?}", same.sandbox), format!("{sandbox:?}"));
    let model = Folder::default().env("MONO_AGENT_MODEL", "ollama:x").load().spec.unwrap().runtime.model;
    assert_eq!(model.unwrap().to_string(), "ollama:x");
}

#[test]
fn a_named_config_has_its_own_folder() {
    let folder =
        Folder::new().file("b/IDENTITY.md", "x").file("b/my.json", &config("")).config_path("b/my.json");
    let spec = folder.load().spec.unwrap();
    assert_eq!(spec.places.folder, std::path::Path::new("/w/a/b"));
    assert_eq!(spec.places.state, std::path::Path::new("/w/a/b/.mono-agent"));
    assert_eq!(spec.context.identity_path.unwrap(), std::path::Path::new("/w/a/b/IDENTITY.md"));
}

// ENG-2: a usual key goes to the provider that it is of, wherever that was moved to, and to no other.
#[test]
fn keys_of_providers() {
    let provider = |providers: &str, id: &str| {
        let spec = Folder::with(&config(&format!("  \"providers\": {providers}")))
            .env("OPENAI_API_KEY", "usual")
            .env("MY_KEY", "mine")
            .load()
            .spec
            .unwrap();
        let found = spec.providers.into_iter().find(|p| p.id == id).unwrap();
        found.api_key.map(|key| key.expose().to_owned())
    };
    assert_eq!(provider("{}", "openai").unwrap(), "usual");
    assert_eq!(provider(r#"{"openai": {"apiKeyEnv": "MY_KEY"}}"#, "openai").unwrap(), "mine");
    assert_eq!(provider(r#"{"openai": {"baseUrl": "https://else.example/v1"}}"#, "openai").unwrap(), "usual");
    assert_eq!(
        provider(r#"{"x": {"type": "openai_compat", "baseUrl": "https://else.example/v1"}}"#, "x"),
        None
    );
    assert_eq!(provider(r#"{"local": {"y": {"type": "ollama"}}}"#, "y"), None);
}
