//! Memory.

use super::{SwitchSpec, secret};
use host_vocab::Secret;
use serde::Deserialize;
use std::path::PathBuf;

/// The `memory` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemorySpec {
    /// Where it is kept: here, or with Supermemory.
    pub backend: MemoryBackend,
    /// Full text; plus vectors; plus what a model notes.
    pub mode: MemoryMode,
    /// The folder with the notes.
    pub path: PathBuf,
    /// How much is put into a prompt at most.
    pub max_bytes: usize,
    /// What is noted after a turn by itself.
    pub write_mode: MemoryWriteMode,
    /// `MemoryRecall` and `MemoryJournal`.
    pub recall_tool: SwitchSpec,
    /// None = on, but for Supermemory.
    #[serde(default)]
    pub remember_tool: OptionalSwitch,
    /// Changes by an operator.
    pub operator_actions: SwitchSpec,
    /// Putting notes in order.
    pub consolidation: ConsolidationSpec,
    /// What a model looks for.
    #[serde(default)]
    pub capture: CaptureSpec,
    /// Vectors.
    pub embeddings: EmbeddingsSpec,
    /// The model that takes notes.
    pub llm: MemoryLlmSpec,
    /// Supermemory.
    pub supermemory: SupermemorySpec,
}

/// Where memory is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryBackend {
    /// Here.
    Bujo,
    /// With Supermemory.
    Supermemory,
}

/// The tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryMode {
    /// Full text.
    Lite,
    /// Plus vectors.
    Journal,
    /// Plus what a model notes.
    Bujo,
}

/// What is noted by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryWriteMode {
    /// Nothing.
    Disabled,
    /// The host's summary of a turn.
    AppendHostSummary,
    /// What a model finds worth it.
    Capture,
}

/// Something that is on, off or left to a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OptionalSwitch {
    /// None = the rule decides.
    pub enabled: Option<bool>,
}

/// `memory.consolidation`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConsolidationSpec {
    /// Whether notes are put in order from time to time.
    pub enabled: bool,
    /// When.
    pub cron: String,
}

/// `memory.capture`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaptureSpec {
    /// What to look for, in at most 2048 bytes.
    pub focus: Option<String>,
    /// Which kinds are noted.
    pub only: Option<Vec<String>>,
}

/// `memory.embeddings`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EmbeddingsSpec {
    /// None = no embeddings.
    pub provider: Option<String>,
    /// With which model.
    pub model: Option<String>,
    /// How many numbers a vector has.
    pub dim: Option<u32>,
    /// Where.
    pub endpoint: Option<String>,
    /// The variable with the key.
    pub api_key_env: Option<String>,
    /// The key itself; better name a variable in `apiKeyEnv`.
    #[serde(default, deserialize_with = "secret")]
    pub api_key: Option<Secret>,
    /// How long a request may take.
    pub timeout_ms: u64,
    /// When it rests after failures.
    pub circuit_breaker: CircuitBreakerSpec,
}

/// `memory.embeddings.circuitBreaker`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CircuitBreakerSpec {
    /// After how many failures it rests.
    pub failure_threshold: u32,
    /// How long it rests.
    pub cooldown_ms: u64,
}

/// `memory.llm`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemoryLlmSpec {
    /// None = no model takes notes.
    pub provider: Option<String>,
    /// Which model takes notes.
    pub model: Option<String>,
    /// Where (Ollama alone).
    pub endpoint: Option<String>,
    /// How long one request may take.
    pub timeout_ms: u64,
    /// Whether such runs leave artifacts.
    pub trace: bool,
}

/// `memory.supermemory`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SupermemorySpec {
    /// Where Supermemory is.
    pub base_url: String,
    /// The container there.
    pub container: Option<String>,
    /// The variable with the key.
    pub api_key_env: Option<String>,
    /// The key itself; better name a variable in `apiKeyEnv`.
    #[serde(default, deserialize_with = "secret")]
    pub api_key: Option<Secret>,
    /// How long a request may take.
    pub timeout_ms: u64,
    /// Whether its own MCP server is attached.
    pub expose_mcp_server: bool,
}
