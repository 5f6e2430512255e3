//! DuckDuckGo's page for browsers without scripts.

use super::{Answer, Engine, EngineError, Hit, refused};
use crate::web::markup::Language;
use crate::web::tree::{NodeId, Tree};
use crate::web_search::query::{TimeRange, Wording};
use bytes::Bytes;
use host_ports::http::{Http, HttpRequest};
use http::Method;
use http::header::{ACCEPT_LANGUAGE, CONTENT_TYPE, HeaderValue, USER_AGENT};
use std::sync::Arc;
use url::{Url, form_urlencoded};

/// The host that is asked.
pub(super) const HOST: &str = "html.duckduckgo.com";
const AGENT: &str = concat!("Mozilla/5.0 (compatible; mono-agent/", env!("CARGO_PKG_VERSION"), ")");
/// Marks of the page that asks whether a person is there, in lower case.
const CHALLENGE: &[&str] =
    &["anomaly-modal", "anomaly.js", "challenge-form", "bots use duckduckgo too", "cc=botnet"];

pub(in crate::web_search) struct DuckDuckGo {
    http: Arc<dyn Http>,
    base: Url,
}

impl DuckDuckGo {
    pub(in crate::web_search) fn new(http: Arc<dyn Http>, base: Option<Url>) -> Self {
        let base =
            base.unwrap_or_else(|| Url::parse("https://html.duckduckgo.com/html/").expect("a fixed address"));
        DuckDuckGo { http, base }
    }
}

impl Engine for DuckDuckGo {
    fn name(&self) -> &'static str {
        "duckduckgo"
    }

    fn http(&self) -> &dyn Http {
        self.http.as_ref()
    }

    fn is_public(&self) -> bool {
        true
    }

    fn request(&self, wording: &Wording) -> HttpRequest {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("q", &wording.text).append_pair("b", "");
        if let Some((language, country)) = wording.language.as_deref().and_then(|it| it.split_once('-')) {
            form.append_pair("kl", &format!("{country}-{language}").to_ascii_lowercase());
        }
        if let Some(range) = wording.time_range {
            let age = match range {
                TimeRange::Day => "d",
                TimeRange::Month => "m",
                TimeRange::Year => "y",
            };
            form.append_pair("df", age);
        }
        let mut request = HttpRequest::new(Method::POST, self.base.clone());
        request.body = Bytes::from(form.finish());
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        request.headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        let language = wording.language.as_deref().and_then(|it| HeaderValue::from_str(it).ok());
        if let Some(language) = language {
            request.headers.insert(ACCEPT_LANGUAGE, language);
        }
        request
    }

    fn read(&self, answer: &Answer<'_>) -> Result<Vec<Hit>, EngineError> {
        let limited = |why: String| Err(EngineError::RateLimited(why));
        match answer.status.as_u16() {
            status @ (202 | 403) => {
                return limited(format!("it asks for proof that a person is there ({status})"));
            }
            status @ 300..=399 => return limited(format!("it sends to another page ({status})")),
            _ if !answer.status.is_success() => return Err(refused(answer.status)),
            _ => {}
        }
        let page = String::from_utf8_lossy(answer.body);
        let lower = page.to_ascii_lowercase();
        let tree = Tree::parse(&page, Language::Html);
        let hits = hits(&tree);
        // A title can hold the words of a challenge; a page with results is none.
        if hits.is_empty() && CHALLENGE.iter().any(|mark| lower.contains(mark)) {
            return limited("it asks for proof that a person is there".to_owned());
        }
        let says_none = (0..tree.len()).any(|it| tree.has_class(it, "no-results"))
            || lower.contains("no results found for")
            || lower.contains("no more results");
        if hits.is_empty() && !says_none {
            return Err(EngineError::Unavailable(
                "its page has neither results nor word that there are none".to_owned(),
            ));
        }
        Ok(hits)
    }
}

fn hits(tree: &Tree) -> Vec<Hit> {
    let mut found: Vec<(String, String, String)> = Vec::new();
    for node in 1..tree.len() {
        if tree.has_class(node, "result__a") && !is_ad(tree, node) {
            if let Some(target) = tree.attribute(node, "href").and_then(target) {
                found.push((tree.all_text(node, 2000), target, String::new()));
            }
        } else if tree.has_class(node, "result__snippet")
            && !is_ad(tree, node)
            && let Some((_, _, excerpt)) = found.last_mut()
            && excerpt.is_empty()
        {
            *excerpt = tree.all_text(node, 4000);
        }
    }
    found.iter().filter_map(|(title, url, excerpt)| Hit::of(title, url, excerpt)).collect()
}

fn is_ad(tree: &Tree, node: NodeId) -> bool {
    std::iter::successors(Some(node), |&it| (it != 0).then(|| tree.parent(it)))
        .any(|it| tree.has_class(it, "result--ad"))
}

/// Where a result leads: links go through a page of DuckDuckGo that knows the address.
fn target(href: &str) -> Option<String> {
    let base = Url::parse("https://duckduckgo.com/html/").ok()?;
    let url = base.join(href).ok()?;
    let own = url.host_str().is_some_and(|it| it == "duckduckgo.com" || it.ends_with(".duckduckgo.com"));
    if !own {
        return Some(url.to_string());
    }
    // Everything else of theirs is an advertisement.
    (url.path() == "/l/")
        .then(|| url.query_pairs().find(|(name, _)| name == "uddg").map(|(_, value)| value.into_owned()))
        .flatten()
}
