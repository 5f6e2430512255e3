//! From two lists to a policy, or to every reason why not.

use crate::catalogue::is_app_owned_server;
use crate::entry::{KnownNames, Target, read_entry};
use crate::environment::PlacedList;
use crate::error::{PolicyFinding, ToolPolicyError};
use crate::nearest::quoted;
use crate::policy::{Allowed, Layer, Rule, ToolPolicy};
use std::collections::BTreeMap;

/// Whether the lists bind the tools of external MCP servers (`tools.mcpToolPolicy`, POL-7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum McpToolPolicy {
    /// A declared server's tools are there unless `disallowedTools` has their `mcp__` spelling.
    #[default]
    Open,
    /// Both lists bind them like any other tool.
    Gated,
}

impl McpToolPolicy {
    /// The value as the setting spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            McpToolPolicy::Open => "open",
            McpToolPolicy::Gated => "gated",
        }
    }

    /// Reads the setting.
    pub fn parse(text: &str) -> Option<Self> {
        [McpToolPolicy::Open, McpToolPolicy::Gated].into_iter().find(|it| it.as_str() == text)
    }
}

/// Where a list stands, so that an error can name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListPlace {
    /// A setting, such as `tools.allowedTools`.
    Setting(String),
    /// An environment variable.
    Variable(String),
}

impl ListPlace {
    /// The name of the list.
    pub fn name(&self) -> &str {
        match self {
            ListPlace::Setting(name) | ListPlace::Variable(name) => name,
        }
    }

    /// The place of one entry, from 0.
    pub fn entry(&self, index: usize) -> String {
        match self {
            ListPlace::Setting(name) => format!("{name}[{index}]"),
            ListPlace::Variable(name) => format!("{name} (item {})", index + 1),
        }
    }
}

/// What a missing allow list means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingList {
    /// Nothing is allowed: the library's answer (POL-14).
    #[default]
    FailClosed,
    /// Everything is allowed: the config loader's answer, and its alone (POL-1).
    AllowAll,
}

/// What a policy is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyInput {
    /// `tools.allowedTools`; `None` where it isn't there.
    pub allowed: Option<Vec<String>>,
    /// `tools.disallowedTools`.
    pub disallowed: Vec<String>,
    /// `tools.mcpToolPolicy`.
    pub mcp_tool_policy: McpToolPolicy,
    /// The names that exist beside the catalogue.
    pub known: KnownNames,
    /// What `allowed: None` means.
    pub missing: MissingList,
    /// Where the allow list stands.
    pub allowed_place: ListPlace,
    /// Where the deny list stands.
    pub disallowed_place: ListPlace,
}

impl Default for PolicyInput {
    /// No lists at all, which fails closed.
    fn default() -> Self {
        PolicyInput {
            allowed: None,
            disallowed: Vec::new(),
            mcp_tool_policy: McpToolPolicy::Open,
            known: KnownNames::default(),
            missing: MissingList::FailClosed,
            allowed_place: ListPlace::Setting("tools.allowedTools".into()),
            disallowed_place: ListPlace::Setting("tools.disallowedTools".into()),
        }
    }
}

impl PolicyInput {
    /// The input of the config loader: merged lists, and allow-all where nobody gave an allow list.
    pub fn for_config(
        allowed: PlacedList,
        disallowed: PlacedList,
        mcp: McpToolPolicy,
        known: KnownNames,
    ) -> Self {
        PolicyInput {
            allowed: allowed.entries,
            disallowed: disallowed.entries.unwrap_or_default(),
            mcp_tool_policy: mcp,
            known,
            missing: MissingList::AllowAll,
            allowed_place: allowed.place,
            disallowed_place: disallowed.place,
        }
    }
}

/// At most this many entries in one list.
pub const LIST_ENTRIES_MAX: usize = 4096;

/// Makes the policy of two lists.
///
/// # Errors
/// `invalid_tool_policy` with every fault: an empty or duplicate entry (POL-4), a name that means nothing
/// (POL-10, POL-12), a name on both lists (POL-3).
pub fn create_tool_policy(input: PolicyInput) -> Result<ToolPolicy, ToolPolicyError> {
    let mut faults = Faults::default();
    for server in input.known.servers.iter().filter(|server| is_app_owned_server(server.as_str())) {
        // Else one entry would speak of two tools.
        let message = "the name belongs to a server of the host itself".into();
        let hint = Some("give the server another name".into());
        faults.add(format!("tools.mcpServers.{server}"), server.as_str(), message, hint);
    }
    let allowed = match &input.allowed {
        Some(list) => {
            let rules = read_list(list, &input.allowed_place, &input.known, &mut faults);
            Allowed::from_list(rules, input.allowed_place.clone())
        }
        None if input.missing == MissingList::AllowAll => Allowed::Unset(input.allowed_place.clone()),
        None => Allowed::FailClosed,
    };
    let denied = read_list(&input.disallowed, &input.disallowed_place, &input.known, &mut faults);
    let overlap = overlap(&allowed, &denied);
    if !overlap.is_empty() {
        return Err(overlap_error(overlap, faults));
    }
    if !faults.problems.is_empty() {
        return Err(ToolPolicyError::invalid(faults.names, faults.problems));
    }
    Ok(ToolPolicy::of_layer(Layer {
        allowed,
        denied,
        denied_place: input.disallowed_place,
        mcp: input.mcp_tool_policy,
        of_parent: false,
    }))
}

/// The policy of a library that gave no lists: nothing that the lists gate (POL-14).
pub fn fail_closed_tool_policy() -> ToolPolicy {
    ToolPolicy::fail_closed()
}

#[derive(Default)]
struct Faults {
    names: Vec<String>,
    problems: Vec<PolicyFinding>,
}

impl Faults {
    fn add(&mut self, place: String, written: &str, message: String, hint: Option<String>) {
        self.names.push(written.to_owned());
        self.problems.push(PolicyFinding { place, message, hint });
    }
}

fn read_list(list: &[String], place: &ListPlace, known: &KnownNames, faults: &mut Faults) -> Vec<Rule> {
    let mut rules = Vec::with_capacity(list.len().min(LIST_ENTRIES_MAX));
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (index, written) in list.iter().enumerate() {
        let at = place.entry(index);
        if index == LIST_ENTRIES_MAX {
            let hint = Some("use `*` or a shorter list".into());
            faults.add(at, written, format!("the list has more than {LIST_ENTRIES_MAX} entries"), hint);
            break;
        }
        if written.trim().is_empty() {
            let hint = Some("remove it; an empty list is written []".into());
            faults.add(at, written, "the entry is an empty string".into(), hint);
            continue;
        }
        if let Some(first) = seen.insert(written.to_lowercase(), index) {
            let message = format!("{} repeats {}", quoted(written), place.entry(first));
            faults.add(at, written, message, Some("names are compared without case; keep one".into()));
            continue;
        }
        match read_entry(written, known) {
            Ok(targets) => rules.push(Rule { targets, written: written.clone(), place: at }),
            Err(fault) => faults.add(at, written, fault.message, fault.hint),
        }
    }
    rules
}

/// The entries that stand on both lists after folding, with both rules. A wildcard against a name is none.
fn overlap<'a>(allowed: &'a Allowed, denied: &'a [Rule]) -> BTreeMap<String, (String, &'a Rule, &'a Rule)> {
    let mut by_key: BTreeMap<String, &Rule> = BTreeMap::new();
    for rule in allowed.rules() {
        for key in rule.overlap_keys() {
            by_key.entry(key).or_insert(rule);
        }
    }
    let mut found = BTreeMap::new();
    for rule in denied {
        for key in rule.overlap_keys() {
            if let Some(other) = by_key.get(&key) {
                found.entry(key).or_insert((rule.spelling(), *other, rule));
            }
        }
    }
    found
}

fn overlap_error(overlap: BTreeMap<String, (String, &Rule, &Rule)>, faults: Faults) -> ToolPolicyError {
    let mut names = Vec::new();
    let mut problems = Vec::new();
    for (name, allow, deny) in overlap.into_values() {
        problems.push(PolicyFinding {
            place: deny.place.clone(),
            message: format!("{} stands on the allow list too, at {}", quoted(&deny.written), allow.place),
            hint: Some("keep it on one of the lists; a denied tool needs no other entry".into()),
        });
        names.push(name);
    }
    problems.extend(faults.problems);
    let mut error = ToolPolicyError::invalid(names, problems);
    error.message = ToolPolicyError::OVERLAP.into();
    error
}

impl Rule {
    /// What the rule is compared by with the other list. A wildcard of an app-owned server covers several
    /// tools and stays a wildcard here.
    fn overlap_keys(&self) -> Vec<String> {
        if self.written.ends_with("__*") && self.targets.iter().all(|t| matches!(t, Target::Ours(_))) {
            return vec![self.written.to_ascii_lowercase()];
        }
        self.targets.iter().map(Target::key).collect()
    }

    fn spelling(&self) -> String {
        match self.targets.as_slice() {
            [one] => one.spelling(),
            _ => self.written.clone(),
        }
    }
}
