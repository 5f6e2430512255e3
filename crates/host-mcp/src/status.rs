//! What is known of a server, for `mcp list`, `status`, `validate` and `mcp test`.

use serde::Serialize;

/// Where a server is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerState {
    /// Declared; nothing is known of it yet.
    Configured,
    /// Its tools are known, and no connection is open.
    Discovered,
    /// A connection is open.
    Connected,
    /// It failed lately; the next use tries again.
    Degraded,
    /// It failed too often and is left alone for a while.
    Quarantined,
}

impl ServerState {
    /// The word of the `--json` contract.
    pub const fn as_str(self) -> &'static str {
        match self {
            ServerState::Configured => "configured",
            ServerState::Discovered => "discovered",
            ServerState::Connected => "connected",
            ServerState::Degraded => "degraded",
            ServerState::Quarantined => "quarantined",
        }
    }
}

/// One server's status.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerStatus {
    /// Its name in the config.
    pub name: String,
    /// `stdio` or `http`.
    pub transport: &'static str,
    /// Whether a run may go on without it.
    pub required: bool,
    /// Where it is in its life.
    pub state: ServerState,
    /// `modern` or `legacy`, once known.
    pub era: Option<&'static str>,
    /// The protocol revision that was agreed on.
    pub revision: Option<String>,
    /// How many tools it advertises.
    pub advertised: usize,
    /// How many of them are offered.
    pub offered: usize,
    /// Each tool that is left out, with the reason.
    pub left_out: Vec<LeftOut>,
    /// Why it failed last, if it did since it last worked.
    pub error: Option<String>,
    /// Whether what is known comes from the cache alone.
    pub cached: bool,
    /// How often it was started in this process.
    pub starts: u32,
    /// Failures since it last worked.
    pub failures: u32,
    /// Its process, while one runs.
    pub pid: Option<u32>,
    /// Lines on its stdout that were no messages.
    pub noise: u64,
    /// The end of its stderr.
    pub stderr_tail: String,
}

/// A tool that is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The name that it would have.
    pub tool: String,
    /// Why it is left out.
    pub why: String,
}

/// What `mcp test` found out.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestReport {
    /// The server.
    pub name: String,
    /// Why it failed; `None` = it works.
    pub error: Option<String>,
    /// `modern`, `legacy` or `legacy-sse`.
    pub era: Option<&'static str>,
    /// The protocol revision that was agreed on.
    pub revision: Option<String>,
    /// What it calls itself, and its version.
    pub server: Option<String>,
    /// From the start to the end of the list, in milliseconds.
    pub took_ms: u64,
    /// How many tools it advertises.
    pub advertised: usize,
    /// The local names that are offered.
    pub tools: Vec<String>,
    /// Each tool that is left out, with the reason.
    pub left_out: Vec<LeftOut>,
    /// Lines on its stdout that were no messages.
    pub noise: u64,
    /// The end of its stderr.
    pub stderr_tail: String,
}
