//! Brave's search API.

use super::{Answer, Engine, EngineError, Hit, refused};
use crate::web_search::query::{TimeRange, Wording};
use host_ports::http::{Http, HttpRequest};
use host_vocab::Secret;
use http::Method;
use http::header::{ACCEPT, HeaderName, HeaderValue};
use serde::Deserialize;
use std::sync::Arc;
use url::Url;

/// The host that is asked.
pub(super) const HOST: &str = "api.search.brave.com";
const TOKEN: HeaderName = HeaderName::from_static("x-subscription-token");

pub(in crate::web_search) struct Brave {
    http: Arc<dyn Http>,
    key: Secret,
    base: Url,
}

#[derive(Deserialize)]
struct Found {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    web: Option<Web>,
}

#[derive(Deserialize)]
struct Web {
    results: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    title: String,
    url: String,
    #[serde(default)]
    description: Option<String>,
}

impl Brave {
    pub(in crate::web_search) fn new(http: Arc<dyn Http>, key: Secret, base: Option<Url>) -> Self {
        let base = base.unwrap_or_else(|| {
            Url::parse("https://api.search.brave.com/res/v1/web/search").expect("a fixed address")
        });
        Brave { http, key, base }
    }
}

impl Engine for Brave {
    fn name(&self) -> &'static str {
        "brave"
    }

    fn http(&self) -> &dyn Http {
        self.http.as_ref()
    }

    fn is_public(&self) -> bool {
        true
    }

    fn request(&self, wording: &Wording) -> HttpRequest {
        let mut url = self.base.clone();
        {
            let mut pairs = url.query_pairs_mut();
            pairs.append_pair("q", &wording.text).append_pair("count", "20");
            if let Some(language) = &wording.language {
                let language = language.split('-').next().unwrap_or(language).to_ascii_lowercase();
                pairs.append_pair("search_lang", &language);
            }
            if let Some(range) = wording.time_range {
                let freshness = match range {
                    TimeRange::Day => "pd",
                    TimeRange::Month => "pm",
                    TimeRange::Year => "py",
                };
                pairs.append_pair("freshness", freshness);
            }
        }
        let mut request = HttpRequest::new(Method::GET, url);
        request.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        // A key that can't stand in a header gets the answer of a missing key.
        if let Ok(mut key) = HeaderValue::from_str(self.key.expose()) {
            key.set_sensitive(true);
            request.headers.insert(TOKEN, key);
        }
        request
    }

    fn read(&self, answer: &Answer<'_>) -> Result<Vec<Hit>, EngineError> {
        if matches!(answer.status.as_u16(), 401 | 403) {
            let why = format!("status {}; its key is not accepted", answer.status.as_u16());
            return Err(EngineError::Unavailable(why));
        }
        if !answer.status.is_success() {
            return Err(refused(answer.status));
        }
        let strange = || EngineError::Unavailable("its answer is not that of Brave's search".to_owned());
        let found: Found = serde_json::from_slice(answer.body).map_err(|_| strange())?;
        if found.kind != "search" {
            return Err(strange());
        }
        let entries = found.web.map(|it| it.results).unwrap_or_default();
        Ok(entries
            .iter()
            .filter_map(|it| {
                let excerpt = plain(it.description.as_deref().unwrap_or_default());
                Hit::of(&plain(&it.title), &it.url, &excerpt)
            })
            .collect())
    }
}

/// Titles and excerpts come with `<strong>` around what was looked for.
fn plain(html: &str) -> String {
    let tree = crate::web::tree::Tree::parse(html, crate::web::markup::Language::Html);
    tree.all_text(0, 4000)
}
