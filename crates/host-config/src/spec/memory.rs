//! Memory.

use super::{SwitchSpec, secret};
use host_vocab::Secret;
use serde::Deserialize;
use std::path::PathBuf;

/// The `memory` section. Each field is documented in the registry, under its path.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is documented in the registry, under its path")]
pub struct MemorySpec {
    pub backend: MemoryBackend,
    pub mode: MemoryMode,
    pub path: PathBuf,
    pub max_bytes: usize,
    pub write_mode: MemoryWriteMode,
    pub recall_tool: SwitchSpec,
    /// None = on, but for Supermemory.
    #[serde(default)]
    pub remember_tool: OptionalSwitch,
    pub operator_actions: SwitchSpec,
    pub consolidation: ConsolidationSpec,
    #[serde(default)]
    pub capture: CaptureSpec,
    pub embeddings: EmbeddingsSpec,
    pub llm: MemoryLlmSpec,
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
#[allow(missing_docs, reason = "each field is documented in the registry, under its path")]
pub struct ConsolidationSpec {
    pub enabled: bool,
    pub cron: String,
}

/// `memory.capture`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is documented in the registry, under its path")]
pub struct CaptureSpec {
    pub focus: Option<String>,
    pub only: Option<Vec<String>>,
}

/// `memory.embeddings`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is documented in the registry, under its path")]
pub struct EmbeddingsSpec {
    /// None = no embeddings.
    pub provider: Option<String>,
    pub model: Option<String>,
    pub dim: Option<u32>,
    pub endpoint: Option<String>,
    pub api_key_env: Option<String>,
    #[serde(default, deserialize_with = "secret")]
    pub api_key: Option<Secret>,
    pub timeout_ms: u64,
    pub circuit_breaker: CircuitBreakerSpec,
}

/// `memory.embeddings.circuitBreaker`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is documented in the registry, under its path")]
pub struct CircuitBreakerSpec {
    pub failure_threshold: u32,
    pub cooldown_ms: u64,
}

/// `memory.llm`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is documented in the registry, under its path")]
pub struct MemoryLlmSpec {
    /// None = no model takes notes.
    pub provider: Option<String>,
    pub model: Option<String>,
    pub endpoint: Option<String>,
    pub timeout_ms: u64,
    pub trace: bool,
}

/// `memory.supermemory`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is documented in the registry, under its path")]
pub struct SupermemorySpec {
    pub base_url: String,
    pub container: Option<String>,
    pub api_key_env: Option<String>,
    #[serde(default, deserialize_with = "secret")]
    pub api_key: Option<Secret>,
    pub timeout_ms: u64,
    pub expose_mcp_server: bool,
}
