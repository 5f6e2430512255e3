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
pub struct ContinuationsSpec {
    /// Whether the service runs.
    pub enabled: bool,
    /// Its address, a loopback one.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Where it keeps its records.
    pub state_dir: PathBuf,
    /// Bounds on open ones.
    pub limits: ContinuationLimits,
    /// How long ended ones are kept.
    pub retention: ContinuationRetention,
    /// Routes for services without a run, by name.
    pub named_routes: BTreeMap<String, NamedRoute>,
    /// Services that may claim without a run.
    pub detached_services: Vec<DetachedService>,
}

/// `continuations.limits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContinuationLimits {
    /// How many may be open.
    pub max_active_records: u64,
    /// How many of one origin may be open.
    pub max_active_per_origin: u64,
    /// How many are worked on at a time.
    pub max_concurrent: u32,
    /// How long the last turn may take.
    pub synthesis_timeout_ms: u64,
    /// How long a delivery may take.
    pub delivery_timeout_ms: u64,
    /// How many the operator sees on a page.
    pub operator_page_size: u32,
}

/// `continuations.retention`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContinuationRetention {
    /// How many ended ones are kept.
    pub terminal_max_records: u64,
    /// How long ended ones are kept.
    pub terminal_max_age_ms: u64,
    /// How many captured texts are kept.
    pub captured_text_max_records: u64,
    /// How long they are kept.
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
pub struct ProcessJobsSpec {
    /// Whether `Exec` and `Bash` may run in the background.
    pub enabled: bool,
    /// Where the jobs are kept.
    pub state_dir: PathBuf,
    /// How many run at a time.
    pub max_concurrent: u32,
    /// How many of one conversation run at a time.
    pub max_active_per_conversation: u32,
    /// How many may wait.
    pub max_queued: u32,
    /// How long a job may run.
    pub max_runtime_ms: u64,
    /// How long a job may wait.
    pub max_queue_age_ms: u64,
    /// How much output is kept.
    pub max_output_bytes: u64,
    /// How much output is shown.
    pub preview_chars: u32,
    /// How often a job's end may start another.
    pub max_chain_depth: u32,
    /// How long ended jobs are kept.
    pub retention: JobRetention,
    /// Whether tools may read the jobs' state.
    pub unsafe_allow_unprotected_state: bool,
}

/// `processJobs.retention`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JobRetention {
    /// How many ended jobs are kept.
    pub max_records: u32,
    /// How long ended jobs are kept.
    pub max_age_ms: u64,
    /// How much their output may take.
    pub artifact_max_bytes: u64,
}

/// The `subagents` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubagentsSpec {
    /// Whether `Agent` is there.
    pub enabled: bool,
    /// How many run at a time.
    pub max_concurrent: u32,
    /// How many one turn may start.
    pub max_per_turn: u32,
    /// How often a helper's model may be asked.
    pub max_turns: u32,
    /// How long a helper may run.
    pub timeout_ms: u64,
    /// How long a helper's command may run.
    pub command_timeout_ms: u64,
    /// Helpers that the model describes itself.
    pub inline: InlineSubagents,
    /// The models a helper may have.
    pub models: Vec<ModelRef>,
    /// Helpers by name.
    pub definitions: Vec<SubagentDefinition>,
    /// Helpers that stay.
    pub instances: SubagentInstances,
}

/// `subagents.inline`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InlineSubagents {
    /// Whether the model may describe a helper itself.
    pub enabled: bool,
    /// The tools such a helper may have at most.
    pub allowed_tools: Option<Vec<String>>,
}

/// `subagents.definitions[]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubagentDefinition {
    /// The helper's name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its instructions.
    pub prompt: Option<String>,
    /// A file with its instructions.
    pub prompt_path: Option<PathBuf>,
    /// The tools it has, of those of the parent.
    pub allowed_tools: Option<Vec<String>>,
    /// The tools it has not.
    pub disallowed_tools: Option<Vec<String>>,
    /// Its model.
    pub model: Option<ModelRef>,
    /// How hard it thinks.
    pub effort: Option<Effort>,
    /// How often its model may be asked.
    pub max_turns: Option<u32>,
    /// How long it may run.
    pub timeout_ms: Option<u64>,
}

/// `subagents.instances`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubagentInstances {
    /// Whether helpers may stay.
    pub enabled: bool,
    /// Where they are kept.
    pub root: PathBuf,
    /// How many one conversation may keep.
    pub max_per_conversation: u32,
    /// How long an idle one is kept.
    pub idle_ttl_ms: u64,
    /// How often its model may be asked.
    pub max_turns: u32,
}

/// The `traceability` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TraceabilitySpec {
    /// Where the agent says that it runs.
    pub registry_dir: PathBuf,
    /// Its id there.
    pub source_id: Option<String>,
    /// Its name there.
    pub source_label: Option<String>,
    /// How often it says so.
    pub heartbeat_ms: u64,
    /// After how long of silence it counts as gone.
    pub stale_after_ms: u64,
    /// Whether the whole machine can find it.
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
pub struct ExporterSpec {
    /// What it speaks.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it is.
    pub endpoint: String,
    /// The project's name there.
    pub project_name: Option<String>,
    /// Whether texts are sent too.
    pub include_sensitive_data: bool,
    /// Headers sent with every request.
    #[serde(default, deserialize_with = "secret_map")]
    pub headers: BTreeMap<String, Secret>,
    /// How long a request may take.
    pub timeout_ms: u64,
}
