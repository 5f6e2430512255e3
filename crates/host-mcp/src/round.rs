//! What a server wants before it finishes a call, in the newest revision: rounds of `input_required`.

use crate::repair;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The most rounds of one call (MCP-14).
pub(crate) const ROUNDS_MAX: usize = 10;
/// The largest state that is given back, in bytes.
const STATE_BYTES_MAX: usize = 1024 * 1024;

/// What goes back with the next request of the same call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Round {
    /// The answers by the server's keys.
    pub(crate) responses: Option<Map<String, Value>>,
    /// The server's state as it came; absent where it sent none.
    pub(crate) state: Option<String>,
}

/// An unfinished result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unfinished {
    pub(crate) requests: Map<String, Value>,
    pub(crate) state: Option<String>,
}

impl Unfinished {
    /// Reads it; `None` = neither requests nor state, so that there is nothing to do.
    pub(crate) fn read(raw: &RawValue) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Parts {
            #[serde(default)]
            input_requests: Option<Box<RawValue>>,
            #[serde(default)]
            request_state: Option<Value>,
        }
        let parts: Parts = serde_json::from_str(raw.get()).ok()?;
        let requests = match parts.input_requests.map(|requests| repair::parse(requests.get())) {
            Some(Ok(Value::Object(map))) => map,
            _ => Map::new(),
        };
        let state = match parts.request_state {
            Some(Value::String(state)) if state.len() <= STATE_BYTES_MAX => Some(state),
            Some(Value::Null) | None => None,
            Some(_) => return None,
        };
        (!requests.is_empty() || state.is_some()).then_some(Unfinished { requests, state })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<Unfinished> {
        Unfinished::read(&RawValue::from_string(json.to_owned()).unwrap())
    }

    // MCP-14
    #[test]
    fn the_state_is_kept_as_it_came() {
        let odd =
            read(r#"{"requestState":" é\u0000\"x","inputRequests":{"a":{"method":"roots/list"}}}"#).unwrap();
        assert_eq!(odd.state.as_deref(), Some(" é\u{0}\"x"));
        assert_eq!(odd.requests.len(), 1);
        assert_eq!(read(r#"{"inputRequests":{"a":{}}}"#).unwrap().state, None);
        assert_eq!(read(r#"{"inputRequests":{}}"#), None);
        assert_eq!(read(r#"{"requestState":7}"#), None);
    }
}
