//! What of an event can be searched: the words that people, models and tools wrote. Redacted already, since
//! it comes from the log.

use host_event::StoredEvent;
use serde_json::Value;

/// The most text of one event that goes into the index, in bytes.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// How deep nested values are read.
const DEPTH_MAX: usize = 32;

/// The text of an event; empty where there is nothing to search in it.
pub(crate) fn text_of(event: &StoredEvent) -> String {
    let fields: &[&str] = match event.kind.as_str() {
        "run_started" => &["userInput", "sourceDetail", "attachments"],
        "model_answered" => &["text"],
        "model_failed" => &["error", "partialText"],
        "call_refused" => &["tool", "code", "why", "arguments"],
        "call_started" => &["tool", "arguments"],
        "call_settled" => &["tool", "code", "content", "structured", "outcome"],
        "run_settled" => &["error", "failureKind"],
        "warning" => &["code", "message"],
        _ => &[],
    };
    let mut text = String::new();
    for field in fields {
        if let Some(value) = event.body.get(field) {
            gather(value, &mut text, 0);
        }
    }
    text
}

fn gather(value: &Value, text: &mut String, depth: usize) {
    if depth > DEPTH_MAX || text.len() >= TEXT_BYTES_MAX {
        return;
    }
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => push(text, &number.to_string()),
        Value::String(string) => push(text, string),
        Value::Array(items) => items.iter().for_each(|item| gather(item, text, depth + 1)),
        Value::Object(map) => {
            // Pictures and sounds: their bytes are no text.
            let media = map.contains_key("mimeType");
            for (key, item) in map {
                if media && matches!(key.as_str(), "data" | "blob") {
                    continue;
                }
                if !matches!(key.as_str(), "type" | "text") {
                    push(text, key);
                }
                gather(item, text, depth + 1);
            }
        }
    }
}

fn push(text: &mut String, more: &str) {
    let room = TEXT_BYTES_MAX.saturating_sub(text.len());
    let end = more.floor_char_boundary(room.min(more.len()));
    text.push_str(&more[..end]);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_event::Scope;
    use serde_json::json;

    #[test]
    fn words_and_no_bytes_of_pictures() {
        let body = json!({"tool":"Read","code":"ok","content":[
            {"type":"text","text":"hello"}, {"type":"image","data":"QUJDRA==","mimeType":"image/png"}],
            "structured":{"rows":[{"name":"Ada","n":42}]}});
        let event = StoredEvent::of_version(1, 0, Scope::default(), "call_settled".into(), 1, body);
        let text = text_of(&event);
        for word in ["Read", "hello", "rows", "Ada", "42", "image/png"] {
            assert!(text.contains(word), "{word} in {text:?}");
        }
        assert!(!text.contains("QUJDRA"));
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        let body = json!({"text": "ä".repeat(TEXT_BYTES_MAX)});
        let event = StoredEvent::of_version(1, 0, Scope::default(), "model_answered".into(), 1, body);
        assert!(text_of(&event).len() <= TEXT_BYTES_MAX + 1);
    }
}
