//! The question that every operator asks: why is this tool there, or not?

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// One tool of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainRow {
    /// Its name.
    pub name: String,
    /// Its source.
    pub source: String,
    /// Whether the run has it.
    pub offered: bool,
    /// Whether at least some of its calls ask a person first.
    pub asks: bool,
    /// Who withholds it; `null` where it is offered.
    pub by: Option<Cow<'static, str>>,
    /// The rule behind it, in words that name the setting.
    pub why: String,
}

/// Every tool of a run, by name: the contract of `explain --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// The rows.
    pub tools: Vec<ExplainRow>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |of: fn(&ExplainRow) -> usize, least: usize| {
            self.tools.iter().map(of).max().unwrap_or(0).max(least)
        };
        let name = width(|row| row.name.chars().count(), 4);
        let source = width(|row| row.source.chars().count(), 6);
        writeln!(f, "{:name$}  {:source$}  {:22}  why", "tool", "source", "state")?;
        for row in &self.tools {
            let state = match (&row.by, row.asks) {
                (Some(by), _) => format!("withheld by {by}"),
                (None, true) => "offered, asks first".to_owned(),
                (None, false) => "offered".to_owned(),
            };
            writeln!(f, "{:name$}  {:source$}  {state:22}  {}", row.name, row.source, row.why)?;
        }
        Ok(())
    }
}
