//! Rules on single calls: allow, ask or deny, with argument patterns (TOO-9).
//!
//! They come after the lists: a tool that the policy leaves out isn't there to be approved. Deny beats ask
//! beats allow, whatever the order of the rules; where no rule matches, the default answers. A rule that
//! can't decide, since an argument is missing its shape, counts as matched where it denies or asks, and as
//! not matched where it allows.
//!
//! **A text rule is no boundary.** A rule sees the arguments of a call, not what a program does with them:
//! `env rm x`, a script, an alias or a quoted letter get around it. What a command may reach is decided by
//! the sandbox alone.

mod arguments;
mod misnamed;
mod parse;
mod pattern;
mod rule;

use crate::entry::Target;
use host_vocab::ToolName;
pub use misnamed::MisnamedArgument;
pub use parse::ApprovalRulesError;
use rule::{Condition, Rule};
use serde_json::Value;

/// What a rule says of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Approval {
    /// It may run.
    Allow,
    /// A person decides.
    Ask,
    /// It may not run.
    Deny,
}

impl Approval {
    /// The word of the config.
    pub const fn as_str(self) -> &'static str {
        match self {
            Approval::Allow => "allow",
            Approval::Ask => "ask",
            Approval::Deny => "deny",
        }
    }

    /// Reads the word of the config.
    pub fn parse(text: &str) -> Option<Self> {
        [Approval::Allow, Approval::Ask, Approval::Deny].into_iter().find(|it| it.as_str() == text)
    }
}

/// What the rules say of one call, and which one said it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalDecision {
    /// The answer.
    pub approval: Approval,
    /// The rule, in words that name the setting (`tools.approvals.rules[1]`).
    pub rule: String,
}

/// All rules of an agent. The default value has none and allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRules {
    default: Approval,
    timeout_ms: u64,
    rules: Vec<Rule>,
    path: String,
}

impl Default for ApprovalRules {
    fn default() -> Self {
        ApprovalRules {
            default: Approval::Allow,
            timeout_ms: Self::TIMEOUT_MS_DEFAULT,
            rules: Vec::new(),
            path: "tools.approvals".into(),
        }
    }
}

impl ApprovalRules {
    /// How long a person has, in milliseconds, where the config doesn't say.
    pub const TIMEOUT_MS_DEFAULT: u64 = 60_000;
    /// The longest wait that can be set: a day.
    pub const TIMEOUT_MS_MAX: u64 = 86_400_000;
    /// At most this many rules.
    pub const RULES_MAX: usize = 256;

    /// How long a person has to answer, in milliseconds; then the answer is deny.
    pub const fn timeout_ms(&self) -> u64 {
        self.timeout_ms
    }

    /// What the rules say of a call with these arguments.
    pub fn decide(&self, tool: &ToolName, arguments: &Value) -> ApprovalDecision {
        let matched = self.rules.iter().filter(|rule| rule.covers(tool) && rule.matches(arguments));
        match strictest(matched) {
            Some(rule) => rule.decision(),
            None => self.by_default(),
        }
    }

    /// What the rules say of the tool whatever its arguments: `Deny` withholds it from the surface, and
    /// `Ask` means that at least some calls will be asked for.
    pub fn standing(&self, tool: &ToolName) -> ApprovalDecision {
        let rules: Vec<&Rule> = self.rules.iter().filter(|rule| rule.covers(tool)).collect();
        let always = |rule: &&Rule| rule.condition == Condition::Always;
        let decided = strictest(rules.iter().copied().filter(always));
        if let Some(rule) = decided.filter(|rule| rule.approval == Approval::Deny) {
            return rule.decision();
        }
        if let Some(rule) = rules.iter().find(|rule| rule.approval == Approval::Ask) {
            return rule.decision();
        }
        if let Some(rule) = decided {
            return rule.decision();
        }
        // Some calls may be allowed: then a default of deny must not take the tool away.
        match rules.iter().find(|rule| rule.approval == Approval::Allow) {
            Some(rule) if self.default == Approval::Deny => rule.decision(),
            _ => self.by_default(),
        }
    }

    fn by_default(&self) -> ApprovalDecision {
        ApprovalDecision { approval: self.default, rule: format!("{}.default", self.path) }
    }
}

/// The rule that wins: deny before ask before allow, the first of its kind.
fn strictest<'a>(rules: impl Iterator<Item = &'a Rule>) -> Option<&'a Rule> {
    let mut best: Option<&Rule> = None;
    for rule in rules {
        if best.is_none_or(|so_far| rule.approval > so_far.approval) {
            best = Some(rule);
        }
    }
    best
}

impl Rule {
    fn covers(&self, tool: &ToolName) -> bool {
        let name = tool.as_str();
        self.targets.iter().any(|target| match target {
            Target::All => true,
            Target::ExternalAll => starts_without_case(name, "mcp__"),
            Target::ExternalServer(server) => starts_without_case(name, &format!("mcp__{server}__")),
            Target::Ours(t) | Target::External(t) => t.as_str().eq_ignore_ascii_case(name),
        })
    }

    fn decision(&self) -> ApprovalDecision {
        ApprovalDecision { approval: self.approval, rule: self.place.clone() }
    }
}

fn starts_without_case(text: &str, head: &str) -> bool {
    text.get(..head.len()).is_some_and(|start| start.eq_ignore_ascii_case(head))
}
