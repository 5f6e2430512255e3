//! What a run is made of, what comes in, and what goes out.

use crate::compaction::Plan;
use crate::config::EngineConfig;
use crate::context::UserMessage;
use crate::event::RunEvent;
use crate::retry::Route;
use crate::steering::Said;
use host_event::Fact;
use host_ports::model::{Message, ModelError, ModelEvent, ModelRequest, ToolSpec};
use host_surface::How;
use host_turn::{Ending, Usage};
use host_vocab::{Block, CallId};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Everything that a run starts with.
#[derive(Debug, Clone)]
pub struct RunSpec {
    /// The system prompt.
    pub system: String,
    /// What may be called.
    pub tools: Arc<[ToolSpec]>,
    /// The names of the tools whose calls may run side by side.
    pub together: BTreeSet<String>,
    /// The routes, first choice first; never empty.
    pub chain: Vec<Route>,
    /// Bounds, back-off and compaction.
    pub config: EngineConfig,
    /// The session so far: complete turns.
    pub history: Vec<Message>,
    /// The message of this turn.
    pub user: UserMessage,
    /// A stable key of the session, for prompt caching.
    pub cache_key: Option<String>,
    /// Whether an empty answer means silence, as in a proactive run (CHN-7).
    pub empty_is_silence: bool,
}

/// What a request is for.
#[derive(Debug, Clone, PartialEq)]
pub enum Purpose {
    /// The next step of the run.
    Answer,
    /// The answer after an empty one, or after too many calls that were all the same, with tools off.
    Finalise,
    /// A summary of the old part of the prompt.
    Summary {
        /// What is summarised.
        plan: Plan,
        /// The overflow that asked for it; `None` = before the request.
        overflow: Option<ModelError>,
    },
}

/// A request that is to be sent.
#[derive(Debug, Clone)]
pub struct ModelOrder {
    /// Which route of the chain.
    pub route: usize,
    /// What for.
    pub purpose: Purpose,
    /// The request.
    pub request: ModelRequest,
}

/// A call that is to pass the gate.
#[derive(Debug, Clone, PartialEq)]
pub struct CallOrder {
    /// Its place in the answer.
    pub index: usize,
    /// Its id, unique in the run.
    pub id: CallId,
    /// The name as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
}

/// A call that is over, as the machine needs it.
#[derive(Debug, Clone, PartialEq)]
pub struct SettledCall {
    /// In which way.
    pub how: How,
    /// `ok`, or what went wrong.
    pub code: String,
    /// What the model is given.
    pub content: Vec<Block>,
    /// How long it ran.
    pub duration_ms: u64,
    /// The beginning of the result for listeners, redacted.
    pub preview: String,
    /// Whether its end is in the log.
    pub recorded: bool,
    /// What let it through; none = it was refused.
    pub rule: Option<String>,
    /// How large the whole result is, in bytes.
    pub result_bytes: u64,
}

/// What happens to a run.
#[derive(Debug, Clone)]
pub enum Input {
    /// It is on record and may begin.
    Begin,
    /// The model sent something.
    Streamed(ModelEvent),
    /// The request failed or broke off.
    StreamFailed(ModelError),
    /// The stream ended without saying that it was finished.
    StreamEnded,
    /// The wait is over.
    Waited,
    /// A call is over.
    CallSettled {
        /// Its place in the answer.
        index: usize,
        /// How.
        settled: SettledCall,
    },
    /// The calls that were told to stop did not settle in time and were dropped.
    CallsLost,
    /// A person says something to the running turn, or takes it back.
    Said(Said),
    /// Somebody stopped the run.
    Cancel,
    /// A fact that had to be on record isn't; the commands after it were dropped.
    NotRecorded(String),
}

/// What is to be done for a run, in this order.
#[derive(Debug, Clone)]
pub enum Command {
    /// Put a fact on record. If it `must` be there and can't, drop the commands that follow and say
    /// [`Input::NotRecorded`].
    Record {
        /// The fact.
        fact: Fact,
        /// Whether the run can't go on without it.
        must: bool,
    },
    /// Tell the listeners.
    Tell(RunEvent),
    /// Send a request.
    Ask(Box<ModelOrder>),
    /// Wait, then say [`Input::Waited`].
    Wait(Duration),
    /// Start these calls side by side.
    Call(Vec<CallOrder>),
    /// Stop whatever is underway: drop the stream or the wait, tell the calls to stop.
    Stop,
    /// The run is over.
    Finish(Box<Finished>),
}

/// A run that is over, as the machine leaves it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// How.
    pub ending: Ending,
    /// The final visible text.
    pub text: String,
    /// Whether the text broke off.
    pub partial: bool,
    /// What all requests used.
    pub usage: Usage,
    /// Lines for people.
    pub notices: Vec<String>,
    /// Routes that failed.
    pub failover_history: Vec<Value>,
    /// The route that was asked last.
    pub model: String,
    /// The session before this turn, as compaction left it.
    pub history: Vec<Message>,
    /// This turn's messages as they may be stored: every call has its result.
    pub turn: Vec<Message>,
    /// Windows that providers named or showed: reference and tokens.
    pub learned_windows: Vec<(String, u64)>,
}
