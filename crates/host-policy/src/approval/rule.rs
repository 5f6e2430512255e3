//! One rule: which tools, which arguments, what answer.

use super::Approval;
use super::arguments::{Found, command_of, command_pieces, exec_argv, has_control, values_of};
use super::pattern::{PathPattern, Wild, match_argv};
use crate::entry::Target;
use serde_json::Value;

/// A rule as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    /// The tools that it is for.
    pub(super) targets: Vec<Target>,
    /// What the arguments must look like.
    pub(super) condition: Condition,
    /// The answer.
    pub(super) approval: Approval,
    /// Where it stands, `tools.approvals.rules[1]`.
    pub(super) place: String,
}

/// What the arguments must look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Condition {
    /// Any arguments.
    Always,
    /// The elements of an Exec call; `None` stands for `**`.
    Argv(Vec<Option<Wild>>),
    /// The command string of a Bash call.
    Command(Wild),
    /// Named arguments, all of them.
    Match(Vec<(String, PathPattern)>),
}

impl Rule {
    /// Whether the rule speaks of these arguments. Undecidable counts for a rule that denies or asks, never
    /// for one that allows: there is no path from an error to permission.
    pub(super) fn matches(&self, arguments: &Value) -> bool {
        let strict = self.approval != Approval::Allow;
        match &self.condition {
            Condition::Always => true,
            Condition::Argv(pattern) => match exec_argv(arguments) {
                Some(argv) => match_argv(pattern, &argv, strict),
                None => strict,
            },
            Condition::Command(pattern) => match command_of(arguments) {
                Some(command) => command_matches(pattern, command, strict),
                None => strict,
            },
            Condition::Match(wanted) => {
                wanted.iter().all(|(key, pattern)| match values_of(arguments, key, strict) {
                    Found::Nothing => false,
                    Found::Unclear => strict,
                    Found::Texts(texts) if strict => texts.iter().any(|text| pattern.may_mean(text)),
                    Found::Texts(texts) => texts.iter().all(|text| pattern.surely_means(text)),
                })
            }
        }
    }
}

/// A rule that allows sees the whole command and refuses control operators, so that an allowed first
/// program can't carry a second. A rule that denies or asks also looks at every piece between operators.
fn command_matches(pattern: &Wild, command: &str, strict: bool) -> bool {
    if !strict {
        return !has_control(command) && pattern.matches(command);
    }
    pattern.matches(command) || command_pieces(command).iter().any(|piece| pattern.matches(piece))
}
