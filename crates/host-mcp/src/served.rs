//! Some tools of one run's surface as an MCP server without a state, for an outside runtime that works for that run
//! (HIS-1). It speaks to one message at a time, in both eras, and holds the surface only as long as its run does.

use host_ports::BoxFuture;
use host_ports::endpoint::{EndpointAnswer, EndpointHandler};
use host_surface::{Arguments, CallRequest, ProgressSink, Settled, Surface};
use host_vocab::CallId;
use serde_json::{Value, json};
use std::sync::Weak;
use tokio_util::sync::CancellationToken;

/// The revisions that have a handshake, newest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The revision without one.
const MODERN: &str = "2026-07-28";
/// Where a message of the modern era names its revision.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const UNKNOWN_METHOD: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const UNSUPPORTED_VERSION: i64 = -32022;

/// The tools.
pub struct ServedTools {
    surface: Weak<Surface>,
    names: Vec<String>,
}

impl ServedTools {
    /// Those of these names that the surface has; nothing else of it can be seen or called.
    pub fn new(surface: Weak<Surface>, names: impl IntoIterator<Item = String>) -> Self {
        ServedTools { surface, names: names.into_iter().collect() }
    }

    fn list(&self, surface: &Surface) -> Vec<Value> {
        let specs = surface.specs();
        let served = specs.iter().filter(|spec| self.names.contains(&spec.name));
        served
            .map(|spec| {
                json!({
                    "name": spec.name,
                    "description": spec.description,
                    "inputSchema": *spec.input_schema,
                    "annotations": {"readOnlyHint": surface.info(&spec.name).is_some_and(|it| it.may_run_together())},
                })
            })
            .collect()
    }

    async fn call(&self, surface: &Surface, params: &Value) -> Result<Value, (i64, String)> {
        let name = params["name"].as_str().unwrap_or_default();
        if !self.names.iter().any(|it| it == name) || surface.info(name).is_none() {
            return Err((INVALID_PARAMS, "no tool of that name is here".to_owned()));
        }
        let arguments = match &params["arguments"] {
            Value::Null => json!({}),
            arguments => arguments.clone(),
        };
        // Dropped with the request: then the call is told to stop.
        let cancel = CancellationToken::new();
        let _stops = cancel.clone().drop_guard();
        let request = CallRequest {
            id: CallId::fresh(),
            name: name.to_owned(),
            arguments: Arguments::Raw(arguments.to_string()),
            cancel: cancel.clone(),
            progress: ProgressSink::default(),
        };
        Ok(result(&surface.call(request).await))
    }

    async fn reply(&self, surface: &Surface, message: &Value) -> Result<Value, (i64, String)> {
        let params = &message["params"];
        let modern = params["_meta"].get(VERSION_KEY).and_then(Value::as_str);
        if let Some(version) = modern.filter(|it| *it != MODERN) {
            return Err((UNSUPPORTED_VERSION, format!("this server speaks {MODERN}, not {version:?}")));
        }
        let info = json!({"name": "mono-agent", "version": env!("CARGO_PKG_VERSION")});
        let mut reply = match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                let asked = params["protocolVersion"].as_str().unwrap_or_default();
                let version = LEGACY.iter().find(|it| **it == asked).unwrap_or(&LEGACY[0]);
                json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
            }
            "server/discover" => json!({
                "supportedVersions": [MODERN], "capabilities": {"tools": {}}, "serverInfo": info, "ttlMs": 0,
                "cacheScope": "private",
            }),
            "ping" => json!({}),
            "tools/list" if modern.is_some() => {
                json!({"tools": self.list(surface), "ttlMs": 0, "cacheScope": "private"})
            }
            "tools/list" => json!({"tools": self.list(surface)}),
            "tools/call" => self.call(surface, params).await?,
            _ => return Err((UNKNOWN_METHOD, "no such method is here".to_owned())),
        };
        if modern.is_some() {
            reply["resultType"] = "complete".into();
        }
        Ok(reply)
    }
}

impl EndpointHandler for ServedTools {
    fn answer(&self, body: Vec<u8>) -> BoxFuture<'_, EndpointAnswer> {
        Box::pin(async move {
            let Some(surface) = self.surface.upgrade() else { return EndpointAnswer::Gone };
            let Ok(message) = serde_json::from_slice::<Value>(&body) else {
                return EndpointAnswer::Bad(failure(&Value::Null, PARSE_ERROR, "this is no JSON"));
            };
            let id = message.get("id").cloned().unwrap_or(Value::Null);
            if message["jsonrpc"] != "2.0" || !message["method"].is_string() || !is_id(&id) {
                return EndpointAnswer::Bad(failure(
                    &Value::Null,
                    INVALID_REQUEST,
                    "one JSON-RPC request is taken",
                ));
            }
            if id.is_null() {
                // A notification. None of them changes anything here.
                return EndpointAnswer::Accepted;
            }
            match self.reply(&surface, &message).await {
                Ok(result) => {
                    let whole = json!({"jsonrpc": "2.0", "id": id, "result": result});
                    EndpointAnswer::Json(whole.to_string().into_bytes())
                }
                Err((code, why)) => EndpointAnswer::Json(failure(&id, code, &why)),
            }
        })
    }
}

fn is_id(id: &Value) -> bool {
    id.is_null() || id.is_string() || id.is_i64() || id.is_u64()
}

fn failure(id: &Value, code: i64, why: &str) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}}).to_string().into_bytes()
}

/// How a call ended, as MCP has it.
fn result(settled: &Settled) -> Value {
    let mut result = json!({"content": settled.content, "isError": settled.is_error()});
    if let Some(structured) = &settled.structured {
        result["structuredContent"] = structured.clone();
    }
    result
}

#[cfg(test)]
#[path = "served/tests.rs"]
mod tests;
