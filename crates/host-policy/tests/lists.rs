//! The two lists: shapes, faults, old names, external tools, words.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use host_policy::*;
use host_vocab::{ServerName, ToolName};

fn known() -> KnownNames {
    KnownNames {
        servers: vec![ServerName::parse("db").unwrap(), ServerName::parse("work-control").unwrap()],
        plugin_tools: vec![ToolName::parse("PluginThing").unwrap()],
    }
}

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

fn input(allowed: Option<&[&str]>, disallowed: &[&str]) -> PolicyInput {
    PolicyInput {
        allowed: allowed.map(strings),
        disallowed: strings(disallowed),
        known: known(),
        missing: MissingList::AllowAll,
        ..PolicyInput::default()
    }
}

fn make(allowed: Option<&[&str]>, disallowed: &[&str]) -> Result<ToolPolicy, ToolPolicyError> {
    create_tool_policy(input(allowed, disallowed))
}

fn gated(allowed: Option<&[&str]>, disallowed: &[&str]) -> ToolPolicy {
    let mut input = input(allowed, disallowed);
    input.mcp_tool_policy = McpToolPolicy::Gated;
    create_tool_policy(input).unwrap()
}

fn has(policy: &ToolPolicy, name: &str) -> bool {
    policy.judge(Subject::Gated(&ToolName::parse(name).unwrap())).allowed
}

fn external(policy: &ToolPolicy, server: &str, tool: &str) -> Judgement {
    let server = ServerName::parse(server).unwrap();
    let local = ToolName::for_mcp(&server, tool).unwrap();
    policy.judge(Subject::External { server: &server, local: &local })
}

fn why(policy: &ToolPolicy, name: &str) -> String {
    policy.judge(Subject::Gated(&ToolName::parse(name).unwrap())).why
}

// POL-1, T6-03
#[test]
fn allow_list_shapes() {
    for (list, read, bash) in [
        (None, true, true),
        (Some(&["*"][..]), true, true),
        (Some(&["*", "Read"][..]), true, true),
        (Some(&["Read"][..]), true, false),
        (Some(&[][..]), false, false),
    ] {
        let policy = make(list, &[]).unwrap();
        assert_eq!((has(&policy, "Read"), has(&policy, "Bash")), (read, bash), "{list:?}");
    }
}

// POL-2
#[test]
fn deny_wins_under_allow_all_too() {
    for allowed in [None, Some(&["*"][..]), Some(&["*", "Read"][..])] {
        let policy = make(allowed, &["Bash"]).unwrap();
        assert!(!has(&policy, "Bash") && has(&policy, "Write"));
    }
    let nothing = make(Some(&["Read", "Remember"]), &["*"]).unwrap();
    assert!(!has(&nothing, "Read") && !has(&nothing, "Remember"));
    assert!(external(&nothing, "db", "drop_table").allowed, "external ones need mcp__*");
    assert!(why(&nothing, "Read").contains("tools.disallowedTools[0]"));
}

// POL-3
#[test]
fn overlap_is_refused_after_folding() {
    for (allowed, disallowed, name) in [
        (&["Read", "Bash"][..], &["Bash"][..], "Bash"),
        (&["bash"][..], &["BASH"][..], "Bash"),
        (&["run_history"][..], &["RunHistory"][..], "RunHistory"),
        (&["telegram_send_document"][..], &["telegram_send_photo"][..], "TelegramSendFile"),
        (&["mcp__mono-agent-memory-journal__MemoryJournal"][..], &["MemoryJournal"][..], "MemoryJournal"),
        (&["mcp__DB__drop"][..], &["mcp__db__drop"][..], "mcp__db__drop"),
        (&["mcp__db__*"][..], &["mcp__db__*"][..], "mcp__db__*"),
    ] {
        let error = make(Some(allowed), disallowed).unwrap_err();
        assert_eq!(error.code.as_str(), "invalid_tool_policy");
        assert_eq!(error.message, "Tools cannot be both allowed and disallowed.");
        assert_eq!(error.names, [name], "{allowed:?} {disallowed:?}");
        assert!(error.to_string().contains(name));
        assert!(error.problems[0].place.starts_with("tools.disallowedTools["));
    }
}

// POL-3
#[test]
fn a_wildcard_against_a_name_is_no_overlap_and_deny_wins() {
    assert!(!has(&make(Some(&["*"]), &["Read"]).unwrap(), "Read"));
    assert!(!has(&make(Some(&["Read"]), &["*"]).unwrap(), "Read"));
    let journal = make(Some(&["MemoryJournal"]), &["mcp__mono-agent-memory-journal__*"]).unwrap();
    assert!(!has(&journal, "MemoryJournal"));
    let db = gated(Some(&["mcp__db__read"]), &["mcp__db__*"]);
    assert!(!external(&db, "db", "read").allowed);
}

// POL-4
#[test]
fn duplicates_and_empty_entries() {
    for (list, place) in [
        (&["Read", "read"][..], "tools.allowedTools[1]"),
        (&["Read", "Bash", "Read"][..], "tools.allowedTools[2]"),
        (&[""][..], "tools.allowedTools[0]"),
        (&["Read", "  "][..], "tools.allowedTools[1]"),
        (&[" Read"][..], "tools.allowedTools[0]"),
        (&["*", "*"][..], "tools.allowedTools[1]"),
    ] {
        let error = make(Some(list), &[]).unwrap_err();
        assert_eq!(error.code, ToolPolicyCode::InvalidToolPolicy);
        assert_eq!(error.problems[0].place, place, "{list:?}");
    }
    // As written: two old names of one tool may stand together, and an old one beside the new.
    let both = make(None, &["telegram_send_document", "telegram_send_photo"]).unwrap();
    assert!(!has(&both, "TelegramSendFile"));
    assert!(make(Some(&["run_history", "RunHistory"]), &[]).is_ok());
}

// POL-5
#[test]
fn gated_is_closed_from_the_other_side() {
    let none = make(Some(&[]), &[]).unwrap();
    for tool in CATALOGUE.iter().filter(|tool| tool.gate == Gate::Gated) {
        assert!(!has(&none, tool.name), "{}", tool.name);
    }
    assert!(!has(&none, "ToolOfNextYear"));
    // A source can't talk its tool past the lists.
    let bash = ToolName::parse("Bash").unwrap();
    assert!(!none.judge(Subject::OwnSwitch(&bash)).allowed);
    assert!(!has(&make(Some(&["Read"]), &["ReadSkill"]).unwrap(), "ReadSkill"));
}

// POL-6
#[test]
fn own_switches_and_external_tools_stay() {
    let none = make(Some(&[]), &["MemoryRecall", "askcollaborator"]).unwrap();
    for name in ["MemoryRecall", "AskCollaborator", "ToolSearch"] {
        let judgement = none.judge(Subject::OwnSwitch(&ToolName::parse(name).unwrap()));
        assert!(judgement.allowed && judgement.why.contains("switch"), "{judgement:?}");
    }
    assert!(external(&none, "db", "read").allowed);
    assert!(!has(&none, "MemoryJournal"));
    let warnings = none.describe(&DescribeFacts::default()).warnings;
    assert_eq!(warnings.len(), 2);
    assert!(warnings[0].hint.as_ref().unwrap().contains("memory.recallTool.enabled"));
}

// POL-7, T6-01
#[test]
fn external_tools_can_be_denied_in_each_spelling() {
    for entry in ["mcp__db__drop_table", "mcp__DB__Drop_Table", "mcp__db__*", "mcp__*", "MCP__db__*"] {
        let policy = make(None, &[entry]).unwrap();
        let judgement = external(&policy, "db", "drop_table");
        assert!(!judgement.allowed, "{entry}");
        assert!(judgement.why.contains("tools.disallowedTools[0]"), "{}", judgement.why);
        assert_eq!(external(&policy, "work-control", "x").allowed, entry != "mcp__*");
    }
    // The remote spelling is folded as MCP-9 folds it.
    assert!(!external(&make(None, &["mcp__db__drop.table"]).unwrap(), "db", "drop.table").allowed);
    let servers = vec![ServerName::parse("a").unwrap(), ServerName::parse("a_").unwrap()];
    let known = KnownNames { servers, plugin_tools: vec![] };
    let odd = create_tool_policy(PolicyInput { known, ..input(None, &["mcp__a___t"]) }).unwrap();
    assert!(!external(&odd, "a_", "t").allowed && !external(&odd, "a", "_t").allowed);
}

// T6-01, POL-12
#[test]
fn spellings_that_would_match_nothing_are_refused_and_the_right_one_is_named() {
    for (entry, hint) in [
        ("mcp__db", "mcp__db__*"),
        ("mcp__db__", "mcp__db__*"),
        ("mcp__dbs", "mcp__db__*"),
        ("mcp__", "mcp__*"),
        ("drop_table", "mcp__db__drop_table"),
        ("db", "mcp__db__*"),
        ("mcp__db__drop*", "mcp__<server>__*"),
        ("mcp__*__drop", "mcp__<server>__*"),
        ("mcp__dc__drop", "`db`"),
        ("mcp__work_control__*", "`work-control`"),
        ("memory_journal", "`MemoryJournal`"),
        ("read-sections", "`ReadSections`"),
        ("Raed", "`Read`"),
        ("PluginThin", "`PluginThing`"),
        ("telegram_send_video", "`TelegramSend"),
        ("mcp__mono-agent-memory-journal__Other", "mcp__mono-agent-memory-journal__MemoryJournal"),
        ("Read*", "Read"),
    ] {
        let error = make(None, &["Bash", entry]).unwrap_err();
        let problem = &error.problems[0];
        assert_eq!(problem.place, "tools.disallowedTools[1]");
        assert!(problem.hint.as_deref().unwrap_or_default().contains(hint), "{entry}: {problem:?}");
        assert_eq!(error.names, [entry]);
        assert!(error.message.contains("tools.disallowedTools[1]"), "{}", error.message);
    }
    let long = format!("mcp__db__{}", "x".repeat(64));
    assert!(make(None, &[&long]).unwrap_err().message.contains("64"));
    let forged = make(None, &["a\nerror: b"]).unwrap_err();
    assert!(!forged.to_string().contains('\n'));
}

// POL-7
#[test]
fn an_allow_list_narrows_external_tools_only_where_they_are_gated() {
    let open = make(Some(&["Read", "mcp__db__read"]), &[]).unwrap();
    assert!(external(&open, "db", "write").allowed);
    assert!(open.describe(&DescribeFacts::default()).warnings[0].message.contains("changes nothing"));
    let bound = gated(Some(&["Read", "mcp__db__read"]), &[]);
    assert!(external(&bound, "db", "read").allowed && !external(&bound, "db", "write").allowed);
    assert!(external(&bound, "db", "write").why.contains("mcpToolPolicy"));
    assert!(external(&gated(None, &[]), "db", "x").allowed);
    assert!(!external(&gated(Some(&[]), &[]), "db", "x").allowed);
    assert!(!external(&gated(None, &["*"]), "db", "x").allowed);
    assert!(external(&gated(Some(&["mcp__*"]), &["mcp__work-control__*"]), "db", "x").allowed);
}

// POL-8, T6-03
#[test]
fn descriptions() {
    let facts = DescribeFacts { servers: known().servers, recall: true, collaborators: true, skills: 2 };
    let mut page = String::new();
    for (allowed, disallowed) in [
        (None, &[][..]),
        (None, &["Bash", "mcp__db__*", "telegram_send_photo"][..]),
        (None, &["*"][..]),
        (Some(&[][..]), &[][..]),
        (Some(&[][..]), &["mcp__db__*"][..]),
        (Some(&["MemoryRecall", "mcp__db__read"][..]), &[][..]),
        (Some(&["Read", "run_history"][..]), &["Bash"][..]),
    ] {
        let told = make(allowed, disallowed).unwrap().describe(&facts);
        page += &format!("{allowed:?} minus {disallowed:?}\n  {}: {}\n", told.status.as_str(), told.line);
        told.stays.iter().for_each(|line| page += &format!("  stays: {line}\n"));
        told.warnings.iter().for_each(|line| page += &format!("  warning: {line}\n"));
    }
    insta::assert_snapshot!(page);
}

// POL-9, T6-03
#[test]
fn environment() {
    let list = |config: Option<&[&str]>, value: Option<&str>| {
        merge_list(config.map(strings), "tools.allowedTools", value, ALLOWED_TOOLS_VARIABLE)
    };
    assert_eq!(list(None, None).entries, None);
    assert_eq!(list(Some(&["Read"]), None).entries, Some(strings(&["Read"])));
    assert_eq!(list(Some(&["Read"]), Some("")).entries, Some(vec![]));
    assert_eq!(list(None, Some("  ")).entries, Some(vec![]));
    assert_eq!(list(None, Some("Read, Bash")).entries, Some(strings(&["Read", "Bash"])));
    let make = |allowed, denied: Option<&str>| {
        let denied =
            merge_list(Some(strings(&["Bash"])), "tools.disallowedTools", denied, DISALLOWED_TOOLS_VARIABLE);
        create_tool_policy(PolicyInput::for_config(allowed, denied, McpToolPolicy::Open, known()))
    };
    assert!(has(&make(list(None, None), None).unwrap(), "Read"), "unset keeps the default");
    let empty = make(list(None, Some("")), None).unwrap();
    assert!(!has(&empty, "Read"));
    assert_eq!(
        why(&empty, "Read"),
        "MONO_AGENT_ALLOWED_TOOLS is [], so no tool that the lists gate is there"
    );
    let hole = make(list(None, Some("Read,,Edit")), None).unwrap_err();
    assert_eq!(hole.problems[0].place, "MONO_AGENT_ALLOWED_TOOLS (item 2)");
    let both = make(list(None, Some("bash")), None).unwrap_err();
    assert_eq!(both.message, ToolPolicyError::OVERLAP, "the merged result counts");
    assert!(make(list(None, Some("bash")), Some("")).is_ok());
}

// POL-10, T6-07
#[test]
fn old_names_bind_the_tool_and_are_never_repeated() {
    for row in
        LEGACY_ALIASES.iter().filter(|row| !["MemoryRecall", "AskCollaborator"].contains(&row.canonical))
    {
        let policy = make(None, &[&row.old.to_uppercase()]).unwrap();
        assert!(!has(&policy, row.canonical), "{}", row.old);
        assert!(!why(&policy, row.canonical).to_lowercase().contains(row.old));
        let options = tool_policy_to_runtime_options(&policy);
        assert_eq!(options.disallowed_tools, [row.canonical]);
    }
}

// POL-11
#[test]
fn mcp_shaped_names_of_app_owned_servers() {
    for tool in CATALOGUE.iter().filter(|tool| tool.gate == Gate::Gated) {
        let Some(spelling) = tool.mcp_spelling() else { continue };
        let server_wide = format!("{}__*", spelling.rsplit_once("__").unwrap().0);
        for entry in [&spelling, &server_wide, &"*".to_owned()] {
            assert!(!has(&make(None, &[entry]).unwrap(), tool.name), "{entry}");
        }
        assert!(has(&make(Some(&[&spelling]), &[]).unwrap(), tool.name));
        assert!(has(&make(Some(&[&server_wide]), &[]).unwrap(), tool.name));
        assert!(!has(&make(Some(&[&spelling]), &[]).unwrap(), "Read"));
    }
    // No external server may take such a name.
    let servers = vec![ServerName::parse("Mono-Agent-Slack").unwrap()];
    let taken = PolicyInput { known: KnownNames { servers, plugin_tools: vec![] }, ..input(None, &[]) };
    assert_eq!(create_tool_policy(taken).unwrap_err().problems[0].place, "tools.mcpServers.Mono-Agent-Slack");
    // They are known without any declared server.
    let bare = PolicyInput { known: KnownNames::default(), ..input(None, &["mcp__mono-agent-slack__*"]) };
    assert!(create_tool_policy(bare).is_ok());
    assert!(resolve_tool_name("memory_journal").is_none());
}

// POL-12
#[test]
fn known_without_what_it_needs_and_unadvertised_tools() {
    assert!(make(Some(&["SlackSendMessage", "pluginthing"]), &[]).is_ok());
    let policy = make(None, &["mcp__db__drop", "mcp__db__read"]).unwrap();
    let db = ServerName::parse("db").unwrap();
    let found = policy.unadvertised(&db, &[ToolName::parse("mcp__db__Read").unwrap()]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].place, "tools.disallowedTools[0]");
}

// POL-13
#[test]
fn a_runtime_must_say_that_it_enforces() {
    let open = make(None, &[]).unwrap();
    let tight = make(None, &["Bash"]).unwrap();
    let unknown = RuntimeCapabilities::default();
    let odd: RuntimeCapabilities = serde_json::from_str(r#"{"tool_policy":"advisory"}"#).unwrap();
    assert_eq!(
        serde_json::to_string(&RuntimeCapabilities::ours()).unwrap(),
        r#"{"tool_policy":"projected"}"#
    );
    assert!(RuntimeCapabilities::ours().enforces(&tight).is_ok());
    assert!(unknown.enforces(&open).is_ok());
    assert!(unknown.enforces(&tight).unwrap_err().to_string().contains("not reported"));
    assert!(odd.enforces(&ToolPolicy::fail_closed()).unwrap_err().to_string().contains("advisory"));
}

// POL-14
#[test]
fn the_library_fails_closed() {
    for policy in [fail_closed_tool_policy(), create_tool_policy(PolicyInput::default()).unwrap()] {
        assert!(!has(&policy, "Read"));
        let options = tool_policy_to_runtime_options(&policy);
        assert_eq!((options.allowed_tools.len(), options.disallowed_tools.len()), (0, 0));
    }
    assert!(!has(&tool_policy_from_json_str("{}", known()).unwrap(), "Read"));
}

// POL-14
#[test]
fn policy_files() {
    let load =
        |text: &str| load_tool_policy_from_json_file("p.json".as_ref(), known(), |_| Ok(text.to_owned()));
    let policy = load("\u{feff}{\"allowedTools\":[\"Read\"],\"disallowedTools\":[\"Bash\"]}").unwrap();
    assert!(has(&policy, "Read") && !has(&policy, "Edit"));
    for (text, code, words) in [
        ("{", "tool_policy_read_failed", "line 1"),
        ("[]", "invalid_tool_policy", "an array"),
        (r#"{"allowedTool":[]}"#, "invalid_tool_policy", "allowedTools"),
        (r#"{"allowedTools":"Read"}"#, "invalid_tool_policy", "a string"),
        (r#"{"allowedTools":["Read",7]}"#, "invalid_tool_policy", "allowedTools[1]"),
        (r#"{"allowedTools":null}"#, "invalid_tool_policy", "null"),
        (r#"{"mcpToolPolicy":"closed"}"#, "invalid_tool_policy", "gated"),
        (r#"{"allowedTools":["Raed"]}"#, "invalid_tool_policy", "`Read`"),
        (r#"{"allowedTools":["Read"],"disallowedTools":["Read"]}"#, "invalid_tool_policy", "both allowed"),
    ] {
        let error = load(text).unwrap_err();
        assert_eq!(error.code.as_str(), code, "{text}");
        assert!(error.to_string().contains(words), "{text}: {error}");
    }
    let missing = load_tool_policy_from_json_file("p.json".as_ref(), known(), |_| {
        Err(std::io::Error::from(std::io::ErrorKind::NotFound))
    });
    assert_eq!(missing.unwrap_err().code, ToolPolicyCode::ToolPolicyReadFailed);
}

// POL-15
#[test]
fn a_child_says_whose_rule_it_was() {
    let parent = make(None, &["Write"]).unwrap();
    let child = make(Some(&["Write", "Read"]), &[]).unwrap();
    let both = parent.narrow(&child);
    assert!(has(&both, "Read") && !has(&both, "Write") && !has(&both, "Bash"));
    assert!(why(&both, "Write").starts_with("the parent run's tools.disallowedTools[0]"));
    assert_eq!(parent.narrow(&parent.clone()).narrow(&parent), parent.narrow(&parent), "it doesn't grow");
}
