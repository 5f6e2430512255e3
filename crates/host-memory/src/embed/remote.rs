//! Embedders over HTTP: OpenAI's form (LM Studio and many servers speak it) and Ollama's.

use super::{CosineScale, EmbedError, Embedder, Purpose};
use crate::VectorIdentity;
use host_ports::BoxFuture;
use host_ports::http::{Http, HttpRequest};
use host_vocab::Secret;
use http::HeaderValue;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The largest answer.
const ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Which form a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteKind {
    /// `POST {base}/v1/embeddings`.
    OpenAi,
    /// The same, on one's own machine.
    LmStudio,
    /// `POST {base}/api/embed`.
    Ollama,
}

impl RemoteKind {
    /// The word of the config.
    pub const fn as_str(self) -> &'static str {
        match self {
            RemoteKind::OpenAi => "openai",
            RemoteKind::LmStudio => "lmstudio",
            RemoteKind::Ollama => "ollama",
        }
    }

    /// From the word of the config.
    pub fn of(word: &str) -> Option<Self> {
        [RemoteKind::OpenAi, RemoteKind::LmStudio, RemoteKind::Ollama]
            .into_iter()
            .find(|it| it.as_str() == word)
    }

    /// Where such a server usually is.
    pub const fn usual_endpoint(self) -> &'static str {
        match self {
            RemoteKind::OpenAi => "https://api.openai.com",
            RemoteKind::LmStudio => "http://localhost:1234",
            RemoteKind::Ollama => "http://localhost:11434",
        }
    }

    /// The usual model.
    pub const fn usual_model(self) -> &'static str {
        match self {
            RemoteKind::OpenAi => "text-embedding-3-small",
            RemoteKind::LmStudio => "text-embedding-nomic-embed-text-v1.5",
            RemoteKind::Ollama => "nomic-embed-text:v1.5",
        }
    }
}

/// One server.
#[derive(Debug, Clone)]
pub struct RemoteConfig {
    /// Which form it speaks.
    pub kind: RemoteKind,
    /// Where it is, without `/v1`; one with it is taken as well.
    pub endpoint: Url,
    /// Which model.
    pub model: String,
    /// How many numbers a vector has.
    pub dim: usize,
    /// The key, where one is needed.
    pub key: Option<Secret>,
    /// How long a request may take.
    pub timeout: Duration,
    /// How its cosines are read.
    pub scale: CosineScale,
}

/// An embedder over HTTP.
pub struct RemoteEmbedder {
    http: Arc<dyn Http>,
    config: RemoteConfig,
    url: Url,
}

impl RemoteEmbedder {
    /// Over the HTTP port.
    pub fn new(http: Arc<dyn Http>, config: RemoteConfig) -> Self {
        let mut url = config.endpoint.clone();
        let base = url.path().trim_end_matches('/').trim_end_matches("/v1").to_owned();
        let end = if config.kind == RemoteKind::Ollama { "/api/embed" } else { "/v1/embeddings" };
        url.set_path(&format!("{base}{end}"));
        RemoteEmbedder { http, config, url }
    }

    async fn ask(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let texts: Vec<String> = texts.iter().map(|text| self.prompted(text, purpose)).collect();
        let mut body = json!({"model": self.config.model, "input": texts});
        if self.config.kind == RemoteKind::OpenAi && self.config.model.starts_with("text-embedding-3") {
            body["dimensions"] = json!(self.config.dim);
        }
        let mut request = HttpRequest::post_json(self.url.clone(), &body);
        request.head_timeout = self.config.timeout;
        request.idle_timeout = Some(self.config.timeout);
        if let Some(key) = &self.config.key {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
                .map_err(|_| EmbedError::Answer("the key can't be sent in a header"))?;
            value.set_sensitive(true);
            request.headers.insert(http::header::AUTHORIZATION, value);
        }
        let response = self.http.send(request).await.map_err(|_| EmbedError::Unreachable)?;
        if !response.status.is_success() {
            return Err(EmbedError::Status(response.status.as_u16()));
        }
        let body = response.read_bounded(ANSWER_BYTES_MAX).await.map_err(|_| EmbedError::Unreachable)?;
        if body.cut {
            return Err(EmbedError::Answer("it is too large"));
        }
        let answer: Value =
            serde_json::from_slice(&body.bytes).map_err(|_| EmbedError::Answer("it is no JSON"))?;
        self.vectors(&answer, texts.len())
    }

    /// Nomic's models are told what a text is for by its first words.
    fn prompted(&self, text: &str, purpose: Purpose) -> String {
        if !self.config.model.contains("nomic-embed-text") {
            return text.to_owned();
        }
        match purpose {
            Purpose::Query => format!("search_query: {text}"),
            Purpose::Fact => format!("search_document: {text}"),
        }
    }

    fn vectors(&self, answer: &Value, wanted: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
        let missing = EmbedError::Answer("it holds no vectors");
        let mut vectors = vec![Vec::new(); wanted];
        if self.config.kind == RemoteKind::Ollama {
            let list = answer["embeddings"].as_array().ok_or(missing)?;
            for (place, value) in vectors.iter_mut().zip(list) {
                *place = numbers(value)?;
            }
        } else {
            for (at, item) in answer["data"].as_array().ok_or(missing)?.iter().enumerate() {
                let at = item["index"].as_u64().and_then(|at| usize::try_from(at).ok()).unwrap_or(at);
                let place =
                    vectors.get_mut(at).ok_or(EmbedError::Answer("it has more than was asked for"))?;
                *place = numbers(&item["embedding"])?;
            }
        }
        if vectors.iter().any(|it| it.len() != self.config.dim) {
            return Err(EmbedError::Answer("a vector has another length than memory.embeddings.dim"));
        }
        Ok(vectors)
    }
}

#[allow(clippy::cast_possible_truncation, reason = "vectors are 32-bit numbers")]
fn numbers(value: &Value) -> Result<Vec<f32>, EmbedError> {
    let odd = || EmbedError::Answer("a vector is no list of numbers");
    let list = value.as_array().ok_or_else(odd)?;
    list.iter()
        .map(|it| it.as_f64().map(|it| it as f32).filter(|it| it.is_finite()).ok_or_else(odd))
        .collect()
}

impl Embedder for RemoteEmbedder {
    fn identity(&self) -> VectorIdentity {
        VectorIdentity {
            provider: self.config.kind.as_str().to_owned(),
            model: self.config.model.clone(),
            dim: self.config.dim,
        }
    }

    fn scale(&self) -> CosineScale {
        self.config.scale
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        purpose: Purpose,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(self.ask(texts, purpose))
    }
}
