//! The calls of one answer: who runs beside whom, and a result for each.

use super::repeats::{Brake, told};
use super::{CallOrder, Command, Machine, SettledCall, State};
use crate::event::RunEvent;
use host_event::ModelCall;
use host_ports::model::{AssistantPart, Message, ToolResult};
use host_surface::{How, codes};
use host_turn::Ending;
use host_vocab::limits::TOOL_NAME_BYTES_MAX;
use host_vocab::text::one_line;
use host_vocab::{Block, CallId};
use std::collections::BTreeSet;

/// The calls of the last answer, with the results so far.
pub(super) struct Calls {
    orders: Vec<CallOrder>,
    /// The ids and names as they stand in the prompt.
    labels: Vec<(String, String)>,
    results: Vec<Option<ToolResult>>,
    /// The first that was not started yet.
    next: usize,
    running: BTreeSet<usize>,
    cancelled: bool,
    took_ms: u64,
}

impl Calls {
    /// How long they took together.
    pub(super) fn took_ms(&self) -> u64 {
        self.took_ms
    }

    /// Each call with its result.
    pub(super) fn settled_pairs(&self) -> impl Iterator<Item = (&CallOrder, &ToolResult)> {
        self.orders.iter().zip(self.results.iter().flatten())
    }

    fn fill(&mut self, index: usize, content: Vec<Block>, is_error: bool) {
        let (call_id, name) = self.labels[index].clone();
        self.results[index] = Some(ToolResult { call_id, name, content, is_error });
    }

    fn fill_rest(&mut self, why: &str) {
        for index in 0..self.results.len() {
            if self.results[index].is_none() {
                self.fill(index, vec![Block::text(why)], true);
            }
        }
    }
}

/// A call as an answer's record shows it.
pub(super) fn fact_of(order: &CallOrder) -> ModelCall {
    ModelCall {
        id: order.id.to_string(),
        name: one_line(&order.name, 200),
        arguments: host_redact::recorded_text(&order.arguments),
    }
}

/// Whether an id is of the characters that providers make ids of. It stands in the log as it is, so one that could
/// be a place of the machine, or a sentence, gets another.
fn is_plain(id: &str) -> bool {
    id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':' | b'|'))
}

/// A name that every provider takes back; the gate is given the name as it was written.
fn prompt_name(name: &str) -> String {
    let word: String = name
        .chars()
        .take(TOOL_NAME_BYTES_MAX)
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .collect();
    if word.is_empty() { "unnamed".to_owned() } else { word }
}

impl Machine {
    /// Takes the calls out of an answer's parts for the gate, and makes what stays in the prompt safe to send
    /// back: ids are there and differ, names are words.
    pub(super) fn take_calls(&mut self, parts: &mut [AssistantPart]) -> Vec<CallOrder> {
        let mut orders = Vec::new();
        for part in parts {
            let AssistantPart::Call(call) = part else { continue };
            let index = orders.len();
            let id = match CallId::parse(call.id.clone()) {
                Ok(id) if is_plain(&call.id) && self.seen_ids.insert(call.id.clone()) => id,
                _ => self.fresh_id(index),
            };
            call.id = id.to_string();
            let safe = prompt_name(&call.name);
            let name = std::mem::replace(&mut call.name, safe);
            orders.push(CallOrder { index, id, name, arguments: call.arguments.clone() });
        }
        orders
    }

    /// An id in place of one that is missing, malformed or taken: by its place in the run.
    fn fresh_id(&mut self, index: usize) -> CallId {
        let mut name = format!("call-{}-{index}", self.step);
        while !self.seen_ids.insert(name.clone()) {
            name.push('x');
        }
        CallId::parse(name).unwrap_or_else(|_| CallId::fresh())
    }

    pub(super) fn start_calls(&mut self, orders: Vec<CallOrder>, out: &mut Vec<Command>) {
        let count = orders.len();
        let labels = orders.iter().map(|order| (order.id.to_string(), prompt_name(&order.name))).collect();
        let mut calls = Calls {
            orders,
            labels,
            results: vec![None; count],
            next: 0,
            running: BTreeSet::new(),
            cancelled: false,
            took_ms: 0,
        };
        let most = self.spec.config.limits.calls_per_answer_max;
        for index in most..count {
            let why = format!("not run: one answer may make {most} calls, this is call {}", index + 1);
            calls.fill(index, vec![Block::text(why)], true);
        }
        calls.orders.truncate(most);
        self.next_calls(calls, out);
    }

    /// Starts the next call, with those right after it that may run beside it; or goes on with the run.
    fn next_calls(&mut self, mut calls: Calls, out: &mut Vec<Command>) {
        if calls.next == calls.orders.len() {
            return self.all_settled(calls, out);
        }
        let together = |order: &CallOrder| self.spec.together.contains(&order.name);
        let rest = &calls.orders[calls.next..];
        let side_by_side = rest.iter().take_while(|order| together(order)).count();
        let size = side_by_side.clamp(1, self.spec.config.limits.calls_together_max.max(1));
        let batch: Vec<CallOrder> = rest[..size].to_vec();
        calls.next += size;
        calls.running = batch.iter().map(|order| order.index).collect();
        out.extend(batch.iter().map(|order| {
            Command::Tell(RunEvent::CallStarted {
                id: order.id.to_string(),
                name: one_line(&order.name, 200),
                arguments: host_redact::recorded_text(&order.arguments),
            })
        }));
        out.push(Command::Call(batch));
        self.state = State::Calling(calls);
    }

    pub(super) fn settled(
        &mut self,
        mut calls: Calls,
        index: usize,
        settled: SettledCall,
        out: &mut Vec<Command>,
    ) {
        if !calls.running.remove(&index) {
            self.state = State::Calling(calls);
            return;
        }
        self.tool_ran |= settled.how != How::Refused;
        calls.took_ms += settled.duration_ms;
        out.push(Command::Tell(RunEvent::CallSettled {
            id: calls.orders[index].id.to_string(),
            settled: settled.how.as_str().to_owned(),
            code: settled.code,
            duration_ms: settled.duration_ms,
            preview: settled.preview,
            rule: settled.rule,
            result_bytes: Some(settled.result_bytes),
        }));
        if !settled.recorded {
            let name = one_line(&calls.orders[index].name, 80);
            self.notice(format!("The end of a call to {name} is not durably recorded yet."), out);
        }
        calls.fill(index, settled.content, settled.how != How::Done);
        if !calls.running.is_empty() {
            self.state = State::Calling(calls);
        } else if calls.cancelled {
            self.end_calls(calls, Ending::Cancelled, out);
        } else {
            self.next_calls(calls, out);
        }
    }

    /// The run was stopped: nothing more is started, and what runs is told to end.
    pub(super) fn stop_calls(&mut self, mut calls: Calls, out: &mut Vec<Command>) {
        if !calls.cancelled {
            calls.cancelled = true;
            out.push(Command::Stop);
        }
        self.state = State::Calling(calls);
    }

    /// What did not settle in time may have happened.
    pub(super) fn calls_lost(&mut self, calls: Calls, out: &mut Vec<Command>) {
        self.end_calls(calls, Ending::Cancelled, out);
    }

    /// Ends the run in the middle of calls: each gets a result that says what is known of it.
    pub(super) fn end_calls(&mut self, mut calls: Calls, ending: Ending, out: &mut Vec<Command>) {
        let why = |what: &str| format!("{}: the turn was stopped {what}", codes::ABORTED);
        let running: Vec<usize> = std::mem::take(&mut calls.running).into_iter().collect();
        for index in running {
            self.tool_ran = true;
            calls.fill(index, vec![Block::text(why("and the call did not end; it may have happened"))], true);
        }
        calls.fill_rest(&why("before this call began"));
        self.push_results(calls);
        let text = std::mem::take(&mut self.last_text);
        self.finish(ending, text, true, out);
    }

    fn all_settled(&mut self, mut calls: Calls, out: &mut Vec<Command>) {
        let brake = self.repeats.note(&calls);
        if let Brake::Tell(times) | Brake::Stop(times) = brake
            && let Some(last) = calls.results.iter_mut().flatten().next_back()
        {
            last.content.push(told(times));
        }
        self.push_results(calls);
        self.step += 1;
        match brake {
            Brake::Stop(times) => {
                self.notice(
                    format!("The model made the same call {times} times in a row; tools are off."),
                    out,
                );
                self.finalise("You repeat the same call, which gives the same result.", out);
            }
            Brake::Off | Brake::Tell(_) => self.next_step(out),
        }
    }

    fn push_results(&mut self, calls: Calls) {
        let results = calls.results.into_iter().flatten().collect();
        self.turn.push(Message::ToolResults { results });
    }
}
