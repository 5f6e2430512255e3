//! What a person is told at the edge: what is wrong, where, and what to do.

use serde::Serialize;
use std::fmt;

/// Whose doing a problem is; it decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The command was called wrongly (exit 2).
    Usage,
    /// A setting is wrong (exit 1; 2 where the file can't be found).
    Config,
    /// This machine lacks something (exit 1).
    Environment,
    /// Someone else's service failed (exit 1).
    External,
    /// Ours (exit 1).
    Bug,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Place {
    /// The file, as the person would name it; or the variable (`env MONO_AGENT_MODEL`).
    pub file: String,
    /// Line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column in characters, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The JSON path, such as `tools.allowedTools[2]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let (Some(_), Some(column)) = (self.line, self.column) {
            write!(f, ":{column}")?;
        }
        if let Some(path) = &self.path {
            write!(f, " ({path})")?;
        }
        Ok(())
    }
}

/// One finding for a person. Its message is one line; what a value held is quoted and bounded by
/// whoever made it, so that it can't forge a second line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Whose doing it is.
    pub kind: Kind,
    /// A code that a program can compare.
    pub code: crate::Code,
    /// What is wrong, in one line.
    pub message: String,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// What to do about it, most useful first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

impl Diagnostic {
    /// A finding without a place or hints.
    pub fn new(kind: Kind, code: crate::Code, message: impl Into<String>) -> Self {
        Diagnostic { kind, code, message: message.into(), place: None, hints: Vec::new() }
    }

    /// The same with a place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// The same with one more hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)?;
        for hint in &self.hints {
            write!(f, "\n  help: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}
