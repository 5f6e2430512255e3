//! What the host says one can do next. It never quotes evidence.

use serde::Serialize;
use serde_json::Value;

/// A call that can be submitted as it stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NextAction {
    /// The tool.
    pub tool: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    /// Its exact arguments.
    pub arguments: Value,
    /// The terminal status of the run that it is about, so that a cancelled one is not taken for a success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

impl NextAction {
    pub(crate) fn new(tool: &'static str, purpose: &'static str, arguments: Value) -> Self {
        NextAction { tool, purpose, arguments, status: None }
    }

    pub(crate) fn with_status(mut self, status: &str) -> Self {
        self.status = Some(status.to_owned());
        self
    }
}

/// The host's own words, apart from the untrusted evidence (RUN-3, HIS-6).
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Navigation {
    /// What to make of the result.
    pub guidance: String,
    /// What can be asked next.
    pub next_actions: Vec<NextAction>,
    /// What another tool can say about it (RUN-4).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_tools: Vec<NextAction>,
}
