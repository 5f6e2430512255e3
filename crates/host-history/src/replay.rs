//! A recorded turn again, with what its models and tools gave then, and no side effect (SRC-1).
//!
//! The engine is the real one; it is given a [`Recording`]'s models, tools and answers of people in the place
//! of the agent's own, a [`ScratchLog`] and a [`QuickClock`]. Its events are then the recorded ones again, but
//! for ids and times ([`crate::diff::normalised`]), or the difference shows what changed since: in the config,
//! in the rules, or in the program.
//!
//! What it can't do: a run whose session had history of its own compacts at other points, because the log
//! holds no prompts; a tool of which nothing is known today takes whatever it was given; and the words of a refusal
//! are today's.

mod scratch;
mod session;
mod tools;

pub use scratch::{QuickClock, ScratchLog};
pub use session::ReplaySessions;
pub use tools::KnownTool;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use host_event::{Fact, OfferedTool, StoredEvent, WithheldTool};
use host_ports::BoxFuture;
use host_ports::CancellationToken;
use host_ports::ask::{ApprovalAnswer, ApprovalRequest, Ask};
use host_ports::log::Log;
use host_ports::model::{
    AssistantPart, FinishReason, Model, ModelError, ModelEvent, ModelInfo, ModelRequest, ToolCall,
};
use host_surface::ToolSource;
use host_turn::{Ending, FailureKind};
use host_vocab::ConversationId;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tools::Results;

/// Why there is nothing to replay.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The events hold no beginning of a run.
    #[error("the run's beginning is not in the log, so there is nothing to replay")]
    NoBeginning,
    /// No model took part.
    #[error(
        "this run was a single call of a tool (`mono-agent call`); no model took part, so there is no turn to replay"
    )]
    NoModel,
    /// An event was written by a newer program.
    #[error("event {0} was written by a newer version of mono-agent; replay it with that one")]
    Newer(u64),
}

/// One answer or failure of a model.
#[derive(Debug, Clone)]
enum Answer {
    Whole { text: String, calls: Vec<ToolCall>, finish: FinishReason, usage: host_turn::Usage },
    Failure { partial: String, error: ModelError },
}

/// A recorded turn.
#[derive(Debug, Clone)]
pub struct Recording {
    /// What was said.
    pub user_input: String,
    /// The channel or trigger kind.
    pub source: String,
    /// The job, endpoint or command.
    pub source_detail: Option<String>,
    /// The exact conversation.
    pub conversation: Option<ConversationId>,
    /// Whether it stood alone.
    pub isolated: bool,
    /// The model reference that it began with.
    pub model: String,
    /// Names and sizes of what came with it.
    pub attachments: Vec<(String, u64)>,
    /// Whether its end is recorded; an interrupted run replays up to where it broke off.
    pub settled: bool,
    /// Fires where the recorded run was stopped: give it to the engine as the turn's own.
    pub stop: CancellationToken,
    /// How the recorded run found its session.
    session: session::Found,
    ended: Option<Ending>,
    asked: usize,
    events: Vec<StoredEvent>,
    offered: Vec<OfferedTool>,
    withheld: Vec<WithheldTool>,
    answers: Vec<Answer>,
    people: Vec<ApprovalAnswer>,
    results: Results,
}

impl Recording {
    /// Reads a run's events, all of them, in order.
    ///
    /// # Errors
    /// See [`ReplayError`].
    pub fn of(events: &[StoredEvent]) -> Result<Self, ReplayError> {
        if let Some(newer) = events.iter().find(|event| event.fact.is_none()) {
            return Err(ReplayError::Newer(newer.seq));
        }
        let begun = events.iter().find(|event| matches!(event.fact, Some(Fact::RunStarted { .. })));
        let begun = begun.ok_or(ReplayError::NoBeginning)?;
        let Some(Fact::RunStarted {
            source,
            source_detail,
            user_input,
            attachments,
            model,
            isolated,
            offered,
            withheld,
            ..
        }) = begun.fact.clone()
        else {
            return Err(ReplayError::NoBeginning);
        };
        if source_detail.as_deref() == Some("call") && model == "none" {
            return Err(ReplayError::NoModel);
        }
        let mut recording = Recording {
            user_input,
            source,
            source_detail,
            conversation: begun.scope.conversation.clone(),
            isolated,
            model,
            attachments: attachments.iter().map(|text| attachment(text)).collect(),
            settled: false,
            stop: CancellationToken::new(),
            session: session::Found::of(events),
            ended: None,
            asked: 0,
            events: events.to_vec(),
            offered,
            withheld,
            answers: Vec::new(),
            people: Vec::new(),
            results: Results::of(events),
        };
        for event in events {
            recording.take(event);
        }
        Ok(recording)
    }

    fn take(&mut self, event: &StoredEvent) {
        match &event.fact {
            Some(Fact::ModelAnswered { text, calls, finish, usage, .. }) => {
                let calls = calls
                    .iter()
                    .map(|call| ToolCall {
                        id: call.id.clone(),
                        name: call.name.clone(),
                        arguments: match &call.arguments {
                            Value::String(raw) => raw.clone(),
                            value => value.to_string(),
                        },
                        raw: None,
                    })
                    .collect();
                let finish =
                    serde_json::from_value(Value::String(finish.clone())).unwrap_or(FinishReason::Stop);
                self.answers.push(Answer::Whole { text: text.clone(), calls, finish, usage: *usage });
            }
            Some(Fact::ModelFailed { failure_kind, error, partial_text, .. }) => {
                let kind = serde_json::from_value(Value::String(failure_kind.clone()));
                let error = ModelError::new(kind.unwrap_or(FailureKind::RuntimeError), error.clone());
                self.answers.push(Answer::Failure { partial: partial_text.clone(), error });
            }
            Some(Fact::ApprovalAnswered { answer, .. }) => self.people.push(match answer.as_str() {
                "approved" => ApprovalAnswer::Approved,
                "approved_always" => ApprovalAnswer::ApprovedAlways,
                "timed_out" => ApprovalAnswer::TimedOut,
                "no_asker" => ApprovalAnswer::NoAsker,
                _ => ApprovalAnswer::Denied,
            }),
            Some(Fact::ModelAsked { .. }) => self.asked += 1,
            Some(Fact::RunSettled { ending, .. }) => {
                self.settled = true;
                self.ended = Some(ending.clone());
            }
            _ => {}
        }
    }

    /// Whether the recorded run broke off: then only what came before is compared.
    pub fn broke_off(&self) -> bool {
        !matches!(self.ended, Some(Ending::Succeeded | Ending::Failed { .. } | Ending::Cancelled))
    }

    /// The sessions of the replay: they find what the recorded run found.
    pub fn sessions(&self) -> ReplaySessions {
        ReplaySessions::new(self.session.clone())
    }

    /// The log of the replay. `digests` is the log that the recording comes from; nothing is written to it.
    pub fn log(&self, digests: Arc<dyn Log>) -> ScratchLog {
        ScratchLog::new(digests).with_past(self.session.past()).in_order_of(&self.events)
    }

    /// What stops the replay where the recorded run was stopped: at a request to a model, or behind a call.
    fn stop_at(&self, at_request: bool) -> Option<CancellationToken> {
        let stopped = matches!(self.ended, Some(Ending::Cancelled));
        let while_asking = self.asked > self.answers.len();
        (stopped && while_asking == at_request).then(|| self.stop.clone())
    }

    /// The models of a chain, in the place of those with the same facts. All of them give the recorded
    /// answers, each once, in their order.
    pub fn models(&self, chain: Vec<ModelInfo>) -> Vec<Arc<dyn Model>> {
        let answers: Arc<Mutex<VecDeque<Answer>>> = Arc::new(Mutex::new(self.answers.clone().into()));
        chain
            .into_iter()
            .map(|info| {
                let (answers, stop) = (Arc::clone(&answers), self.stop_at(true));
                Arc::new(ReplayModel { info, answers, stop }) as Arc<dyn Model>
            })
            .collect()
    }

    /// The sources of the recorded tools, which run nothing: every call gives what it gave then. `known` are
    /// today's tools; their schemas refuse what they refused then.
    pub fn sources(&self, known: &[KnownTool]) -> Vec<Arc<dyn ToolSource>> {
        tools::sources(&self.offered, &self.withheld, known, &self.results, self.stop_at(false))
    }

    /// A person who answers as then.
    pub fn ask(&self) -> Arc<dyn Ask> {
        Arc::new(ReplayAsk(Mutex::new(self.people.clone().into())))
    }
}

/// A name and a size, as the beginning of a run tells them: `name (5 bytes)`.
fn attachment(text: &str) -> (String, u64) {
    let parts = text.strip_suffix(" bytes)").and_then(|text| text.rsplit_once(" ("));
    match parts.and_then(|(name, size)| Some((name.to_owned(), size.parse().ok()?))) {
        Some(found) => found,
        None => (text.to_owned(), 0),
    }
}

/// A model that gives recorded answers.
struct ReplayModel {
    info: ModelInfo,
    answers: Arc<Mutex<VecDeque<Answer>>>,
    stop: Option<CancellationToken>,
}

impl Model for ReplayModel {
    fn info(&self) -> ModelInfo {
        self.info.clone()
    }

    fn stream(&self, _request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let next = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let mut events = Vec::new();
        match next {
            Some(Answer::Whole { text, calls, finish, usage }) => {
                if !text.is_empty() {
                    events.push(Ok(ModelEvent::Text(text.clone())));
                    events.push(Ok(ModelEvent::Part(AssistantPart::Text { text })));
                }
                events.extend(calls.into_iter().map(|call| Ok(ModelEvent::Part(AssistantPart::Call(call)))));
                events.push(Ok(ModelEvent::Finished { reason: finish, usage }));
            }
            Some(Answer::Failure { partial, error }) => {
                if !partial.is_empty() {
                    events.push(Ok(ModelEvent::Text(partial)));
                }
                events.push(Err(error));
            }
            None if self.stop.is_some() => {
                if let Some(stop) = &self.stop {
                    stop.cancel();
                }
                return stream::pending().boxed();
            }
            None => {
                let message = "the recording has no further answer of a model";
                events.push(Err(ModelError::new(FailureKind::RuntimeError, message)));
            }
        }
        stream::iter(events).boxed()
    }
}

struct ReplayAsk(Mutex<VecDeque<ApprovalAnswer>>);

impl Ask for ReplayAsk {
    fn approve(&self, _request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        let next = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        Box::pin(async move { next.unwrap_or(ApprovalAnswer::NoAsker) })
    }
}
