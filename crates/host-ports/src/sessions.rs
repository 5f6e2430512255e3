//! Live prompt state: the exact messages of a conversation, apart from the redacted log (ENG-7).

use crate::BoxFuture;
use crate::model::Message;
use host_vocab::ConversationId;
use serde::{Deserialize, Serialize};

/// The exact prompt of a conversation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PromptState {
    /// The messages, oldest first; complete turns only.
    pub messages: Vec<Message>,
    /// The model reference that they were made with.
    pub model: String,
    /// When the last turn ended, in Unix milliseconds.
    pub updated_at: i64,
    /// The provider's own session id, where it keeps one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_session: Option<String>,
}

/// What became of a stored prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum Loaded {
    /// Nothing is stored.
    Nothing,
    /// Here it is.
    State(PromptState),
    /// Something is stored but can't be opened (key lost, damaged): reseed from history and say so.
    Unreadable(String),
}

/// Why prompt state could not be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the prompt state could not be stored: {0}")]
pub struct SessionError(pub String);

/// Prompt state at rest, encrypted with an owner-only key; it goes with the session.
pub trait Sessions: Send + Sync {
    /// The stored prompt of the exact conversation (bucket included).
    fn load(&self, conversation: &ConversationId) -> BoxFuture<'_, Loaded>;

    /// Replaces it. A message is durable when this returns.
    ///
    /// # Errors
    /// Then the old state still stands.
    fn save(
        &self,
        conversation: &ConversationId,
        state: &PromptState,
    ) -> BoxFuture<'_, Result<(), SessionError>>;

    /// Forgets it.
    ///
    /// # Errors
    /// Then it still stands.
    fn forget(&self, conversation: &ConversationId) -> BoxFuture<'_, Result<(), SessionError>>;

    /// Forgets all of them, and says how many there were and their bytes.
    ///
    /// # Errors
    /// Then some may still stand.
    fn clear(&self) -> BoxFuture<'_, Result<(u64, u64), SessionError>>;
}
