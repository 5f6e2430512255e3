//! Local model servers that answer (ENG-5).

use futures_util::future::join_all;
use host_ports::http::{Http, HttpRequest};
use serde_json::Value;
use std::time::Duration;
use url::Url;

/// How long a server has to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(300);
/// The most bytes of a list of models.
const LIST_BYTES_MAX: usize = 1 << 20;

/// Where a local server may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalCandidate {
    /// The provider's name for a reference (`ollama`, `lmstudio` …).
    pub provider: String,
    /// Its OpenAI-compatible address, `/v1` included or not.
    pub base_url: String,
}

impl LocalCandidate {
    /// A candidate.
    pub fn new(provider: impl Into<String>, base_url: impl Into<String>) -> Self {
        LocalCandidate { provider: provider.into(), base_url: base_url.into() }
    }

    /// The usual places: Ollama, LM Studio, llama.cpp.
    pub fn usual() -> Vec<LocalCandidate> {
        LOCAL_CANDIDATES.iter().map(|(provider, url)| LocalCandidate::new(*provider, *url)).collect()
    }
}

/// The usual places, in the order in which they are preferred.
pub const LOCAL_CANDIDATES: &[(&str, &str)] = &[
    ("ollama", "http://127.0.0.1:11434/v1"),
    ("lmstudio", "http://127.0.0.1:1234/v1"),
    ("llamacpp", "http://127.0.0.1:8080/v1"),
];

/// A server that answered, with a model that it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalEndpoint {
    /// The provider's name.
    pub provider: String,
    /// The address.
    pub base_url: String,
    /// The first model that can chat.
    pub model: String,
    /// All models that it named.
    pub models: Vec<String>,
    /// The model's context window, where the server says it.
    pub context_window: Option<u64>,
}

/// Asks all candidates at once for their models, and gives the first (in their order) that has one.
pub async fn discover_local(http: &dyn Http, candidates: &[LocalCandidate]) -> Option<LocalEndpoint> {
    join_all(candidates.iter().map(|candidate| ask(http, candidate))).await.into_iter().flatten().next()
}

async fn ask(http: &dyn Http, candidate: &LocalCandidate) -> Option<LocalEndpoint> {
    let mut url = Url::parse(candidate.base_url.trim()).ok()?;
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(if path.is_empty() { "/v1" } else { &path });
    let base_url = url.to_string();
    url.set_path(&format!("{}/models", url.path()));
    let mut request = HttpRequest::new(http::Method::GET, url);
    request.head_timeout = ANSWER_TIMEOUT;
    request.idle_timeout = Some(ANSWER_TIMEOUT);
    let response = http.send(request).await.ok().filter(|response| response.status.is_success())?;
    let body =
        tokio::time::timeout(ANSWER_TIMEOUT, response.read_bounded(LIST_BYTES_MAX)).await.ok()?.ok()?;
    let list: Value = serde_json::from_slice(&body.bytes).ok()?;
    let models: Vec<&Value> = list["data"].as_array()?.iter().filter(|model| can_chat(model)).collect();
    let first = models.first()?;
    Some(LocalEndpoint {
        provider: candidate.provider.clone(),
        base_url,
        model: first["id"].as_str()?.to_owned(),
        models: models.iter().filter_map(|model| model["id"].as_str()).map(str::to_owned).take(100).collect(),
        context_window: ["/meta/n_ctx", "/max_model_len", "/max_context_length", "/context_length"]
            .iter()
            .find_map(|place| first.pointer(place)?.as_u64()),
    })
}

fn can_chat(model: &Value) -> bool {
    model["id"].as_str().is_some_and(|id| {
        let id = id.to_lowercase();
        !id.is_empty() && !["embed", "whisper", "rerank", "tts"].iter().any(|word| id.contains(word))
    })
}
