//! The agents of this user, as the console reaches them.

use host_ports::BoxFuture;
use host_run::RunEvent;
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;
use tokio::sync::mpsc;

/// An agent that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundAgent {
    /// Names it on this machine; stays the same over restarts.
    pub id: String,
    /// Its name.
    pub name: String,
    /// How its host is: the object of `status --json`; none = no host answers.
    pub status: Option<Value>,
}

/// A question that is answered at once.
#[derive(Debug, Clone, PartialEq)]
pub enum HostQuestion {
    /// Every tool of a channel, offered or withheld: the object of `explain --json`, with `text`.
    Explain {
        /// The channel.
        channel: String,
    },
    /// What the model would see.
    Tools {
        /// The channel.
        channel: String,
    },
    /// One of the owner's views, in the operator protocol's own words (`{"view": "runs", …}`).
    View(Value),
    /// End in order and come back.
    Restart,
    /// Connect to one server and list its tools.
    TestServer {
        /// The server.
        name: String,
    },
}

/// One turn for an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnOrder {
    /// The conversation: `web:<thread>`.
    pub conversation: String,
    /// What was said.
    pub text: String,
    /// Files that came with it: the console's own copies.
    pub files: Vec<PathBuf>,
    /// Whether its title may be proposed by the agent (TIT-1).
    pub title_open: bool,
}

/// What an agent says during a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum HostFrame {
    /// Something happened.
    Event(RunEvent),
    /// A person has to decide whether a call may run.
    Approval {
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
        /// The rule that "always" would add.
        always: Option<String>,
        /// How long the agent waits, in milliseconds.
        wait_ms: Option<u64>,
    },
    /// The agent asks a person something.
    Questions {
        /// Names the question in the answer.
        id: u64,
        /// What stands above the questions.
        message: Option<String>,
        /// The questions.
        questions: Value,
        /// How long the agent waits; none = for ever.
        wait_ms: Option<u64>,
    },
    /// A server wants something of a person.
    Elicit {
        /// Names the question in the answer.
        id: u64,
        /// The server.
        server: String,
        /// Its words.
        message: String,
        /// A form's schema.
        form: Option<Value>,
        /// An address to open.
        visit: Option<String>,
        /// How long the agent waits.
        wait_ms: Option<u64>,
    },
    /// A question is no longer asked.
    Withdrawn {
        /// The question.
        id: u64,
    },
    /// What became of a follow-up.
    Steered {
        /// The follow-up.
        id: String,
        /// Whether the turn has read it; else it is to be sent as a turn of its own.
        applied: bool,
    },
    /// The turn is over: the object that `run --json` ends with.
    Finish(Value),
}

/// What a person says during a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum HostAnswer {
    /// To [`HostFrame::Approval`].
    Approval {
        /// The question.
        id: u64,
        /// Yes or no.
        approval: HostApproval,
    },
    /// To [`HostFrame::Questions`]; none = the person doesn't answer.
    Answers {
        /// The question.
        id: u64,
        /// `[{selected: [label], other?}]`.
        answers: Option<Value>,
    },
    /// To [`HostFrame::Elicit`].
    Elicited {
        /// The question.
        id: u64,
        /// `accept`, `decline` or `cancel`.
        action: String,
        /// The filled form.
        content: Value,
    },
    /// A follow-up.
    Steer {
        /// Its id.
        id: String,
        /// The words.
        text: String,
    },
    /// Takes a follow-up back that was not read yet.
    Unsteer {
        /// Its id.
        id: String,
    },
    /// Stop.
    Cancel,
}

/// A person's word on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HostApproval {
    /// This once.
    Once,
    /// From now on.
    Always,
    /// No.
    Deny,
}

/// A turn that goes on. Dropping it ends the turn.
pub struct TurnLink {
    /// What the agent says. The end without a [`HostFrame::Finish`] = the agent went away.
    pub frames: mpsc::Receiver<HostFrame>,
    /// What is said to it.
    pub answers: mpsc::Sender<HostAnswer>,
}

/// Why an agent did not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostFault {
    /// It doesn't run.
    #[error("the agent isn't running")]
    Offline,
    /// Its program is older than this and doesn't know the request.
    #[error("the agent's program doesn't know this request")]
    Unsupported,
    /// It said no.
    #[error("{message}")]
    Refused {
        /// A code.
        code: String,
        /// What went wrong and what to do.
        message: String,
    },
    /// The way to it broke.
    #[error("{0}")]
    Broken(String),
}

/// The agents of this user.
pub trait AgentHosts: Send + Sync + 'static {
    /// All that are known, running or not. Takes a bounded time.
    fn list(&self) -> BoxFuture<'_, Vec<FoundAgent>>;

    /// Asks one something that it answers at once.
    fn ask<'a>(&'a self, agent: &'a str, question: HostQuestion) -> BoxFuture<'a, Result<Value, HostFault>>;

    /// Begins a turn.
    fn turn<'a>(&'a self, agent: &'a str, order: TurnOrder) -> BoxFuture<'a, Result<TurnLink, HostFault>>;

    /// Opens a file of a reply for download: its bytes were checked against what was published (OUT-5).
    fn reply_file<'a>(
        &'a self,
        agent: &'a str,
        conversation: &'a str,
        part: &'a Value,
    ) -> BoxFuture<'a, Result<bytes::Bytes, HostFault>>;
}
