//! What the host keeps and runs beside the turns.

use super::{Effort, secret_map};
use crate::ModelRef;
use host_vocab::Secret;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The `store` section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StoreSpec {
    /// What an acknowledged record outlives.
    pub durability: Durability,
}

/// What an acknowledged record outlives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// The death of the process.
    Default,
    /// The death of the power too.
    Full,
}

/// The `artifacts` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArtifactsSpec {
    /// The folder, absolute.
    pub dir: PathBuf,
    /// How long artifacts stay.
    pub retention: RetentionSpec,
    /// How long those of memory runs stay.
    pub memory_retention: RetentionSpec,
    /// Files of replies.
    pub reply_files: ReplyFilesSpec,
}

/// How long artifacts stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetentionSpec {
    /// Days.
    pub max_age_days: u32,
    /// Runs.
    pub max_count: u32,
    /// Whether it is only said what would be removed; none (memory runs) = as the other.
    pub dry_run: Option<bool>,
}

/// Files of replies (REP-3, RET-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplyFilesSpec {
    /// How large one may be, in bytes.
    pub max_file_bytes: u64,
    /// How much all may take.
    pub max_storage_bytes: StorageLimit,
}

/// A bound on storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum StorageLimit {
    /// In bytes.
    Bytes(u64),
    /// None.
    Word(Unlimited),
}

/// The word `unlimited`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unlimited {
    /// No bound.
    Unlimited,
}

/// The `interaction` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InteractionSpec {
    /// Questions to people.
    pub ask_user: AskUserSpec,
    /// The bridge.
    pub bridge: BridgeSpec,
    /// Progress.
    pub progress: SwitchSpec,
}

/// Questions to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AskUserSpec {
    /// How long one waits; none = for ever.
    pub timeout_ms: Option<u64>,
}

/// A bridge.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BridgeSpec {
    /// Its address.
    pub host: String,
    /// Its port; 0 = any free one.
    pub port: u16,
}

/// Something that is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SwitchSpec {
    /// Whether it is on.
    pub enabled: bool,
}

/// The `continuations` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is documented in the registry, under its path")]
pub struct ContinuationsSpec {
    pub enabled: bool,
    pub host: String,
    pub port: u16,
    pub state_dir: PathBuf,
    pub limits: ContinuationLimits,
    pub retention: ContinuationRetention,
    pub named_routes: BTreeMap<String, NamedRoute>,
    pub detached_services: Vec<DetachedService>,
}

/// `continuations.limits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is documented in the registry, under its path")]
pub struct ContinuationLimits {
    pub max_active_records: u64,
    pub max_active_per_origin: u64,
    pub max_concurrent: u32,
    pub synthesis_timeout_ms: u64,
    pub delivery_timeout_ms: u64,
    pub operator_page_size: u32,
}

/// `continuations.retention`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is documented in the registry, under its path")]
pub struct ContinuationRetention {
    pub terminal_max_records: u64,
    pub terminal_max_age_ms: u64,
    pub captured_text_max_records: u64,
    pub captured_text_max_age_ms: u64,
}

/// A route for services without a run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NamedRoute {
    /// `notify_if_actionable`, `capture` or `silent`.
    pub mode: String,
    /// The conversation.
    pub conversation_id: Option<String>,
}

/// A service that may claim without a run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DetachedService {
    /// Its name.
    pub name: String,
    /// The variable with its token.
    pub token_env: String,
}

/// The `processJobs` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is documented in the registry, under its path")]
pub struct ProcessJobsSpec {
    pub enabled: bool,
    pub state_dir: PathBuf,
    pub max_concurrent: u32,
    pub max_active_per_conversation: u32,
    pub max_queued: u32,
    pub max_runtime_ms: u64,
    pub max_queue_age_ms: u64,
    pub max_output_bytes: u64,
    pub preview_chars: u32,
    pub max_chain_depth: u32,
    pub retention: JobRetention,
    pub unsafe_allow_unprotected_state: bool,
}

/// `processJobs.retention`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is documented in the registry, under its path")]
pub struct JobRetention {
    pub max_records: u32,
    pub max_age_ms: u64,
    pub artifact_max_bytes: u64,
}

/// The `subagents` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is documented in the registry, under its path")]
pub struct SubagentsSpec {
    pub enabled: bool,
    pub max_concurrent: u32,
    pub max_per_turn: u32,
    pub max_turns: u32,
    pub timeout_ms: u64,
    pub command_timeout_ms: u64,
    pub inline: InlineSubagents,
    pub models: Vec<ModelRef>,
    pub definitions: Vec<SubagentDefinition>,
    pub instances: SubagentInstances,
}

/// `subagents.inline`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is documented in the registry, under its path")]
pub struct InlineSubagents {
    pub enabled: bool,
    pub allowed_tools: Option<Vec<String>>,
}

/// `subagents.definitions[]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is documented in the registry, under its path")]
pub struct SubagentDefinition {
    pub name: String,
    pub description: String,
    pub prompt: Option<String>,
    pub prompt_path: Option<PathBuf>,
    pub allowed_tools: Option<Vec<String>>,
    pub disallowed_tools: Option<Vec<String>>,
    pub model: Option<ModelRef>,
    pub effort: Option<Effort>,
    pub max_turns: Option<u32>,
    pub timeout_ms: Option<u64>,
}

/// `subagents.instances`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is documented in the registry, under its path")]
pub struct SubagentInstances {
    pub enabled: bool,
    pub root: PathBuf,
    pub max_per_conversation: u32,
    pub idle_ttl_ms: u64,
    pub max_turns: u32,
}

/// The `traceability` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is documented in the registry, under its path")]
pub struct TraceabilitySpec {
    pub registry_dir: PathBuf,
    pub source_id: Option<String>,
    pub source_label: Option<String>,
    pub heartbeat_ms: u64,
    pub stale_after_ms: u64,
    pub global_discovery: bool,
}

/// The `observability` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObservabilitySpec {
    /// Where traces are sent.
    pub exporters: Vec<ExporterSpec>,
}

/// `observability.exporters[]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs, reason = "each field is documented in the registry, under its path")]
pub struct ExporterSpec {
    #[serde(rename = "type")]
    pub kind: String,
    pub endpoint: String,
    pub project_name: Option<String>,
    pub include_sensitive_data: bool,
    #[serde(default, deserialize_with = "secret_map")]
    pub headers: BTreeMap<String, Secret>,
    pub timeout_ms: u64,
}
