//! From a request to its response: guards first, then the route, then what every response carries.

use crate::agents::HostQuestion;
use crate::assets;
use crate::console::Console;
use crate::error::{Fault, Refused};
use crate::paths::{parameter, segments};
use crate::shapes::Settings;
use crate::store::Change;
use crate::submit::{FILE_BYTES_MAX, FOLLOW_UP_CHARS_MAX, TEXT_CHARS_MAX, TURN_BYTES_MAX, TURN_FILES_MAX};
use crate::web::{WebBody, WebRequest, WebResponse};
use http::{Method, StatusCode, header};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// The largest JSON body, in bytes: a message of as many characters as it may have, escaped.
const JSON_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Answers from this size on are made smaller.
const PACKED_BYTES_MIN: usize = 1024;

/// What every page may do: run our own files, and talk to us.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
require-trusted-types-for 'script'";

/// What a route gives.
pub(crate) type Routed = Result<WebResponse, Fault>;

pub(crate) fn ok(value: &impl serde::Serialize) -> Routed {
    Ok(WebResponse::json(StatusCode::OK, value))
}

pub(crate) fn accepted() -> Routed {
    Ok(WebResponse::json(StatusCode::ACCEPTED, &json!({})))
}

pub(crate) fn nothing() -> Routed {
    Ok(WebResponse::empty(StatusCode::NO_CONTENT))
}

impl Console {
    /// Answers one request.
    pub async fn answer(self: &Arc<Self>, mut request: WebRequest) -> WebResponse {
        let gzip = request.header("accept-encoding").is_some_and(|it| it.contains("gzip"));
        let known = request.header("if-none-match").map(str::to_owned);
        let reads = matches!(request.method, Method::GET | Method::HEAD);
        let response = match self.routed(&mut request, gzip).await {
            Ok(response) => response,
            Err(fault) => WebResponse::json(fault.status, &fault.body()),
        };
        let response = if reads { unchanged(response, known.as_deref()) } else { response };
        finished(smaller(response, gzip))
    }

    async fn routed(self: &Arc<Self>, request: &mut WebRequest, gzip: bool) -> Routed {
        self.guard.host(request)?;
        let path = segments(&request.path).ok_or_else(Refused::not_found)?;
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match path.as_slice() {
            ["api", "v1", rest @ ..] => {
                self.guard.origin(request)?;
                self.api(request, rest).await
            }
            ["api", ..] => Err(Refused::not_found()),
            _ if !matches!(request.method, Method::GET | Method::HEAD) => {
                let message = "Pages are only read.";
                Err(Refused::new(StatusCode::METHOD_NOT_ALLOWED, "invalid_request", message))
            }
            [] => Ok(assets::page(&self.settings())),
            _ => match assets::file(&request.path, gzip) {
                Some(file) => Ok(file),
                None if path.first() == Some(&"assets") => Err(Refused::not_found()),
                None => Ok(assets::page(&self.settings())),
            },
        }
    }

    async fn api(self: &Arc<Self>, request: &mut WebRequest, path: &[&str]) -> Routed {
        let method = request.method.clone();
        let now = self.clock.now_ms() / 1000;
        if (&method, path) == (&Method::POST, &["login"]) {
            let token = self.body(request).await?;
            let cookie = self.guard.login(token["token"].as_str().unwrap_or_default(), now)?;
            return nothing()
                .map(|it| if cookie.is_empty() { it } else { it.with(header::SET_COOKIE, &cookie) });
        }
        if !self.guard.logged_in(request, now) {
            let message = "This console asks for its login token.";
            return Err(Refused::new(StatusCode::UNAUTHORIZED, "login_required", message));
        }
        match (&method, path) {
            (&Method::POST, ["logout"]) => {
                nothing().map(|it| it.with(header::SET_COOKIE, &self.guard.logout()))
            }
            (&Method::GET, ["bootstrap"]) => ok(&self.bootstrap(request)),
            (&Method::GET, ["events"]) => self.events(request),
            (&Method::GET, ["settings"]) => ok(&self.settings()),
            (&Method::PATCH, ["settings"]) => self.change_settings(request).await,
            (&Method::GET, ["agents"]) => ok(&json!({"agents": self.cards()})),
            (_, ["agents", agent, rest @ ..]) => self.of_agent(request, agent, rest).await,
            (_, ["uploads", rest @ ..]) => self.of_uploads(request, rest).await,
            (&Method::GET, ["search"]) => self.search(request),
            (_, ["threads", rest @ ..]) => self.of_threads(request, rest).await,
            _ => Err(Refused::not_found()),
        }
    }

    fn bootstrap(&self, request: &WebRequest) -> Value {
        json!({
            "console": {
                "name": self.name,
                "version": self.version,
                "host": request.header("host").unwrap_or_default(),
            },
            "agents": self.cards(),
            "settings": self.settings(),
            "limits": {
                "textChars": TEXT_CHARS_MAX,
                "followUpChars": FOLLOW_UP_CHARS_MAX,
                "fileBytes": FILE_BYTES_MAX,
                "turnFiles": TURN_FILES_MAX,
                "turnBytes": TURN_BYTES_MAX,
            },
            "loginRequired": self.guard.needs_login(),
        })
    }

    fn events(&self, request: &WebRequest) -> Routed {
        let thread = parameter(&request.query, "thread").filter(|id| !id.is_empty());
        let stream = self.feed.open(thread).ok_or_else(|| {
            Refused::new(StatusCode::TOO_MANY_REQUESTS, "too_many", "Too many pages are open.")
        })?;
        let mut response = WebResponse::empty(StatusCode::OK)
            .with(header::CONTENT_TYPE, "text/event-stream")
            .with(header::CACHE_CONTROL, "no-store, no-transform");
        response.body = WebBody::Stream(stream);
        Ok(response)
    }

    async fn change_settings(&self, request: &mut WebRequest) -> Routed {
        let change = self.body(request).await?;
        let mut whole = json!(self.settings());
        for (name, value) in change.as_object().into_iter().flatten() {
            whole[name] = value.clone();
        }
        let settings: Settings = serde_json::from_value(whole)
            .map_err(|error| Refused::invalid(format!("A setting can't be read: {error}.")))?;
        if let Some(field) = settings.fault() {
            return Err(Refused::field(field, format!("{field} has no such value.")));
        }
        self.store.apply(&[Change::Settings(settings.clone())])?;
        self.feed.tell(&crate::feed::To::All, "settings.changed", &json!({"settings": settings}));
        ok(&settings)
    }

    /// What is asked of an agent: its own answer, passed on.
    async fn of_agent(self: &Arc<Self>, request: &mut WebRequest, agent: &str, path: &[&str]) -> Routed {
        let method = request.method.clone();
        let question = match (&method, path) {
            (&Method::POST, ["restart"]) => {
                self.hosts.ask(agent, HostQuestion::Restart).await?;
                return accepted();
            }
            (&Method::POST, ["servers", name, "test"]) => {
                HostQuestion::TestServer { name: (*name).to_owned() }
            }
            (&Method::DELETE, ["approvals", id]) => {
                self.hosts
                    .ask(agent, HostQuestion::View(json!({"view": "revoke_approval", "id": id})))
                    .await?;
                return nothing();
            }
            (&Method::GET, path) => asked(&request.query, path).ok_or_else(Refused::not_found)?,
            (&Method::POST, ["memory", "facts"] | ["memory", "forget", ..]) => {
                return Err(Refused::not_supported(
                    "Facts are added by telling the agent, and forgotten with `mono-agent memory forget` while it is \
                     stopped.",
                ));
            }
            _ => return Err(Refused::not_found()),
        };
        ok(&self.hosts.ask(agent, question).await?)
    }

    /// A JSON body; an empty one is an empty object.
    pub(crate) async fn body(&self, request: &mut WebRequest) -> Result<Value, Fault> {
        let is_json = request
            .header("content-type")
            .is_some_and(|it| it.split(';').next().is_some_and(|it| it.trim() == "application/json"));
        let bytes = request.bytes(JSON_BYTES_MAX).await.ok_or_else(|| {
            Refused::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "too_large",
                "The request is too large. Nothing was done.",
            )
        })?;
        if bytes.is_empty() {
            return Ok(json!({}));
        }
        if !is_json {
            return Err(Refused::invalid("The body must be application/json."));
        }
        let body: Value =
            serde_json::from_slice(&bytes).map_err(|_| Refused::invalid("The body is no JSON."))?;
        if body.is_object() { Ok(body) } else { Err(Refused::invalid("The body must be a JSON object.")) }
    }
}

/// A question to an agent as a path asks it.
fn asked(query: &str, path: &[&str]) -> Option<HostQuestion> {
    let text = |name: &str| parameter(query, name).filter(|it| !it.is_empty());
    let channel = text("channel").unwrap_or_else(|| "web".to_owned());
    let limit = |least: u64| text("limit").and_then(|it| it.parse::<u64>().ok()).unwrap_or(least);
    let view = |value: Value| Some(HostQuestion::View(value));
    match path {
        ["explain"] => Some(HostQuestion::Explain { channel }),
        ["tools"] => Some(HostQuestion::Tools { channel }),
        ["servers"] => view(json!({"view": "servers"})),
        ["config"] => view(json!({"view": "settings"})),
        ["approvals"] => view(json!({"view": "approvals"})),
        ["audit"] => view(json!({"view": "audit_runs"})),
        ["decisions"] => view(json!({
            "view": "decisions", "run": text("run"), "tool": text("tool"), "limit": limit(50),
            "cursor": text("cursor"),
        })),
        ["runs"] => view(json!({
            "view": "runs", "status": text("status"), "conversation": text("conversation"), "limit": limit(50),
            "cursor": text("cursor"),
        })),
        ["runs", "search"] => view(json!({
            "view": "runs", "query": text("q"), "limit": limit(50), "cursor": text("cursor"),
        })),
        ["runs", run] => {
            view(json!({"view": "run", "run": run, "limit": limit(100), "cursor": text("cursor")}))
        }
        ["report"] => {
            let since = text("since").and_then(|it| it.parse::<jiff::Timestamp>().ok());
            let since = since.map(|it| it.as_millisecond());
            view(json!({"view": "report", "sinceMs": since, "by": text("by")}))
        }
        ["memory"] => view(json!({"view": "memory_stats"})),
        ["memory", "days"] => view(json!({"view": "memory_days"})),
        ["memory", "days", date] => view(json!({"view": "memory_day", "date": date})),
        ["memory", "top"] => view(json!({"view": "memory_top", "limit": limit(50)})),
        ["memory", "search"] => {
            view(json!({"view": "memory_search", "query": text("q"), "limit": limit(20)}))
        }
        _ => None,
    }
}

/// Nothing but 304 where the browser has it already.
fn unchanged(response: WebResponse, known: Option<&str>) -> WebResponse {
    let WebBody::Whole(body) = &response.body else { return response };
    let immutable = response
        .headers
        .get(header::CACHE_CONTROL)
        .and_then(|it| it.to_str().ok())
        .is_some_and(|it| it.contains("immutable") || it.contains("no-store"));
    if response.status != StatusCode::OK || immutable {
        return response;
    }
    let sum: String = host_vocab::text::hex(&Sha256::digest(body)).chars().take(32).collect();
    let tag = format!("\"{sum}\"");
    let same =
        known.is_some_and(|known| known.split(',').any(|it| it.trim().trim_start_matches("W/") == tag));
    let mut response = response.with(header::ETAG, &tag);
    if same {
        response.status = StatusCode::NOT_MODIFIED;
        response.body = WebBody::Whole(bytes::Bytes::new());
    }
    response
}

fn smaller(mut response: WebResponse, gzip: bool) -> WebResponse {
    let header = |name| response.headers.get(name).and_then(|it: &http::HeaderValue| it.to_str().ok());
    let text = header(header::CONTENT_TYPE)
        .is_some_and(|it| it.starts_with("application/json") || it.starts_with("text/html"));
    let apart = header(header::CONTENT_ENCODING).is_some() || header(header::CONTENT_DISPOSITION).is_some();
    let WebBody::Whole(body) = &response.body else { return response };
    if !gzip || !text || apart || body.len() < PACKED_BYTES_MIN {
        return response;
    }
    response.body = WebBody::Whole(assets::packed(body));
    response.with(header::CONTENT_ENCODING, "gzip").with(header::VARY, "accept-encoding")
}

/// What every response carries.
fn finished(response: WebResponse) -> WebResponse {
    response
        .with(header::CONTENT_SECURITY_POLICY, POLICY)
        .with(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
        .with(header::REFERRER_POLICY, "no-referrer")
        .with(header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin")
        .with(header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin")
}
