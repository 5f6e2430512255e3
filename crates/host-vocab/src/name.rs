//! Names of tools and servers.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a text is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// A tool name: 1 to 64 ASCII letters, digits, `_` or `-`.
    #[error("a tool name has 1 to 64 ASCII letters, digits, '_' or '-'")]
    Tool,
    /// A server name: ASCII letters, digits, `-` and `_`, without `__` (MCP-9).
    #[error("a server name has ASCII letters, digits, '-' and '_', and no double underscore")]
    Server,
}

/// The name of a tool, as a model sees it: 1 to 64 ASCII letters, digits, `_` or `-`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolName(String);

/// The name of an MCP server in a config (MCP-9).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ServerName(String);

fn word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

macro_rules! name {
    ($name:ident, $error:expr, $check:expr) => {
        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Checks a text and wraps it.
            ///
            /// # Errors
            /// The rule that the text breaks.
            pub fn parse(text: impl Into<String>) -> Result<Self, NameError> {
                let text = text.into();
                let check: fn(&str) -> bool = $check;
                if check(&text) { Ok($name(text)) } else { Err($error) }
            }
        }
        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                Self::parse(text)
            }
        }
        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

name!(ToolName, NameError::Tool, |s| word(s) && s.len() <= crate::limits::TOOL_NAME_BYTES_MAX);
name!(ServerName, NameError::Server, |s| word(s) && !s.contains("__"));

impl ToolName {
    /// The local name of a server's tool, `mcp__<server>__<tool>` with every other character made `_`
    /// (MCP-9).
    ///
    /// # Errors
    /// [`NameError::Tool`] where the result is over 64 characters or empty.
    pub fn for_mcp(server: &ServerName, remote: &str) -> Result<Self, NameError> {
        let tool: String = remote
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' })
            .collect();
        if tool.is_empty() {
            return Err(NameError::Tool);
        }
        Self::parse(format!("mcp__{server}__{tool}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // MCP-9
    #[test]
    fn local_names_of_remote_tools() {
        let server = ServerName::parse("work-control").unwrap();
        assert_eq!(ToolName::for_mcp(&server, "a.b/c é").unwrap().as_str(), "mcp__work-control__a_b_c__");
        let head = "mcp__work-control__".len();
        assert!(ToolName::for_mcp(&server, &"x".repeat(64 - head)).is_ok());
        assert!(ToolName::for_mcp(&server, &"x".repeat(65 - head)).is_err());
        assert!(ServerName::parse("a__b").is_err());
        assert!(ServerName::parse("a b").is_err());
    }
}
