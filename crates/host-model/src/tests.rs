//! The adapters against local fakes that check the exact request and play real stream shapes.

#![allow(clippy::disallowed_methods, reason = "the fakes listen")]

mod adapters;
mod cut;
mod endpoints;
mod schema_mode;

use crate::{ModelPorts, ProviderKind, ProviderSettings, Verdicts, build};
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use host_net::{NetHttp, NetSettings};
use host_ports::BoxFuture;
use host_ports::clock::Clock;
use host_ports::model::{
    AssistantPart, Effort, Message, Model, ModelError, ModelEvent, ModelRequest, ToolCall, ToolResult,
    ToolSpec,
};
use host_vocab::{Block, Media, Secret};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(crate) struct Noon;

impl Clock for Noon {
    fn now_ms(&self) -> i64 {
        1_440_938_160_000
    }
    fn instant(&self) -> Instant {
        Instant::now()
    }
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// One answer of a fake.
#[derive(Clone)]
pub(crate) struct Play {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    piece: usize,
    broken: bool,
}

impl Play {
    pub(crate) fn sse(body: &str) -> Play {
        Play::of(200, "text/event-stream", body.as_bytes())
    }

    pub(crate) fn json(status: u16, body: &Value) -> Play {
        Play::of(status, "application/json", body.to_string().as_bytes())
    }

    pub(crate) fn of(status: u16, media: &str, body: &[u8]) -> Play {
        Play {
            status,
            headers: vec![("content-type", media.to_owned())],
            body: body.to_vec(),
            piece: 4096,
            broken: false,
        }
    }

    pub(crate) fn pieces(mut self, piece: usize) -> Play {
        self.piece = piece;
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Play {
        self.headers.push((name, value.to_owned()));
        self
    }
}

/// A provider's server.
pub(crate) struct Fake {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Fake {
    pub(crate) async fn start(plays: impl IntoIterator<Item = Play>) -> Fake {
        let plays: Arc<Mutex<VecDeque<Play>>> = Arc::new(Mutex::new(plays.into_iter().collect()));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, queue) = (seen.clone(), plays);
        let app = Router::new().fallback(move |request: Request| {
            let (log, queue) = (log.clone(), queue.clone());
            async move { answer(request, &log, &queue).await }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Fake { url, seen }
    }

    /// All requests: a line with the method, path and telling headers, and the body.
    pub(crate) fn requests(&self) -> Vec<(String, Value)> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn shown(&self) -> String {
        self.requests()
            .into_iter()
            .map(|(head, body)| format!("{head}\n{}", serde_json::to_string_pretty(&body).unwrap()))
            .collect::<Vec<_>>()
            .join("\n\n")
    }
}

async fn answer(
    request: Request,
    log: &Mutex<Vec<(String, Value)>>,
    queue: &Mutex<VecDeque<Play>>,
) -> Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 24).await.unwrap();
    let mut line = format!("{} {}", head.method, head.uri);
    for name in ["authorization", "x-api-key", "x-goog-api-key", "anthropic-version", "x-amz-date", "x-team"]
    {
        if let Some(value) = head.headers.get(name) {
            line.push_str(&format!("\n{name}: {}", value.to_str().unwrap()));
        }
    }
    log.lock().unwrap().push((line, serde_json::from_slice(&body).unwrap_or(Value::Null)));
    let next = queue.lock().unwrap().pop_front();
    let play = next.unwrap_or_else(|| Play::json(500, &json!({"error": "the fake has no answer left"})));
    let mut response = Response::builder().status(play.status);
    for (name, value) in &play.headers {
        response = response.header(*name, value);
    }
    let pieces: Vec<Result<Bytes, std::io::Error>> =
        play.body.chunks(play.piece.max(1)).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    // The pause lets what was written reach the client before the connection breaks.
    let end = stream::iter(play.broken.then_some(())).then(|()| async {
        tokio::time::sleep(Duration::from_millis(60)).await;
        Err(std::io::Error::other("cut"))
    });
    response.body(Body::from_stream(stream::iter(pieces).chain(end))).unwrap()
}

pub(crate) fn ports() -> ModelPorts {
    ModelPorts {
        http: Arc::new(NetHttp::new(NetSettings::default())),
        clock: Arc::new(Noon),
        verdicts: Arc::new(Verdicts::default()),
    }
}

pub(crate) fn settings(kind: ProviderKind, id: &str, model: &str, url: &str) -> ProviderSettings {
    ProviderSettings {
        kind: Some(kind),
        base_url: Some(url.to_owned()),
        api_key: Some(Secret::new("KEY-123456")),
        images: Some(true),
        tool_calling: crate::ToolCalling::Native,
        ..ProviderSettings::new(id, model)
    }
}

pub(crate) fn model(settings: ProviderSettings) -> Arc<dyn Model> {
    build(settings, ports()).unwrap()
}

pub(crate) fn tool(name: &str, description: &str, schema: Value) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: description.to_owned(), input_schema: Arc::new(schema) }
}

pub(crate) fn ask(text: &str) -> ModelRequest {
    ModelRequest {
        system: "Be brief.".to_owned(),
        messages: vec![Message::User { content: vec![Block::text(text)] }],
        tools: Arc::new([tool(
            "Read",
            "Reads a file.",
            json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
        )]),
        effort: None,
        output_tokens_max: None,
        cache_key: None,
    }
}

/// A conversation with everything in it: pictures, own and foreign reasoning, parallel calls, an error.
pub(crate) fn full(provider: &str, raw: Value, call_raw: Option<Value>) -> ModelRequest {
    let picture = || Block::Image { media: Media::from_bytes(b"png", "image/png") };
    let call = |id: &str, name: &str, arguments: &str, raw: Option<Value>| {
        AssistantPart::Call(ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            raw,
        })
    };
    let reasoning = |provider: &str, raw: Value| AssistantPart::Reasoning {
        provider: provider.to_owned(),
        text: "hm".to_owned(),
        raw,
    };
    let result = |id: &str, name: &str, content: Vec<Block>, is_error| ToolResult {
        call_id: id.to_owned(),
        name: name.to_owned(),
        content,
        is_error,
    };
    ModelRequest {
        messages: vec![
            Message::User { content: vec![Block::text("What is this?"), picture()] },
            Message::Assistant {
                parts: vec![
                    reasoning("someone-else", json!({"secret": "never sent"})),
                    reasoning(provider, raw),
                    AssistantPart::Text { text: "I look.".to_owned() },
                    call("call.1", "Read", "{\"path\":\"a\"}", call_raw),
                    call("call_2", "Now", "", None),
                ],
            },
            Message::ToolResults {
                results: vec![
                    result("call.1", "Read", vec![Block::text("a picture"), picture()], false),
                    result("call_2", "Now", vec![Block::text("no clock")], true),
                ],
            },
            Message::User { content: vec![Block::text("Go on.")] },
        ],
        tools: Arc::new([
            tool(
                "Read",
                "Reads a file.",
                json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
            ),
            tool("Now", "Says the time.", json!({"type": "object"})),
        ]),
        effort: Some(Effort::High),
        output_tokens_max: Some(500),
        cache_key: Some("session-1".to_owned()),
        ..ask("")
    }
}

pub(crate) async fn play(
    model: &Arc<dyn Model>,
    request: ModelRequest,
) -> Vec<Result<ModelEvent, ModelError>> {
    tokio::time::timeout(Duration::from_secs(30), model.stream(request).collect()).await.unwrap()
}

/// The events in lines, with pieces of text joined, so that cutting changes nothing.
pub(crate) fn told(events: &[Result<ModelEvent, ModelError>]) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut text = String::new();
    for event in events {
        match event {
            Ok(ModelEvent::Text(piece)) => text.push_str(piece),
            Ok(ModelEvent::Reasoning(piece)) => {
                match out.last_mut().filter(|line| line.starts_with("thinks:")) {
                    Some(line) => line.push_str(piece),
                    None => out.push(format!("thinks: {piece}")),
                }
            }
            Ok(ModelEvent::CallStarted { name }) => out.push(format!("starts: {name}")),
            Ok(ModelEvent::Notice(note)) => out.push(format!("notice: {note}")),
            Ok(ModelEvent::Part(part)) => out.push(format!("part: {}", serde_json::to_string(part).unwrap())),
            Ok(ModelEvent::Finished { reason, usage }) => {
                out.push(format!("finished: {reason:?} {}", serde_json::to_string(usage).unwrap()));
            }
            Err(error) => out.push(format!("error: {} {}", error.kind, error.message)),
        }
    }
    format!("text: {text}\n{}", out.join("\n"))
}
