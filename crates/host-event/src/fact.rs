//! What can happen.

use host_turn::{Ending, Usage};
use host_vocab::Block;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One fact. The tag is the event's kind in the log; a change of a field's meaning raises
/// [`Fact::VERSION`] of its kind and adds an upcaster to the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Fact {
    /// A host process took up its work.
    HostStarted {
        /// The process's own incarnation, named by the runs it starts (ENG-7).
        incarnation: String,
        /// The program's version.
        version: String,
    },
    /// A host process ended its work in order.
    HostStopped {
        /// The incarnation that ends.
        incarnation: String,
    },
    /// A run began: the turn was taken and its surface sealed.
    RunStarted {
        /// The incarnation that runs it.
        incarnation: String,
        /// The channel or trigger kind.
        source: String,
        /// The job, endpoint or command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source_detail: Option<String>,
        /// What was said.
        user_input: String,
        /// Names and sizes of what came with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<String>,
        /// The model reference.
        model: String,
        /// The effort asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<String>,
        /// Whether the run stands alone (HIS-5).
        isolated: bool,
        /// What it may call.
        offered: Vec<OfferedTool>,
        /// What it may not call, and who says so.
        withheld: Vec<WithheldTool>,
    },
    /// A request went to a model.
    ModelAsked {
        /// Which request of the run, from 0.
        step: u32,
        /// Which attempt at it, from 0.
        attempt: u32,
        /// The route.
        model: String,
    },
    /// A model's answer is whole.
    ModelAnswered {
        /// Which request of the run, from 0.
        step: u32,
        /// The route.
        model: String,
        /// What it said to the person.
        text: String,
        /// What it wants to call, in its order.
        calls: Vec<ModelCall>,
        /// Why it stopped.
        finish: String,
        /// What it used.
        usage: Usage,
    },
    /// A model's answer failed or broke off.
    ModelFailed {
        /// Which request of the run, from 0.
        step: u32,
        /// Which attempt at it, from 0.
        attempt: u32,
        /// The route.
        model: String,
        /// The failure kind.
        failure_kind: String,
        /// What the provider said, bounded.
        error: String,
        /// What was already shown.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        partial_text: String,
        /// What the host does now: `retry`, `failover`, `stop`.
        then: String,
    },
    /// A call was refused before it started: not on the surface, bad input, or not approved.
    CallRefused {
        /// The name as the model wrote it, bounded.
        tool: String,
        /// The code of the refusal.
        code: String,
        /// Who refused: `surface`, `schema`, `approval`, `record`, `cancelled`.
        by: String,
        /// The rule or reason, in words.
        why: String,
        /// The arguments, redacted and bounded.
        arguments: Value,
        /// The keyed digest of the exact arguments.
        arguments_digest: String,
        /// When the call reached the gate, in Unix milliseconds.
        asked_at: i64,
    },
    /// A person was asked about a call.
    ApprovalAsked {
        /// The tool.
        tool: String,
        /// The rule that asks.
        rule: String,
    },
    /// A person answered, or nobody did in time.
    ApprovalAnswered {
        /// The tool.
        tool: String,
        /// `approved`, `approved_always`, `denied`, `timed_out`, `no_asker`, `cancelled`.
        answer: String,
        /// Where it was answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
    },
    /// A call passed the gate and is about to run. Without a [`Fact::CallSettled`] it is an interrupted
    /// call, by definition.
    CallStarted {
        /// The tool's name.
        tool: String,
        /// The tool's source.
        source: String,
        /// The arguments, redacted and bounded.
        arguments: Value,
        /// The keyed digest of the exact arguments.
        arguments_digest: String,
        /// The rule that let it through.
        rule: String,
    },
    /// A call ended.
    CallSettled {
        /// The tool's name.
        tool: String,
        /// `done`, `failed` or `unknown`.
        settled: String,
        /// The code: `ok` or one of the tool's own.
        code: String,
        /// What the model was given, redacted and bounded.
        content: Vec<Block>,
        /// The structured result, redacted and bounded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        structured: Option<Value>,
        /// The outcome record of the operation (TOO-3), where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<Value>,
        /// How long it ran, in milliseconds.
        duration_ms: u64,
        /// How large the result was before it was bounded.
        original_bytes: u64,
        /// Whether the model was given less than the whole.
        truncated: bool,
        /// Opaque ids of kept output (TOO-7).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<String>,
    },
    /// A session began anew or was cut.
    SessionBoundary {
        /// `rollover`, `isolated`, `reseeded`, `cleared`.
        boundary: String,
        /// Why, in words.
        reason: String,
    },
    /// The prompt was compacted (ENG-4); the log itself never is.
    ContextCompacted {
        /// Estimated tokens before.
        tokens_before: u64,
        /// Estimated tokens after.
        tokens_after: u64,
        /// `before` the request or `after` an overflow.
        when: String,
    },
    /// Something that an operator should know, but that ended nothing.
    Warning {
        /// A code.
        code: String,
        /// What it is, in one line.
        message: String,
    },
    /// A run ended.
    RunSettled {
        /// How.
        #[serde(flatten)]
        ending: Ending,
        /// The final visible text.
        text: String,
        /// What the whole run used.
        usage: Usage,
        /// How long it took, in milliseconds.
        duration_ms: u64,
        /// Routes that were tried and failed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        failover_history: Vec<Value>,
    },
}

/// A tool on a run's surface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedTool {
    /// Its name.
    pub name: String,
    /// Its source.
    pub source: String,
}

/// A tool that a run may not call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WithheldTool {
    /// Its name.
    pub name: String,
    /// Who withholds it.
    pub by: String,
}

/// What a model wants to call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    /// The provider's id of the call.
    pub id: String,
    /// The name as the model wrote it.
    pub name: String,
    /// The arguments, redacted; a string where they were no JSON.
    pub arguments: Value,
}

impl Fact {
    /// The current version of every kind's body.
    pub const VERSION: u16 = 1;

    /// The kind, as the log's `kind` column holds it.
    pub fn kind(&self) -> &'static str {
        match self {
            Fact::HostStarted { .. } => "host_started",
            Fact::HostStopped { .. } => "host_stopped",
            Fact::RunStarted { .. } => "run_started",
            Fact::ModelAsked { .. } => "model_asked",
            Fact::ModelAnswered { .. } => "model_answered",
            Fact::ModelFailed { .. } => "model_failed",
            Fact::CallRefused { .. } => "call_refused",
            Fact::ApprovalAsked { .. } => "approval_asked",
            Fact::ApprovalAnswered { .. } => "approval_answered",
            Fact::CallStarted { .. } => "call_started",
            Fact::CallSettled { .. } => "call_settled",
            Fact::SessionBoundary { .. } => "session_boundary",
            Fact::ContextCompacted { .. } => "context_compacted",
            Fact::Warning { .. } => "warning",
            Fact::RunSettled { .. } => "run_settled",
        }
    }
}
