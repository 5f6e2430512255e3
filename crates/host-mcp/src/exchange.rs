//! What is in flight on one connection, and reading what comes back leniently.
//!
//! rmcp decodes a whole result at once, so that one odd field would lose it all. Here the envelope is read
//! alone: the raw result of a request is kept for whoever asked, and rmcp's loop is given an empty one to
//! correlate. Only the two handshake results are handed on typed, after they were mended.

use crate::handshake;
use crate::repair;
use host_vocab::text;
use rmcp::model::{
    ClientJsonRpcMessage, ErrorData, ListToolsResult, NumberOrString, RequestId, ServerJsonRpcMessage,
    ServerResult, Tool,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The largest message that is read, in bytes; what is over it is thrown away while it is read.
pub(crate) const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most abandoned requests that are remembered.
const ABANDONED_MAX: usize = 256;

/// What came back for one request.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The result as the server wrote it.
    Raw(Box<RawValue>),
    /// The result was over the bound.
    TooLarge(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Initialize,
    Discover,
    ToolsList,
    Ping,
    Listen,
    Other,
}

#[derive(Debug)]
struct Slot {
    kind: Kind,
    answer: Option<Answer>,
}

/// The requests in flight on one connection.
#[derive(Debug)]
pub(crate) struct Exchange {
    label: String,
    /// Whether rmcp needs to see tool lists (it makes headers from their schemas on HTTP).
    typed_lists: bool,
    slots: Mutex<HashMap<RequestId, Slot>>,
    abandoned: Mutex<HashMap<RequestId, Kind>>,
    noise: AtomicU64,
    late_discover: AtomicBool,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default, borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    result: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

impl Exchange {
    pub(crate) fn new(label: String, typed_lists: bool) -> Self {
        Exchange {
            label,
            typed_lists,
            slots: Mutex::default(),
            abandoned: Mutex::default(),
            noise: AtomicU64::new(0),
            late_discover: AtomicBool::new(false),
        }
    }

    /// Notes a request before it is sent.
    pub(crate) fn sent(&self, message: &ClientJsonRpcMessage) {
        if let ClientJsonRpcMessage::Request(request) = message {
            let kind = match request.request.method() {
                "initialize" => Kind::Initialize,
                "server/discover" => Kind::Discover,
                "tools/list" => Kind::ToolsList,
                "ping" => Kind::Ping,
                "subscriptions/listen" => Kind::Listen,
                _ => Kind::Other,
            };
            self.slots().insert(request.id.clone(), Slot { kind, answer: None });
        }
    }

    /// Takes the answer of a request, once.
    pub(crate) fn take(&self, id: &RequestId) -> Option<Answer> {
        self.slots().remove(id)?.answer
    }

    /// Forgets a request whose answer nobody waits for any more.
    pub(crate) fn abandon(&self, id: &RequestId) {
        let slot = self.slots().remove(id);
        if let Some(slot) = slot.filter(|slot| slot.answer.is_none()) {
            let mut abandoned = self.abandoned();
            if abandoned.len() < ABANDONED_MAX {
                abandoned.insert(id.clone(), slot.kind);
            }
        }
    }

    /// Whether the server still owes answers that nobody waits for: it may be stuck in one of them.
    pub(crate) fn owes_answers(&self) -> bool {
        !self.abandoned().is_empty()
    }

    /// The server gave a sign of life: what it still owes it will never send.
    pub(crate) fn forgive(&self) {
        self.abandoned().clear();
    }

    /// Settles a request whose answer is over the bound.
    pub(crate) fn too_large(&self, id: &RequestId, bytes: u64) -> Option<ServerJsonRpcMessage> {
        self.slots().get_mut(id)?.answer = Some(Answer::TooLarge(bytes));
        Some(ServerJsonRpcMessage::response(ServerResult::empty(()), id.clone()))
    }

    /// How many lines or events were no messages.
    pub(crate) fn noise(&self) -> u64 {
        self.noise.load(Ordering::Relaxed)
    }

    /// Whether the server answered the probe after it had been given up: it is modern after all.
    pub(crate) fn late_discover(&self) -> bool {
        self.late_discover.load(Ordering::Relaxed)
    }

    /// Gives a probe up, so that the handshake of the older revisions can follow; `None` where the answer is
    /// there already.
    pub(crate) fn give_up_probe(&self, id: &RequestId) -> Option<ServerJsonRpcMessage> {
        let mut slots = self.slots();
        if slots.get(id).is_none_or(|slot| slot.kind != Kind::Discover) {
            return None;
        }
        slots.remove(id);
        drop(slots);
        self.abandoned().insert(id.clone(), Kind::Discover);
        let error =
            ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, "no answer to server/discover", None);
        Some(ServerJsonRpcMessage::error(error, Some(id.clone())))
    }

    /// Reads one line or event: the messages in it (older revisions allow batches). What is no message is
    /// counted, logged and skipped.
    pub(crate) fn receive(&self, line: &[u8]) -> Vec<ServerJsonRpcMessage> {
        let line = String::from_utf8_lossy(line);
        let line = line.trim().trim_start_matches('\u{feff}');
        if line.is_empty() {
            return Vec::new();
        }
        if line.starts_with('[') {
            let read = |text: &str| serde_json::from_str::<Vec<Box<RawValue>>>(text).ok();
            if let Some(batch) = read(line).or_else(|| read(&repair::repaired(line))) {
                return batch.iter().take(1000).filter_map(|item| self.read_one(item.get())).collect();
            }
        }
        self.read_one(line).into_iter().collect()
    }

    /// Settles a request whose answer was over the bound, found by what is left of the message.
    pub(crate) fn receive_oversized(
        &self,
        head: &[u8],
        tail: &[u8],
        bytes: u64,
    ) -> Option<ServerJsonRpcMessage> {
        let slots = self.slots();
        let named = id_at_the_front(head).or_else(|| id_at_the_back(tail)).map(NumberOrString::Number);
        let is_call = [head, tail].iter().any(|end| memchr::memmem::find(end, b"\"method\"").is_some());
        let id = named.filter(|id| slots.contains_key(id)).or_else(|| only(&slots)).filter(|_| !is_call);
        let Some(id) = id else {
            drop(slots);
            return self.note_noise(&String::from_utf8_lossy(head), "a message over the bound");
        };
        drop(slots);
        self.too_large(&id, bytes)
    }

    fn read_one(&self, text: &str) -> Option<ServerJsonRpcMessage> {
        let mended;
        let (text, envelope) = match serde_json::from_str::<Envelope<'_>>(text) {
            Ok(envelope) => (text, envelope),
            Err(_) => {
                mended = repair::repaired(text);
                match serde_json::from_str::<Envelope<'_>>(&mended) {
                    Ok(envelope) => (mended.as_ref(), envelope),
                    Err(_) => return self.note_noise(text, "no JSON-RPC"),
                }
            }
        };
        match (&envelope.method, envelope.error, envelope.result) {
            (Some(_), _, _) => self.read_call(text),
            (None, Some(error), _) => self.read_error(error, envelope.id),
            (None, None, result) if envelope.id.is_some() => self.read_result(result, envelope.id),
            _ => self.note_noise(text, "no JSON-RPC"),
        }
    }

    /// A request or notification of the server.
    fn read_call(&self, text: &str) -> Option<ServerJsonRpcMessage> {
        let mut value = repair::parse(text).ok()?;
        let map = value.as_object_mut()?;
        map.insert("jsonrpc".to_owned(), Value::from("2.0"));
        if map.get("params").is_some_and(|params| !params.is_object()) {
            map.remove("params");
        }
        match serde_json::from_value(value) {
            Ok(message) => Some(message),
            Err(_) => self.note_noise(text, "an unreadable notification"),
        }
    }

    fn read_error(&self, error: &RawValue, id: Option<Value>) -> Option<ServerJsonRpcMessage> {
        let id = self.pending_id(id, false)?;
        self.slots().remove(&id);
        let value = repair::parse(error.get()).unwrap_or(Value::Null);
        let code = match value.get("code") {
            Some(Value::Number(code)) => code.as_i64().and_then(|code| i32::try_from(code).ok()),
            Some(Value::String(code)) => code.trim().parse().ok(),
            _ => None,
        };
        let message = match (&value, value.get("message")) {
            (_, Some(Value::String(message))) => message.clone(),
            (Value::String(message), _) => message.clone(),
            (_, Some(other)) => other.to_string(),
            _ => String::new(),
        };
        let data = value.get("data").cloned().filter(|data| !data.is_null());
        let code = rmcp::model::ErrorCode(code.unwrap_or(-32603));
        Some(ServerJsonRpcMessage::error(ErrorData::new(code, message, data), Some(id)))
    }

    fn read_result(&self, result: Option<&RawValue>, id: Option<Value>) -> Option<ServerJsonRpcMessage> {
        let id = self.pending_id(id, true)?;
        let raw = result.map_or("{}", RawValue::get);
        let mut slots = self.slots();
        let slot = slots.get_mut(&id)?;
        let result = match slot.kind {
            Kind::Initialize => handshake::initialize_result(raw),
            Kind::Discover => match handshake::discover_result(raw) {
                found @ ServerResult::DiscoverResult(_) => found,
                // Some servers answer `{}` to whatever they don't know: that is no discovery.
                _ => {
                    slots.remove(&id);
                    let code = rmcp::model::ErrorCode::METHOD_NOT_FOUND;
                    let error = ErrorData::new(code, "server/discover is not known here", None);
                    return Some(ServerJsonRpcMessage::error(error, Some(id)));
                }
            },
            Kind::Ping => ServerResult::empty(()),
            Kind::Listen => serde_json::from_str(raw).unwrap_or(ServerResult::empty(())),
            Kind::ToolsList if self.typed_lists => typed_list(raw),
            Kind::ToolsList | Kind::Other => ServerResult::empty(()),
        };
        match slot.kind {
            Kind::Initialize | Kind::Discover | Kind::Ping | Kind::Listen => {
                slots.remove(&id);
            }
            Kind::ToolsList | Kind::Other => {
                slot.answer = RawValue::from_string(raw.to_owned()).ok().map(Answer::Raw);
            }
        }
        Some(ServerJsonRpcMessage::response(result, id))
    }

    /// The request that an answer belongs to: by its id, as a number or as its digits; without one, the only
    /// request in flight. An answer to nothing is dropped here, so that it can't upset the handshake.
    fn pending_id(&self, id: Option<Value>, succeeded: bool) -> Option<RequestId> {
        let slots = self.slots();
        let id = match id {
            None | Some(Value::Null) => return only(&slots),
            Some(Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
                (Some(number), _) => NumberOrString::Number(number),
                #[allow(clippy::cast_possible_truncation, reason = "ids of ours are small")]
                (None, Some(number)) if number.fract() == 0.0 => NumberOrString::Number(number as i64),
                _ => return None,
            },
            Some(Value::String(text)) => match text.parse() {
                Ok(number) => NumberOrString::Number(number),
                Err(_) => NumberOrString::String(text.into()),
            },
            _ => return None,
        };
        if slots.contains_key(&id) {
            return Some(id);
        }
        drop(slots);
        let owed = self.abandoned().remove(&id);
        if succeeded && owed == Some(Kind::Discover) {
            self.late_discover.store(true, Ordering::Relaxed);
        }
        tracing::debug!(server = %self.label, "an answer that nobody waits for was dropped");
        None
    }

    /// Counts and logs what is no message; bounded in size here and in number by the count.
    pub(crate) fn note_noise<T>(&self, shown: &str, what: &str) -> Option<T> {
        let count = self.noise.fetch_add(1, Ordering::Relaxed);
        if count < 100 {
            tracing::debug!(server = %self.label, noise = %text::one_line(shown, 200), "skipped: {what}");
        }
        None
    }

    fn abandoned(&self) -> std::sync::MutexGuard<'_, HashMap<RequestId, Kind>> {
        self.abandoned.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, HashMap<RequestId, Slot>> {
        self.slots.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

/// The only request in flight; a subscription, which is open for long, doesn't count.
fn only(slots: &HashMap<RequestId, Slot>) -> Option<RequestId> {
    let mut waiting = slots.iter().filter(|(_, slot)| slot.kind != Kind::Listen);
    let (id, _) = waiting.next()?;
    waiting.next().is_none().then(|| id.clone())
}

/// A list for rmcp's header cache: every tool that it can read.
fn typed_list(raw: &str) -> ServerResult {
    #[derive(Deserialize)]
    struct List {
        #[serde(default)]
        tools: Vec<Box<RawValue>>,
    }
    let Ok(list) = serde_json::from_str::<List>(raw) else { return ServerResult::empty(()) };
    let tools = list.tools.iter().filter_map(|tool| serde_json::from_str::<Tool>(tool.get()).ok()).collect();
    ServerResult::ListToolsResult(ListToolsResult { tools, ..ListToolsResult::default() })
}

/// The id of a message that has it before its result.
fn id_at_the_front(head: &[u8]) -> Option<i64> {
    let text = String::from_utf8_lossy(head);
    let (before, rest) = text.split_once("\"id\"")?;
    if before.contains("\"result\"") { None } else { number(rest).map(|(id, _)| id) }
}

/// The id of a message that has it after its result: only the version may follow.
fn id_at_the_back(tail: &[u8]) -> Option<i64> {
    let text = String::from_utf8_lossy(tail);
    let (_, rest) = text.rsplit_once("\"id\"")?;
    let (id, rest) = number(rest)?;
    let rest: String = rest.chars().filter(|c| !c.is_whitespace() && *c != '"').collect();
    matches!(rest.as_str(), "}" | ",jsonrpc:2.0}").then_some(id)
}

/// The number after a colon, and what follows it.
fn number(text: &str) -> Option<(i64, &str)> {
    let text = text.trim_start().strip_prefix(':')?.trim_start().trim_start_matches('"');
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest};

    fn asked(ids: &[i64]) -> Exchange {
        let exchange = Exchange::new("mcp:t".into(), false);
        for id in ids {
            let request =
                ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new("x")));
            exchange.sent(&ClientJsonRpcMessage::request(request, NumberOrString::Number(*id)));
        }
        exchange
    }

    fn raw(exchange: &Exchange, id: i64) -> Option<String> {
        match exchange.take(&NumberOrString::Number(id)) {
            Some(Answer::Raw(raw)) => Some(raw.get().to_owned()),
            _ => None,
        }
    }

    // T2-01
    #[test]
    fn noise_is_skipped_and_counted() {
        let exchange = asked(&[1]);
        let lines =
            ["Server v1.2 ready", "", "- note", r#"{"not":"jsonrpc"}"#, "[1,2", "null", "42", "\u{1b}[2J"];
        for line in lines {
            assert!(exchange.receive(line.as_bytes()).is_empty(), "{line}");
        }
        assert_eq!(exchange.noise(), 7);
        assert_eq!(exchange.receive(br#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#).len(), 1);
        assert_eq!(raw(&exchange, 1).unwrap(), r#"{"a":1}"#);
    }

    #[test]
    fn odd_envelopes_are_read() {
        let odd = [
            r#"{"id":"1","result":{"a":1}}"#,
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1.0,\"result\":{\"a\":1},\"error\":null}\r",
            r#"[{"jsonrpc":"2.0","id":1,"result":{"a":1}}]"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":1},"x":NaN}"#,
            r#"{"jsonrpc":"1.0","id":1,"result":{"a":1}}"#,
        ];
        for line in odd {
            let exchange = asked(&[1]);
            assert_eq!(exchange.receive(line.as_bytes()).len(), 1, "{line}");
            assert_eq!(raw(&exchange, 1).unwrap(), r#"{"a":1}"#, "{line}");
        }
    }

    #[test]
    fn errors_in_every_shape_reach_their_request() {
        let odd = [
            (r#"{"id":1,"error":{"code":"-32602","message":"m"}}"#, -32602),
            (r#"{"id":null,"error":{"code":-32600,"message":"m"}}"#, -32600),
            (r#"{"id":1,"error":"m"}"#, -32603),
            (r#"{"id":1,"error":{"message":"m"}}"#, -32603),
        ];
        for (line, code) in odd {
            let messages = asked(&[1]).receive(line.as_bytes());
            let [ServerJsonRpcMessage::Error(error)] = &messages[..] else { panic!("{line}: {messages:?}") };
            assert_eq!((error.error.code.0, error.error.message.as_ref()), (code, "m"), "{line}");
            assert_eq!(error.id, Some(NumberOrString::Number(1)));
        }
        assert!(asked(&[1, 2]).receive(br#"{"id":null,"error":{"code":1,"message":"m"}}"#).is_empty());
    }

    #[test]
    fn an_answer_over_the_bound_settles_its_own_request() {
        let ends = [
            (r#"{"jsonrpc":"2.0","id":2,"res"#, ""),
            (r#"{"result":{"#, r#""}},"id":2}"#),
            (r#"{"result":{"rows":[{"id":1,"#, r#"{"id":1}]},"id": 2, "jsonrpc":"2.0"}"#),
        ];
        for (head, tail) in ends {
            let exchange = asked(&[1, 2]);
            assert!(exchange.receive_oversized(head.as_bytes(), tail.as_bytes(), 99).is_some());
            assert!(matches!(exchange.take(&NumberOrString::Number(2)), Some(Answer::TooLarge(99))));
        }
        assert!(asked(&[1, 2]).receive_oversized(b"junk", b"junk", 99).is_none());
        let log = br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":""#;
        assert!(asked(&[1]).receive_oversized(log, b"", 99).is_none());
    }

    #[test]
    fn late_answers_are_dropped_and_remembered_as_owed() {
        let exchange = asked(&[1]);
        exchange.abandon(&NumberOrString::Number(1));
        assert!(exchange.owes_answers());
        assert!(exchange.receive(br#"{"id":1,"result":{}}"#).is_empty());
        assert!(!exchange.owes_answers());
        let exchange = asked(&[1]);
        assert_eq!(exchange.receive(br#"{"id":1,"error":{"code":1,"message":"m"}}"#).len(), 1);
        exchange.abandon(&NumberOrString::Number(1));
        assert!(!exchange.owes_answers(), "an error is an answer");
    }
}
