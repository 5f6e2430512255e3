//! What the browser is shown, as `docs/design/console-api.md` has it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// How a turn is, or how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It goes on.
    Running,
    /// A person has to decide something.
    Waiting,
    /// It came to an answer.
    Succeeded,
    /// It failed.
    Failed,
    /// Somebody stopped it.
    Cancelled,
    /// The console or the agent went away under it.
    Interrupted,
}

impl RunStatus {
    /// Whether it is not over.
    pub const fn is_open(self) -> bool {
        matches!(self, RunStatus::Running | RunStatus::Waiting)
    }

    /// A run's status as its host says it; anything unknown is a failure.
    pub fn of_host(word: &str) -> Self {
        match word {
            "succeeded" => RunStatus::Succeeded,
            "cancelled" => RunStatus::Cancelled,
            "interrupted" => RunStatus::Interrupted,
            _ => RunStatus::Failed,
        }
    }
}

/// A conversation in the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// Its id; `web:<id>` is the agent's conversation.
    pub id: String,
    /// Its agent, for life.
    pub agent_id: String,
    /// Its title.
    pub title: String,
    /// Whether a person gave it, so that nothing else changes it.
    pub title_locked: bool,
    /// Whether it stands first.
    pub pinned: bool,
    /// Whether it is put away.
    pub archived: bool,
    /// `web`, `cron` or `webhook`.
    pub origin: String,
    /// Whether nothing can be sent to it.
    pub read_only: bool,
    /// When it was begun, RFC 3339.
    pub created_at: String,
    /// When something was said last.
    pub updated_at: String,
    /// The beginning of the newest text.
    pub preview: String,
    /// The chosen model; none = the agent's.
    pub model: Option<String>,
    /// The chosen effort.
    pub effort: Option<String>,
    /// The newest turn; none = there was none yet.
    pub run_state: Option<RunState>,
}

/// A turn in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunState {
    /// How it is.
    pub status: RunStatus,
    /// When it began.
    pub started_at: String,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// What it is at, while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<RunActivity>,
}

/// What a running turn is at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunActivity {
    /// Calls so far.
    pub tool_call_count: usize,
    /// `thinking`, `answering`, `calling`, `waiting`.
    pub phase: String,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role")]
pub enum Message {
    /// A person's.
    #[serde(rename = "user")]
    User(UserMessage),
    /// The agent's.
    #[serde(rename = "assistant")]
    Assistant(Box<Answer>),
}

impl Message {
    /// Its id.
    pub fn id(&self) -> &str {
        match self {
            Message::User(message) => &message.id,
            Message::Assistant(answer) => &answer.id,
        }
    }

    /// Its text.
    pub fn text(&self) -> &str {
        match self {
            Message::User(message) => &message.text,
            Message::Assistant(answer) => &answer.text,
        }
    }

    /// Whether it belongs to a turn that is not over.
    pub fn is_open(&self) -> bool {
        matches!(self, Message::Assistant(answer) if answer.status.is_open())
    }
}

/// A passage that a message answers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Quote {
    /// The message it is from, of the same conversation.
    pub message_id: String,
    /// The passage.
    pub text: String,
}

/// What a person said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    /// Its id.
    pub id: String,
    /// How often it changed, from 1.
    pub seq: u64,
    /// When it was sent.
    pub created_at: String,
    /// The text.
    pub text: String,
    /// Whether it was read by a turn that ran already.
    pub steered: bool,
    /// What it answers to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<Quote>,
    /// Files that came with it.
    pub attachments: Vec<Upload>,
}

/// A file of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Upload {
    /// Its id.
    pub id: String,
    /// Its name, cleaned.
    pub name: String,
    /// Its media type, as its bytes say.
    pub media_type: String,
    /// Its size.
    pub size_bytes: u64,
}

/// What the agent said, with all that it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// Its id.
    pub id: String,
    /// How often it changed, from 1.
    pub seq: u64,
    /// When the turn began.
    pub created_at: String,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<String>,
    /// How it is.
    pub status: RunStatus,
    /// In which way it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_kind: Option<String>,
    /// What happened, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether the text is only a part of an answer.
    pub partial: bool,
    /// The run at the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model that was asked first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_model: Option<String>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Value>,
    /// The text.
    pub text: String,
    /// What was done, in order.
    pub activity: Vec<Step>,
    /// Files, quick replies and other parts of the reply.
    pub parts: Vec<Value>,
    /// How each part is, by its id; made when the message is shown.
    #[serde(default)]
    pub part_status: BTreeMap<String, Value>,
    /// Lines of the host for people.
    pub notices: Vec<String>,
}

/// One row of activity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Step {
    /// A call.
    Call(Box<Call>),
    /// Narration between calls.
    Text {
        /// Names the row.
        id: String,
        /// The words.
        text: String,
    },
    /// Readable reasoning.
    Reasoning {
        /// Names the row.
        id: String,
        /// The words.
        text: String,
    },
    /// A retry, a fall-back, a warning, a server's progress.
    Note {
        /// Names the row.
        id: String,
        /// `plain`, `refused`, `failed` or `unknown`.
        tone: String,
        /// The words.
        text: String,
    },
    /// The prompt was shortened, or that was tried.
    Compaction {
        /// Names the row.
        id: String,
        /// `done` or `failed`.
        state: String,
        /// Estimated tokens before.
        tokens_before: u64,
        /// Estimated tokens after.
        tokens_after: u64,
    },
}

impl Step {
    /// What names it.
    pub fn id(&self) -> &str {
        match self {
            Step::Call(call) => &call.id,
            Step::Text { id, .. }
            | Step::Reasoning { id, .. }
            | Step::Note { id, .. }
            | Step::Compaction { id, .. } => id,
        }
    }
}

/// How a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// It runs.
    Working,
    /// A person has to decide.
    Waiting,
    /// It did what it was asked.
    Done,
    /// It never started.
    Refused,
    /// It failed.
    Failed,
    /// It may have happened.
    Unknown,
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// Its id in the run.
    pub id: String,
    /// The tool's own name.
    pub tool: String,
    /// The server it is from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Its arguments, redacted; JSON text that was cut where they are long.
    pub arguments: Value,
    /// How large the arguments are.
    pub arguments_bytes: usize,
    /// Whether they were cut.
    pub arguments_cut: bool,
    /// How it is.
    pub state: CallState,
    /// The code of its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The reason of a refusal or failure, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Who let it through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Value>,
    /// When it began.
    pub started_at: String,
    /// How long it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The beginning of its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// How large the result is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_bytes: Option<u64>,
    /// Whether it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_cut: Option<bool>,
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Value>,
}

/// Something that a person is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    /// Its id.
    pub id: String,
    /// Its conversation.
    pub thread_id: String,
    /// Its agent.
    pub agent_id: String,
    /// When it came up.
    pub opened_at: String,
    /// When it is answered with no by itself; none = never.
    pub expires_at: Option<String>,
    /// `open`, `answered`, `expired` or `cancelled`.
    pub state: String,
    /// When it was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<String>,
    /// What was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// What is asked.
    #[serde(flatten)]
    pub kind: AskKind,
}

/// What a person is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AskKind {
    /// Whether a call may run.
    Approval {
        /// The call.
        call_id: String,
        /// Its run.
        run_id: String,
        /// The tool's own name.
        tool: String,
        /// The server it is from.
        #[serde(skip_serializing_if = "Option::is_none")]
        server: Option<String>,
        /// The redacted arguments.
        arguments: Value,
        /// The rule that asks.
        rule: String,
        /// The rule that "always" would add, as JSON text; none = it can't be had.
        always: Option<String>,
    },
    /// Questions of the agent.
    AskUser {
        /// What stands above them.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The questions.
        questions: Value,
    },
    /// A question of an MCP server.
    Elicit {
        /// The server.
        server: String,
        /// Its words.
        message: String,
        /// A form's schema.
        form: Option<Value>,
        /// An address to open.
        visit: Option<String>,
    },
}

/// How a follow-up is (ENG-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowUpState {
    /// It was offered to the running turn.
    Pending,
    /// The turn has read it.
    Applied,
    /// It starts a turn of its own after the running one.
    Queued,
    /// A person took it back.
    Cancelled,
    /// It may have been read; it is never sent again.
    Uncertain,
}

/// Something said to a turn that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FollowUp {
    /// Its id.
    pub id: String,
    /// Its conversation.
    pub thread_id: String,
    /// The words.
    pub text: String,
    /// When it was said.
    pub created_at: String,
    /// How it is.
    pub state: FollowUpState,
}

/// How dense rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Density {
    /// As designed.
    Comfortable,
    /// Closer.
    Compact,
}

/// Look and keys, the same in every browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// `system`, `light` or `dark`.
    pub theme: String,
    /// `evergreen`, `ocean`, `plum` or `terracotta`.
    pub accent: String,
    /// Density of rows.
    pub density: Density,
    /// `enter` or `modEnter`.
    pub send_key: String,
    /// Whether single letters are keys.
    pub letter_keys: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            theme: "system".into(),
            accent: "evergreen".into(),
            density: Density::Comfortable,
            send_key: "enter".into(),
            letter_keys: true,
        }
    }
}

impl Settings {
    /// The first setting that has a value which is none.
    pub fn fault(&self) -> Option<&'static str> {
        let of = |word: &str, known: &[&str]| known.contains(&word);
        if !of(&self.theme, &["system", "light", "dark"]) {
            return Some("theme");
        }
        if !of(&self.accent, &["evergreen", "ocean", "plum", "terracotta"]) {
            return Some("accent");
        }
        (!of(&self.send_key, &["enter", "modEnter"])).then_some("sendKey")
    }
}
