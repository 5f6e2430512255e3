//! One input to the agent.

use host_vocab::ConversationId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where a turn came from: `terminal`, `web`, `webhook`, `cron` …, lower-case ASCII.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Channel(String);

impl Channel {
    /// The channels of the host itself (CHN-1); plugins and programs bring others.
    pub const OF_THE_HOST: [&'static str; 13] = [
        "terminal",
        "web",
        "webhook",
        "openai-api",
        "cron",
        "tui",
        "slack",
        "telegram",
        "discord",
        "matrix",
        "a2a",
        "acp",
        "gateway",
    ];

    /// A channel by its name.
    pub fn new(name: impl Into<String>) -> Self {
        Channel(name.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The terminal: `chat` and `run`.
    pub fn terminal() -> Self {
        Channel::new("terminal")
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What set a turn going.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// A person is there and waits.
    Interactive,
    /// A request of another program.
    Request,
    /// A clock or an event; nobody waits.
    Proactive,
}

/// One input: who, where, what, and what the place it came from can show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The conversation that it belongs to, without a daily bucket.
    pub conversation: ConversationId,
    /// Where it came from.
    pub channel: Channel,
    /// What set it going.
    pub trigger: Trigger,
    /// What was said.
    pub text: String,
    /// Files that came with it, already stored by the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The job, endpoint or command behind it, for the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_detail: Option<String>,
    /// The name or handle of whoever wrote it, where the channel knows (at most 64 characters).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// Whether the turn stands alone: it neither reads nor extends the conversation's session.
    #[serde(default)]
    pub isolated: bool,
}

/// What kind of file came with a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentKind {
    /// A picture that a model may look at.
    Image,
    /// Anything else.
    Document,
}

/// A file that came with a turn, stored below the agent's attachments folder through one descriptor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// What kind it is.
    pub kind: AttachmentKind,
    /// The name to show; cleaned.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Where the host stored it (the lexical path).
    pub path: String,
    /// The device of the stored file, taken from the descriptor after write and sync.
    pub dev: u64,
    /// The inode of the stored file, taken likewise.
    pub ino: u64,
}

impl Turn {
    /// An interactive turn from the terminal.
    pub fn terminal(conversation: ConversationId, text: impl Into<String>) -> Self {
        Turn {
            conversation,
            channel: Channel::terminal(),
            trigger: Trigger::Interactive,
            text: text.into(),
            attachments: Vec::new(),
            source_detail: None,
            sender: None,
            isolated: false,
        }
    }
}
