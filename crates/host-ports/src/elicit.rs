//! A server that asks a person something in the middle of a call (MCP-14).

use crate::BoxFuture;
use host_vocab::{CallId, ConversationId, RunId, ServerName, Untrusted};
use serde_json::Value;

/// What a server wants of a person.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// A form: a JSON Schema of an object whose properties are plain values.
    Form(Value),
    /// That the person opens an address, `http` or `https`; what happens there stays between the two.
    Visit(url::Url),
}

/// A server's question.
#[derive(Debug, Clone)]
pub struct ElicitRequest {
    /// The conversation of the call, daily bucket included.
    pub conversation: ConversationId,
    /// Its run.
    pub run: RunId,
    /// The call that the server is busy with.
    pub call: CallId,
    /// Who asks. Renderers show it: the words below are the server's.
    pub server: ServerName,
    /// The server's words, bounded.
    pub message: Untrusted<String>,
    /// What it wants.
    pub wanted: Untrusted<Wanted>,
}

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitAnswer {
    /// A filled form; what it leaves out takes the schema's defaults. For a visit: the person agreed.
    Accepted(Value),
    /// No. The call goes on without.
    Declined,
    /// Neither; nobody answered in time.
    Cancelled,
}

/// A way to a person for servers' questions.
pub trait Elicit: Send + Sync {
    /// Asks, and waits for at most the implementation's own bound. Dropping the future withdraws the question.
    /// Where the conversation's channel can't ask, the answer is [`ElicitAnswer::Declined`].
    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitAnswer>;
}
