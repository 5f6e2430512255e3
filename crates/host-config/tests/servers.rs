//! MCP servers: the file and the inline form.
#![allow(clippy::unwrap_used, reason = "a test")]

mod folder;

use folder::{Folder, config};
use host_config::mcp::{HttpKind, McpTransport, ServerSandbox};
use host_config::{Loaded, McpServerSpec};
use insta::assert_snapshot;
use std::path::Path;

const NAMES_FILE: &str = "  \"tools\": { \"mcpConfigPath\": \"./mcp.json\" }";

fn with_file(text: &str) -> Folder {
    Folder::with(&config(NAMES_FILE)).file("mcp.json", text)
}

fn inline(entries: &str) -> Folder {
    Folder::with(&config(&format!("  \"tools\": {{ \"mcpServers\": {entries} }}")))
}

fn names(loaded: &Loaded) -> Vec<&str> {
    loaded.spec.as_ref().unwrap().mcp.servers.iter().map(|server| server.name.as_str()).collect()
}

fn only(folder: &Folder) -> McpServerSpec {
    let loaded = folder.load();
    let spec = loaded.spec.expect("an agent");
    assert_eq!(spec.mcp.servers.len(), 1, "{:?}", loaded.findings);
    spec.mcp.servers[0].clone()
}

// T1-01
#[test]
fn comments_and_trailing_commas() {
    let loaded = with_file(
        "{ \"mcpServers\": {\n  \"a\": { \"command\": \"one\" },\n  // off for now\n  \
         // \"x\": { \"command\": \"no\" },\n  \"b\": { \"command\": \"two\", },\n} }",
    )
    .load();
    assert_eq!(loaded.findings, []);
    assert_eq!(names(&loaded), ["a", "b"]);
    assert_snapshot!(
        with_file("{ \"mcpServers\": {\n  \"a\": { \"command\": \"one\" }\n  \"b\": {} } }").said()
    );
}

// T1-03
#[test]
fn a_bad_entry_costs_itself_alone() {
    let text = r#"{"mcpServers":{"good":{"command":"x"},"bad":{"args":["x"]},"odd":7,"neither":{},"both":{"command":"x","url":"http://h"},
  "a__b":{"command":"x"},"wrong":{"command":["npx","-y"]},"env":{"command":"x","env":{"N":1}},"far":{"url":"ftp://h/x"},
  "loader":{"command":"x","env":{"LD_PRELOAD":"/x.so"}},"time":{"command":"x","timeout":0},"last":{"url":"http://127.0.0.1:1/mcp"}}}"#;
    for folder in [with_file(text), inline(&text[14..text.len() - 1])] {
        let loaded = folder.load();
        assert_eq!(names(&loaded), ["good", "last"]);
        let broken: Vec<&str> =
            loaded.spec.as_ref().unwrap().mcp.broken.iter().map(|b| b.name.as_str()).collect();
        assert_eq!(
            broken,
            ["bad", "odd", "neither", "both", "a__b", "wrong", "env", "far", "loader", "time"]
        );
        assert!(loaded.spec.as_ref().unwrap().mcp.broken.iter().all(|b| !b.reasons.is_empty()));
    }
    assert_snapshot!(with_file(text).said());
}

#[test]
fn a_required_server_that_is_bad_is_fatal() {
    assert!(with_file(r#"{"mcpServers":{"a":{"command":"x"},"b":{"required":true}}}"#).load().spec.is_none());
}

// T1-05, MCP-3
#[test]
fn a_url_without_type_is_used() {
    let server = only(&with_file(r#"{"mcpServers":{"r":{"url":"http://127.0.0.1:8/mcp"}}}"#));
    let McpTransport::Http(http) = server.transport else { panic!("not remote") };
    assert_eq!((http.kind, http.url.as_str()), (HttpKind::Auto, "http://127.0.0.1:8/mcp"));
    for (kind, want) in [("http", HttpKind::Http), ("streamableHttp", HttpKind::Http), ("sse", HttpKind::Sse)]
    {
        for key in ["type", "transport"] {
            let text = format!(r#"{{"mcpServers":{{"r":{{"url":"http://h/x","{key}":"{kind}"}}}}}}"#);
            let McpTransport::Http(http) = only(&with_file(&text)).transport else { panic!("not remote") };
            assert_eq!(http.kind, want);
        }
    }
}

// T1-07, MCP-5: the same rule in both places; the header goes out as it stands.
#[test]
fn placeholders_and_credentials_in_headers() {
    let entries = r#"{
  "a": { "url": "https://h/x", "headers": { "Authorization": "Bearer ${T_TOKEN}" } },
  "b": { "url": "https://h/x", "headers": { "Authorization": "Bearer abc", "X-Api-Key": "abc", "X-Plain": "on" } },
  "c": { "url": "https://h/x", "headersFromEnv": { "Authorization": "T_TOKEN" } },
  "d": { "url": "https://h/x", "headersFromEnv": { "Authorization": "T_UNSET" } },
  "e": { "url": "https://h/x", "headersFromFile": { "Authorization": "~/token" } },
  "f": { "url": "https://u:p@h/x?api_key=1", "headers": { "Mcp-Session-Id": "1", "A B": "x", "X": "a\nb" } },
  "g": { "command": "x", "args": ["--key", "${KEY}"], "env": { "API_TOKEN": "abc", "OTHER": "$KEY_HERE" } },
  "h": { "command": "sh", "args": ["-c", "echo $HOME ${X}"] }
}"#;
    let set = |folder: Folder| folder.env("T_TOKEN", "Bearer secret");
    let file = set(with_file(&format!("{{ \"mcpServers\": {entries} }}")));
    assert_snapshot!(file.said());
    for folder in [file, set(inline(entries))] {
        let loaded = folder.load();
        let messages: Vec<&str> = loaded.findings.iter().map(|f| f.diagnostic.message.as_str()).collect();
        let placeholder =
            "server \"a\": the header `Authorization` holds `${T_TOKEN}`, which is not expanded";
        assert!(messages.iter().any(|m| m.starts_with(placeholder)), "{messages:?}");
        assert_eq!(names(&loaded), ["a", "b", "c", "e", "g", "h"]);
        let spec = loaded.spec.unwrap();
        let McpTransport::Http(http) = &spec.mcp.servers[0].transport else { panic!("not remote") };
        assert_eq!(http.headers[0].1.expose(), "Bearer ${T_TOKEN}");
        assert!(!format!("{:?}", spec.mcp).contains("Bearer"));
    }
}

// T1-09, MCP-1
#[test]
fn paths_start_from_the_workspace() {
    let text = r#"{"mcpServers":{"a":{"command":"./srv","args":["./data.json","~/d"],"env":{"D":"~/e"}}}}"#;
    let config = config("  \"tools\": { \"mcpConfigPath\": \"./mcp.json\" }")
        .replace("\"manual:operator\"", "\"manual:operator\", \"workspace\": \"sub\"");
    let server = only(&Folder::with(&config).file("sub/mcp.json", text));
    let McpTransport::Stdio(stdio) = server.transport else { panic!("not stdio") };
    assert_eq!(stdio.command, "/w/a/sub/srv");
    assert_eq!(stdio.args, ["./data.json", "/home/u/d"]);
    assert_eq!(stdio.cwd, Path::new("/w/a/sub"));
    assert_eq!(stdio.env[0].1.expose(), "/home/u/e");
    let server = only(&with_file(r#"{"mcpServers":{"a":{"command":"~/bin/srv","cwd":"~/x"}}}"#));
    let McpTransport::Stdio(stdio) = server.transport else { panic!("not stdio") };
    assert_eq!((stdio.command.as_str(), stdio.cwd.as_path()), ("/home/u/bin/srv", Path::new("/home/u/x")));
    let server = only(&with_file(r#"{"mcpServers":{"a":{"command":"npx","cwd":"y"}}}"#));
    let McpTransport::Stdio(stdio) = server.transport else { panic!("not stdio") };
    assert_eq!((stdio.command.as_str(), stdio.cwd.as_path()), ("npx", Path::new("/w/a/y")));
    let homeless = with_file(r#"{"mcpServers":{"a":{"command":"~/bin/srv"}}}"#).without_env("HOME");
    assert_snapshot!(homeless.said());
}

// T1-11
#[test]
fn servers_under_the_wrong_key() {
    let wrong = [
        r#"{"servers":{"a":{"command":"cat"}}}"#,
        r#"{"mcpservers":{"a":{"command":"cat"}}}"#,
        r#"{"mcp_servers":{"a":{"command":"cat"}}}"#,
        r#"{"context_servers":{"a":{"command":"cat"}}}"#,
        r#"{"mcp":{"servers":{"a":{"command":"cat"}}}}"#,
        r#"{"a":{"command":"cat"}}"#,
        r#"{"mcpServers":{"b":{"command":"cat"}},"a":{"command":"cat"}}"#,
        r#"{"mcpServers":{"a":{"commnad":"cat"}}}"#,
        r#"{"mcpServers":{"a":{"command":"cat","arguments":["x"],"environment":{"A":"b"}}}}"#,
        r#"{"mcpServers":{"a":{"command":"cat","autoApprove":["x"],"description":"y"}}}"#,
        r#"{"mcpServers":[{"name":"a","command":"cat"}]}"#,
        r#"[{"command":"cat"}]"#,
        r#"{}"#,
        r#"{"mcpServers":{}}"#,
        r#"{"inputs":[]}"#,
        "",
    ];
    let mut out = String::new();
    for text in wrong {
        let folder = with_file(text);
        let loaded = folder.load();
        let silent = loaded.findings.is_empty();
        let served = loaded.spec.as_ref().is_some_and(|spec| !spec.mcp.servers.is_empty());
        assert!(!silent || served, "0 servers from {text:?} in silence");
        out.push_str(&format!("{text}\n{}\n\n", folder.said()));
    }
    assert_snapshot!(out);
}

// MCP-2
#[test]
fn the_same_name_in_both() {
    let folder = Folder::with(&config(
        "  \"tools\": { \"mcpConfigPath\": \"mcp.json\", \"mcpServers\": {\n    \"a\": { \"command\": \"x\" },\n    \"c\": { \"command\": \"x\" } } }",
    ))
    .file("mcp.json", r#"{"mcpServers":{"a":{"command":"y"},"b":{"command":"z"}}}"#);
    assert_eq!(names(&folder.load()), ["b", "c"]);
    assert_snapshot!(folder.said());
    let twice = with_file(
        "{\"mcpServers\":{\n\"a\":{\"command\":\"x\"},\n\"a\":{\"command\":\"y\"},\"b\":{\"command\":\"x\",\"command\":\"y\"},\"c\":{\"command\":\"x\"}}}",
    );
    assert_eq!(names(&twice.load()), ["c"]);
    assert_snapshot!("same_name_twice_in_one_file", twice.said());
}

// MCP-4
#[test]
fn the_path_is_shown() {
    let loaded = with_file(r#"{"mcpServers":{"a":{"command":"x"}}}"#).load();
    assert_eq!(loaded.spec.unwrap().mcp.path_line().unwrap(), "MCP config: /w/a/mcp.json");
    let missing = Folder::with(&config(NAMES_FILE));
    let loaded = missing.load();
    let line = "an MCP config file is missing: /w/a/mcp.json";
    assert_eq!(loaded.spec.unwrap().mcp.path_line().unwrap(), line);
    assert!(missing.said().contains(line));
    let named =
        Folder::with(&config("")).file("other.json", "{}").env("MONO_AGENT_MCP_CONFIG_PATH", "other.json");
    assert_eq!(named.load().spec.unwrap().mcp.path_line().unwrap(), "MCP config: /w/a/other.json");
    let unnamed = Folder::with(&config("")).file("mcp.json", "{}").said();
    assert!(unnamed.contains("its servers are not used"), "{unnamed}");
}

// MCP-6
#[test]
fn everything_else_of_an_entry() {
    let server = only(&with_file(
        r#"{"mcpServers":{"a":{"command":"x","timeout":5,"required":true,"era":"legacy","disabled":true,
            "resetTimeoutOnProgress":true,"inheritEnv":["HOME"],
            "sandbox":{"readableRoots":["r"],"writableRoots":["~/w"],"network":"all"}}}}"#,
    ));
    assert_eq!((server.timeout_ms, server.required, server.disabled), (5, true, true));
    assert!(server.reset_timeout_on_progress);
    let Some(ServerSandbox::Confined { readable_roots, writable_roots, network }) = server.sandbox else {
        panic!()
    };
    assert_eq!(readable_roots, [Path::new("/w/a/r")]);
    assert_eq!(writable_roots, [Path::new("/home/u/w")]);
    assert_eq!(network.unwrap().as_str(), "all");
    let off = only(&with_file(r#"{"mcpServers":{"a":{"command":"x","sandbox":"off"}}}"#));
    assert_eq!(off.sandbox, Some(ServerSandbox::Off));
    let plain = only(&with_file(r#"{"mcpServers":{"a":{"command":"npx -y thing"}}}"#));
    assert_eq!((plain.timeout_ms, plain.sandbox), (60_000, None));
}

#[test]
fn lists_that_name_servers() {
    let folder = Folder::with(&config(
        r#"  "tools": {
    "mcpServers": { "io": { "command": "x" }, "far": { "url": "https://h/x" }, "near": { "url": "http://localhost:1/x" } },
    "mcpRequestContextServers": ["io", "far", "i0"],
    "continuationServers": ["io", "near", "far"]
  }"#,
    ));
    assert_snapshot!(folder.said());
}
