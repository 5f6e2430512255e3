//! What an engine is: how it is asked, and how its answer is read.

mod brave;
mod duckduckgo;
mod searxng;

use super::query::Wording;
use host_ports::http::{Http, HttpRequest};
use host_vocab::{Secret, text};
use http::StatusCode;
use std::sync::Arc;
use url::Url;

pub(super) use brave::Brave;
pub(super) use duckduckgo::DuckDuckGo;
pub(super) use searxng::Searxng;

/// The longest title, in characters.
const TITLE_CHARS_MAX: usize = 200;
/// The longest excerpt, in characters.
const EXCERPT_CHARS_MAX: usize = 500;
/// The longest address of a result, in bytes.
const URL_BYTES_MAX: usize = 2000;

/// One result, in one line each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) title: String,
    pub(super) url: Url,
    pub(super) excerpt: String,
}

impl Hit {
    /// From what an engine says; `None` = it leads nowhere on the web.
    pub(super) fn of(title: &str, url: &str, excerpt: &str) -> Option<Hit> {
        if url.len() > URL_BYTES_MAX {
            return None;
        }
        let url = Url::parse(url.trim()).ok()?;
        let is_page = matches!(url.scheme(), "http" | "https") && url.host_str().is_some();
        let plain = url.username().is_empty() && url.password().is_none();
        (is_page && plain).then(|| Hit {
            title: text::one_line(title, TITLE_CHARS_MAX),
            url: super::rank::without_trackers(url),
            excerpt: text::one_line(excerpt, EXCERPT_CHARS_MAX),
        })
    }
}

/// Why an engine gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum EngineError {
    /// It has had enough of us, or takes us for a robot. It is left alone for a while.
    #[error("{0}")]
    RateLimited(String),
    /// It is not there, or does not do what it is asked.
    #[error("{0}")]
    Unavailable(String),
}

/// An engine: pure, but for the client that it is asked by.
pub(super) trait Engine: Send + Sync {
    /// Its name in the settings.
    fn name(&self) -> &'static str;
    /// The client that may reach it.
    fn http(&self) -> &dyn Http;
    /// Whether strangers run it, so that it is asked with care.
    fn is_public(&self) -> bool;
    /// The request for one wording.
    fn request(&self, wording: &Wording) -> HttpRequest;
    /// What an answer says. An empty list means that there is nothing, never that something went wrong.
    fn read(&self, answer: &Answer<'_>) -> Result<Vec<Hit>, EngineError>;
}

/// An answer.
pub(super) struct Answer<'a> {
    pub(super) status: StatusCode,
    pub(super) body: &'a [u8],
}

/// One engine of the chain, ready to be asked. The constructors take the client that may reach it: redirects
/// must come back as they are.
#[derive(Clone)]
pub struct SearchEngine(pub(super) Arc<dyn Engine>);

/// Why an address can't be that of a SearXNG.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the SearXNG endpoint {why}")]
pub struct EndpointError {
    why: &'static str,
}

impl SearchEngine {
    /// A SearXNG on this machine.
    ///
    /// # Errors
    /// Where the address is no plain `http` one on the loopback interface, or holds a user, query or fragment.
    pub fn searxng(http: Arc<dyn Http>, endpoint: &str) -> Result<Self, EndpointError> {
        Ok(SearchEngine(Arc::new(Searxng::new(http, searxng_endpoint(endpoint)?))))
    }

    /// Brave's search API, with its key.
    pub fn brave(http: Arc<dyn Http>, key: Secret) -> Self {
        SearchEngine(Arc::new(Brave::new(http, key, None)))
    }

    /// DuckDuckGo's page for browsers without scripts; needs no key.
    pub fn duckduckgo(http: Arc<dyn Http>) -> Self {
        SearchEngine(Arc::new(DuckDuckGo::new(http, None)))
    }

    /// The same at other addresses, for tests against a fake.
    #[doc(hidden)]
    pub fn brave_at(http: Arc<dyn Http>, key: Secret, base: Url) -> Self {
        SearchEngine(Arc::new(Brave::new(http, key, Some(base))))
    }

    /// The same at another address, for tests against a fake.
    #[doc(hidden)]
    pub fn duckduckgo_at(http: Arc<dyn Http>, base: Url) -> Self {
        SearchEngine(Arc::new(DuckDuckGo::new(http, Some(base))))
    }

    /// The hosts that the engine asks, for an allowlist.
    pub const BRAVE_HOST: &'static str = brave::HOST;
    /// The same for DuckDuckGo.
    pub const DUCKDUCKGO_HOST: &'static str = duckduckgo::HOST;
}

impl std::fmt::Debug for SearchEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

/// Checks the address of a SearXNG (host-core facts 5.44).
///
/// # Errors
/// What is wrong with it.
pub fn searxng_endpoint(text: &str) -> Result<Url, EndpointError> {
    let err = |why| EndpointError { why };
    let url = Url::parse(text.trim()).map_err(|_| err("is no address; write it as http://127.0.0.1:8888"))?;
    if url.scheme() != "http" {
        return Err(err("must begin with http://, since it is on this machine"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(err("must not hold a user or password"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(err("must not hold a query or fragment"));
    }
    let is_loopback = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    if is_loopback { Ok(url) } else { Err(err("must be on this machine (localhost, 127.0.0.1 or [::1])")) }
}

/// The fault of a status that is no success, the same for all engines.
fn refused(status: StatusCode) -> EngineError {
    match status.as_u16() {
        429 => EngineError::RateLimited("too many requests (429)".to_owned()),
        other => EngineError::Unavailable(format!("status {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // TOO-5
    #[test]
    fn a_searxng_is_on_this_machine() {
        for good in
            ["http://127.0.0.1:8888", "http://localhost/search/", "http://[::1]:9", "http://127.1.2.3/"]
        {
            assert!(searxng_endpoint(good).is_ok(), "{good}");
        }
        for bad in [
            "https://127.0.0.1",
            "http://10.0.0.1",
            "http://example.org",
            "http://localhost.example.org",
            "http://u:p@127.0.0.1",
            "http://u@localhost",
            "http://127.0.0.1/?q=x",
            "http://127.0.0.1/#x",
            "127.0.0.1",
            "file:///etc/passwd",
            "http://[::ffff:127.0.0.1]",
            "http://0.0.0.0",
        ] {
            assert!(searxng_endpoint(bad).is_err(), "{bad}");
        }
    }

    // TOO-5
    #[test]
    fn a_hit_is_a_page_in_single_lines() {
        let hit = Hit::of("a\n\u{202e}b", "https://x.example/p?utm_source=a&q=1#f", "c\r\nd").unwrap();
        assert!(!hit.title.contains('\n') && !hit.excerpt.contains('\n') && !hit.title.contains('\u{202e}'));
        assert_eq!(hit.url.as_str(), "https://x.example/p?q=1#f");
        for bad in
            ["javascript:alert(1)", "ftp://x", "https://u:p@x.example", "/relative", "data:text/html,x", ""]
        {
            assert_eq!(Hit::of("t", bad, ""), None, "{bad}");
        }
    }
}
