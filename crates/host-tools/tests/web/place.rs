//! A fake site and what is asked of it.

#![allow(clippy::disallowed_methods, reason = "tests listen on this machine")]

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use host_net::{Egress, NetHttp, PublicOnly};
use host_ports::http::Http;
use host_surface::Settled;
use host_testkit::TestSurface;
use host_tools::{HostRule, WebFetchSettings, WebFetchTool, WebReach};
use serde_json::Value;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// One request as the site saw it.
#[derive(Debug, Clone)]
pub struct Seen {
    pub path: String,
    pub headers: HeaderMap,
    pub body: String,
}

type Answer = dyn Fn(&Seen, usize) -> Response + Send + Sync;

/// A site that answers by a function of the request and how many came before it.
#[derive(Clone)]
pub struct Site {
    pub port: u16,
    pub seen: Arc<Mutex<Vec<Seen>>>,
    answer: Arc<Answer>,
}

impl Site {
    pub async fn new(answer: impl Fn(&Seen, usize) -> Response + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let site = Site { port, seen: Arc::default(), answer: Arc::new(answer) };
        let app = Router::new().fallback(handle).with_state(site.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        site
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

async fn handle(State(site): State<Site>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let seen = Seen {
        path: parts.uri.to_string(),
        headers: parts.headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    let before = {
        let mut all = site.seen.lock().unwrap();
        all.push(seen.clone());
        all.len() - 1
    };
    (site.answer)(&seen, before)
}

pub fn reply(status: u16, kind: &str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    if !kind.is_empty() {
        response.headers_mut().insert("content-type", kind.parse().unwrap());
    }
    response
}

pub fn redirect(status: u16, to: &str) -> Response {
    let mut response = reply(status, "text/plain", "moved");
    response.headers_mut().insert("location", to.parse().unwrap());
    response
}

/// The rule of the tool, with this machine's address listed.
pub fn listed() -> Arc<dyn Http> {
    confined(Arc::new(PublicOnly::except(["127.0.0.1".to_owned()])))
}

pub fn confined(egress: Arc<dyn Egress>) -> Arc<dyn Http> {
    Arc::new(NetHttp::confined(egress))
}

/// A list of exact hosts.
pub struct Only(pub Vec<&'static str>);

impl HostRule for Only {
    fn admits(&self, host: &str) -> bool {
        self.0.contains(&host)
    }
}

/// Lets an address through so many times, and never again: what a name that changes its address looks like.
pub struct Rebinding {
    pub left: Mutex<u32>,
}

impl Egress for Rebinding {
    fn host(&self, _host: &str, _port: u16) -> Result<(), String> {
        Ok(())
    }

    fn address(&self, host: &str, _address: IpAddr) -> Result<(), String> {
        let mut left = self.left.lock().unwrap();
        match left.checked_sub(1) {
            Some(less) => {
                *left = less;
                Ok(())
            }
            None => Err(format!("{host} is a private address")),
        }
    }
}

/// Settings with waits that a test can afford.
pub fn quick() -> WebFetchSettings {
    let mut settings = WebFetchSettings::new(WebReach::All);
    settings.limits.waits = vec![Duration::from_millis(1), Duration::from_millis(2)];
    settings.limits.retry_after_max = Duration::from_secs(1);
    settings
}

pub async fn fetcher(http: Arc<dyn Http>, settings: WebFetchSettings) -> TestSurface {
    TestSurface::of(WebFetchTool::new(http, settings)).await
}

/// One call of a new tool.
pub async fn fetch(arguments: Value) -> Settled {
    fetcher(listed(), quick()).await.call("WebFetch", arguments).await
}

/// Text without the tag of its frame and the port of the site.
pub fn steady(text: &str, port: u16) -> String {
    let text = text.replace(&format!(":{port}"), ":PORT");
    let tag = regex::Regex::new("CONTENT [0-9a-f]{8}").unwrap();
    tag.replace_all(&text, "CONTENT TAG").into_owned()
}
