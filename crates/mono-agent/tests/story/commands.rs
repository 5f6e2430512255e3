//! Commands in the sandbox, through the whole program.

use super::agent::Agent;
use serde_json::json;

fn agent() -> Agent {
    Agent::scripted(&[json!({"text": "ok"})], json!({}))
}

#[test]
fn exec_runs_in_the_workspace_and_nowhere_else() {
    let agent = agent();
    agent.write("a.txt", "inside\n");
    let done = agent.call("Exec", json!({"executable": "cat", "args": ["a.txt"]}));
    assert_eq!((&done["settled"], &done["code"]), (&json!("done"), &json!("ok")), "{done}");
    assert!(done["content"][0]["text"].as_str().unwrap().contains("inside"), "{done}");
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.txt"), "outside-secret").unwrap();
    let path = outside.path().join("secret.txt");
    for call in [
        json!({"executable": "cat", "args": [path]}),
        json!({"executable": "sh", "args": ["-c", format!("echo x > {}/made", outside.path().display())]}),
    ] {
        let refused = agent.call("Exec", call);
        assert_eq!(refused["settled"], "failed", "{refused}");
        assert!(!refused.to_string().contains("outside-secret"), "{refused}");
    }
    assert!(!outside.path().join("made").exists());
}

// T7-11, EXE-7
#[test]
fn a_command_sees_nothing_of_the_hosts_environment() {
    let mut agent = agent();
    agent.env = vec![("T_API_KEY".into(), "abc123xyz-very-secret".into())];
    let script = "env; cat /proc/self/environ /proc/1/environ /proc/$PPID/environ; ps auxwwe; true";
    let done = agent.call("Bash", json!({"command": script}));
    assert!(!done.to_string().contains("abc123xyz"), "{done}");
}

// T6-05
#[test]
fn a_bash_command_line_is_one_string_and_only_the_sandbox_bounds_it() {
    let agent = agent();
    let done = agent.call("Bash", json!({"command": "echo one && echo two | tr a-z A-Z; touch made"}));
    assert_eq!(done["settled"], "done", "{done}");
    assert!(agent.has("made"));
}

// SBX-1, SBX-4
#[test]
fn the_sandbox_says_what_it_is_and_proves_it() {
    let agent = agent();
    let status = agent.run(&["sandbox", "status", "--json"]).ends(0).json();
    assert!(status["engine"].is_string(), "{status}");
    let check = agent.run(&["sandbox", "check", "--json"]).ends(0).json();
    assert_eq!(check["passed"], true, "{check}");
}

#[test]
fn an_env_file_of_the_workspace_cannot_be_written() {
    let agent = agent();
    agent.write(".env", "A=1\n");
    let refused = agent.call("Write", json!({"file_path": ".env", "content": "A=2\n"}));
    assert_eq!(refused["settled"], "failed", "{refused}");
    agent.call("Bash", json!({"command": "echo A=3 > .env; rm -f .env; mv .env x; true"}));
    assert_eq!(agent.read(".env"), "A=1\n");
}

/// A service of this machine that repeats what it was told, for a few calls.
fn echo() -> (u16, std::sync::Arc<std::sync::Mutex<String>>) {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let told = std::sync::Arc::clone(&heard);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().take(8).flatten() {
            let (mut head, mut byte) = (Vec::new(), [0; 1]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
                head.push(byte[0]);
            }
            told.lock().unwrap().push_str(&String::from_utf8_lossy(&head));
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", head.len());
            let _ = stream.write_all(answer.as_bytes()).and_then(|()| stream.write_all(&head));
        }
    });
    (port, heard)
}

// SBX-7
#[test]
fn a_command_uses_a_secret_that_nobody_sees() {
    const SECRET: &str = "tk-0123456789-very-secret";
    let (port, heard) = echo();
    let config = json!({
        "sandbox": {"network": {"mode": "allowlist", "allowlist": ["localhost"]}},
        "credentials": {"broker": [{"env": "API_TOKEN", "hosts": ["localhost"], "headers": ["X-Api-Key"]}]}
    });
    let mut agent = Agent::scripted(&[json!({"text": "ok"})], config);
    agent.env = vec![("API_TOKEN".into(), SECRET.into())];
    let status = agent.run(&["sandbox", "status", "--json"]).ends(0).json();
    assert_eq!(status["credentials"], json!(["API_TOKEN to localhost in X-Api-Key"]), "{status}");
    let script = format!(
        "echo \"has $API_TOKEN\"; env; curl -sS -m 20 -H \"X-Api-Key: $API_TOKEN\" -H \"X-Other: $API_TOKEN\" http://localhost:{port}/"
    );
    let done = agent.call("Bash", json!({"command": script}));
    assert_eq!(done["settled"], "done", "{done}");
    let heard = heard.lock().unwrap().clone();
    assert!(heard.contains(&format!("x-api-key: {SECRET}")), "{heard}\n{done}");
    assert_eq!(heard.matches(SECRET).count(), 1, "{heard}");
    let text = done.to_string();
    assert!(text.contains("has placeholder-") && text.contains("x-api-key: ****"), "{done}");
    assert!(!text.contains(SECRET), "{done}");
    // In the mode "none" nobody could put it in, so nothing is lent, and `validate` says so.
    let config = json!({
        "credentials": {"broker": [{"env": "API_TOKEN", "hosts": ["localhost"], "headers": ["X-Api-Key"]}]}
    });
    let mut agent = Agent::scripted(&[json!({"text": "ok"})], config);
    agent.env = vec![("API_TOKEN".into(), SECRET.into())];
    let said = agent.run(&["validate"]);
    assert!(format!("{}{}", said.stdout, said.stderr).contains("no secret is lent"), "{}", said.stdout);
    let done = agent.call("Bash", json!({"command": "echo \"[$API_TOKEN]\""}));
    assert!(done.to_string().contains("[]"), "{done}");
}

// EXE-2: what is said of a command that took too long is true.
#[test]
fn a_timeout_says_whether_the_program_itself_was_over() {
    let agent = Agent::scripted(&[json!({"text": "ok"})], json!({}));
    let text = |command: &str| {
        let settled = agent.call("Bash", json!({"command": command, "timeout_ms": 700}));
        assert_eq!(settled["code"], "timeout", "{settled}");
        settled.to_string()
    };
    assert!(text("sleep 20").contains("it and everything that it started was ended"));
    assert!(text("sleep 20 & echo over").contains("the program itself had ended"));
}
