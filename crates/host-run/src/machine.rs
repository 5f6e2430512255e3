//! One run as a pure machine: inputs in, commands out.
//!
//! ```text
//!        Begin                  Finished{calls}            all settled
//!  New ────────► Asking ───────────────────────► Calling ──────────────► Asking …
//!                 │  ▲ Waited                        │
//!     StreamFailed│  └── Waiting                     │ Cancel
//!                 ▼                                  ▼
//!          retry, another route, compaction        Over ◄── text without calls, failure, cancellation
//! ```
//!
//! Commands are carried out in their order, each before the next: what is recorded stands before what is
//! seen. Every call that stands in the prompt has its result there, whatever happens.

mod calls;
mod collect;
mod failure;
mod follow_up;
mod present;
mod prompt;
mod repeats;
mod shorten;
mod words;

pub(crate) use failure::drop_reasoning;
#[cfg(test)]
pub(crate) use prompt::assert_paired;
pub use words::{CallOrder, Command, Finished, Input, ModelOrder, Purpose, RunSpec, SettledCall};

use crate::context::host_note;
use crate::event::RunEvent;
use crate::retry::Attempted;
use crate::silence::is_silent;
use crate::tokens::{estimate_messages, estimate_specs, estimate_text};
use calls::Calls;
use collect::Collected;
use host_event::Fact;
use host_ports::model::{AssistantPart, FinishReason, Message, ModelError, ModelEvent, ModelRequest};
use host_turn::{Ending, FailureKind, Usage};
use host_vocab::Block;
use prompt::{for_route, text_of};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The most notices of one run.
const NOTICES_MAX: usize = 20;

enum State {
    New,
    Asking { purpose: Purpose, collected: Collected },
    Waiting { purpose: Purpose },
    Calling(Calls),
    Over,
}

/// One run.
pub struct Machine {
    spec: RunSpec,
    state: State,
    /// The session before this turn.
    history: Vec<Message>,
    /// This turn, its question first.
    turn: Vec<Message>,
    step: u32,
    route: usize,
    /// Attempts at the current route for the current step.
    attempt: u32,
    /// Attempts at the current step over all routes.
    attempts: u32,
    tool_ran: bool,
    usage: Usage,
    notices: Vec<String>,
    attempted: Vec<Attempted>,
    seen_ids: BTreeSet<String>,
    shorten: shorten::Shortening,
    /// What the last complete answer said beside its calls.
    last_text: String,
    repeats: repeats::Repeats,
    /// Text of the answers right before this one whose calls only presented the reply (REP-6).
    promoted: Vec<String>,
    /// What people said to the running turn and the model has not read.
    said: Vec<(String, String)>,
}

impl Machine {
    /// A run that has not begun.
    pub fn new(spec: RunSpec) -> Self {
        let history = spec.history.clone();
        let turn = vec![spec.user.prompted.clone()];
        let shorten = shorten::Shortening::new(spec.chain.iter().map(|route| route.context_window).collect());
        Machine {
            spec,
            state: State::New,
            history,
            turn,
            step: 0,
            route: 0,
            attempt: 0,
            attempts: 0,
            tool_ran: false,
            usage: Usage::default(),
            notices: Vec::new(),
            attempted: Vec::new(),
            seen_ids: BTreeSet::new(),
            shorten,
            last_text: String::new(),
            repeats: repeats::Repeats::default(),
            promoted: Vec::new(),
            said: Vec::new(),
        }
    }

    /// Takes an input and says what is to be done. An input that doesn't fit the state changes nothing.
    pub fn handle(&mut self, input: Input) -> Vec<Command> {
        let mut out = Vec::new();
        match (std::mem::replace(&mut self.state, State::Over), input) {
            (State::Over, _) => {}
            (State::New, Input::Begin) => self.begin(&mut out),
            (state, Input::Said(said)) => {
                self.hear(said);
                self.state = state;
            }
            (state, Input::Cancel) => self.cancel(state, &mut out),
            (state, Input::NotRecorded(why)) => self.not_recorded(state, &why, &mut out),
            (State::Asking { purpose, collected }, Input::Streamed(event)) => {
                self.streamed(purpose, collected, event, &mut out);
            }
            (State::Asking { purpose, collected }, Input::StreamFailed(error)) => {
                self.failed(purpose, collected, error, &mut out);
            }
            (State::Asking { purpose, collected }, Input::StreamEnded) => {
                let error = ModelError::new(
                    FailureKind::StreamTerminated,
                    "the answer broke off: the stream ended without a finish",
                );
                self.failed(purpose, collected, error, &mut out);
            }
            (State::Waiting { purpose }, Input::Waited) => self.send(purpose, &mut out),
            (State::Calling(calls), Input::CallSettled { index, settled }) => {
                self.settled(calls, index, settled, &mut out);
            }
            (State::Calling(calls), Input::CallsLost) => self.calls_lost(calls, &mut out),
            (state, _) => self.state = state,
        }
        out
    }

    fn begin(&mut self, out: &mut Vec<Command>) {
        if self.needs_images() && !self.spec.chain[0].images {
            let model = self.spec.chain[0].reference.clone();
            self.notice(format!("{model} does not take pictures; it was told of them in words."), out);
        }
        self.next_step(out);
    }

    /// The next request of the run, after compaction where that is due.
    fn next_step(&mut self, out: &mut Vec<Command>) {
        if self.step >= self.spec.config.limits.steps_max {
            let error = format!(
                "the run took {} steps, as many as it may (maxTurns)",
                self.spec.config.limits.steps_max
            );
            let text = std::mem::take(&mut self.last_text);
            return self.finish(Ending::Failed { kind: FailureKind::MaxTurns, error }, text, true, out);
        }
        self.attempt = 0;
        self.attempts = 0;
        self.read_follow_ups(out);
        self.ask(Purpose::Answer, out);
    }

    /// Sends a request of the run; shortens the prompt first where it is too long.
    fn ask(&mut self, purpose: Purpose, out: &mut Vec<Command>) {
        match self.due_shortening() {
            Some(plan) => self.send(Purpose::Summary { plan, overflow: None }, out),
            None => self.send(purpose, out),
        }
    }

    fn send(&mut self, purpose: Purpose, out: &mut Vec<Command>) {
        out.push(Command::Record {
            fact: Fact::ModelAsked { step: self.step, attempt: self.attempts, model: self.model() },
            must: true,
        });
        self.attempts += 1;
        let request = match &purpose {
            Purpose::Summary { plan, .. } => self.summary_request(*plan),
            Purpose::Answer | Purpose::Finalise => {
                self.shorten.sent(self.raw_estimate());
                self.request(purpose == Purpose::Finalise)
            }
        };
        out.push(Command::Ask(Box::new(ModelOrder { route: self.route, purpose: purpose.clone(), request })));
        self.state = State::Asking { purpose, collected: Collected::default() };
    }

    fn request(&self, tools_off: bool) -> ModelRequest {
        let route = &self.spec.chain[self.route];
        let messages =
            self.history.iter().chain(&self.turn).map(|message| for_route(message, route)).collect();
        ModelRequest {
            system: self.spec.system.clone(),
            messages,
            tools: if tools_off { Arc::default() } else { Arc::clone(&self.spec.tools) },
            effort: route.effort,
            output_tokens_max: self.spec.config.limits.output_tokens_max,
            cache_key: self.spec.cache_key.clone(),
        }
    }

    fn streamed(
        &mut self,
        purpose: Purpose,
        mut collected: Collected,
        event: ModelEvent,
        out: &mut Vec<Command>,
    ) {
        let shown = !matches!(purpose, Purpose::Summary { .. });
        match event {
            ModelEvent::Finished { reason, usage } => {
                self.usage = self.usage.plus(usage);
                return match purpose {
                    Purpose::Summary { plan, overflow } => {
                        self.summarised(plan, overflow, collected, reason, out)
                    }
                    Purpose::Answer | Purpose::Finalise => {
                        self.shorten.calibrate(&usage);
                        self.answered(purpose, collected, reason, usage, out);
                    }
                };
            }
            ModelEvent::Notice(text) if shown => self.notice(text, out),
            other => {
                if let Some(event) = collected.take(other)
                    && shown
                {
                    out.push(Command::Tell(event));
                }
            }
        }
        let bytes_max = self.spec.config.limits.answer_bytes_max;
        if collected.bytes() > bytes_max {
            out.push(Command::Stop);
            let message = format!("the answer has more than {bytes_max} bytes");
            return self.failed(purpose, collected, ModelError::new(FailureKind::OutputLimit, message), out);
        }
        self.state = State::Asking { purpose, collected };
    }

    /// An answer is whole. Calls of an answer that was cut are never run, since their arguments may be cut
    /// as well.
    fn answered(
        &mut self,
        purpose: Purpose,
        collected: Collected,
        reason: FinishReason,
        usage: Usage,
        out: &mut Vec<Command>,
    ) {
        let mut parts = collected.into_parts();
        let whole = matches!(reason, FinishReason::Stop | FinishReason::ToolCalls);
        if !whole || purpose == Purpose::Finalise {
            parts.retain(|part| !matches!(part, AssistantPart::Call(_)));
        }
        let calls = self.take_calls(&mut parts);
        let text = text_of(&parts);
        out.push(Command::Record { fact: self.answer_fact(&text, &calls, reason, usage), must: false });
        let speaks = parts.iter().any(|part| !matches!(part, AssistantPart::Reasoning { .. }));
        if speaks {
            self.turn.push(Message::Assistant { parts });
        }
        let failed = |kind, error: &str| Ending::Failed { kind, error: error.to_owned() };
        match reason {
            FinishReason::Length => {
                let ending = failed(FailureKind::OutputLimit, "the answer hit the model's output limit");
                self.finish(ending, text, true, out);
            }
            FinishReason::ContentFilter | FinishReason::Refusal => {
                let ending = failed(FailureKind::ContentFilter, "the provider or model declined to answer");
                self.finish(ending, text, true, out);
            }
            FinishReason::Stop | FinishReason::ToolCalls if !calls.is_empty() => {
                self.promote(&calls, &text);
                self.last_text = text;
                self.start_calls(calls, out);
            }
            FinishReason::Stop | FinishReason::ToolCalls if !text.trim().is_empty() => {
                let text = self.with_promoted(text);
                self.finish(Ending::Succeeded, text, false, out);
            }
            FinishReason::Stop | FinishReason::ToolCalls if !self.promoted.is_empty() => {
                let text = self.with_promoted(String::new());
                self.finish(Ending::Succeeded, text, false, out);
            }
            FinishReason::Stop | FinishReason::ToolCalls => self.empty(purpose, out),
        }
    }

    /// An answer without a word: silence where that is meant, else one more request with tools off.
    fn empty(&mut self, purpose: Purpose, out: &mut Vec<Command>) {
        if self.spec.empty_is_silence {
            return self.finish(Ending::Succeeded, String::new(), false, out);
        }
        if purpose == Purpose::Finalise {
            let error = "the model was asked for its final answer and gave none".to_owned();
            let ending = Ending::Failed { kind: FailureKind::EmptyResponse, error };
            return self.finish(ending, String::new(), false, out);
        }
        self.step += 1;
        self.finalise("Your last answer had no text.", out);
    }

    /// Asks for the final answer, with tools off.
    fn finalise(&mut self, why: &str, out: &mut Vec<Command>) {
        self.turn.push(host_note(&format!(
            "{why} Give your final answer now, as plain text; tools are off for it."
        )));
        self.attempt = 0;
        self.attempts = 0;
        self.send(Purpose::Finalise, out);
    }

    fn answer_fact(&self, text: &str, calls: &[CallOrder], reason: FinishReason, usage: Usage) -> Fact {
        Fact::ModelAnswered {
            step: self.step,
            model: self.model(),
            text: text.to_owned(),
            calls: calls.iter().map(calls::fact_of).collect(),
            finish: serde_json::to_value(reason)
                .ok()
                .and_then(|v| v.as_str().map(str::to_owned))
                .unwrap_or_default(),
            usage,
        }
    }

    fn cancel(&mut self, state: State, out: &mut Vec<Command>) {
        match state {
            State::Calling(calls) => self.stop_calls(calls, out),
            State::Asking { purpose, collected } => {
                out.push(Command::Stop);
                self.finish_partial(Ending::Cancelled, purpose, collected, out);
            }
            State::New | State::Waiting { .. } | State::Over => {
                out.push(Command::Stop);
                self.finish(Ending::Cancelled, String::new(), false, out);
            }
        }
    }

    fn not_recorded(&mut self, state: State, why: &str, out: &mut Vec<Command>) {
        let error = format!("the run was stopped, because it could not be recorded: {why}");
        let ending = Ending::Failed { kind: FailureKind::RecordFailed, error };
        match state {
            State::Asking { purpose, collected } => self.finish_partial(ending, purpose, collected, out),
            State::Calling(calls) => {
                out.push(Command::Stop);
                self.end_calls(calls, ending, out);
            }
            _ => self.finish(ending, String::new(), false, out),
        }
    }

    /// Ends with what was shown of an answer that broke off; it stays in the prompt as text.
    fn finish_partial(
        &mut self,
        ending: Ending,
        purpose: Purpose,
        collected: Collected,
        out: &mut Vec<Command>,
    ) {
        let text = match purpose {
            Purpose::Summary { .. } => String::new(),
            Purpose::Answer | Purpose::Finalise => collected.into_shown(),
        };
        if !text.trim().is_empty() {
            self.turn.push(Message::Assistant { parts: vec![AssistantPart::Text { text: text.clone() }] });
        }
        self.finish(ending, text, true, out);
    }

    fn finish(&mut self, ending: Ending, text: String, partial: bool, out: &mut Vec<Command>) {
        let partial = partial && ending != Ending::Succeeded && !text.trim().is_empty();
        if partial {
            self.notice_quietly(
                "The text above is only a part of an answer that did not come to its end.".into(),
            );
        }
        if ending == Ending::Succeeded && self.route > 0 && !is_silent(&text) {
            let first = self.attempted.iter().find(|it| it.model == self.spec.chain[0].reference);
            let why = first.map_or("unavailable", |it| it.kind);
            let (model, wanted) = (self.model(), &self.spec.chain[0].reference);
            self.notice_quietly(format!("Answered by {model}; {wanted} did not answer ({why})."));
        }
        let mut turn = std::mem::take(&mut self.turn);
        turn[0] = self.spec.user.stored.clone();
        self.state = State::Over;
        out.push(Command::Finish(Box::new(Finished {
            ending,
            text,
            partial,
            usage: self.usage,
            notices: std::mem::take(&mut self.notices),
            failover_history: self.attempted.iter().map(Attempted::to_json).collect(),
            model: self.model(),
            history: std::mem::take(&mut self.history),
            turn,
            learned_windows: self.shorten.learned(&self.spec.chain),
        })));
    }

    fn notice(&mut self, text: String, out: &mut Vec<Command>) {
        if self.notice_quietly(text.clone()) {
            out.push(Command::Tell(RunEvent::Notice { text }));
        }
    }

    fn notice_quietly(&mut self, text: String) -> bool {
        let new = self.notices.len() < NOTICES_MAX && !self.notices.contains(&text);
        if new {
            self.notices.push(text);
        }
        new
    }

    fn warn(code: &str, message: String, out: &mut Vec<Command>) {
        let fact = Fact::Warning { code: code.to_owned(), message: message.clone() };
        out.push(Command::Record { fact, must: false });
        out.push(Command::Tell(RunEvent::Warning { code: code.to_owned(), message }));
    }

    fn model(&self) -> String {
        self.spec.chain[self.route].reference.clone()
    }

    fn needs_images(&self) -> bool {
        matches!(&self.spec.user.prompted, Message::User { content }
            if content.iter().any(|block| matches!(block, Block::Image { .. })))
    }

    /// The prompt's size before any correction by what providers counted.
    /// What a summary could shorten.
    fn talk_estimate(&self) -> u64 {
        estimate_messages(&self.history) + estimate_messages(&self.turn)
    }

    fn raw_estimate(&self) -> u64 {
        estimate_text(&self.spec.system) + estimate_specs(&self.spec.tools) + self.talk_estimate()
    }
}

#[cfg(test)]
mod tests;
