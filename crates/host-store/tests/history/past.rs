//! What the other tests make a past with.

use host_event::{Fact, NewEvent, Scope};
use host_history::{
    CallArguments, CallViews, HistoryError, HistoryScope, HistoryStore, RunArguments, RunViews, View,
};
use host_ports::log::Log;
use host_redact::Redactor;
use host_store::{EventLog, OpenOptions};
use host_turn::{Ending, FailureKind, Usage};
use host_vocab::{Block, CallId, ConversationId, RunId};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

pub const AT: i64 = 1_790_000_000_000;

pub struct Past {
    pub log: Arc<EventLog>,
    pub dir: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    now: std::cell::Cell<i64>,
}

pub fn conversation(id: &str) -> ConversationId {
    ConversationId::parse(id).unwrap()
}

pub fn scope(id: &str, run: &str) -> Scope {
    Scope::of_run(&conversation(id), &RunId::parse(run).unwrap())
}

pub fn asks(id: &str, rollover: bool) -> HistoryScope {
    HistoryScope { conversation: conversation(id), rollover, current: RunId::parse("run-now").unwrap() }
}

pub fn open(dir: &Path) -> Arc<EventLog> {
    Arc::new(EventLog::open(OpenOptions { search: false, ..OpenOptions::new(dir) }).unwrap())
}

impl Past {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Past {
            log: open(dir.path()),
            dir,
            runtime: tokio::runtime::Builder::new_current_thread().build().unwrap(),
            now: std::cell::Cell::new(AT),
        }
    }

    /// The same with another opening of its log.
    pub fn reopened(self, log: Arc<EventLog>) -> Self {
        Past { log, ..self }
    }

    pub fn at(&self) -> i64 {
        self.now.get()
    }

    pub fn set(&self, at: i64) {
        self.now.set(at);
    }

    pub fn append(&self, events: Vec<NewEvent>) {
        self.runtime.block_on(self.log.append(events)).unwrap();
    }

    pub fn add(&self, scope: &Scope, fact: Fact) {
        self.now.set(self.now.get() + 1000);
        self.append(vec![NewEvent::of(&fact, scope.clone(), self.now.get(), &Redactor::default())]);
    }

    pub fn begin(&self, scope: &Scope, input: &str, isolated: bool) {
        self.add(
            scope,
            Fact::RunStarted {
                incarnation: "i".into(),
                source: "web".into(),
                source_detail: Some("console".into()),
                user_input: input.into(),
                attachments: vec![],
                model: "scripted:alpha".into(),
                effort: Some("high".into()),
                isolated,
                offered: vec![],
                withheld: vec![],
            },
        );
    }

    pub fn end(&self, scope: &Scope, ending: Ending, text: &str) {
        let usage = Usage { input_tokens: 10, output_tokens: 2, cost_usd: Some(0.5), ..Usage::default() };
        self.add(
            scope,
            Fact::RunSettled {
                ending,
                text: text.into(),
                usage,
                duration_ms: 1500,
                failover_history: vec![],
            },
        );
    }

    pub fn start_call(&self, scope: &Scope, id: &str, tool: &str, arguments: Value) {
        let scope = scope.call(&CallId::parse(id).unwrap());
        self.add(
            &scope,
            Fact::CallStarted {
                tool: tool.into(),
                source: "builtin".into(),
                arguments,
                arguments_digest: "d".into(),
                rule: "allow-all".into(),
            },
        );
    }

    pub fn settle_call(&self, scope: &Scope, id: &str, tool: &str, code: &str, text: &str) {
        let scope = scope.call(&CallId::parse(id).unwrap());
        self.add(
            &scope,
            Fact::CallSettled {
                tool: tool.into(),
                settled: if code == "ok" { "done" } else { "failed" }.into(),
                code: code.into(),
                content: vec![Block::text(text)],
                structured: None,
                outcome: None,
                duration_ms: 7,
                original_bytes: text.len() as u64,
                truncated: false,
                kept: vec![],
            },
        );
    }

    pub fn call(&self, scope: &Scope, id: &str, tool: &str, code: &str, text: &str) {
        self.start_call(scope, id, tool, json!({"path": format!("src/{id}.rs")}));
        self.settle_call(scope, id, tool, code, text);
    }

    /// A whole turn without calls.
    pub fn turn(&self, conversation: &str, run: &str, input: &str, answer: &str) {
        let scope = scope(conversation, run);
        self.begin(&scope, input, false);
        self.end(&scope, Ending::Succeeded, answer);
    }

    pub fn store(&self) -> Arc<dyn HistoryStore> {
        Arc::clone(&self.log) as Arc<dyn HistoryStore>
    }

    pub fn runs(&self, scope: &HistoryScope, arguments: Value) -> Result<Value, HistoryError> {
        RunViews::new(self.store(), View::default(), true).answer(scope, &run_arguments(&arguments))
    }

    pub fn calls(&self, scope: &HistoryScope, arguments: Value) -> Result<Value, HistoryError> {
        CallViews::new(self.store(), View::default(), None).answer(scope, &call_arguments(&arguments))
    }
}

pub fn failed() -> Ending {
    Ending::Failed { kind: FailureKind::Timeout, error: "no answer from /home/alice/x/y".into() }
}

pub fn died() -> Ending {
    Ending::Interrupted { kind: FailureKind::ProcessDeath }
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn list(value: &Value, name: &str) -> Option<Vec<String>> {
    let items = value.get(name)?.as_array()?;
    Some(items.iter().map(|item| item.as_str().unwrap().to_owned()).collect())
}

pub fn run_arguments(value: &Value) -> RunArguments {
    RunArguments {
        action: text(value, "action"),
        query: text(value, "query"),
        run_id: text(value, "runId"),
        cursor: text(value, "cursor"),
        limit: value.get("limit").and_then(Value::as_i64),
    }
}

pub fn call_arguments(value: &Value) -> CallArguments {
    CallArguments {
        action: text(value, "action"),
        query: text(value, "query"),
        tools: list(value, "tools"),
        states: list(value, "states"),
        run_ids: list(value, "runIds"),
        from_ms: value.get("fromMs").and_then(Value::as_i64),
        to_ms: value.get("toMs").and_then(Value::as_i64),
        limit: value.get("limit").and_then(Value::as_i64),
        include_isolated: value.get("includeIsolated").and_then(Value::as_bool),
        record_id: text(value, "recordId"),
        tool_call_id: text(value, "toolCallId"),
        artifact_id: text(value, "artifactId"),
        cursor: text(value, "cursor"),
        chunk_bytes: value.get("chunkBytes").and_then(Value::as_i64),
    }
}

pub fn ids(page: &Value) -> Vec<String> {
    page["runs"].as_array().unwrap().iter().map(|run| run["runId"].as_str().unwrap().to_owned()).collect()
}
