//! Rules on single calls: allow, ask or deny, with argument patterns.

use host_vocab::ToolName;
use serde_json::Value;

/// What a rule says of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// It may run.
    Allow,
    /// A person decides.
    Ask,
    /// It may not run.
    Deny,
}

/// What the rules say of one call, and which one said it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalDecision {
    /// The answer.
    pub approval: Approval,
    /// The rule, in words that name the setting (`tools.approvals.rules[1]`).
    pub rule: String,
}

/// All rules of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApprovalRules {}

impl ApprovalRules {
    /// What the rules say of a call with these arguments.
    pub fn decide(&self, _tool: &ToolName, _arguments: &Value) -> ApprovalDecision {
        ApprovalDecision { approval: Approval::Allow, rule: "no rule".into() }
    }

    /// What the rules say of the tool whatever its arguments: `Deny` withholds it from the surface, and
    /// `Ask` means that at least some calls will be asked for.
    pub fn standing(&self, _tool: &ToolName) -> ApprovalDecision {
        ApprovalDecision { approval: Approval::Allow, rule: "no rule".into() }
    }
}
