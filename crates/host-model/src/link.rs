//! What every adapter knows of its endpoint.

use crate::price::Prices;
use host_ports::clock::Clock;
use host_ports::http::HttpRequest;
use host_ports::model::{ModelError, ModelEvent, ModelInfo};
use host_turn::{FailureKind, Usage};
use host_vocab::Secret;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The longest message of an error, in characters.
const MESSAGE_CHARS_MAX: usize = 400;

/// An endpoint and a model on it, resolved.
pub(crate) struct Link {
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) base_url: Url,
    pub(crate) api_key: Option<Secret>,
    pub(crate) headers: HeaderMap,
    pub(crate) context_window: u64,
    pub(crate) images: bool,
    pub(crate) prices: Option<Prices>,
    pub(crate) head_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) clock: Arc<dyn Clock>,
    /// Values that no message may show.
    pub(crate) secrets: Vec<Secret>,
}

impl Link {
    /// What is known of the model.
    pub(crate) fn info(&self, tool_calling: &'static str) -> ModelInfo {
        ModelInfo {
            reference: format!("{}:{}", self.provider, self.model),
            provider: self.provider.clone(),
            context_window: self.context_window,
            images: self.images,
            operator: false,
            tool_calling,
        }
    }

    /// A POST of JSON to a path below the base URL, with the operator's own headers and the time-outs.
    pub(crate) fn post(&self, path: &str, body: &serde_json::Value) -> Result<HttpRequest, ModelError> {
        let mut url = self.base_url.clone();
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        url.set_path(&format!("{}/{path}", url.path().trim_end_matches('/')));
        if query.is_some() {
            url.set_query(query);
        }
        let mut request = HttpRequest::post_json(url, body);
        request
            .headers
            .insert(http::header::ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        for (name, value) in &self.headers {
            request.headers.insert(name.clone(), value.clone());
        }
        request.head_timeout = self.head_timeout;
        request.idle_timeout = Some(self.idle_timeout);
        Ok(request)
    }

    /// Puts the key into a header after a prefix; without a key nothing is put.
    pub(crate) fn authorize(
        &self,
        request: &mut HttpRequest,
        header: HeaderName,
        prefix: &str,
    ) -> Result<(), ModelError> {
        let Some(key) = self.api_key.as_ref().filter(|key| !key.is_empty()) else { return Ok(()) };
        if request.headers.contains_key(&header) {
            return Ok(());
        }
        let value = HeaderValue::from_str(&format!("{prefix}{}", key.expose().trim())).map_err(|_| {
            let why = format!("the key of {} holds characters that no header can carry", self.provider);
            ModelError::new(FailureKind::ProviderAuth, why)
        });
        let mut value = value?;
        value.set_sensitive(true);
        request.headers.insert(header, value);
        Ok(())
    }

    /// Unix milliseconds.
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Puts the price into the last event.
    pub(crate) fn priced(&self, event: ModelEvent) -> ModelEvent {
        match event {
            ModelEvent::Finished { reason, usage } if usage != Usage::default() => {
                let cost_usd = self.prices.as_ref().map(|prices| prices.cost_usd(&usage));
                ModelEvent::Finished { reason, usage: Usage { cost_usd, ..usage } }
            }
            other => other,
        }
    }

    /// One bounded line without the secrets of this link, and without anything that looks like a key.
    pub(crate) fn scrub(&self, message: &str) -> String {
        let mut text = message.to_owned();
        for secret in self.secrets.iter().chain(&self.api_key) {
            let value = secret.expose().trim();
            if value.len() >= 4 {
                text = text.replace(value, "[redacted]");
            }
        }
        host_vocab::text::one_line(&without_key_shapes(&text), MESSAGE_CHARS_MAX)
    }
}

/// Replaces words that start as keys do, since providers like to quote a part of a wrong key.
fn without_key_shapes(text: &str) -> String {
    const STARTS: &[&str] =
        &["sk-", "sk_", "AIza", "gsk_", "xai-", "AKIA", "ASIA", "hf_", "key-", "ABSK", "eyJ"];
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*' | '.' | '/' | '+' | '=');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(from) = rest.find(is_key) {
        out.push_str(&rest[..from]);
        let word = &rest[from..];
        let end = word.find(|c| !is_key(c)).unwrap_or(word.len());
        let (word, after) = word.split_at(end);
        let looks_secret = STARTS.iter().any(|start| word.starts_with(start)) && word.len() >= 10;
        out.push_str(if looks_secret { "[redacted]" } else { word });
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_look_like_keys_are_not_repeated() {
        let said = without_key_shapes(
            "Incorrect API key provided: sk-abc12***wxyz. See (AIzaSyD4567890) and task-9.",
        );
        assert_eq!(said, "Incorrect API key provided: [redacted] See ([redacted]) and task-9.");
    }
}
