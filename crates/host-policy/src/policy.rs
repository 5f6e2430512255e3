//! The lists as a value.

use host_vocab::{ServerName, ToolName};

/// What is being judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A tool of ours that the lists gate (POL-5).
    Gated(&'a ToolName),
    /// A tool of a declared external MCP server (POL-6, POL-7).
    External {
        /// The server.
        server: &'a ServerName,
        /// The local name, `mcp__<server>__<tool>`.
        local: &'a ToolName,
    },
    /// A tool of ours that has its own switch (POL-6).
    OwnSwitch(&'a ToolName),
}

/// An answer with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Whether the lists let the tool exist.
    pub allowed: bool,
    /// Which rule said so, in words that name the setting.
    pub why: String,
}

/// Both lists, checked and folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPolicy {
    allow_all: bool,
}

impl ToolPolicy {
    /// Every policy-gated tool.
    pub fn allow_all() -> Self {
        ToolPolicy { allow_all: true }
    }

    /// No policy-gated tool: what a library gets that gave no lists (POL-14).
    pub fn fail_closed() -> Self {
        ToolPolicy { allow_all: false }
    }

    /// Judges one tool.
    pub fn judge(&self, subject: Subject<'_>) -> Judgement {
        let allowed = self.allow_all || !matches!(subject, Subject::Gated(_));
        Judgement { allowed, why: "stub".into() }
    }
}
