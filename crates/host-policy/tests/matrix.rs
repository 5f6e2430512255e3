//! The committed matrix: tools × policies × channels. A change in it is a change of what agents may do.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use host_policy::*;
use host_vocab::{ServerName, ToolName};
use serde_json::json;

/// Channels, and whether a person can be asked there (TOO-9).
const CHANNELS: [(&str, bool); 4] =
    [("web", true), ("terminal", true), ("webhook", false), ("scheduled", false)];

fn known() -> KnownNames {
    KnownNames { servers: vec![ServerName::parse("db").unwrap()], plugin_tools: vec![] }
}

fn policies() -> Vec<(&'static str, ToolPolicy)> {
    let make = |allowed: Option<&[&str]>, denied: &[&str], mcp| {
        let strings = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        create_tool_policy(PolicyInput {
            allowed: allowed.map(strings),
            disallowed: strings(denied),
            mcp_tool_policy: mcp,
            known: known(),
            missing: MissingList::AllowAll,
            ..PolicyInput::default()
        })
        .unwrap()
    };
    use McpToolPolicy::{Gated, Open};
    vec![
        ("unset", make(None, &[], Open)),
        ("none", make(Some(&[]), &[], Open)),
        ("none,gated", make(Some(&[]), &[], Gated)),
        ("Read+RunHistory", make(Some(&["Read", "RunHistory"]), &[], Open)),
        ("-Bash-mcp__*", make(None, &["Bash", "mcp__*"], Open)),
        ("-*", make(None, &["*"], Open)),
        ("closed", fail_closed_tool_policy()),
    ]
}

fn rows() -> Vec<(ToolName, Option<ServerName>)> {
    let mut rows: Vec<_> = CATALOGUE.iter().map(|tool| (ToolName::parse(tool.name).unwrap(), None)).collect();
    let db = ServerName::parse("db").unwrap();
    rows.push((ToolName::for_mcp(&db, "drop_table").unwrap(), Some(db)));
    rows
}

fn allowed(policy: &ToolPolicy, name: &ToolName, server: &Option<ServerName>) -> bool {
    match server {
        Some(server) => policy.judge(Subject::External { server, local: name }).allowed,
        None => policy.judge(Subject::Gated(name)).allowed,
    }
}

// POL-1, POL-2, POL-5, POL-6, POL-7: every tool under every policy.
#[test]
fn tools_by_policy() {
    let policies = policies();
    let mut table = format!("{:<24}{:<20}", "tool", "needs");
    policies.iter().for_each(|(name, _)| table += &format!("{name:<17}"));
    for (name, server) in rows() {
        let needs = known_tool(name.as_str()).map_or("a declared server", |tool| tool.needs);
        let needs: String = needs.chars().take(18).collect();
        table += &format!("\n{:<24}{needs:<20}", name.as_str());
        for (_, policy) in &policies {
            table += &format!("{:<17}", if allowed(policy, &name, &server) { "yes" } else { "-" });
        }
    }
    let table: Vec<&str> = table.lines().map(str::trim_end).collect();
    insta::assert_snapshot!(table.join("\n"));
}

// TOO-9, POL-15: the policy is the same on every channel; a call that needs a person is refused where
// nobody can be asked.
#[test]
fn tools_by_channel() {
    let config = json!({"rules": [
        {"tool": "Exec", "decision": "ask"},
        {"tool": "Write", "match": {"file_path": "src/**"}, "decision": "ask"},
        {"tool": "NodeRepl", "decision": "deny"},
        {"tool": "mcp__db__*", "decision": "ask"},
    ]});
    let rules = ApprovalRules::parse(&config, "tools.approvals", &known()).unwrap();
    let (_, policy) = policies().swap_remove(0);
    let mut table = format!("{:<24}", "tool");
    CHANNELS.iter().for_each(|(name, _)| table += &format!("{name:<16}"));
    for (name, server) in rows() {
        table += &format!("\n{:<24}", name.as_str());
        for (_, can_ask) in CHANNELS {
            let cell = match (allowed(&policy, &name, &server), rules.standing(&name).approval) {
                (false, _) | (_, Approval::Deny) => "-",
                (true, Approval::Allow) => "yes",
                (true, Approval::Ask) if can_ask => "asks",
                (true, Approval::Ask) => "asked = no",
            };
            table += &format!("{cell:<16}");
        }
    }
    let table: Vec<&str> = table.lines().map(str::trim_end).collect();
    insta::assert_snapshot!(table.join("\n"));
}
