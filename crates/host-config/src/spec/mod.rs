//! The agent as typed settings. Nothing here knows which dialect it came from, but for a name to show.

pub mod channels;
#[cfg(test)]
mod everything;
pub mod host;
pub mod memory;
pub mod providers;
pub(crate) mod routes;
pub mod runtime;
pub mod sandbox;
pub mod tools;

use crate::mcp::McpConfig;
use crate::settings::Settings;
use channels::ChannelsSpec;
use host_vocab::Secret;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use host::SwitchSpec;
pub use runtime::Effort;

/// Which dialect a config was written in; only for names and for tools that a dialect doesn't have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// `mono-agent.config.json`.
    Json,
    /// A runtime root with `agents/<slug>/config/*.toml`.
    Toml,
    /// No config at all.
    Embedded,
}

/// The agent's places, all absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The agent's folder.
    pub folder: PathBuf,
    /// Its config file; none where nothing is configured.
    pub config_file: Option<PathBuf>,
    /// What its tools work in.
    pub workspace: PathBuf,
    /// What the host keeps for it, `.mono-agent` in its folder.
    pub state: PathBuf,
}

/// One agent, checked: what every part of the host is built from.
#[derive(Debug, Clone)]
pub struct AgentSpec {
    /// Which dialect it was written in.
    pub dialect: Dialect,
    /// Its places.
    pub places: Places,
    /// What it is called.
    pub agent: runtime::IdentitySpec,
    /// Model, retries, sessions, compaction.
    pub runtime: runtime::RuntimeSpec,
    /// Model providers, built-in ones included, with their keys.
    pub providers: Vec<providers::ProviderSpec>,
    /// Prices of models, from both tables.
    pub prices: Vec<providers::Price>,
    /// Identity, soul and skills.
    pub context: runtime::ContextSpec,
    /// Bounds on runs.
    pub concurrency: runtime::ConcurrencySpec,
    /// Tool lists, approvals, web.
    pub tools: tools::ToolsSpec,
    /// MCP servers.
    pub mcp: McpConfig,
    /// Bounds on tool output.
    pub tool_output: tools::ToolOutputSpec,
    /// The sandbox.
    pub sandbox: sandbox::SandboxSpec,
    /// Secrets for children.
    pub credentials: tools::CredentialsSpec,
    /// The log.
    pub store: host::StoreSpec,
    /// Artifacts.
    pub artifacts: host::ArtifactsSpec,
    /// Questions and progress.
    pub interaction: host::InteractionSpec,
    /// Continuations; none = the section isn't there.
    pub continuations: Option<host::ContinuationsSpec>,
    /// Background commands.
    pub process_jobs: host::ProcessJobsSpec,
    /// Helpers.
    pub subagents: host::SubagentsSpec,
    /// Memory; none = the section isn't there.
    pub memory: Option<memory::MemorySpec>,
    /// Channels.
    pub channels: ChannelsSpec,
    /// Discovery.
    pub traceability: host::TraceabilitySpec,
    /// Traces.
    pub observability: host::ObservabilitySpec,
    /// Every setting with its value and where it came from, for `config` and for messages.
    pub settings: Settings,
}

impl AgentSpec {
    /// The agent of a folder without any config: every tool, the native sandbox, the folder as its only
    /// root, no network, no model named.
    ///
    /// # Panics
    /// Never: the defaults of the registry fit its types, which a test of this crate shows.
    pub fn embedded_default(folder: &Path) -> AgentSpec {
        let mut findings = crate::Findings::default();
        let input = crate::resolved::Resolved::defaults(folder);
        input.spec(&mut findings).expect("the registry's defaults fit the types")
    }
}

/// A secret that may be missing.
pub(crate) fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Secret>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(Secret::new))
}

/// Secrets by name.
pub(crate) fn secret_map<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Secret>, D::Error> {
    let map = BTreeMap::<String, String>::deserialize(deserializer)?;
    Ok(map.into_iter().map(|(name, value)| (name, Secret::new(value))).collect())
}

/// A text, or several.
pub(crate) fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(one) => vec![one],
        OneOrMany::Many(many) => many,
    })
}
