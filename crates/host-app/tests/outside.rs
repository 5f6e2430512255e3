//! HIS-1: the history tools of one run for an outside runtime, over its own address.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    missing_docs,
    reason = "tests stand outside the rules of the host's own code"
)]

use host_app::history_endpoint;
use host_event::{Fact, NewEvent, Scope};
use host_history::{HistoryStore, View};
use host_policy::{ApprovalRules, ToolPolicy};
use host_ports::endpoint::OpenEndpoint;
use host_ports::kept::KeepNothing;
use host_ports::log::{Log, Recorder};
use host_redact::Redactor;
use host_store::{EventLog, OpenOptions};
use host_surface::{GatePorts, Offer, RunFacts, Surface, ToolSource, seal};
use host_testkit::{Answers, OneSource, TestClock};
use host_tools::{RunHistoryTool, SessionHistoryTool};
use host_turn::{Channel, Ending, Trigger, Usage};
use host_vocab::{ConversationId, RunId};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn scope(conversation: &str, run: &str) -> Scope {
    Scope::of_run(&ConversationId::parse(conversation).unwrap(), &RunId::parse(run).unwrap())
}

async fn turn(log: &EventLog, scope: &Scope, said: &str) {
    let started = Fact::RunStarted {
        incarnation: "i".into(),
        source: "web".into(),
        source_detail: None,
        user_input: said.into(),
        attachments: vec![],
        model: "a:b".into(),
        effort: None,
        isolated: false,
        offered: vec![],
        withheld: vec![],
    };
    let ended = Fact::RunSettled {
        ending: Ending::Succeeded,
        text: "done".into(),
        usage: Usage::default(),
        duration_ms: 1,
        failover_history: vec![],
    };
    let event = |fact: &Fact| NewEvent::of(fact, scope.clone(), 1000, &Redactor::default());
    log.append(vec![event(&started), event(&ended)]).await.unwrap();
}

async fn surface(log: &Arc<EventLog>, policy: &ToolPolicy) -> Arc<Surface> {
    let store = Arc::clone(log) as Arc<dyn HistoryStore>;
    let offers = vec![
        Offer::ready(RunHistoryTool::new(Arc::clone(&store), View::default(), false, true)),
        Offer::ready(SessionHistoryTool::new(store, View::default(), false, None)),
    ];
    let sources: Vec<Arc<dyn ToolSource>> = vec![Arc::new(OneSource::new("app", offers))];
    let recorder = Recorder::new(
        Arc::clone(log) as Arc<dyn Log>,
        Arc::new(Redactor::default()),
        Arc::new(TestClock::default()),
    );
    let ports = GatePorts {
        recorder: Some(recorder),
        ask: Arc::new(Answers::default()),
        keep: Arc::new(KeepNothing),
        deadline: Duration::from_secs(9),
    };
    let facts = RunFacts {
        run: RunId::parse("run-now").unwrap(),
        conversation: ConversationId::parse("web:a").unwrap(),
        channel: Channel::new("web"),
        trigger: Trigger::Interactive,
        isolated: false,
    };
    Arc::new(seal(&sources, policy, Arc::new(ApprovalRules::default()), facts, ports).await.unwrap())
}

async fn post(endpoint: &OpenEndpoint, message: Value) -> (u16, Value) {
    let rest = endpoint.url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let (body, bearer) = (message.to_string(), endpoint.bearer.expose());
    let length = body.len();
    let request = format!(
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {bearer}\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let mut stream = tokio::net::TcpStream::connect(host).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

// HIS-1, RUN-1, T9-07: the run's own scope, read-only, gone with the run.
#[tokio::test]
async fn an_outside_runtime_reads_its_own_conversation_alone() {
    let dir = tempfile::tempdir().unwrap();
    let log = Arc::new(EventLog::open(OpenOptions::new(dir.path())).unwrap());
    turn(&log, &scope("web:a", "run-mine"), "mine ALPHA-77").await;
    turn(&log, &scope("web:b", "run-theirs"), "theirs BETA-88").await;
    let lent = surface(&log, &ToolPolicy::allow_all()).await;
    let endpoint = history_endpoint(&lent).await.unwrap();
    let (status, list) = post(&endpoint, json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
    assert_eq!((status, list["result"]["tools"].as_array().unwrap().len()), (200, 2));
    let (_, runs) = post(&endpoint, call("RunHistory", json!({}))).await;
    let page = &runs["result"]["structuredContent"];
    assert_eq!((&page["untrusted"], page["runs"].as_array().unwrap().len()), (&json!(true), 1));
    assert_eq!(page["runs"][0]["runId"], "run-mine");
    for arguments in [json!({"query": "BETA-88"}), json!({"runId": "run-theirs"})] {
        let (_, none) = post(&endpoint, call("RunHistory", arguments)).await;
        let none = none.to_string();
        assert!(!none.contains("theirs BETA"), "{none}");
    }
    let (_, calls) = post(&endpoint, call("SessionHistory", json!({}))).await;
    assert_eq!(
        calls["result"]["structuredContent"]["calls"],
        json!([]),
        "the run that asks never sees itself"
    );
    drop(lent);
    let (status, nothing) = post(&endpoint, call("RunHistory", json!({}))).await;
    assert_eq!((status, nothing), (404, Value::Null));
}

// POL-2: a tool that the policy takes away isn't lent either.
#[tokio::test]
async fn a_denied_tool_is_not_lent() {
    let dir = tempfile::tempdir().unwrap();
    let log = Arc::new(EventLog::open(OpenOptions::new(dir.path())).unwrap());
    let lent = surface(&log, &ToolPolicy::fail_closed()).await;
    let endpoint = history_endpoint(&lent).await.unwrap();
    let (_, list) = post(&endpoint, json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
    assert_eq!(list["result"]["tools"], json!([]));
    let (_, none) = post(&endpoint, call("RunHistory", json!({}))).await;
    assert_eq!(none["error"]["code"], -32602);
}
