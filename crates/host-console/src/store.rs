//! The console's rows.

use crate::shapes::{FollowUp, Message, Settings, Thread};
use serde_json::Value;

/// Why the store did not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// Something else, in words without paths.
    #[error("{0}")]
    Failed(String),
}

/// Which page of conversations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadQuery {
    /// Only of this agent.
    pub agent: Option<String>,
    /// The archived ones, or the others.
    pub archived: bool,
    /// Only those behind this place.
    pub after: Option<ThreadPlace>,
    /// How many.
    pub limit: usize,
}

/// A conversation's place in the list: pinned first, then newest.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ThreadPlace {
    /// Whether it is pinned.
    pub pinned: bool,
    /// When something was said last.
    pub updated_at: String,
    /// Its id.
    pub id: String,
}

/// A message with its place in the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageRow {
    /// Its conversation.
    pub thread: String,
    /// Its place, from 1.
    pub place: i64,
    /// The message.
    pub message: Message,
}

/// What was sent once, so that sending it again does nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The browser's id of it.
    pub id: String,
    /// Its conversation.
    pub thread: String,
    /// The sum of what was sent.
    pub digest: String,
    /// What was answered.
    pub receipt: Value,
}

/// A file of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadRow {
    /// Its id.
    pub id: String,
    /// Its name, cleaned.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// Its size.
    pub size_bytes: u64,
    /// When it came, in Unix milliseconds.
    pub created_ms: i64,
    /// The conversation that it was sent to; none = not sent yet.
    pub thread: Option<String>,
}

/// A message that carries words.
#[derive(Debug, Clone, PartialEq)]
pub struct HitRow {
    /// Its conversation.
    pub thread: Thread,
    /// Itself: id, when, whose; none = the title carries the words.
    pub message: Option<(String, String, String)>,
    /// A passage, with what matches between `\u{1}` and `\u{2}`.
    pub passage: String,
}

/// One change. Several are one transaction.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Puts a conversation there.
    Thread(Thread),
    /// Appends a message, or replaces the one of its id. A settled one is found by its words from then on.
    Message {
        /// The conversation.
        thread: String,
        /// The message.
        message: Message,
    },
    /// Notes what was sent.
    Submission(Submission),
    /// Puts a follow-up there.
    FollowUp(FollowUp),
    /// Puts an upload there.
    Upload(UploadRow),
    /// Forgets an upload.
    DropUpload(String),
    /// Forgets a conversation with all that belongs to it.
    DropThread(String),
    /// Puts the settings there.
    Settings(Settings),
    /// Keeps how an agent was last seen.
    Agent {
        /// Which.
        id: String,
        /// The card.
        card: Value,
    },
}

/// The console's rows. Everything blocks for a moment.
pub trait ConsoleStore: Send + Sync + 'static {
    /// Makes changes, all or none. When it returns they outlive this process.
    ///
    /// # Errors
    /// See [`StoreError`]; then none was made.
    fn apply(&self, changes: &[Change]) -> Result<(), StoreError>;
    /// A page of conversations that have a message.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn threads(&self, query: &ThreadQuery) -> Result<Vec<Thread>, StoreError>;
    /// One conversation.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn thread(&self, id: &str) -> Result<Option<Thread>, StoreError>;
    /// The newest messages of a conversation before a place, oldest first.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn messages(
        &self,
        thread: &str,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<MessageRow>, StoreError>;
    /// One message.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn message(&self, thread: &str, id: &str) -> Result<Option<MessageRow>, StoreError>;
    /// Messages of turns that are not over.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn open_messages(&self) -> Result<Vec<MessageRow>, StoreError>;
    /// What was sent under an id.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn submission(&self, id: &str) -> Result<Option<Submission>, StoreError>;
    /// The follow-ups of a conversation (none = of all) that are pending, queued or uncertain, oldest first.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn follow_ups(&self, thread: Option<&str>) -> Result<Vec<FollowUp>, StoreError>;
    /// One follow-up.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn follow_up(&self, id: &str) -> Result<Option<FollowUp>, StoreError>;
    /// One upload.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn upload(&self, id: &str) -> Result<Option<UploadRow>, StoreError>;
    /// Uploads of a conversation; with none those that were never sent and came before a time.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn uploads(&self, thread: Option<&str>, before_ms: i64) -> Result<Vec<UploadRow>, StoreError>;
    /// Messages and titles that carry words, best first; `words` are already folded and at least one.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn search(&self, agent: Option<&str>, words: &str, limit: usize) -> Result<Vec<HitRow>, StoreError>;
    /// The settings; none = they were never changed.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn settings(&self) -> Result<Option<Settings>, StoreError>;
    /// How agents were last seen.
    ///
    /// # Errors
    /// See [`StoreError`].
    fn agents(&self) -> Result<Vec<(String, Value)>, StoreError>;
}
