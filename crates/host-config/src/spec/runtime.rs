//! Runtime, context and concurrency.

use crate::ModelRef;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How hard a model thinks, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it; providers decide what each means")]
pub enum Effort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
    Ultra,
}

impl Effort {
    /// The effort as the config spells it.
    pub fn as_str(self) -> &'static str {
        crate::registry::EFFORTS[self as usize]
    }
}

/// The `runtime` section.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuntimeSpec {
    /// The model; none only where nothing is configured at all.
    pub model: Option<ModelRef>,
    /// How hard it thinks; none = the provider's own.
    pub effort: Option<Effort>,
    /// What is tried next, in order.
    pub fallbacks: Vec<FallbackSpec>,
    /// How often the first model is tried.
    pub retry: RetrySpec,
    /// How often the model may be asked in one run; 0 = without limit.
    pub max_turns: u32,
    /// The workspace, absolute.
    pub workspace: PathBuf,
    /// Accepted for older configs; changes nothing.
    pub permission_mode: Option<String>,
    /// How long prompts are shortened.
    pub compaction: CompactionSpec,
    /// How a conversation is kept.
    pub session: SessionSpec,
}

/// A model to fall back to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FallbackSpec {
    /// The model.
    pub model: ModelRef,
    /// How hard it thinks; none = the provider's own, not the primary's.
    pub effort: Option<Effort>,
    /// How often it is tried.
    pub attempts: u32,
}

/// Tries of the first model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetrySpec {
    /// How often it is tried in all.
    pub primary_attempts: u32,
    /// The wait before the second try; it doubles with each.
    pub backoff_ms: u64,
    /// The longest wait.
    pub max_backoff_ms: u64,
}

/// How long prompts are shortened.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompactionSpec {
    /// Whether they are.
    pub enabled: bool,
    /// The part of the context window that triggers it.
    pub trigger_ratio: f64,
    /// How much of the end stays; none = from the context window.
    pub keep_recent_tokens: Option<u32>,
    /// How long the summary may be; none = from the context window.
    pub summary_max_tokens: Option<u32>,
    /// How much it must save; none = from the context window.
    pub min_savings_tokens: Option<u32>,
    /// Whether instructions and tools count as well.
    pub fixed_overhead_enabled: bool,
    /// The context window in tokens; none = the model's.
    pub context_window_override: Option<u32>,
}

/// How a conversation is kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionSpec {
    /// Whether it goes on.
    pub mode: SessionMode,
    /// After how long without a turn it is put to rest.
    pub idle_timeout_ms: u64,
    /// Whether scheduled runs stay out of it.
    pub isolate_proactive: bool,
    /// Whether each day begins a new one.
    pub rollover: Rollover,
    /// The zone in which a day begins; none = the system's.
    pub rollover_timezone: Option<String>,
    /// Whether the conversation is told.
    pub rollover_notice: bool,
}

/// Whether a conversation goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionMode {
    /// From turn to turn.
    Continuous,
    /// Each message stands alone.
    PerMessage,
}

/// When a new session begins by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rollover {
    /// Never.
    None,
    /// Each day.
    Daily,
}

/// The `context` section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContextSpec {
    /// The identity file, absolute; none only where nothing is configured at all.
    pub identity_path: Option<PathBuf>,
    /// A file in place of the built-in guardrails, absolute.
    pub soul_path: Option<PathBuf>,
    /// The folder of skills, absolute.
    pub skills_root: PathBuf,
    /// The skills of this agent, in order.
    pub selected_skills: Vec<String>,
    /// How much of one skill's file is read.
    pub skill_max_bytes: usize,
    /// How skills reach the model.
    pub skill_disclosure: SkillDisclosure,
}

/// How skills reach the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SkillDisclosure {
    /// By name; the model reads one with `ReadSkill`.
    Index,
    /// Whole, in the prompt.
    Full,
}

/// The `concurrency` section; both limits count per channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConcurrencySpec {
    /// How many runs there may be at a time; none = without limit.
    pub max_concurrent_runs: Option<usize>,
    /// How many may wait; none = without limit.
    pub max_pending_runs: Option<usize>,
}

/// The `agent` section.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IdentitySpec {
    /// A name for people.
    pub name: Option<String>,
}
