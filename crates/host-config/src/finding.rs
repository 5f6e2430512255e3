//! What is wrong with a configuration: all of it, not only the first thing.

use crate::source::{Node, Pos, Value};
use host_vocab::{Code, Diagnostic, Kind, Place, text::one_line};
use serde::Serialize;

/// How many findings are kept; one more then says how many were left out.
pub const FINDINGS_MAX: usize = 200;
/// How many characters of a message are kept where it had to be cleaned.
const MESSAGE_CHARS_MAX: usize = 1000;
/// How many characters of a value are quoted.
const QUOTE_CHARS_MAX: usize = 60;

/// The codes of findings, each compared by programs.
pub mod code {
    use host_vocab::Code;

    /// The text is no JSON with comments (or no `.env` line).
    pub const SYNTAX: Code = Code::new("config_syntax");
    /// A key that nothing reads.
    pub const UNKNOWN_KEY: Code = Code::new("config_unknown_key");
    /// A key that came twice.
    pub const DUPLICATE_KEY: Code = Code::new("config_duplicate_key");
    /// A key that is needed and not there.
    pub const MISSING_KEY: Code = Code::new("config_missing_key");
    /// A value of another kind than the key takes.
    pub const WRONG_TYPE: Code = Code::new("config_wrong_type");
    /// A number outside its bounds.
    pub const OUT_OF_RANGE: Code = Code::new("config_out_of_range");
    /// A value that the key doesn't take.
    pub const BAD_VALUE: Code = Code::new("config_bad_value");
    /// Settings that contradict one another.
    pub const CONFLICT: Code = Code::new("config_conflict");
    /// A key or variable that was retired; the message names its replacement.
    pub const RETIRED: Code = Code::new("config_retired_key");
    /// A key or variable that is read and has no effect.
    pub const IGNORED: Code = Code::new("config_ignored");
    /// A secret in a file.
    pub const SECRET_IN_FILE: Code = Code::new("config_secret_in_file");
    /// A file that is not there.
    pub const MISSING_FILE: Code = Code::new("config_missing_file");
    /// A file that can't be read.
    pub const UNREADABLE: Code = Code::new("config_unreadable");
    /// A model reference that names no usable model.
    pub const MODEL: Code = Code::new("config_model");
    /// A value that will surprise.
    pub const SUSPECT: Code = Code::new("config_suspect");
    /// An entry of `mcpServers` that can't be used.
    pub const MCP_ENTRY: Code = Code::new("mcp_entry");
    /// An MCP file that is not there.
    pub const MCP_MISSING: Code = Code::new("mcp_config_missing");
    /// Something about an MCP entry that will surprise.
    pub const MCP_SUSPECT: Code = Code::new("mcp_suspect");
    /// Ours.
    pub const BUG: Code = Code::new("config_bug");
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// `validate` exits 1.
    Error,
    /// Worth knowing.
    Warning,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Whether the agent can't start with it. An error that isn't fatal costs one part (a server) alone.
    pub fatal: bool,
    /// What it is, where, and what to do.
    #[serde(flatten)]
    pub diagnostic: Diagnostic,
}

/// All findings so far, in the order in which they were made.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    list: Vec<Finding>,
    left_out: usize,
    fatal: bool,
    error: bool,
}

impl Findings {
    fn push(&mut self, severity: Severity, fatal: bool, mut diagnostic: Diagnostic) {
        // Whatever was quoted, a finding can't forge a second line.
        for text in std::iter::once(&mut diagnostic.message).chain(&mut diagnostic.hints) {
            if text.contains(|c: char| c.is_control() || host_vocab::text::is_bidi_control(c)) {
                *text = one_line(text, MESSAGE_CHARS_MAX);
            }
        }
        self.fatal |= fatal;
        self.error |= severity == Severity::Error;
        if self.list.len() < FINDINGS_MAX {
            self.list.push(Finding { severity, fatal, diagnostic });
        } else {
            self.left_out += 1;
        }
    }

    /// Whether further findings are only counted, so that no work needs to go into their wording.
    pub fn is_full(&self) -> bool {
        self.list.len() >= FINDINGS_MAX
    }

    /// An error with which the agent can't start.
    pub fn error(&mut self, diagnostic: Diagnostic) {
        self.push(Severity::Error, true, diagnostic);
    }

    /// An error that costs one part alone.
    pub fn partial(&mut self, diagnostic: Diagnostic) {
        self.push(Severity::Error, false, diagnostic);
    }

    /// Something worth knowing.
    pub fn warning(&mut self, diagnostic: Diagnostic) {
        self.push(Severity::Warning, false, diagnostic);
    }

    /// Takes over the findings of a part.
    pub fn absorb(&mut self, other: Findings) {
        for finding in other.list {
            self.push(finding.severity, finding.fatal, finding.diagnostic);
        }
        self.left_out += other.left_out;
        self.fatal |= other.fatal;
        self.error |= other.error;
    }

    /// Takes over the findings of a part; its errors are fatal where the part is needed.
    pub fn absorb_part(&mut self, part: Findings, is_needed: bool) {
        for finding in part.list {
            let fatal = finding.fatal || (is_needed && finding.severity == Severity::Error);
            self.push(finding.severity, fatal, finding.diagnostic);
        }
        self.left_out += part.left_out;
        self.fatal |= part.fatal || (is_needed && part.error);
        self.error |= part.error;
    }

    /// Puts words before every message: whose part this is.
    pub fn prefix(&mut self, words: &str) {
        for finding in &mut self.list {
            finding.diagnostic.message.insert_str(0, words);
        }
    }

    /// The messages of all errors.
    pub fn reasons(&self) -> Vec<String> {
        let errors = self.list.iter().filter(|finding| finding.severity == Severity::Error);
        errors.map(|finding| finding.diagnostic.message.clone()).collect()
    }

    /// Whether the agent can't start.
    pub fn is_fatal(&self) -> bool {
        self.fatal
    }

    /// Whether there is any error.
    pub fn has_error(&self) -> bool {
        self.error
    }

    /// All of them; where some were left out, the last one says how many.
    pub fn into_list(mut self) -> Vec<Finding> {
        if self.left_out > 0 {
            let message = format!("{} more findings are not shown", self.left_out);
            let severity = if self.error { Severity::Error } else { Severity::Warning };
            let diagnostic = Diagnostic::new(Kind::Config, code::SYNTAX, message);
            self.list.push(Finding { severity, fatal: self.fatal, diagnostic });
        }
        self.list
    }
}

/// A finding about a setting.
pub(crate) fn config(code: Code, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Kind::Config, code, message)
}

/// A place in a file or a variable.
pub(crate) fn place(file: &str, pos: Pos, path: &str) -> Place {
    let known = pos.line > 0;
    Place {
        file: file.to_owned(),
        line: known.then_some(pos.line),
        column: known.then_some(pos.column),
        path: (!path.is_empty()).then(|| path.to_owned()),
    }
}

/// A value as it may stand in a message: JSON, on one line, bounded, in quotes; secrets are not shown.
pub(crate) fn quote(node: &Node) -> String {
    quote_text(&match &node.value {
        Value::List(items) if items.is_empty() => "[]".to_owned(),
        Value::List(items) => format!("[…] ({})", count(items.len(), "item")),
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => format!("{{…}} ({})", count(members.len(), "key")),
        Value::Text(text) if crate::secrets::looks_secret(text) => {
            return "a value that looks like a secret".into();
        }
        Value::Text(text) => return quote_str(text),
        Value::Number(raw) => raw.to_string(),
        Value::Bool(b) => b.to_string(),
        Value::Null => "null".to_owned(),
    })
}

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn quote_text(text: &str) -> String {
    one_line(text, QUOTE_CHARS_MAX)
}

/// A text in double quotes, on one line, bounded.
pub(crate) fn quote_str(text: &str) -> String {
    if crate::secrets::looks_secret(text) {
        return "a value that looks like a secret".into();
    }
    format!("\"{}\"", one_line(text, QUOTE_CHARS_MAX).replace('"', "\\\""))
}
