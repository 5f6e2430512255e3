//! `sampling/createMessage`: what a server wants the agent's model to write (MCP-14).

use crate::result;
use host_ports::sample::{SampleMessage, SampleRequest, Sampled};
use host_vocab::{Untrusted, text};
use serde_json::{Value, json};

/// How often one call may use the agent's model.
pub(crate) const SAMPLES_MAX: u32 = 10;
/// The most messages of one request.
const MESSAGES_MAX: usize = 200;
/// The largest request, in bytes.
const REQUEST_BYTES_MAX: usize = 1024 * 1024;
/// The most tokens that may be asked for.
const TOKENS_MAX: u64 = 32_000;

/// A request within its bounds.
///
/// # Errors
/// What is wrong with it, for the server.
pub(crate) fn request(params: &Value) -> Result<SampleRequest, String> {
    let bytes = params.to_string().len();
    if bytes > REQUEST_BYTES_MAX {
        return Err(format!("the request has {bytes} bytes; at most {REQUEST_BYTES_MAX} are taken"));
    }
    if params.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty()) {
        return Err("tools in a sampling request are not supported, and not announced".to_owned());
    }
    let raw = params.get("messages").and_then(Value::as_array).ok_or("messages: they are missing")?;
    if raw.is_empty() || raw.len() > MESSAGES_MAX {
        return Err(format!("messages: there are {}; 1 to {MESSAGES_MAX} are taken", raw.len()));
    }
    let messages = raw.iter().map(message).collect::<Result<Vec<_>, String>>()?;
    let tokens = params.get("maxTokens").and_then(Value::as_u64).unwrap_or(TOKENS_MAX).clamp(1, TOKENS_MAX);
    let system = params.get("systemPrompt").and_then(Value::as_str).filter(|it| !it.trim().is_empty());
    Ok(SampleRequest {
        system: system.map(|it| Untrusted::new(text::printable(it))),
        messages: Untrusted::new(messages),
        output_tokens_max: u32::try_from(tokens).unwrap_or(u32::MAX),
    })
}

fn message(raw: &Value) -> Result<SampleMessage, String> {
    let assistant = match raw.get("role").and_then(Value::as_str) {
        Some("user") => false,
        Some("assistant") => true,
        _ => return Err("messages: a role is neither user nor assistant".to_owned()),
    };
    let content = match raw.get("content") {
        Some(Value::Array(blocks)) => blocks.iter().map(result::block_of).collect(),
        Some(block @ (Value::Object(_) | Value::String(_))) => vec![result::block_of(block)],
        _ => return Err("messages: one has no content".to_owned()),
    };
    Ok(SampleMessage { assistant, content })
}

/// The result of the protocol.
pub(crate) fn result(it: &Sampled) -> Value {
    json!({
        "role": "assistant",
        "content": {"type": "text", "text": it.text},
        "model": it.model,
        "stopReason": if it.cut { "maxTokens" } else { "endTurn" },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // MCP-14
    #[test]
    fn a_request_is_read_within_bounds() {
        let read = request(&json!({
            "messages": [
                {"role": "user", "content": {"type": "text", "text": "a"}},
                {"role": "assistant", "content": [{"type": "text", "text": "b"}]},
                {"role": "user", "content": "c"},
            ],
            "systemPrompt": "s\u{1b}[2J", "maxTokens": 1_000_000,
        }))
        .unwrap();
        assert_eq!(u64::from(read.output_tokens_max), TOKENS_MAX);
        let messages = read.messages.for_renderer();
        assert_eq!(messages.iter().map(|it| it.assistant).collect::<Vec<_>>(), [false, true, false]);
        assert_eq!(messages[2].content[0].as_text(), Some("c"));
        assert!(!read.system.unwrap().for_renderer().contains('\u{1b}'));
        let one = json!({"role": "user", "content": "x"});
        for bad in [
            json!({}),
            json!({"messages": []}),
            json!({"messages": vec![one.clone(); MESSAGES_MAX + 1]}),
            json!({"messages": [{"role": "system", "content": "x"}]}),
            json!({"messages": [{"role": "user"}]}),
            json!({"messages": [one.clone()], "tools": [{"name": "t"}]}),
            json!({"messages": [{"role": "user", "content": "x".repeat(REQUEST_BYTES_MAX)}]}),
        ] {
            assert!(request(&bad).is_err(), "{}", text::one_line(&bad.to_string(), 100));
        }
    }
}
