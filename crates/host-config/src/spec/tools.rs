//! Tools and what their output may weigh.

use super::one_or_many;
use crate::settings::{Origin, Setting};
use crate::source::Node;
use host_vocab::Place;
use serde::Deserialize;
use serde_json::Value;
use std::path::PathBuf;

/// The `tools` section. The lists and the approval rules are as they were written: their owner judges
/// them, and can name their places.
#[derive(Debug, Clone)]
pub struct ToolsSpec {
    /// The allow list; none = nobody wrote one (allow-all).
    pub allowed: Option<ToolList>,
    /// The deny list; none = nobody wrote one.
    pub disallowed: Option<ToolList>,
    /// Whether the lists narrow external MCP tools too.
    pub mcp_policy: McpToolPolicy,
    /// `tools.approvals` as it was written.
    pub approvals: Option<RawBlock>,
    /// stdio servers that get the trusted context of each run (CTX-1).
    pub request_context_servers: Vec<String>,
    /// Servers that may claim a continuation (CON-1).
    pub continuation_servers: Vec<String>,
    /// Servers that may ask the model something themselves (MCP-14).
    pub sampling_servers: Vec<String>,
    /// How long an MCP call may be silent.
    pub mcp_call_timeout_ms: u64,
    /// How long an MCP call may take in all.
    pub mcp_call_max_total_timeout_ms: u64,
    /// More folders for the file tools while the sandbox is off.
    pub filesystem: FilesystemSpec,
    /// Search and fetch.
    pub web: WebSpec,
}

/// Names of tools as they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolList {
    /// The names.
    pub names: Vec<String>,
    /// Where each stands; a variable has one place for all.
    pub places: Vec<Place>,
    /// Where the whole list stands.
    pub place: Place,
    /// Whether a variable or the file has it.
    pub origin: Origin,
}

impl ToolList {
    /// A list that somebody wrote; none where the setting has its default.
    pub(crate) fn of(setting: &Setting) -> Option<Self> {
        let node = setting.node()?;
        let items = node.items()?;
        let names = items.iter().filter_map(|item| item.text().map(str::to_owned)).collect();
        let places = (0..items.len()).map(|index| setting.place(&format!("[{index}]"))).collect();
        Some(ToolList { names, places, place: setting.place(""), origin: setting.origin })
    }
}

/// Settings whose owner reads them itself: plain JSON, and the place of everything in it.
#[derive(Debug, Clone)]
pub struct RawBlock {
    /// The value.
    pub json: Value,
    setting: Setting,
}

impl RawBlock {
    pub(crate) fn of(setting: &Setting) -> Option<Self> {
        let json = setting.node().map(Node::to_json)?;
        Some(RawBlock { json, setting: setting.clone() })
    }

    /// The place of a value in the block (`rules[1].tool`), or of the block itself (the empty text).
    pub fn place(&self, below: &str) -> Place {
        self.setting.place(below)
    }
}

/// Whether the lists narrow external MCP tools (POL-7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpToolPolicy {
    /// `allowedTools` doesn't; `disallowedTools` does.
    Open,
    /// Both do.
    Gated,
}

/// `tools.filesystem`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FilesystemSpec {
    /// More folders to read, absolute.
    pub readable_roots: Vec<PathBuf>,
    /// More folders to write, absolute.
    pub writable_roots: Vec<PathBuf>,
}

/// `tools.web`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebSpec {
    /// `process` or `host`.
    pub coordination: String,
    /// Search.
    pub search: WebSearchSpec,
    /// Fetch.
    pub fetch: WebFetchSpec,
}

/// `tools.web.search`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebSearchSpec {
    /// Who searches, in order.
    #[serde(deserialize_with = "one_or_many")]
    pub backend: Vec<String>,
    /// The same as `searxng.endpoint`.
    pub endpoint: Option<String>,
    /// SearXNG.
    pub searxng: Option<SearxngSpec>,
    /// Brave.
    pub brave: Option<KeyEnvSpec>,
    /// A subscription's own search.
    pub codex: Option<CodexSearchSpec>,
    /// Ollama.
    pub ollama: Option<OllamaSearchSpec>,
    /// Parallel.
    pub parallel: Option<KeyEnvSpec>,
    /// How many searches a run may send.
    pub max_requests_per_run: u32,
}

/// A SearXNG on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearxngSpec {
    /// Its address.
    pub endpoint: String,
}

/// A service with a key in a variable.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyEnvSpec {
    /// The variable.
    pub api_key_env: String,
}

/// A model that searches.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CodexSearchSpec {
    /// The model.
    pub model: String,
}

/// Ollama's search.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OllamaSearchSpec {
    /// Where it is.
    pub base_url: Option<String>,
    /// The variable with the key.
    pub api_key_env: Option<String>,
    /// Whether it may be at a public address.
    pub trust_public_url: bool,
}

/// `tools.web.fetch`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebFetchSpec {
    /// Who fetches, in order.
    #[serde(deserialize_with = "one_or_many")]
    pub provider: Vec<String>,
    /// `never` or `auto`.
    pub render: String,
    /// The browser's program.
    pub browser_command: String,
    /// Parallel.
    pub parallel: Option<KeyEnvSpec>,
    /// Hosts that may have private addresses.
    pub allow_private_hosts: Vec<String>,
}

/// The `toolOutput` section, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolOutputSpec {
    /// How much of one call's output is kept.
    pub max_bytes: u64,
    /// How much of all output of the agent is kept.
    pub max_agent_bytes: u64,
}

/// One secret of the broker (SBX-7).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BrokeredSecret {
    /// The variable with the secret.
    pub env: String,
    /// The hosts that it may go to.
    pub hosts: Vec<String>,
    /// The headers that it may stand in.
    pub headers: Vec<String>,
}

/// The `credentials` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CredentialsSpec {
    /// Secrets that children see as placeholders.
    pub broker: Vec<BrokeredSecret>,
}
