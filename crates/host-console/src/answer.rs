//! An answer that is being made: a host's events become changes of a message, each with its place in the
//! message's sequence.

use crate::shapes::{Answer, Call, CallState, RunActivity, RunStatus, Step};
use host_run::RunEvent;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The most characters of arguments and of a result that a row shows.
const SHOWN_CHARS_MAX: usize = 4_096;
/// The most rows of one answer.
const STEPS_MAX: usize = 2_000;
/// The most readable reasoning of one row, in bytes.
const REASONING_BYTES_MAX: usize = 64 * 1024;

/// Tools that only present the reply: text before them is a part of it (REP-6).
const PRESENTATION: [&str; 3] = ["PublishReplyFile", "SuggestReplies", "ProposeRestart"];

/// A change of a message.
pub(crate) type Op = Value;

fn op(kind: &str, path: Value, value: impl Into<Value>) -> Op {
    json!({"op": kind, "path": path, "value": value.into()})
}

/// An answer that is being made.
pub(crate) struct LiveAnswer {
    pub(crate) answer: Answer,
    /// Text before presentation calls stands in the answer; what comes after is parted from it by a blank line.
    parted: bool,
    rows: usize,
    /// The process of the agent that runs the turn.
    generation: u64,
    /// Calls about which a person is asked, though their start was not told yet.
    asked: BTreeSet<String>,
    phase: &'static str,
}

impl LiveAnswer {
    /// The same of an agent's process: what it proposes counts for that alone (RES-1).
    pub(crate) fn of_generation(answer: Answer, generation: u64) -> Self {
        LiveAnswer { generation, ..Self::new(answer) }
    }

    fn bind(&self, part: &mut Value) {
        bind(self.generation, part);
    }

    pub(crate) fn new(answer: Answer) -> Self {
        LiveAnswer {
            answer,
            parted: false,
            rows: 0,
            generation: 0,
            asked: BTreeSet::new(),
            phase: "thinking",
        }
    }

    /// What a list shows of it.
    pub(crate) fn activity(&self) -> RunActivity {
        let calls = self.answer.activity.iter().filter(|step| matches!(step, Step::Call(_))).count();
        let waits = self.answer.status == RunStatus::Waiting;
        RunActivity { tool_call_count: calls, phase: if waits { "waiting" } else { self.phase }.to_owned() }
    }

    /// Takes an event in; gives what changed. `at` is the time, RFC 3339.
    pub(crate) fn take(&mut self, event: RunEvent, at: &str) -> Vec<Op> {
        match event {
            RunEvent::RunStarted { run, model, .. } => {
                self.answer.run_id = Some(run.to_string());
                self.answer.chosen_model = Some(model.clone());
                self.answer.model = Some(model.clone());
                vec![
                    op("set", json!(["runId"]), run.to_string()),
                    op("set", json!(["chosenModel"]), model.clone()),
                    op("set", json!(["model"]), model),
                ]
            }
            RunEvent::TextDelta { text } => self.text(text),
            RunEvent::ReasoningDelta { text } => self.reasoning(text),
            RunEvent::CallStarted { id, name, arguments } => self.call(id, &name, &arguments, at),
            RunEvent::CallProgress { id, message, done, total } => {
                let progress = json!({"message": message, "done": done, "total": total});
                self.on_call(&id, |call, ops| {
                    call.progress = Some(progress.clone());
                    ops.push(op("set", json!(["activity", call.id, "progress"]), progress));
                })
            }
            RunEvent::CallSettled { id, settled, code, duration_ms, preview, rule, result_bytes } => {
                self.settled(&id, &settled, code, duration_ms, preview, rule, result_bytes)
            }
            RunEvent::Status { key, message, state } => self.status(&key, message, &state),
            RunEvent::Notice { text } => {
                self.answer.notices.push(text.clone());
                vec![op("append", json!(["notices"]), text)]
            }
            RunEvent::Warning { message, .. } => self.note("plain", message),
            RunEvent::Retry { model, failure_kind, .. } => {
                self.note("plain", format!("{model} is asked again ({failure_kind})."))
            }
            RunEvent::Failover { from, to, failure_kind } => {
                self.answer.model = Some(to.clone());
                let mut ops =
                    self.note("plain", format!("{from} did not answer ({failure_kind}); {to} is asked."));
                ops.push(op("set", json!(["model"]), to));
                ops
            }
            RunEvent::Compaction { applied, tokens_before, tokens_after, .. } => {
                let id = self.row_id();
                let state = if applied { "done" } else { "failed" }.to_owned();
                self.step(Step::Compaction { id, state, tokens_before, tokens_after })
            }
            RunEvent::Part { mut part } => {
                self.bind(&mut part);
                self.answer.parts.retain(|old| old["id"] != part["id"] && !replaces(&part, old));
                self.answer.parts.push(part);
                vec![op("set", json!(["parts"]), self.answer.parts.clone())]
            }
            RunEvent::Lagged { missed } => {
                self.note("unknown", format!("{missed} events came too fast and are missing here."))
            }
            RunEvent::Title { .. } | RunEvent::FollowUpsRead { .. } | RunEvent::RunSettled { .. } => {
                Vec::new()
            }
        }
    }

    fn row_id(&mut self) -> String {
        self.rows += 1;
        format!("s{}", self.rows)
    }

    fn step(&mut self, step: Step) -> Vec<Op> {
        if self.answer.activity.len() >= STEPS_MAX {
            return Vec::new();
        }
        let value = serde_json::to_value(&step).unwrap_or_default();
        self.answer.activity.push(step);
        vec![op("append", json!(["activity"]), value)]
    }

    /// Puts a line among the activity.
    pub(crate) fn note(&mut self, tone: &str, text: String) -> Vec<Op> {
        let id = self.row_id();
        self.step(Step::Note { id, tone: tone.to_owned(), text })
    }

    fn text(&mut self, text: String) -> Vec<Op> {
        self.phase = "answering";
        let mut ops = Vec::new();
        let mut piece = text;
        if std::mem::take(&mut self.parted) && !self.answer.text.is_empty() {
            piece = format!("\n\n{}", piece.trim_start());
        }
        self.answer.text.push_str(&piece);
        ops.push(op("append", json!(["text"]), piece));
        ops
    }

    fn reasoning(&mut self, text: String) -> Vec<Op> {
        self.phase = "thinking";
        if let Some(Step::Reasoning { id, text: held }) = self.answer.activity.last_mut() {
            if held.len() + text.len() > REASONING_BYTES_MAX {
                return Vec::new();
            }
            held.push_str(&text);
            return vec![op("append", json!(["activity", id, "text"]), text)];
        }
        let id = self.row_id();
        self.step(Step::Reasoning { id, text })
    }

    /// A call: what was said before it is narration, unless the call presents the reply.
    fn call(&mut self, id: String, name: &str, arguments: &Value, at: &str) -> Vec<Op> {
        self.phase = "calling";
        let (tool, server) = parted_name(name);
        let mut ops = Vec::new();
        if PRESENTATION.contains(&tool.as_str()) {
            self.parted = true;
        } else if !self.answer.text.trim().is_empty() {
            let text = std::mem::take(&mut self.answer.text);
            let row = self.row_id();
            ops.extend(self.step(Step::Text { id: row, text }));
            ops.push(json!({"op": "truncate", "path": ["text"], "length": 0}));
            self.parted = false;
        }
        let waits = self.asked.remove(&id);
        let written = arguments.to_string();
        let cut = written.chars().count() > SHOWN_CHARS_MAX;
        let shown = if cut { clip(&written).into() } else { arguments.clone() };
        let call = Call {
            id,
            tool,
            server,
            arguments: shown,
            arguments_bytes: written.len(),
            arguments_cut: cut,
            state: if waits { CallState::Waiting } else { CallState::Working },
            code: None,
            why: None,
            allowed: None,
            started_at: at.to_owned(),
            duration_ms: None,
            result: None,
            result_bytes: None,
            result_cut: None,
            progress: None,
        };
        ops.extend(self.step(Step::Call(Box::new(call))));
        ops
    }

    fn on_call(&mut self, id: &str, with: impl FnOnce(&mut Call, &mut Vec<Op>)) -> Vec<Op> {
        let mut ops = Vec::new();
        let call = self.answer.activity.iter_mut().rev().find_map(|step| match step {
            Step::Call(call) if call.id == id => Some(call),
            _ => None,
        });
        if let Some(call) = call {
            with(call, &mut ops);
        }
        ops
    }

    #[allow(clippy::too_many_arguments, reason = "they are the fields of one event")]
    fn settled(
        &mut self,
        id: &str,
        settled: &str,
        code: String,
        duration_ms: u64,
        preview: String,
        rule: Option<String>,
        result_bytes: Option<u64>,
    ) -> Vec<Op> {
        self.phase = "thinking";
        let state = match settled {
            "done" => CallState::Done,
            "refused" => CallState::Refused,
            "failed" => CallState::Failed,
            _ => CallState::Unknown,
        };
        self.on_call(id, |call, ops| {
            let mut set = |name: &str, value: Value| {
                ops.push(op("set", json!(["activity", id, name]), value));
            };
            call.state = state;
            set("state", json!(state));
            set("code", code.clone().into());
            call.code = Some(code);
            if state != CallState::Done {
                call.why = Some(first_line(&preview));
                set("why", json!(call.why));
            }
            if let Some(rule) = rule.filter(|_| state != CallState::Refused) {
                let how = how_allowed(&rule, call.server.is_some());
                call.allowed = Some(json!({"how": how, "rule": rule}));
                set("allowed", json!(call.allowed));
            }
            if state != CallState::Refused {
                call.duration_ms = Some(duration_ms);
                set("durationMs", duration_ms.into());
                let bytes = result_bytes.unwrap_or(preview.len() as u64);
                let shown = clip(&preview);
                let cut = (shown.len() as u64) < bytes;
                set("result", shown.clone().into());
                set("resultBytes", bytes.into());
                set("resultCut", cut.into());
                (call.result, call.result_bytes, call.result_cut) = (Some(shown), Some(bytes), Some(cut));
            }
        })
    }

    /// Marks a call as waiting for a person, or as going on.
    pub(crate) fn waits(&mut self, call: &str, waits: bool) -> Vec<Op> {
        let state = if waits { CallState::Waiting } else { CallState::Working };
        let known = self.answer.activity.iter().any(|step| step.id() == call);
        if !known && waits {
            self.asked.insert(call.to_owned());
        }
        self.on_call(call, |call, ops| {
            if matches!(call.state, CallState::Working | CallState::Waiting) {
                call.state = state;
                ops.push(op("set", json!(["activity", call.id, "state"]), json!(state)));
            }
        })
    }

    /// Says how the turn is.
    pub(crate) fn set_status(&mut self, status: RunStatus) -> Vec<Op> {
        if self.answer.status == status {
            return Vec::new();
        }
        self.answer.status = status;
        vec![op("set", json!(["status"]), json!(status))]
    }

    fn status(&mut self, key: &str, message: String, state: &str) -> Vec<Op> {
        let row = format!("status-{}", host_vocab::text::one_line(key, 60));
        let words = if state == "failed" { format!("{message} (failed)") } else { message };
        for step in &mut self.answer.activity {
            if let Step::Note { id, text, .. } = step
                && *id == row
            {
                *text = words.clone();
                return vec![op("set", json!(["activity", row, "text"]), words)];
            }
        }
        self.step(Step::Note { id: row, tone: "plain".into(), text: words })
    }

    /// Ends it with what the host says at the end of a run.
    pub(crate) fn finish(&mut self, result: &Value, at: &str) -> Vec<Op> {
        let status = RunStatus::of_host(result["status"].as_str().unwrap_or_default());
        let word = |key: &str| result[key].as_str().map(str::to_owned);
        let mut ops = Vec::new();
        if let Some(text) = word("text").filter(|text| *text != self.answer.text) {
            ops.push(op("set", json!(["text"]), text.clone()));
            self.answer.text = text;
        }
        let answer = &mut self.answer;
        let mut set = |name: &str, value: Value| ops.push(op("set", json!([name]), value));
        (answer.failure_kind, answer.error) = (word("failureKind"), word("error"));
        set("failureKind", json!(answer.failure_kind));
        set("error", json!(answer.error));
        answer.partial = result["partial"].as_bool().unwrap_or_default();
        set("partial", answer.partial.into());
        if let Some(model) = word("model").filter(|model| !model.is_empty()) {
            answer.model = Some(model);
            set("model", json!(answer.model));
        }
        if let Some(run) = word("run") {
            answer.run_id = Some(run);
            set("runId", json!(answer.run_id));
        }
        answer.usage = result.get("usage").filter(|it| it.is_object()).cloned();
        set("usage", json!(answer.usage));
        answer.duration_ms = result["durationMs"].as_u64();
        set("durationMs", json!(answer.duration_ms));
        if let Some(parts) = result["parts"].as_array() {
            let mut parts = parts.clone();
            parts.iter_mut().for_each(|part| bind(self.generation, part));
            set("parts", json!(parts));
            answer.parts = parts;
        }
        let notices = result["notices"].as_array().into_iter().flatten();
        answer.notices = notices.filter_map(Value::as_str).map(str::to_owned).collect();
        set("notices", json!(answer.notices));
        ops.extend(self.end(status, at));
        ops
    }

    /// Ends it without a word of the host.
    pub(crate) fn broke(
        &mut self,
        status: RunStatus,
        kind: Option<&str>,
        error: Option<String>,
        at: &str,
    ) -> Vec<Op> {
        let answer = &mut self.answer;
        (answer.failure_kind, answer.error) = (kind.map(str::to_owned), error);
        answer.partial = !answer.text.trim().is_empty();
        let mut ops = vec![
            op("set", json!(["failureKind"]), json!(answer.failure_kind)),
            op("set", json!(["error"]), json!(answer.error)),
            op("set", json!(["partial"]), answer.partial),
        ];
        ops.extend(self.end(status, at));
        ops
    }

    fn end(&mut self, status: RunStatus, at: &str) -> Vec<Op> {
        let mut ops = Vec::new();
        for step in &mut self.answer.activity {
            if let Step::Call(call) = step
                && matches!(call.state, CallState::Working | CallState::Waiting)
            {
                // It was begun and never told its end.
                call.state = CallState::Unknown;
                ops.push(op("set", json!(["activity", call.id, "state"]), "unknown"));
            }
        }
        self.answer.settled_at = Some(at.to_owned());
        ops.push(op("set", json!(["settledAt"]), at));
        ops.extend(self.set_status(status));
        ops
    }
}

/// Notes the process that a restart proposal is of.
fn bind(generation: u64, part: &mut Value) {
    if part["type"] == "restart_proposal" {
        part["generation"] = generation.into();
    }
}

/// Whether a newer part stands in the place of an older one: quick replies and restart proposals are one each.
fn replaces(new: &Value, old: &Value) -> bool {
    matches!(new["type"].as_str(), Some("reply_options" | "restart_proposal")) && new["type"] == old["type"]
}

fn how_allowed(rule: &str, of_server: bool) -> &'static str {
    match rule {
        rule if rule.starts_with("approved_always") || rule.starts_with("always") => "always",
        rule if rule.starts_with("approved") => "once",
        _ if of_server => "server",
        _ => "policy",
    }
}

/// `mcp__server__tool` as its tool and its server.
pub(crate) fn parted_name(name: &str) -> (String, Option<String>) {
    match name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        Some((server, tool)) if !tool.is_empty() => (tool.to_owned(), Some(server.to_owned())),
        _ => (name.to_owned(), None),
    }
}

fn clip(text: &str) -> String {
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

fn first_line(text: &str) -> String {
    host_vocab::text::one_line(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default(), 500)
}
