//! Rules on single calls.

use super::agent::Agent;
use serde_json::json;

fn agent(approvals: serde_json::Value) -> Agent {
    Agent::scripted(&[json!({"text": "ok"})], json!({"tools": {"approvals": approvals}}))
}

// TOO-9: nobody to ask is a no.
#[test]
fn a_call_that_asks_is_denied_where_nobody_can_be_asked() {
    let agent = agent(json!({"rules": [{"tool": "Write", "decision": "ask"}]}));
    let refused = agent.call("Write", json!({"file_path": "x", "content": "y"}));
    assert_eq!(
        (&refused["settled"], &refused["code"]),
        (&json!("refused"), &json!("approval_denied")),
        "{refused}"
    );
    assert!(!agent.has("x"));
    assert_eq!(agent.explained("Write")["asks"], true);
    assert_eq!(agent.explained("Read")["asks"], false);
}

// TOO-9
#[test]
fn rules_look_at_arguments_and_deny_wins() {
    let agent = agent(json!({"rules": [
        {"tool": "Exec", "argv": ["git", "push", "**"], "decision": "deny"},
        {"tool": "Exec", "argv": ["git", "**"], "decision": "allow"},
        {"tool": "Bash", "decision": "deny"},
    ]}));
    let denied = agent.call("Exec", json!({"executable": "git", "args": ["push", "--force"]}));
    assert_eq!(denied["code"], "approval_denied", "{denied}");
    let allowed = agent.call("Exec", json!({"executable": "git", "args": ["--version"]}));
    assert_eq!(allowed["settled"], "done", "{allowed}");
    let row = agent.explained("Bash");
    assert_eq!((&row["offered"], &row["by"]), (&json!(false), &json!("approval")), "{row}");
}

#[test]
fn a_rule_for_no_tool_is_an_error_with_its_place() {
    let agent = agent(json!({"rules": [{"tool": "Wirte", "decision": "ask"}]}));
    let answer = agent.run(&["validate"]).ends(1);
    let all = format!("{}{}", answer.stdout, answer.stderr);
    assert!(all.contains("tools.approvals.rules[0]") && all.contains("Write"), "{all}");
}

// TOO-9: a rule with a slip of the pen never lets anything through.
#[test]
fn a_rule_for_an_argument_that_the_tool_lacks_is_an_error_with_its_place() {
    let agent = agent(json!({"rules": [
        {"tool": "Read", "match": {"path": "*"}, "decision": "ask"},
        {"tool": "Write", "match": {"file_pth": "secret/**"}, "decision": "deny"},
    ]}));
    for arguments in [&["validate"][..], &["call", "Write", r#"{"file_path": "secret/x", "content": "y"}"#]] {
        let answer = agent.run(arguments).ends(1);
        let all = format!("{}{}", answer.stdout, answer.stderr);
        assert!(all.contains("rules[1]") && all.contains("did you mean `file_path`?"), "{all}");
    }
    assert!(!agent.has("secret/x"));
}
