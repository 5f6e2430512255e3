//! SearXNG, asked for JSON.

use super::{Answer, Engine, EngineError, Hit, refused};
use crate::web_search::query::Wording;
use host_ports::http::{Http, HttpRequest};
use host_vocab::text;
use http::Method;
use serde::Deserialize;
use std::sync::Arc;
use url::Url;

pub(in crate::web_search) struct Searxng {
    http: Arc<dyn Http>,
    endpoint: Url,
}

#[derive(Deserialize)]
struct Found {
    results: Vec<Entry>,
    #[serde(default)]
    unresponsive_engines: Vec<Vec<serde_json::Value>>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    content: Option<String>,
}

impl Searxng {
    pub(in crate::web_search) fn new(http: Arc<dyn Http>, endpoint: Url) -> Self {
        Searxng { http, endpoint }
    }
}

impl Engine for Searxng {
    fn name(&self) -> &'static str {
        "searxng"
    }

    fn http(&self) -> &dyn Http {
        self.http.as_ref()
    }

    fn is_public(&self) -> bool {
        false
    }

    fn request(&self, wording: &Wording) -> HttpRequest {
        let mut url = self.endpoint.clone();
        let path = url.path().trim_end_matches('/').to_owned();
        if !path.ends_with("/search") {
            url.set_path(&format!("{path}/search"));
        }
        {
            let mut pairs = url.query_pairs_mut();
            pairs.append_pair("q", &wording.text).append_pair("format", "json");
            if let Some(language) = &wording.language {
                pairs.append_pair("language", language);
            }
            if let Some(range) = wording.time_range {
                pairs.append_pair("time_range", range.as_str());
            }
        }
        HttpRequest::new(Method::GET, url)
    }

    fn read(&self, answer: &Answer<'_>) -> Result<Vec<Hit>, EngineError> {
        if answer.status == http::StatusCode::FORBIDDEN {
            let why = "status 403; its settings must list json under search.formats";
            return Err(EngineError::Unavailable(why.to_owned()));
        }
        if !answer.status.is_success() {
            return Err(refused(answer.status));
        }
        let found: Found = serde_json::from_slice(answer.body)
            .map_err(|_| EngineError::Unavailable("its answer is not the JSON of a SearXNG".to_owned()))?;
        let hits: Vec<Hit> = found
            .results
            .iter()
            .filter_map(|it| {
                let content = it.content.as_deref().unwrap_or_default();
                Hit::of(it.title.as_deref().unwrap_or_default(), it.url.as_deref()?, content)
            })
            .collect();
        if hits.is_empty() && !found.unresponsive_engines.is_empty() {
            return Err(unresponsive(&found.unresponsive_engines));
        }
        Ok(hits)
    }
}

/// Nothing was found and somebody didn't answer: that is no empty set (host-core facts 5.45).
fn unresponsive(engines: &[Vec<serde_json::Value>]) -> EngineError {
    let reason = |engine: &Vec<serde_json::Value>| {
        let part = |at: usize| text::one_line(engine.get(at).and_then(|it| it.as_str()).unwrap_or("?"), 60);
        (part(0), part(1))
    };
    let all: Vec<(String, String)> = engines.iter().take(12).map(reason).collect();
    let limited = all.iter().all(|(_, why)| {
        let why = why.to_ascii_lowercase();
        ["too many requests", "suspended", "captcha", "access denied", "rate limit"]
            .iter()
            .any(|it| why.contains(it))
    });
    let listed: Vec<String> = all.iter().map(|(name, why)| format!("{name} ({why})")).collect();
    let message = format!("its engines did not answer: {}", listed.join(", "));
    if limited { EngineError::RateLimited(message) } else { EngineError::Unavailable(message) }
}
