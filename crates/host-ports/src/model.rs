//! Models: one request, streamed.

use futures_util::stream::BoxStream;
use host_turn::{FailureKind, Usage};
use host_vocab::Block;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// From the person (or the host on their behalf).
    User {
        /// Text and pictures.
        content: Vec<Block>,
    },
    /// From the model, in the order in which it came.
    Assistant {
        /// Text, reasoning and calls.
        parts: Vec<AssistantPart>,
    },
    /// The answers to calls of the message before.
    ToolResults {
        /// One for each call, in the order of the calls.
        results: Vec<ToolResult>,
    },
}

/// A piece of a model's message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum AssistantPart {
    /// What it says.
    Text {
        /// The text.
        text: String,
    },
    /// What it thought: kept and sent back unchanged to the provider that made it, dropped for others.
    Reasoning {
        /// Which provider can read it (`anthropic`, `openai` …).
        provider: String,
        /// The readable summary, where there is one. Never shown as the answer.
        text: String,
        /// The block exactly as the provider sent it, signature included.
        raw: Value,
    },
    /// What it wants to call.
    Call(ToolCall),
}

/// A model's wish to call a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id for it.
    pub id: String,
    /// The name as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them; may be no valid JSON.
    pub arguments: String,
    /// What the provider wants back with the call unchanged (Gemini's thought signature …).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
}

/// The answer to one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call's id.
    pub call_id: String,
    /// The call's name, as the model wrote it.
    pub name: String,
    /// What the tool gave.
    pub content: Vec<Block>,
    /// Whether it is an error.
    pub is_error: bool,
}

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The schema of its arguments, whole; each provider normalises it (MCP-10).
    pub input_schema: Arc<Value>,
}

/// How hard a model should think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names are the levels")]
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

/// One request.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The system prompt. Stable across the turns of a session, so that it can be cached.
    pub system: String,
    /// The conversation, newest last. Strictly answers to calls follow the message that made them.
    pub messages: Vec<Message>,
    /// What may be called; empty = tools off.
    pub tools: Arc<[ToolSpec]>,
    /// How hard to think; `None` = the provider's default.
    pub effort: Option<Effort>,
    /// The most tokens of the answer; `None` = the model's own limit.
    pub output_tokens_max: Option<u32>,
    /// A stable key of the session, for prompt caching.
    pub cache_key: Option<String>,
}

/// What comes back, piece by piece. A stream ends after [`ModelEvent::Finished`]; one that ends without it
/// broke off (T12-07), and its adapter says so with an error.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// A piece of the answer's text.
    Text(String),
    /// A piece of readable reasoning.
    Reasoning(String),
    /// A call has begun; its arguments are still coming.
    CallStarted {
        /// The name, as far as it is known.
        name: String,
    },
    /// A whole part, in its final form and order: text, reasoning or a call. Text parts repeat what came in
    /// pieces.
    Part(AssistantPart),
    /// A note of the adapter for people, such as that tools go through the schema mode here.
    Notice(String),
    /// The end.
    Finished {
        /// Why it stopped.
        reason: FinishReason,
        /// What it used.
        usage: Usage,
    },
}

/// Why an answer stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// It waits for calls.
    ToolCalls,
    /// It hit the output limit.
    Length,
    /// The provider cut it for safety.
    ContentFilter,
    /// It was refused by the model.
    Refusal,
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// In which of the closed ways.
    pub kind: FailureKind,
    /// What the provider said, one line, bounded, without secrets.
    pub message: String,
    /// When the provider asks to come again (Retry-After).
    pub retry_after: Option<Duration>,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// The provider's id of the request, for its support.
    pub request_id: Option<String>,
    /// The context window, where the provider named it in a `context_limit`.
    pub context_window: Option<u64>,
}

impl ModelError {
    /// An error with nothing but its kind and message.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        ModelError {
            kind,
            message: message.into(),
            retry_after: None,
            status: None,
            request_id: None,
            context_window: None,
        }
    }
}

/// What is known of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelInfo {
    /// The reference, `<provider>:<model>`.
    pub reference: String,
    /// The provider, whose reasoning blocks it can read.
    pub provider: String,
    /// Its context window in tokens.
    pub context_window: u64,
    /// Whether it takes pictures.
    pub images: bool,
    /// Whether a person plays it (no time-outs, no compaction).
    pub operator: bool,
    /// How tools reach it: `native`, `schema` or `none`.
    pub tool_calling: &'static str,
}

/// A model.
pub trait Model: Send + Sync {
    /// What is known of it.
    fn info(&self) -> ModelInfo;

    /// Sends one request. Dropping the stream cancels it.
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>>;
}
