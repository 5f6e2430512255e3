//! Why there is no policy.

use std::fmt;

/// The code of a [`ToolPolicyError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToolPolicyCode {
    /// The lists are wrong.
    InvalidToolPolicy,
    /// The file could not be read, or is no JSON.
    ToolPolicyReadFailed,
}

impl ToolPolicyCode {
    /// The code as a program compares it.
    pub const fn as_str(self) -> &'static str {
        match self {
            ToolPolicyCode::InvalidToolPolicy => "invalid_tool_policy",
            ToolPolicyCode::ToolPolicyReadFailed => "tool_policy_read_failed",
        }
    }

    /// The code as a vocabulary word, for diagnostics.
    pub const fn code(self) -> host_vocab::Code {
        host_vocab::Code::new(self.as_str())
    }
}

impl fmt::Display for ToolPolicyCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that is wrong, or that a person should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFinding {
    /// The setting and the entry, such as `tools.allowedTools[2]`.
    pub place: String,
    /// What is the matter, on one line.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for PolicyFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// Why there is no policy. Nothing is reconciled silently: the first fault stops agent creation, and all
/// faults are listed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct ToolPolicyError {
    /// The code.
    pub code: ToolPolicyCode,
    /// What is wrong. For an overlap exactly [`ToolPolicyError::OVERLAP`].
    pub message: String,
    /// The names concerned: for an overlap the canonical ones, else as written.
    pub names: Vec<String>,
    /// Every fault with its place.
    pub problems: Vec<PolicyFinding>,
}

impl ToolPolicyError {
    /// The message of an overlap (POL-3).
    pub const OVERLAP: &'static str = "Tools cannot be both allowed and disallowed.";

    pub(crate) fn read_failed(message: String) -> Self {
        let code = ToolPolicyCode::ToolPolicyReadFailed;
        ToolPolicyError { code, message, names: Vec::new(), problems: Vec::new() }
    }

    pub(crate) fn invalid(names: Vec<String>, problems: Vec<PolicyFinding>) -> Self {
        let message = problems.first().map(ToString::to_string).unwrap_or_default();
        ToolPolicyError { code: ToolPolicyCode::InvalidToolPolicy, message, names, problems }
    }

    /// Message, names of an overlap, and how many more faults there are.
    fn sentence(&self) -> String {
        let mut out = self.message.clone();
        let mut told = 1;
        if self.message == Self::OVERLAP {
            out.push_str(" Both lists name: ");
            out.push_str(&self.names.join(", "));
            out.push('.');
            told = self.names.len();
        }
        match self.problems.len().saturating_sub(told) {
            0 => {}
            1 => out.push_str(" One more fault is listed."),
            more => out.push_str(&format!(" {more} more faults are listed.")),
        }
        out
    }
}
