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
