//! A server as it was declared, checked.

use host_vocab::{Place, Secret, ServerName};
use serde::Serialize;
use std::path::PathBuf;

/// One declared server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerSpec {
    /// Its name (MCP-9).
    pub name: ServerName,
    /// Where it was declared.
    pub origin: Place,
    /// How it is reached.
    pub transport: McpTransport,
    /// Milliseconds for connecting and listing together, and for each call (MCP-12).
    pub timeout_ms: u64,
    /// Whether the timeout was written, not the default.
    pub timeout_is_set: bool,
    /// Whether runs are refused while it can't be used.
    pub required: bool,
    /// How it is confined; none = in the agent's sandbox as it is.
    pub sandbox: Option<ServerSandbox>,
    /// Whether progress starts the time of a call again.
    pub reset_timeout_on_progress: bool,
    /// Which age of the protocol it speaks.
    pub era: McpEra,
    /// Whether it is left out.
    pub disabled: bool,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// As a child process.
    Stdio(StdioSpec),
    /// Over HTTP.
    Http(HttpSpec),
}

/// A server that is a child process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StdioSpec {
    /// The program: an absolute path, or a name that is looked up in the child's `PATH`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables that it gets, literally.
    pub env: Vec<(String, Secret)>,
    /// The folder that it starts in, absolute.
    pub cwd: PathBuf,
    /// Variables that it gets from the host.
    pub inherit_env: Vec<String>,
}

/// A server over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSpec {
    /// Its address.
    pub url: url::Url,
    /// Which transport it speaks.
    pub kind: HttpKind,
    /// Headers sent with every request, literally.
    pub headers: Vec<(String, Secret)>,
    /// Headers whose values are in variables: header and variable.
    pub headers_from_env: Vec<(String, String)>,
    /// Headers whose values are in files: header and absolute path.
    pub headers_from_file: Vec<(String, PathBuf)>,
}

impl HttpSpec {
    /// Whether its host is this machine: `localhost`, `127.0.0.1` or `::1`.
    pub fn is_loopback(&self) -> bool {
        match self.url.host() {
            Some(url::Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
            Some(url::Host::Ipv4(ip)) => ip == std::net::Ipv4Addr::LOCALHOST,
            Some(url::Host::Ipv6(ip)) => ip == std::net::Ipv6Addr::LOCALHOST,
            None => false,
        }
    }
}

/// Which HTTP transport a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HttpKind {
    /// Streamable HTTP first; SSE when its first POST gets a 4xx (MCP-3).
    Auto,
    /// Streamable HTTP.
    Http,
    /// The older HTTP with SSE.
    Sse,
}

/// Which age of the protocol a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum McpEra {
    /// It is found out.
    Auto,
    /// Revisions up to 2025-11-25.
    Legacy,
    /// Revisions from 2026-07-28 on.
    Modern,
}

/// How a server is confined where it differs from the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerSandbox {
    /// Not at all.
    Off,
    /// By the agent's sandbox with these additions.
    Confined {
        /// More folders to read, absolute.
        readable_roots: Vec<PathBuf>,
        /// More folders to write, absolute.
        writable_roots: Vec<PathBuf>,
        /// Its own network, where it has one.
        network: Option<ServerNetwork>,
    },
}

/// A network mode of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerNetwork {
    /// None.
    None,
    /// This machine.
    Localhost,
    /// The hosts of the agent's allowlist.
    Allowlist,
    /// Everything.
    All,
}

impl ServerNetwork {
    /// The mode as the config spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            ServerNetwork::None => "none",
            ServerNetwork::Localhost => "localhost",
            ServerNetwork::Allowlist => "allowlist",
            ServerNetwork::All => "all",
        }
    }
}

/// A server that can't be used, and why. The others work (T1-03).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenServer {
    /// Its name as written, on one line.
    pub name: String,
    /// Where it was declared.
    pub origin: Place,
    /// What is wrong with it, one line for each.
    pub reasons: Vec<String>,
    /// Whether it is marked as required, so that the agent can't start.
    pub required: bool,
}

/// All servers of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpConfig {
    /// The file that `tools.mcpConfigPath` names, absolute (MCP-4: `validate` prints it).
    pub file: Option<PathBuf>,
    /// Whether that file is not there.
    pub file_missing: bool,
    /// The servers, in the order in which they were declared, file first.
    pub servers: Vec<McpServerSpec>,
    /// Entries that can't be used.
    pub broken: Vec<BrokenServer>,
}

impl McpConfig {
    /// The line that `validate` prints of the file (MCP-4), where one is named.
    pub fn path_line(&self) -> Option<String> {
        let path = self.file.as_ref()?.display();
        Some(if self.file_missing {
            format!("an MCP config file is missing: {path}")
        } else {
            format!("MCP config: {path}")
        })
    }
}
