//! What an error's body says, whatever its shape.

use super::retry_after;
use serde_json::Value;
use std::time::Duration;

/// The most characters of a message that are looked at.
const MESSAGE_CHARS_MAX: usize = 2_000;

/// The readable parts of an error.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// The message, one line.
    pub(super) message: String,
    /// The message in lower case.
    pub(super) lower: String,
    /// The first code, for people.
    pub(super) code: String,
    codes: Vec<String>,
    /// A status inside the body.
    pub(super) status: Option<u16>,
    /// A delay inside the body (Google's `RetryInfo`).
    pub(super) retry_after: Option<Duration>,
}

impl Said {
    /// Reads the shapes that are in use: `{"error": {…}}`, `{"error": "…"}`, `{"message": …}`,
    /// `{"detail": …}`, and each of them in a list.
    pub(super) fn read(json: &Value) -> Said {
        let json = json.as_array().and_then(|list| list.first()).unwrap_or(json);
        let inner = match json.get("error") {
            Some(Value::Null) | None => json,
            Some(error) => error,
        };
        let mut said = match inner {
            Value::String(text) => Said::plain(text),
            _ => Said::plain(&message_of(inner)),
        };
        for place in [inner, json] {
            for field in ["code", "type", "status", "__type", "reason"] {
                match place.get(field) {
                    Some(Value::String(code)) => said.add_code(code),
                    Some(Value::Number(number)) => said.add_status(number.as_u64()),
                    _ => {}
                }
            }
        }
        said.retry_after = retry_after::of_details(inner);
        said
    }

    /// A body that is no JSON: an HTML page says its title alone.
    pub(super) fn plain(text: &str) -> Said {
        let text = title(text).unwrap_or(text);
        let message = host_vocab::text::one_line(text, MESSAGE_CHARS_MAX);
        Said { lower: message.to_lowercase(), message, ..Said::default() }
    }

    /// Codes in lower case.
    pub(super) fn codes(&self) -> impl Iterator<Item = &str> {
        self.codes.iter().map(String::as_str)
    }

    fn add_code(&mut self, code: &str) {
        // AWS writes `com.amazon#ThrottlingException:http://…`.
        let code = code.rsplit('#').next().unwrap_or(code).split(':').next().unwrap_or(code);
        if let Ok(status) = code.parse::<u64>() {
            self.add_status(Some(status));
            return;
        }
        let code = host_vocab::text::one_line(code, 80);
        if code == "error" || code.is_empty() {
            return;
        }
        if self.code.is_empty() {
            self.code.clone_from(&code);
        }
        self.codes.push(code.to_lowercase());
    }

    fn add_status(&mut self, number: Option<u64>) {
        let status = number.and_then(|number| u16::try_from(number).ok()).filter(|n| (400..600).contains(n));
        self.status = self.status.or(status);
    }
}

fn message_of(error: &Value) -> String {
    for field in ["message", "Message", "detail", "error_description", "msg"] {
        match error.get(field) {
            Some(Value::String(text)) => return text.clone(),
            Some(value @ (Value::Array(_) | Value::Object(_))) => return value.to_string(),
            _ => {}
        }
    }
    if error.as_object().is_some_and(|object| !object.is_empty()) { error.to_string() } else { String::new() }
}

fn title(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    if !lower.trim_start().starts_with('<') {
        return None;
    }
    let from = lower.find("<title>")? + "<title>".len();
    let to = from + lower[from..].find("</title>")?;
    text.get(from..to)
}
