//! What goes over the local socket: one JSON object a line (RET-4).
//!
//! A client sends one [`Request`]; the host answers with [`Frame`]s, the last of which is
//! [`Frame::Finish`] or [`Frame::Error`]. During a turn the client may send [`Answer`]s. Closing the
//! connection cancels the turn.

use super::views::View;
use host_ports::ask::{ApprovalAnswer, Question};
use host_ports::model::{Message, ToolCall, ToolSpec};
use host_ports::replies::Shows;
use host_run::RunEvent;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The version of this protocol; a host refuses a client of another one.
pub const PROTOCOL: u32 = 1;

/// The code of a refusal: the request names a channel that the agent doesn't have.
pub const UNKNOWN_CHANNEL: &str = "unknown_channel";

/// What a client wants.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Request {
    /// How the host is.
    Status,
    /// End in order.
    Stop,
    /// End in order and come back (the supervisor starts the next generation).
    Restart {
        /// Whether sessions are forgotten in between.
        clear_sessions: bool,
    },
    /// One turn.
    Turn {
        /// The turn.
        turn: host_turn::Turn,
        /// Whether the client can be asked for approvals.
        can_approve: bool,
        /// Whether the client can play the model.
        can_operate: bool,
        /// Whether the client can be asked what MCP servers want to know.
        #[serde(default)]
        can_elicit: bool,
        /// What the client can show and be asked.
        #[serde(default)]
        shows: Shows,
    },
    /// Begin a conversation anew, or all of them.
    Forget {
        /// The conversation; none = all.
        conversation: Option<host_vocab::ConversationId>,
    },
    /// One call of one tool, without a model.
    Call {
        /// The channel whose surface is used.
        channel: String,
        /// The tool.
        tool: String,
        /// Its arguments, as written.
        arguments: String,
        /// Whether the client can be asked for approvals.
        can_approve: bool,
        /// Whether the client can be asked what MCP servers want to know.
        #[serde(default)]
        can_elicit: bool,
    },
    /// Every tool, offered or withheld.
    Explain {
        /// The channel.
        channel: String,
    },
    /// What the model would see.
    Tools {
        /// The channel.
        channel: String,
    },
    /// Connects to one MCP server and lists its tools.
    TestServer {
        /// The server.
        name: String,
    },
    /// A look at what an owner may see.
    View {
        /// At what.
        #[serde(flatten)]
        look: View,
    },
}

/// A request with the version it is made for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Envelope {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// The request.
    #[serde(flatten)]
    pub request: Request,
}

/// What the host answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "frame", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Frame {
    /// Something happened in the run.
    Event {
        /// What.
        event: RunEvent,
    },
    /// A person has to decide.
    Ask {
        /// Names the question in the answer.
        id: u64,
        /// The tool.
        tool: String,
        /// The redacted arguments.
        arguments: Value,
        /// The rule that asks.
        rule: String,
        /// The run.
        run: String,
        /// The call.
        call: String,
        /// The rule that "always" would add, as JSON text; none = it can't be had.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        always: Option<String>,
        /// How long the host waits, in milliseconds; then it is a no.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait_ms: Option<u64>,
    },
    /// A person has to play the model.
    Desk {
        /// Names the request in the answer.
        id: u64,
        /// The newest messages.
        messages: Vec<Message>,
        /// What may be called.
        tools: Vec<ToolSpec>,
    },
    /// An MCP server wants something of a person.
    Elicit {
        /// Names the question in the answer.
        id: u64,
        /// The server.
        server: String,
        /// Its words.
        message: String,
        /// A form's schema; or nothing, where it wants a visit.
        form: Option<Value>,
        /// The address of the visit.
        visit: Option<String>,
        /// The run.
        run: String,
        /// The call.
        call: String,
        /// How long the host waits, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait_ms: Option<u64>,
    },
    /// The agent asks a person something.
    Questions {
        /// Names them in the answer.
        id: u64,
        /// What stands above them.
        message: Option<String>,
        /// The questions.
        questions: Vec<Question>,
        /// How long the host waits, in milliseconds; none = for ever.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait_ms: Option<u64>,
    },
    /// Questions are not asked any more.
    Withdrawn {
        /// Which.
        id: u64,
    },
    /// What became of a follow-up.
    Steered {
        /// Which.
        id: String,
        /// Whether the model has read it; else it is to be sent as a turn of its own.
        applied: bool,
    },
    /// A piece of the final text, where that is too long for one frame: the text of [`Frame::Finish`] is all pieces
    /// together.
    Piece {
        /// The piece.
        text: String,
    },
    /// The end, with the result of the request.
    Finish {
        /// Its form depends on the request.
        result: Value,
    },
    /// The end: it could not be done.
    Error {
        /// A code.
        code: String,
        /// What went wrong and what to do.
        message: String,
    },
}

/// What a client says during a turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// To [`Frame::Ask`].
    Approval {
        /// The question.
        id: u64,
        /// Whether the call may run.
        approval: Approval,
    },
    /// To [`Frame::Desk`].
    Move {
        /// The request.
        id: u64,
        /// What the person does.
        #[serde(flatten)]
        made: Move,
    },
    /// To [`Frame::Elicit`].
    Elicited {
        /// The question.
        id: u64,
        /// What the person said.
        action: ElicitAction,
        /// The filled form, where it was accepted.
        #[serde(default)]
        content: Value,
    },
    /// To [`Frame::Questions`].
    Answers {
        /// The questions.
        id: u64,
        /// One reply each; none = the person does not answer.
        answers: Option<Value>,
    },
    /// A follow-up to the running turn (ENG-8).
    Steer {
        /// Names it.
        id: String,
        /// The words.
        text: String,
    },
    /// Takes a follow-up back that was not read.
    Unsteer {
        /// Which.
        id: String,
    },
    /// Stop the turn.
    Cancel,
}

/// An approval on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Yes, this once.
    Approved,
    /// Yes, from now on.
    ApprovedAlways,
    /// No.
    Denied,
    /// Nobody answered in time.
    TimedOut,
    /// There is nobody to ask.
    NoAsker,
}

impl From<ApprovalAnswer> for Approval {
    fn from(answer: ApprovalAnswer) -> Self {
        match answer {
            ApprovalAnswer::Approved => Approval::Approved,
            ApprovalAnswer::ApprovedAlways => Approval::ApprovedAlways,
            ApprovalAnswer::Denied => Approval::Denied,
            ApprovalAnswer::TimedOut => Approval::TimedOut,
            ApprovalAnswer::NoAsker => Approval::NoAsker,
        }
    }
}

impl From<Approval> for ApprovalAnswer {
    fn from(approval: Approval) -> Self {
        match approval {
            Approval::Approved => ApprovalAnswer::Approved,
            Approval::ApprovedAlways => ApprovalAnswer::ApprovedAlways,
            Approval::Denied => ApprovalAnswer::Denied,
            Approval::TimedOut => ApprovalAnswer::TimedOut,
            Approval::NoAsker => ApprovalAnswer::NoAsker,
        }
    }
}

/// What a person said to a server's question, on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElicitAction {
    /// Yes.
    Accept,
    /// No.
    Decline,
    /// Neither.
    Cancel,
}

/// An operator's move on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "move", rename_all = "snake_case")]
pub enum Move {
    /// An answer.
    Say {
        /// Its text.
        text: String,
    },
    /// Calls.
    Call {
        /// The calls.
        calls: Vec<ToolCall>,
    },
    /// Giving up.
    Leave,
}

/// How a host is: the result of [`Request::Status`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Always true; a stopped host answers nothing.
    pub ok: bool,
    /// The agent's name.
    pub name: String,
    /// The process.
    pub pid: u32,
    /// How often a host of this agent was started.
    pub generation: u64,
    /// The program's version.
    pub version: String,
    /// When it started, in Unix milliseconds.
    pub started_at: i64,
    /// The configured model.
    pub model: String,
    /// Runs that go on now.
    pub active_runs: u64,
    /// The sandbox in one line.
    pub sandbox: String,
    /// Each channel with its state.
    pub channels: Vec<ChannelStatus>,
    /// Each MCP server with its state.
    pub servers: Value,
    /// Whether a supervisor brings it back.
    pub supervised: bool,
    /// What it can besides turns and calls: `attachments`, `memory`, `liveInput`, `askUser`, `replyAttachments`.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// A digest of the files that its settings were read from.
    pub settings: String,
    /// The variables that are settings, each with a digest of its value.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
}

/// One channel's state (CHN-1's words).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelStatus {
    /// The channel.
    pub name: String,
    /// `running`, `waiting_for_config`, `disabled`, `degraded` or `failed`.
    pub state: String,
    /// Facts or the reason.
    pub detail: String,
}
