//! A remote store: recall, and turns handed over; no tools that write, no journal (A21).

use crate::Refusal;
use crate::bullet::{instant, millis};
use crate::intake::CompletedTurn;
use crate::refusal::unsafe_characters;
use host_ports::BoxFuture;
use host_ports::http::{Http, HttpRequest};
use host_ports::memory::{Hit, OMITTED, QUERY_BYTES_MAX, Recall, RecallError, Recalled};
use host_vocab::Secret;
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;
const TEXT_BYTES_MAX: usize = 2048;

/// Where it is.
#[derive(Debug, Clone)]
pub struct SupermemoryConfig {
    /// Where.
    pub base_url: Url,
    /// The container there.
    pub container: Option<String>,
    /// The key.
    pub key: Option<Secret>,
    /// How long a request may take.
    pub timeout: Duration,
}

/// The remote store.
pub struct Supermemory {
    http: Arc<dyn Http>,
    refusal: Refusal,
    config: SupermemoryConfig,
}

impl Supermemory {
    /// Over the HTTP port.
    pub fn new(http: Arc<dyn Http>, refusal: Refusal, config: SupermemoryConfig) -> Self {
        Supermemory { http, refusal, config }
    }

    async fn post(&self, path: &str, body: &Value) -> Result<(StatusCode, Value), RecallError> {
        let failed = |why| RecallError::Unavailable { why };
        let mut url = self.config.base_url.clone();
        url.set_path(&format!("{}{path}", url.path().trim_end_matches('/')));
        let mut request = HttpRequest::post_json(url, body);
        request.head_timeout = self.config.timeout;
        request.idle_timeout = Some(self.config.timeout);
        if let Some(key) = &self.config.key {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
                .map_err(|_| failed("the key can't be sent in a header"))?;
            value.set_sensitive(true);
            request.headers.insert(http::header::AUTHORIZATION, value);
        }
        let response =
            self.http.send(request).await.map_err(|_| failed("the remote store can't be reached"))?;
        let status = response.status;
        let body = response.read_bounded(ANSWER_BYTES_MAX).await;
        let body = body.map_err(|_| failed("the remote store broke off"))?;
        if !status.is_success() {
            return Ok((status, Value::Null));
        }
        let value = serde_json::from_slice(&body.bytes).ok().filter(|_| !body.cut);
        value.map(|value| (status, value)).ok_or(failed("the remote store's answer can't be used"))
    }

    async fn search(&self, query: &str, limit: usize) -> Result<Recalled, RecallError> {
        if query.len() > QUERY_BYTES_MAX {
            return Err(RecallError::TooLong);
        }
        if !query.chars().any(char::is_alphanumeric) {
            return Err(RecallError::Empty);
        }
        let mut body = json!({"q": query, "limit": limit});
        if let Some(container) = &self.config.container {
            body["containerTag"] = json!(container);
        }
        let (mut status, mut value) = self.post("/v4/search", &body).await?;
        if status == StatusCode::NOT_FOUND {
            if let Some(container) = &self.config.container {
                body = json!({"q": query, "limit": limit, "containerTags": [container]});
            }
            (status, value) = self.post("/v3/search", &body).await?;
        }
        if !status.is_success() {
            return Err(RecallError::Unavailable { why: "the remote store refused the request" });
        }
        let results = value["results"].as_array().map(Vec::as_slice).unwrap_or_default();
        let hits = results.iter().filter_map(|it| self.hit(it)).take(limit).collect();
        Ok(Recalled { hits, degraded: None })
    }

    /// One result of either version of the API, as a safe line.
    fn hit(&self, item: &Value) -> Option<Hit> {
        let chunk = &item["chunks"][0];
        let text = [&item["memory"], &item["chunk"], &chunk["content"], &item["content"], &item["summary"]];
        let text = crate::normal(text.iter().find_map(|it| it.as_str())?);
        let score =
            [&item["similarity"], &item["score"], &chunk["score"]].iter().find_map(|it| it.as_f64())?;
        let at = ["updatedAt", "createdAt"].iter().find_map(|key| item[*key].as_str()).map_or(0, millis);
        let hidden = unsafe_characters(&text).is_some() || self.refusal.holds_secret(&text);
        let text = if hidden { OMITTED } else { host_vocab::text::prefix(&text, TEXT_BYTES_MAX) };
        let id = [&item["id"], &item["documentId"]].iter().find_map(|it| it.as_str()).unwrap_or_default();
        #[allow(clippy::cast_possible_truncation, reason = "a score needs no more")]
        (!text.is_empty()).then(|| Hit {
            id: host_vocab::text::one_line(id, 200),
            text: text.to_owned(),
            score: (score as f32).clamp(0.0, 1.0),
            created_at: instant(at),
            source: String::new(),
            kind: "note".to_owned(),
            status: "open".to_owned(),
            currentness: "current".to_owned(),
        })
    }

    /// Hands a completed turn over, once for each run. Secrets are taken out first.
    ///
    /// # Errors
    /// Where it was not accepted.
    pub async fn ingest(&self, turn: &CompletedTurn) -> Result<(), RecallError> {
        let said = self.refusal.scrubbed(&turn.said);
        let answer = self.refusal.scrubbed(&turn.answer);
        let content =
            if said.is_empty() { answer } else { format!("{}: {said}\n\nAssistant: {answer}", turn.label) };
        let mut body = json!({"content": content, "customId": turn.run});
        if let Some(container) = &self.config.container {
            body["containerTag"] = json!(container);
        }
        let (status, _) = self.post("/v3/documents", &body).await?;
        if status.is_success() {
            return Ok(());
        }
        Err(RecallError::Unavailable { why: "the remote store refused the turn" })
    }
}

impl Recall for Supermemory {
    fn recall<'a>(&'a self, query: &'a str, limit: usize) -> BoxFuture<'a, Result<Recalled, RecallError>> {
        Box::pin(self.search(query, limit))
    }
}
