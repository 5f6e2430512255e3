//! One server as it is declared, with every reference already resolved.

use host_ports::http::Redirects;
use host_ports::spawn::Confine;
use host_vocab::{ServerName, ToolName};
use http::HeaderMap;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use url::Url;

/// How long connecting and listing may take together, and then each call, unless the entry says otherwise.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(60);
/// The longest that one call may take however often it reports progress.
pub const CALL_TOTAL_DEFAULT: Duration = Duration::from_secs(2700);

/// One declared server.
#[derive(Debug, Clone)]
pub struct McpServerConfig {
    /// Its name in the config (MCP-9).
    pub name: ServerName,
    /// How it is reached.
    pub transport: McpTransport,
    /// The bound of connecting plus listing its tools, and of each call (MCP-12).
    pub timeout: Duration,
    /// Whether a run may go on without it.
    pub required: bool,
    /// How a stdio server is confined (MCP-6).
    pub confine: Confine,
    /// Whether a progress notification starts a call's time anew (MCP-12).
    pub reset_timeout_on_progress: bool,
    /// The bound of one call however much progress it reports.
    pub call_total_max: Duration,
    /// Which family of protocol revisions is tried.
    pub era: EraChoice,
    /// Whether it gets the trusted context of each run (CTX-1); stdio servers alone.
    pub run_context: bool,
    /// Whether it may have the agent's model write something (MCP-14).
    pub sampling: bool,
    /// The names of its tools where it is a plugin (LIB-2): they are its tools' local names as they stand, the lists gate
    /// them like ours, and what it advertises besides is left out. `None` = a server (MCP-9).
    pub own_names: Option<Vec<ToolName>>,
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum McpTransport {
    /// A child process that speaks over its standard streams.
    Stdio(StdioConfig),
    /// An HTTP endpoint.
    Http(HttpConfig),
}

/// A server that is a child process.
#[derive(Clone)]
pub struct StdioConfig {
    /// The program: a path, or a name looked up in the child's `PATH`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Literal variables, on top of the safe list (MCP-6).
    pub env: BTreeMap<String, String>,
    /// Names that it inherits besides the safe list.
    pub inherit_env: Vec<String>,
    /// Where it starts; absolute.
    pub cwd: PathBuf,
}

/// A server behind an address.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// The endpoint.
    pub url: Url,
    /// Which HTTP transport.
    pub kind: HttpKind,
    /// Headers of every request, values final and marked sensitive (MCP-5).
    pub headers: HeaderMap,
    /// What is done with a redirect (design.md: the dialects differ).
    pub redirects: Redirects,
}

/// Which HTTP transport a server speaks (MCP-3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpKind {
    /// Streamable HTTP; HTTP+SSE where its first POST gets a 4xx.
    Auto,
    /// Streamable HTTP alone.
    Streamable,
    /// The older HTTP+SSE alone.
    Sse,
}

impl HttpKind {
    const fn as_str(self) -> &'static str {
        match self {
            HttpKind::Auto => "auto",
            HttpKind::Streamable => "http",
            HttpKind::Sse => "sse",
        }
    }
}

/// Which family of protocol revisions is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EraChoice {
    /// Found out, and remembered.
    #[default]
    Auto,
    /// `initialize` alone (up to 2025-11-25).
    Legacy,
    /// `server/discover` alone (from 2026-07-28).
    Modern,
}

impl EraChoice {
    const fn as_str(self) -> &'static str {
        match self {
            EraChoice::Auto => "auto",
            EraChoice::Legacy => "legacy",
            EraChoice::Modern => "modern",
        }
    }
}

impl McpServerConfig {
    /// A stdio server with the defaults of everything else.
    pub fn stdio(name: ServerName, command: impl Into<String>, args: &[&str], cwd: PathBuf) -> Self {
        let stdio = StdioConfig {
            command: command.into(),
            args: args.iter().map(|it| (*it).to_owned()).collect(),
            env: BTreeMap::new(),
            inherit_env: Vec::new(),
            cwd,
        };
        Self::of(name, McpTransport::Stdio(stdio))
    }

    /// A server behind an address with the defaults of everything else.
    pub fn http(name: ServerName, url: Url) -> Self {
        let http = HttpConfig {
            url,
            kind: HttpKind::Auto,
            headers: HeaderMap::new(),
            redirects: Redirects::SameOrigin(3),
        };
        Self::of(name, McpTransport::Http(http))
    }

    /// A server over a transport with the defaults of everything else.
    pub fn of(name: ServerName, transport: McpTransport) -> Self {
        McpServerConfig {
            name,
            transport,
            timeout: TIMEOUT_DEFAULT,
            required: false,
            confine: Confine::Sandbox { read: Vec::new(), write: Vec::new(), own: Vec::new(), network: None },
            reset_timeout_on_progress: false,
            call_total_max: CALL_TOTAL_DEFAULT,
            era: EraChoice::Auto,
            run_context: false,
            sampling: false,
            own_names: None,
        }
    }

    /// What it is, for people: `the MCP server a`, `the plugin a`.
    pub(crate) fn title(&self) -> String {
        let kind = if self.own_names.is_some() { "plugin" } else { "MCP server" };
        format!("the {kind} {}", self.name)
    }

    /// The name of its source, which is its label in the log too: `mcp:a`, `plugin:a`.
    pub(crate) fn source_name(&self) -> String {
        let kind = if self.own_names.is_some() { "plugin" } else { "mcp" };
        format!("{kind}:{}", self.name)
    }

    /// Whether it gets the trusted context of each run: only a child process can.
    pub fn takes_run_context(&self) -> bool {
        self.run_context && matches!(self.transport, McpTransport::Stdio(_))
    }

    /// A digest of all that decides which tools the server has: what its cached definitions are kept
    /// under. Values go in as a hash alone.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let mut put = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        put(b"mono-agent mcp definitions 2");
        put(self.name.as_str().as_bytes());
        put(self.era.as_str().as_bytes());
        match &self.transport {
            McpTransport::Stdio(stdio) => {
                put(b"stdio");
                put(stdio.command.as_bytes());
                put(stdio.cwd.as_os_str().as_encoded_bytes());
                put(&(stdio.args.len() as u64).to_be_bytes());
                stdio.args.iter().for_each(|it| put(it.as_bytes()));
                stdio.inherit_env.iter().for_each(|it| put(it.as_bytes()));
                for (name, value) in &stdio.env {
                    put(name.as_bytes());
                    put(value.as_bytes());
                }
            }
            McpTransport::Http(http) => {
                put(b"http");
                put(http.url.as_str().as_bytes());
                put(http.kind.as_str().as_bytes());
                for (name, value) in &http.headers {
                    put(name.as_str().as_bytes());
                    put(value.as_bytes());
                }
            }
        }
        host_vocab::text::hex(&hash.finalize())
    }
}

impl fmt::Debug for StdioConfig {
    /// Names of variables, never their values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioConfig")
            .field("command", &self.command)
            .field("args", &self.args)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("inherit_env", &self.inherit_env)
            .field("cwd", &self.cwd)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> McpServerConfig {
        McpServerConfig::stdio(ServerName::parse("a").unwrap(), "srv", &["x"], PathBuf::from("/w"))
    }

    #[test]
    fn the_digest_follows_what_decides_the_tools() {
        let same = server();
        assert_eq!(server().digest(), same.digest());
        let mut other = server();
        other.timeout = Duration::from_secs(1);
        assert_eq!(server().digest(), other.digest(), "a time-out decides no tools");
        let McpTransport::Stdio(stdio) = &mut other.transport else { unreachable!() };
        stdio.env.insert("A".into(), "secret".into());
        assert_ne!(server().digest(), other.digest());
        assert!(!format!("{other:?}").contains("secret"));
    }
}
