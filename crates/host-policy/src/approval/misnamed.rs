//! Rules that name an argument which their tool doesn't have.
//!
//! Such a rule never matches, so a deny with a slip of the pen would let everything through. It can only be
//! found once the tool's schema is known: when an agent is opened for our own tools, when a surface is sealed
//! for those of a server.

use super::arguments::same_argument;
use super::rule::{Condition, Rule};
use super::{Approval, ApprovalRules};
use crate::entry::Target;
use crate::error::PolicyFinding;
use crate::nearest::{nearest, quoted};
use host_vocab::ToolName;

/// A rule's argument that the tool doesn't take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MisnamedArgument {
    /// Where it stands, what is wrong, and the nearest argument.
    pub finding: PolicyFinding,
    /// Whether the rule would deny or ask: then the tool must not be offered before the rule is mended.
    pub restricts: bool,
}

impl ApprovalRules {
    /// Whether any rule looks at named arguments.
    pub fn name_arguments(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule.condition, Condition::Match(_)))
    }

    /// The arguments that rules for this very tool name and that aren't among `arguments`, all that it takes.
    /// A tool that takes any argument (`None`) knows every name; a rule for many tools may name what only
    /// some of them have.
    pub fn misnamed(&self, tool: &ToolName, arguments: Option<&[&str]>) -> Vec<MisnamedArgument> {
        let Some(known) = arguments else { return Vec::new() };
        let for_it = self.rules.iter().filter(|rule| rule.is_for_just(tool));
        for_it.flat_map(|rule| rule.misnamed(tool, known)).collect()
    }
}

impl Rule {
    fn is_for_just(&self, tool: &ToolName) -> bool {
        let name = tool.as_str();
        self.targets.iter().all(|target| match target {
            Target::Ours(it) | Target::External(it) => it.as_str().eq_ignore_ascii_case(name),
            Target::All | Target::ExternalAll | Target::ExternalServer(_) => false,
        })
    }

    fn misnamed(&self, tool: &ToolName, known: &[&str]) -> Vec<MisnamedArgument> {
        let Condition::Match(wanted) = &self.condition else { return Vec::new() };
        let restricts = self.approval != Approval::Allow;
        let found = |key: &str| match restricts {
            true => same_argument(key).iter().any(|name| known.contains(name)) || known.contains(&key),
            false => known.contains(&key),
        };
        let unknown = wanted.iter().map(|(key, _)| key.as_str()).filter(|key| !found(key));
        let finding = |key: &str| PolicyFinding {
            place: format!("{}.match", self.place),
            message: format!("{tool} has no argument {}", quoted(key)),
            hint: Some(match nearest(key, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if known.is_empty() => format!("{tool} takes no arguments: leave `match` out"),
                None => format!("its arguments are {}", known.join(", ")),
            }),
        };
        unknown.map(|key| MisnamedArgument { finding: finding(key), restricts }).collect()
    }
}
