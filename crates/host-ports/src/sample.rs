//! A server that has the agent's model write something (MCP-14).

use crate::{BoxFuture, CancellationToken};
use host_vocab::{Block, CallId, ConversationId, RunId, ServerName, Untrusted};

/// One message of a server's request.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleMessage {
    /// Whether the model is said to have written it; else the user.
    pub assistant: bool,
    /// What it holds.
    pub content: Vec<Block>,
}

/// What a server wants written. All of it is the server's word.
#[derive(Debug, Clone)]
pub struct SampleRequest {
    /// Instructions of the server.
    pub system: Option<Untrusted<String>>,
    /// The messages, oldest first.
    pub messages: Untrusted<Vec<SampleMessage>>,
    /// The most tokens of the answer.
    pub output_tokens_max: u32,
}

/// Whose call the server is busy with.
#[derive(Debug, Clone)]
pub struct SampleParent {
    /// The conversation, daily bucket included.
    pub conversation: ConversationId,
    /// The run.
    pub run: RunId,
    /// The call.
    pub call: CallId,
    /// Who asks.
    pub server: ServerName,
    /// Fires when the call is over.
    pub cancel: CancellationToken,
}

/// What the model wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampled {
    /// The text.
    pub text: String,
    /// The model's reference.
    pub model: String,
    /// Whether the text was cut at the most tokens.
    pub cut: bool,
}

/// A way to the agent's model for servers.
pub trait Sample: Send + Sync {
    /// Has it written, without tools, and puts it on record. The error is for the server. Dropping the future stops
    /// it.
    fn sample(&self, request: SampleRequest, parent: SampleParent) -> BoxFuture<'_, Result<Sampled, String>>;
}
