//! What a run adds to its reply besides text (REP, QUI, RES, TIT).

use crate::BoxFuture;
use host_turn::PartCode;
use host_vocab::CallId;

/// What the place at the other end of a turn can show and be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Shows {
    /// Files of replies.
    pub files: bool,
    /// Quick replies and restart proposals.
    pub controls: bool,
    /// A title that is still automatic, so that a better one may be proposed.
    pub title: bool,
    /// Questions of the agent.
    pub questions: bool,
}

impl Shows {
    /// What the web console shows.
    pub const fn web() -> Self {
        Shows { files: true, controls: true, title: true, questions: true }
    }
}

/// A file that a model wants in its reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileWish {
    /// Where it is, as the model wrote it.
    pub path: String,
    /// What it is to be called.
    pub name: String,
    /// Its media type, as the model says.
    pub media_type: String,
}

/// A file that stands in the reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedFile {
    /// Its name, cleaned.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// Its size.
    pub size_bytes: u64,
    /// The sum of its bytes.
    pub sha256: String,
    /// Whether the same bytes stood there already.
    pub reused: bool,
}

/// Why a file does not stand in the reply; the words are for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotPublished {
    /// In which of the closed ways.
    pub code: PartCode,
    /// What, and what to do.
    pub message: String,
}

/// The reply of one run.
pub trait ReplyDesk: Send + Sync {
    /// Puts a file into it.
    fn publish(&self, wish: FileWish) -> BoxFuture<'_, Result<PublishedFile, NotPublished>>;
    /// Puts quick replies into it, in the place of earlier ones.
    fn suggest(&self, options: Vec<String>);
    /// Puts a restart proposal into it.
    fn propose_restart(&self, reason: Option<String>);
    /// Proposes a title for the conversation.
    fn title(&self, call: &CallId, title: String);
}
