//! An HTTP server in this process that speaks MCP, well or badly.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::StreamExt as _;
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use url::Url;

/// One request that was seen.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: Method,
    pub path: String,
    pub headers: HeaderMap,
    pub body: Value,
}

/// A server with one way to behave.
pub struct Fake {
    pub mode: String,
    pub argument: String,
    pub seen: Mutex<Vec<Seen>>,
    sessions: AtomicUsize,
    calls: AtomicUsize,
    sse: Mutex<Option<tokio::sync::mpsc::UnboundedSender<String>>>,
    pub address: Mutex<Option<Url>>,
    answered: tokio::sync::Notify,
}

impl Fake {
    /// Starts one; its endpoint is `/mcp`.
    pub async fn start(mode: &str, argument: &str) -> Arc<Fake> {
        let fake = Arc::new(Fake {
            mode: mode.to_owned(),
            argument: argument.to_owned(),
            seen: Mutex::default(),
            sessions: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
            sse: Mutex::default(),
            address: Mutex::default(),
            answered: tokio::sync::Notify::new(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        *fake.address.lock().unwrap() = Some(Url::parse(&format!("http://127.0.0.1:{port}/mcp")).unwrap());
        let app = Router::new().fallback(answer).with_state(Arc::clone(&fake));
        tokio::spawn(async move { axum::serve(listener, app).await });
        fake
    }

    pub fn url(&self) -> Url {
        self.address.lock().unwrap().clone().unwrap()
    }

    /// The JSON-RPC methods that were POSTed, in order.
    pub fn methods(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter_map(|it| it.body.get("method")?.as_str().map(str::to_owned)).collect()
    }

    pub fn count(&self, method: &str) -> usize {
        self.methods().iter().filter(|it| *it == method).count()
    }
}

fn respond(status: u16, content_type: &str, body: impl Into<Body>) -> Response {
    let mut builder = Response::builder().status(status);
    if !content_type.is_empty() {
        builder = builder.header("content-type", content_type);
    }
    builder.body(body.into()).unwrap()
}

fn json_of(value: &Value) -> Response {
    respond(200, "application/json", value.to_string())
}

fn stream(pieces: Vec<(u64, String)>) -> Response {
    let body = futures_util::stream::iter(pieces).then(|(wait, piece)| async move {
        tokio::time::sleep(Duration::from_millis(wait)).await;
        if piece == "RESET" {
            return Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
        }
        Ok(Bytes::from(piece))
    });
    respond(200, "text/event-stream", Body::from_stream(body))
}

fn result_of(fake: &Fake, body: &Value) -> Value {
    let id = body["id"].clone();
    let result = match body["method"].as_str().unwrap_or_default() {
        "initialize" => json!({"protocolVersion":"2025-06-18","capabilities":{"tools":{}},
            "serverInfo":{"name":"fake","version":"1"}}),
        "server/discover" => json!({"resultType":"complete","supportedVersions":["2026-07-28"],
            "capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}),
        "tools/list" => json!({"resultType":"complete","tools":[
            {"name":"ping","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}},
            {"name":"slow","inputSchema":{"type":"object"}},
            {"name":"second","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}),
        "tools/call" => json!({"resultType":"complete","content":[{"type":"text","text":
            format!("pong {}", fake.calls.load(Ordering::SeqCst))}]}),
        _ => return json!({"jsonrpc":"2.0","id":id,"error":{"code":-32601,"message":"unknown method"}}),
    };
    json!({"jsonrpc":"2.0","id":id,"result":result})
}

async fn answer(State(fake): State<Arc<Fake>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = axum::body::to_bytes(body, 1 << 24).await.unwrap_or_default();
    let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let seen = Seen {
        method: parts.method.clone(),
        path: parts.uri.path().to_owned(),
        headers: parts.headers.clone(),
        body: body.clone(),
    };
    fake.seen.lock().unwrap().push(seen);
    let method = body["method"].as_str().unwrap_or_default().to_owned();
    if fake.mode == "sse"
        || (fake.mode == "sse-json-errors" && parts.uri.path() != "/mcp")
        || (fake.mode == "sse-json-errors" && parts.method == Method::GET)
    {
        return legacy_sse(&fake, &parts.method, parts.uri.path(), &body);
    }
    if fake.mode == "own-stream"
        && let Some(response) = own_stream(&fake, &parts.method, &body).await
    {
        return response;
    }
    if parts.method == Method::GET {
        return get(&fake, &parts.headers);
    }
    if parts.method == Method::DELETE {
        return respond(405, "", "");
    }
    if method == "tools/call" {
        fake.calls.fetch_add(1, Ordering::SeqCst);
    }
    let session = parts.headers.get("mcp-session-id").and_then(|it| it.to_str().ok()).map(str::to_owned);
    match (fake.mode.as_str(), method.as_str()) {
        ("unauthorized", _) => Response::builder()
            .status(fake.argument.parse::<u16>().unwrap())
            .header("www-authenticate", format!("Bearer resource_metadata=\"{}/x\"", fake.url()))
            .body(Body::empty())
            .unwrap(),
        ("redirect", _) if parts.uri.path() == "/mcp" => {
            Response::builder().status(307).header("location", &fake.argument).body(Body::empty()).unwrap()
        }
        ("sse-json-errors", _) if parts.method == Method::POST && parts.uri.path() == "/mcp" => {
            let error = json!({"jsonrpc":"2.0","id":body["id"],"error":{"code":-32000,"message":"Method not allowed."}});
            respond(405, "application/json", error.to_string())
        }
        ("html", _) => respond(200, "text/html", "<html>a login page</html>"),
        ("modern", _) => modern(&fake, &body, &method).await,
        ("silent-probe", "server/discover") => {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            respond(500, "", "")
        }
        (_, "server/discover") => match fake.mode.as_str() {
            "crash-on-probe" => respond(500, "text/plain", "boom"),
            "plain" => json_of(&result_of(&fake, &json!({"id":body["id"],"method":"nope"}))),
            _ => respond(400, "text/plain", "Bad Request: Missing session ID"),
        },
        _ => legacy(&fake, &body, &method, session),
    }
}

fn legacy(fake: &Fake, body: &Value, method: &str, session: Option<String>) -> Response {
    if body.get("id").is_none() {
        return match fake.argument.as_str() {
            "200" => respond(200, "", ""),
            "204" => respond(204, "", ""),
            "202-text" => respond(202, "text/plain", "Accepted"),
            "200-null" => respond(200, "application/json", "null"),
            "200-html" => respond(200, "text/html", "<p>ok</p>"),
            "200-sse" => stream(vec![(0, ": ok\n\n".into())]),
            _ => respond(202, "", ""),
        };
    }
    let result = result_of(fake, body);
    if method == "initialize" {
        let session = format!("s{}", fake.sessions.fetch_add(1, Ordering::SeqCst));
        let mut response = json_of(&result);
        response.headers_mut().insert("mcp-session-id", session.parse().unwrap());
        return response;
    }
    let calls = fake.calls.load(Ordering::SeqCst);
    let newest = format!("s{}", fake.sessions.load(Ordering::SeqCst) - 1);
    let is_call = method == "tools/call";
    let event = format!("event: message\ndata: {result}\n\n");
    match fake.mode.as_str() {
        "forgets" | "forgets-400" if is_call && calls >= 2 && newest == "s0" => match fake.mode.as_str() {
            "forgets" => respond(404, "", "Session not found"),
            _ => respond(
                400,
                "application/json",
                r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}"#,
            ),
        },
        "forgets" | "forgets-400" if session.as_deref() != Some(&newest) => {
            respond(404, "", "Session not found")
        }
        "always-404" if is_call => respond(404, "", ""),
        "keep-alive" => stream(vec![
            (0, ": ping\n\n".into()),
            (0, "data:\n\n".into()),
            (0, "event: ping\ndata: {}\n\n".into()),
            (0, "id: 5\n\n".into()),
            (0, "retry: 10\n\n".into()),
            (5, format!(": ping\n{event}")),
        ]),
        "no-answer" if is_call && calls == 1 => stream(vec![(0, ": hello\n\n".into())]),
        "reset" if is_call && calls == 1 => {
            stream(vec![(0, event[..event.len() / 2].to_owned()), (20, "RESET".into())])
        }
        "resume" | "resume-never" if is_call => stream(vec![(0, "id: e1\nretry: 20\ndata:\n\n".into())]),
        "huge" | "huge-sse" if is_call && calls == 1 => {
            let mut result = result;
            result["result"]["content"][0]["text"] = json!("x".repeat(17 << 20));
            match fake.mode.as_str() {
                "huge" => json_of(&result),
                _ => stream(vec![(0, format!("data: {result}\n\n"))]),
            }
        }
        "sse-as-json" => respond(200, "application/json", event),
        "json-as-text" => respond(200, "text/plain", result.to_string()),
        "batch" => respond(200, "application/json", format!("[{result}]")),
        "odd-id" => {
            let mut result = result;
            result["id"] = json!(result["id"].to_string());
            json_of(&result)
        }
        "status" if is_call => respond(fake.argument.parse().unwrap(), "text/plain", "no\nluck"),
        "slow" if is_call && body["params"]["name"] == "slow" => stream(vec![(60_000, event)]),
        _ => json_of(&result),
    }
}

async fn modern(fake: &Fake, body: &Value, method: &str) -> Response {
    if method == "initialize" {
        return respond(
            400,
            "application/json",
            json!({"jsonrpc":"2.0","id":body["id"],"error":{"code":-32601,"message":"no"}}).to_string(),
        );
    }
    if method == "tools/call" && body["params"]["name"] == "slow" {
        return stream(vec![(60_000, "data: {}\n\n".into())]);
    }
    if method == "tools/call" && body["params"]["name"] == "second" {
        let error = json!({"jsonrpc":"2.0","id":body["id"],"error":{"code":-32602,"message":"unknown tool"}});
        return respond(400, "application/json", error.to_string());
    }
    json_of(&result_of(fake, body))
}

fn get(fake: &Fake, headers: &HeaderMap) -> Response {
    let last = headers.get("last-event-id").and_then(|it| it.to_str().ok());
    match (fake.mode.as_str(), last) {
        ("resume", Some("e1")) => {
            let id =
                fake.seen.lock().unwrap().iter().rev().find_map(|it| it.body.get("id").cloned()).unwrap();
            let result = result_of(fake, &json!({"id":id,"method":"tools/call"}));
            stream(vec![(0, format!("id: e2\ndata: {result}\n\n"))])
        }
        ("resume-never", Some("e1")) => stream(vec![(0, ": still nothing\n\n".into())]),
        _ => respond(405, "", ""),
    }
}

/// A server that asks on its own stream, slow to open, what belongs to a call; where nobody listens it is lost.
async fn own_stream(fake: &Fake, method: &Method, body: &Value) -> Option<Response> {
    if *method == Method::GET {
        tokio::time::sleep(Duration::from_millis(400)).await;
        let (send, receive) = tokio::sync::mpsc::unbounded_channel();
        send.send(": open\n\n".to_owned()).unwrap();
        *fake.sse.lock().unwrap() = Some(send);
        let body = tokio_stream::wrappers::UnboundedReceiverStream::new(receive).map(Ok::<_, std::io::Error>);
        return Some(respond(200, "text/event-stream", Body::from_stream(body)));
    }
    if body["id"] == 77 && body.get("method").is_none() {
        fake.answered.notify_one();
        return Some(respond(202, "", ""));
    }
    if body["method"] == "tools/call" {
        let question = json!({"jsonrpc":"2.0","id":77,"method":"elicitation/create","params":{"message":"Well?",
            "requestedSchema":{"type":"object","properties":{}}}});
        if let Some(listener) = &*fake.sse.lock().unwrap() {
            let _ = listener.send(format!("data: {question}\n\n"));
        }
        fake.answered.notified().await;
    }
    None
}

fn legacy_sse(fake: &Fake, method: &Method, path: &str, body: &Value) -> Response {
    if *method == Method::GET && path == "/mcp" {
        let (send, receive) = tokio::sync::mpsc::unbounded_channel();
        let to = if fake.argument.is_empty() { "/messages?id=1" } else { &fake.argument };
        send.send(format!(": hi\n\nevent: endpoint\ndata: {to}\n\n")).unwrap();
        *fake.sse.lock().unwrap() = Some(send);
        let body = tokio_stream::wrappers::UnboundedReceiverStream::new(receive).map(Ok::<_, std::io::Error>);
        return respond(200, "text/event-stream", Body::from_stream(body));
    }
    if *method == Method::POST && path == "/messages" {
        if body.get("id").is_some() {
            let result = result_of(fake, body);
            let sse = fake.sse.lock().unwrap();
            let _ = sse.as_ref().unwrap().send(format!("event: message\ndata: {result}\n\n"));
        }
        return respond(202, "text/plain", "Accepted");
    }
    respond(StatusCode::METHOD_NOT_ALLOWED.as_u16(), "", "")
}
