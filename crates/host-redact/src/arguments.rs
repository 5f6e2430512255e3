//! The arguments of a call as a record keeps them: bounded, and never as a text in which keys can't be seen.

use crate::names::is_sensitive_key;
use crate::redactor::Redactor;
use host_vocab::text;
use serde_json::{Value, json};

/// How much of the arguments a record keeps whole, in bytes.
const WHOLE_BYTES_MAX: usize = 64 * 1024;

/// Arguments as a model wrote them. What is no JSON is kept as text, unless it names a sensitive key: then
/// nobody could tell where its value ends, and the text is left out (RUN-9).
pub fn recorded_text(raw: &str) -> Value {
    match serde_json::from_str::<Value>(raw) {
        Ok(value) => recorded(&value),
        Err(_) if is_sensitive_key(raw) => json!({"unreadable": true, "originalBytes": raw.len()}),
        Err(_) if raw.len() > WHOLE_BYTES_MAX => {
            Value::String(format!("{}… ({} bytes)", text::whole_prefix(raw, WHOLE_BYTES_MAX / 4), raw.len()))
        }
        Err(_) => Value::String(raw.to_owned()),
    }
}

/// Arguments as a value; of large ones a preview, in which values under sensitive keys are gone already.
pub fn recorded(arguments: &Value) -> Value {
    let bytes = arguments.to_string().len();
    if bytes <= WHOLE_BYTES_MAX {
        return arguments.clone();
    }
    let masked = Redactor::new([]).value(arguments.clone()).into_inner().to_string();
    json!({
        "preview": text::whole_prefix(&masked, WHOLE_BYTES_MAX / 4),
        "truncated": true,
        "originalBytes": bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // RUN-9, T9-09
    #[test]
    fn keys_are_seen_whatever_the_form() {
        let parsed = recorded_text(r#"{"a": {"apiKey": "AKzz"}}"#);
        assert_eq!(parsed["a"]["apiKey"], "AKzz", "a value; the redactor takes it from here");
        assert_eq!(recorded_text(r#"{"apiKey": "AKzz""#)["unreadable"], true);
        assert_eq!(recorded_text("{\"path\": "), "{\"path\": ");
        let large = recorded(&json!({"token": "TOKzz", "content": "x".repeat(100_000)}));
        assert_eq!(large["truncated"], true);
        assert!(!large.to_string().contains("TOKzz"), "{}", &large.to_string()[..200]);
        // QUA-5: the cut of a preview parts no secret, whose half nobody would know again.
        for padding in 0..20 {
            let words = format!("{}{}", "x".repeat(padding), " hunter-RRSSTTUUVV-0099".repeat(4_000));
            for cut in [recorded(&json!({"content": words})), recorded_text(&format!("{{{words}"))] {
                let left = cut.to_string().replace("hunter-RRSSTTUUVV-0099", "");
                assert!(!left.contains("hunter-"), "{padding}: {}", &left[left.len() - 80..]);
            }
        }
    }
}
