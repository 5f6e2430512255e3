//! Laws that hold for any two lists (POL-16).

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use host_policy::*;
use host_vocab::{ServerName, ToolName};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn servers() -> Vec<ServerName> {
    ["db", "fs"].map(|name| ServerName::parse(name).unwrap()).to_vec()
}

fn known() -> KnownNames {
    KnownNames { servers: servers(), plugin_tools: vec![ToolName::parse("PluginThing").unwrap()] }
}

/// Everything that can be judged, as (canonical name, server of an external one).
fn subjects() -> Vec<(ToolName, Option<ServerName>)> {
    let mut all: Vec<_> = CATALOGUE.iter().map(|tool| (ToolName::parse(tool.name).unwrap(), None)).collect();
    all.push((ToolName::parse("PluginThing").unwrap(), None));
    for server in servers() {
        for tool in ["read", "drop_table"] {
            all.push((ToolName::for_mcp(&server, tool).unwrap(), Some(server.clone())));
        }
    }
    all
}

fn surface(policy: &ToolPolicy) -> BTreeSet<String> {
    subjects()
        .iter()
        .filter(|(name, server)| match server {
            Some(server) => policy.judge(Subject::External { server, local: name }).allowed,
            None => policy.judge(Subject::Gated(name)).allowed,
        })
        .map(|(name, _)| name.to_string())
        .collect()
}

/// Canonical spellings that may stand on a list.
fn entries() -> Vec<String> {
    let mut all: Vec<String> = subjects().iter().map(|(name, _)| name.to_string()).collect();
    all.extend(["*", "mcp__*", "mcp__db__*", "mcp__fs__*"].map(String::from));
    all
}

fn list() -> impl Strategy<Value = Vec<String>> {
    proptest::sample::subsequence(entries(), 0..8)
}

fn make(allowed: Option<&[String]>, denied: &[String], mcp: McpToolPolicy) -> Option<ToolPolicy> {
    create_tool_policy(PolicyInput {
        allowed: allowed.map(<[String]>::to_vec),
        disallowed: denied.to_vec(),
        mcp_tool_policy: mcp,
        known: known(),
        missing: MissingList::AllowAll,
        ..PolicyInput::default()
    })
    .ok()
}

/// A policy without overlap: what stands on both lists is dropped from the allow list.
fn policy_of(allowed: &Option<Vec<String>>, denied: &[String], mcp: McpToolPolicy) -> ToolPolicy {
    let allowed: Option<Vec<String>> =
        allowed.as_ref().map(|list| list.iter().filter(|name| !denied.contains(name)).cloned().collect());
    make(allowed.as_deref(), denied, mcp).unwrap()
}

fn mcp() -> impl Strategy<Value = McpToolPolicy> {
    prop_oneof![Just(McpToolPolicy::Open), Just(McpToolPolicy::Gated)]
}

fn covers(list: &[String], name: &str, external: bool, star: bool) -> bool {
    list.iter().any(|entry| match entry.as_str() {
        "*" => star,
        "mcp__*" => external,
        _ => match entry.strip_suffix('*') {
            Some(head) => external && name.starts_with(head),
            None => entry == name,
        },
    })
}

/// Another spelling of the same entry: other case, an old name, an MCP-shaped name.
fn respell(entry: &str, choice: u8) -> String {
    let old = LEGACY_ALIASES.iter().find(|row| row.canonical == entry).map(|row| row.old.to_owned());
    match choice % 4 {
        0 => entry.to_uppercase(),
        1 => old.unwrap_or_else(|| entry.to_lowercase()),
        2 => known_tool(entry).and_then(KnownTool::mcp_spelling).unwrap_or_else(|| entry.to_owned()),
        _ => entry.to_owned(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    // POL-16, POL-1, POL-2: the surface equals (allow-all or listed) minus denied, said a second time.
    #[test]
    fn surface_is_allowed_minus_denied(allowed in proptest::option::of(list()), denied in list(), mcp in mcp()) {
        let policy = policy_of(&allowed, &denied, mcp);
        let gated = mcp == McpToolPolicy::Gated;
        let list: Option<Vec<String>> = allowed.map(|l| l.into_iter().filter(|n| !denied.contains(n)).collect());
        let expected: BTreeSet<String> = subjects().iter().filter(|(name, server)| {
            let external = server.is_some();
            let own = !external && matches!(gate_of(name), Gate::OwnSwitch(_));
            let bound = !external || gated;
            let listed = list.as_ref().is_none_or(|l| covers(l, name.as_str(), external, true));
            own || ((!bound || listed) && !covers(&denied, name.as_str(), external, bound))
        }).map(|(name, _)| name.to_string()).collect();
        prop_assert_eq!(surface(&policy), expected);
    }

    // POL-16: adding a deny never widens.
    #[test]
    fn deny_is_monotone(allowed in proptest::option::of(list()), denied in list(), more in list(), mcp in mcp()) {
        let mut both = denied.clone();
        both.extend(more.into_iter().filter(|name| !denied.contains(name)));
        let fewer = surface(&policy_of(&allowed, &both, mcp));
        prop_assert!(fewer.is_subset(&surface(&policy_of(&allowed, &denied, mcp))));
    }

    // POL-16: case, alias and order never change the answer.
    #[test]
    fn spelling_and_order_change_nothing(
        allowed in proptest::option::of(list()),
        denied in list(),
        choices in proptest::collection::vec(any::<u8>(), 16),
        mcp in mcp(),
    ) {
        let other = |list: &[String]| -> Vec<String> {
            list.iter().rev().zip(&choices).map(|(entry, choice)| respell(entry, *choice)).collect()
        };
        let plain = make(allowed.as_deref(), &denied, mcp);
        let odd = make(allowed.as_deref().map(other).as_deref(), &other(&denied), mcp);
        prop_assert_eq!(plain.is_some(), odd.is_some());
        if let (Some(plain), Some(odd)) = (plain, odd) {
            prop_assert_eq!(surface(&plain), surface(&odd));
            let told = |policy| format!("{:?}", tool_policy_to_runtime_options(policy)).to_lowercase();
            prop_assert_eq!(told(&plain), told(&odd));
        }
    }

    // POL-15: a child never gets more than its parent, nor than its own lists.
    #[test]
    fn narrow_never_widens(
        a in proptest::option::of(list()), b in list(), c in proptest::option::of(list()), d in list(),
        first in mcp(), second in mcp(),
    ) {
        let (parent, child) = (policy_of(&a, &b, first), policy_of(&c, &d, second));
        let both = surface(&parent.narrow(&child));
        let meet: BTreeSet<String> = surface(&parent).intersection(&surface(&child)).cloned().collect();
        prop_assert_eq!(&both, &meet);
        prop_assert_eq!(both, surface(&child.narrow(&parent)));
    }

    // POL-14: the options say the same as the policy, for one agent and for a child.
    #[test]
    fn options_are_the_policy(
        a in proptest::option::of(list()), b in list(), c in proptest::option::of(list()), d in list(),
        first in mcp(), second in mcp(),
    ) {
        let policy = policy_of(&a, &b, first).narrow(&policy_of(&c, &d, second));
        let options = tool_policy_to_runtime_options(&policy);
        let denied: Vec<String> = options.disallowed_tools;
        let allowed: Vec<String> = options.allowed_tools.into_iter().filter(|n| !denied.contains(n)).collect();
        let again = make(Some(&allowed), &denied, McpToolPolicy::parse(options.mcp_tool_policy).unwrap()).unwrap();
        prop_assert_eq!(surface(&again), surface(&policy));
    }

    // POL-12: no text panics, and what is accepted binds something.
    #[test]
    fn any_text_is_an_entry_or_an_error(text in "\\PC{0,40}|mcp__[a-z_*]{0,20}|[*_ -]{0,6}") {
        if let Some(policy) = make(None, std::slice::from_ref(&text), McpToolPolicy::Open) {
            prop_assert!(policy.is_restrictive(), "{}", text);
        }
    }
}
