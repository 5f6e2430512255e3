//! No secret in anything that is written or shown (QUA-5).

use super::agent::Agent;
use serde_json::json;

const SHAPES: &[&str] = &[
    "sk-zz-QRSTUVWX55667788.mnop_77ABcdefghij",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "xoxb-123456789012-abcdefghijklmnop",
    "AKIAIOSFODNN7EXAMPLE",
];
const CONFIGURED: &str = "canary-Wq7-configured-value-42";

// QUA-5, T9-09
#[test]
fn planted_secrets_reach_no_file_and_no_listing() {
    let all: Vec<&str> = SHAPES.iter().copied().chain([CONFIGURED]).collect();
    let joined = all.join(" ");
    let mut agent = Agent::scripted(
        &[
            json!({"text": format!("I saw {joined}"), "toolCalls": [
                {"name": "Bash", "arguments": {"command": format!("printf '%s\\n' '{joined}'; cat keys.txt")}},
                {"name": "Read", "arguments": {"file_path": "keys.txt"}},
                {"name": "Read", "arguments": {"file_path": format!("missing-{CONFIGURED}")}},
                {"name": "Write", "arguments": {"file_path": "copy.txt", "content": joined, (CONFIGURED): 1}},
            ]}),
            json!({"text": format!("The keys are {joined}")}),
        ],
        json!({}),
    );
    agent.env = vec![("SERVICE_API_TOKEN".into(), CONFIGURED.into())];
    agent.write("keys.txt", &joined);
    let answer =
        agent.run(&["run", &format!("My key is {joined}"), "--conversation", "terminal:c", "--json"]).ends(0);
    // What the model wrote goes to the person as it is; what is recorded or shown as activity does not.
    for line in answer
        .lines()
        .iter()
        .filter(|line| matches!(line["type"].as_str(), Some("call_started" | "call_settled")))
    {
        for secret in &all {
            assert!(!line.to_string().contains(secret), "{secret} in {line}");
        }
    }
    agent.run(&["run", "go", "--conversation", "terminal:c"]);
    every_view(&agent, &all);
    let everything = agent.state_bytes();
    assert!(everything.iter().any(|(path, _)| path.ends_with("log.sqlite")), "there is a log");
    for (path, bytes) in everything {
        for secret in &all {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{secret} in {}", path.display());
        }
    }
}

/// Every view of the past, for people and for programs: no secret, and no place of this machine.
fn every_view(agent: &Agent, secrets: &[&str]) {
    let runs = agent.run(&["runs", "list", "--json"]).ends(0).json();
    let ids: Vec<&str> =
        runs["runs"].as_array().unwrap().iter().map(|run| run["runId"].as_str().unwrap()).collect();
    let (first, second) = (ids[1], ids[0]);
    let views: Vec<Vec<&str>> = vec![
        vec!["runs", "list"],
        vec!["runs", "show", first, "--limit", "100"],
        vec!["runs", "search", "key"],
        vec!["runs", "report", "--by", "model"],
        vec!["runs", "audit"],
        vec!["runs", "replay", first],
        vec!["runs", "diff", first, second],
        vec!["sessions", "list"],
        vec!["sessions", "show", "terminal:c"],
        vec!["audit", "list", "--limit", "100"],
        vec!["audit", "verify"],
    ];
    let folder = agent.path().display().to_string();
    for view in views {
        for json in [false, true] {
            let mut args = view.clone();
            args.extend(json.then_some("--json"));
            let answer = agent.run(&args);
            for (stream, text) in [("stdout", &answer.stdout), ("stderr", &answer.stderr)] {
                for secret in secrets.iter().copied().chain([folder.as_str()]) {
                    assert!(!text.contains(secret), "{secret} in {stream} of {args:?}: {text}");
                }
            }
        }
    }
}

// RUN-9, T9-09: the arguments of a call that was refused are looked at by key like all others.
#[test]
fn secrets_in_refused_arguments_are_on_no_disk() {
    let broken = r#"{"token": "BROKENCANARY1""#;
    let agent = Agent::scripted(
        &[
            json!({"text": "", "toolCalls": [
                {"name": "Nope", "arguments": {"apiKey": "KEYCANARY1", "deep": {"cookie": "COOKIECANARY1"}}},
                {"name": "Read", "arguments": {"file_path": "x", "token": "TOKENCANARY1"}},
                {"name": "Read", "arguments": broken},
            ]}),
            json!({"text": "done"}),
        ],
        json!({}),
    );
    agent.run(&["run", "hi"]).ends(0);
    for (path, bytes) in agent.state_bytes() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("CANARY1"), "{}", path.display());
    }
}

fn no_part_anywhere(agent: &Agent, parts: &[&str]) {
    for (path, bytes) in agent.state_bytes() {
        for part in parts {
            let found = bytes.windows(part.len()).any(|window| window == part.as_bytes());
            assert!(!found, "{part} in {}", path.display());
        }
    }
}

// QUA-5, T9-09, TOO-7: what a bound cuts through, what is kept beside the log, and names and ids that a model or a
// provider made up.
#[test]
fn no_half_of_a_secret_no_kept_output_and_no_id_holds_one() {
    let token = "ghp_A1b2C3d4A1b2C3d4A1b2C3d4A1b2C3d4EfGh";
    for padding in 0..7 {
        let line = format!("{CONFIGURED} {token} {CONFIGURED}\n");
        let mut agent = Agent::scripted(
            &[
                json!({"toolCalls": [
                    {"name": "Exec", "arguments": {"executable": "cat", "args": ["long.txt"]}},
                    {"id": format!("call_{CONFIGURED}"), "name": "Glob", "arguments": {"pattern": "*"}},
                    {"id": "call_/home/somebody/x.txt", "name": "Glob", "arguments": {"pattern": "*"}},
                    {"id": token, "name": format!("{}{CONFIGURED}", "x".repeat(190)), "arguments": {}},
                ]}),
                json!({"text": "ok"}),
                json!({"text": "ok"}),
            ],
            json!({}),
        );
        agent.env = vec![("SERVICE_API_TOKEN".into(), CONFIGURED.into())];
        agent.write("long.txt", &format!("{}{}", "x".repeat(padding * 5), line.repeat(4_000)));
        for prompt in ["go", "again"] {
            agent.run(&["run", prompt, "--conversation", "terminal:c"]).ends(0);
        }
        no_part_anywhere(&agent, &["canary-Wq7", "ed-value-42", "ghp_A1b2", "C3d4EfGh", "/home/somebody"]);
        let kept = agent.state_bytes();
        assert!(kept.iter().any(|(path, bytes)| {
            path.to_string_lossy().contains("tool-output") && bytes.windows(10).any(|it| it == b"[redacted]")
        }));
        every_view(&agent, &["canary-Wq7", "ed-value-42", "ghp_A1b2", "C3d4EfGh"]);
    }
}

// QUA-5: a secret of a server's settings is one under any name, and without its scheme.
#[test]
fn secrets_of_servers_are_known_whatever_they_are_called() {
    let (token, password, header) = ("tokval-EEEE-555566", "pgpw-GGGG-777788", "hdraut-FFFF-666677");
    let echo = format!("echo {token} {password} {header} production");
    let agent = Agent::scripted(
        &[json!({"toolCalls": [{"name": "Bash", "arguments": {"command": echo}}]}), json!({"text": "ok"})],
        json!({"tools": {"mcpServers": {
            "a": {"command": "true", "env": {"TOK": token, "DB": format!("postgres://u:{password}@db/x"), "MODE": "production"}},
            "b": {"type": "http", "url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": format!("Bearer {header}")}}
        }}}),
    );
    agent.run(&["run", "go", "--conversation", "terminal:c"]).ends(0);
    no_part_anywhere(&agent, &[token, password, header]);
    let log = agent.state_bytes().into_iter().find(|(path, _)| path.ends_with("log.sqlite")).unwrap().1;
    assert!(log.windows(10).any(|it| it == b"production"), "an ordinary word stays");
}
