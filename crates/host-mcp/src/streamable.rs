//! Streamable HTTP: rmcp's client trait over the `Http` port, with lenient reading in between.

use crate::events::{Event, EventTooLarge, Events};
use crate::exchange::{Exchange, MESSAGE_BYTES_MAX};
use crate::fault::{HttpFault, line_of};
use crate::oauth::{OAuth, OAuthError, challenge};
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use host_ports::http::{Http, HttpError, HttpRequest, HttpResponse, Redirects};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::common::client_side_sse::SseRetryPolicy;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Error as SseError, Sse};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use url::Url;

/// The most of an error's body that is read.
const ERROR_BODY_BYTES_MAX: usize = 64 * 1024;
/// How often one request may be refused for its token.
const REFUSALS_MAX: u32 = 4;
/// How often a stream is resumed from the same event.
const RESUMES_MAX: u32 = 3;
/// How often the server's own stream may end at once before it is left alone.
const SHORT_STREAMS_MAX: u32 = 3;
/// How long the first call of a session waits for the server's own stream.
const OWN_STREAM_WAIT: Duration = Duration::from_secs(2);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// What one HTTP server is reached with.
pub(crate) struct Endpoint {
    pub(crate) http: Arc<dyn Http>,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) redirects: Redirects,
    /// Tokens, where the entry configures no credential.
    pub(crate) oauth: Option<Arc<OAuth>>,
    /// How long the head of an answer may take: longer than any call.
    pub(crate) head_timeout: Duration,
    /// How long `server/discover` may stay without answer, where another handshake can follow.
    pub(crate) probe: Option<Duration>,
}

impl Endpoint {
    /// A request to the server with its configured headers.
    pub(crate) fn request(&self, method: Method, url: Url) -> HttpRequest {
        let mut request = HttpRequest::new(method, url);
        request.headers = self.headers.clone();
        request.redirects = self.redirects;
        request.head_timeout = self.head_timeout;
        request
    }

    /// Whether the entry configures a header that looks like a credential.
    pub(crate) fn has_credential(&self) -> bool {
        self.headers.iter().any(|(name, value)| {
            let name = name.as_str();
            value.is_sensitive() || ["auth", "key", "token", "secret"].iter().any(|word| name.contains(word))
        })
    }

    async fn send_with(
        &self,
        mut request: HttpRequest,
        token: Option<&str>,
    ) -> Result<HttpResponse, HttpFault> {
        if let Some(value) = token.and_then(|token| HeaderValue::from_str(&format!("Bearer {token}")).ok()) {
            let mut value = value;
            value.set_sensitive(true);
            request.headers.insert(AUTHORIZATION, value);
        }
        self.http.send(request).await.map_err(|error| match error {
            HttpError::RedirectRefused { target, .. } => HttpFault::Redirect { target },
            other => HttpFault::Transport(other),
        })
    }

    /// Sends, and turns transport errors, redirects and refused credentials into faults.
    pub(crate) async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpFault> {
        let mut tries = 0;
        let response = loop {
            let token = match &self.oauth {
                Some(oauth) => oauth.token().await.map_err(login_failed)?,
                None => None,
            };
            let response = self.send_with(request.clone(), token.as_deref()).await?;
            let status = response.status.as_u16();
            if !matches!(status, 401 | 403) {
                break response;
            }
            tries += 1;
            // A refusal says that nothing was done, so the same request may go out again with a better token.
            let again = match &self.oauth {
                Some(oauth) if tries < REFUSALS_MAX => {
                    oauth.refused(token.as_deref(), status, challenge(&response).as_deref()).await
                }
                _ => Ok(false),
            };
            if !again.map_err(login_failed)? {
                return Err(HttpFault::Unauthorized { status, credential: self.has_credential() });
            }
        };
        if response.status.is_redirection() {
            let location = response.headers.get(LOCATION).and_then(|value| value.to_str().ok());
            let target =
                location.and_then(|to| self.url.join(to).ok()).map(|to| to.origin().ascii_serialization());
            return Err(HttpFault::Redirect { target: target.unwrap_or_else(|| "nowhere".to_owned()) });
        }
        Ok(response)
    }
}

fn login_failed(error: OAuthError) -> HttpFault {
    HttpFault::Login(error.0)
}

/// The start of an error's body and its fault.
pub(crate) async fn status_fault(response: HttpResponse) -> (HttpFault, Vec<u8>) {
    let status = response.status.as_u16();
    let body = response.read_bounded(ERROR_BODY_BYTES_MAX).await.map(|body| body.bytes).unwrap_or_default();
    let text = String::from_utf8_lossy(&body);
    let preview = if text.trim_start().starts_with('<') { String::new() } else { line_of(&text) };
    (HttpFault::Status { status, preview }, body)
}

/// rmcp's client for one connection.
#[derive(Clone)]
pub(crate) struct PortClient(Arc<Inner>);

struct Inner {
    endpoint: Endpoint,
    exchange: Arc<Exchange>,
    /// The event that a stream was last resumed from, and how often.
    resumed: Mutex<HashMap<String, u32>>,
    short_streams: Mutex<u32>,
    /// The session whose own stream was answered, whatever the answer.
    own_stream: watch::Sender<Option<Arc<str>>>,
}

type Fault = StreamableHttpError<HttpFault>;

impl PortClient {
    pub(crate) fn new(endpoint: Endpoint, exchange: Arc<Exchange>) -> Self {
        PortClient(Arc::new(Inner {
            endpoint,
            exchange,
            resumed: Mutex::default(),
            short_streams: Mutex::default(),
            own_stream: watch::Sender::default(),
        }))
    }

    /// What rmcp's worker is given besides.
    pub(crate) fn transport_config(url: &Url, timeout: Duration) -> StreamableHttpClientTransportConfig {
        let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
        config.retry_config = Arc::new(Resume);
        config.max_concurrent_requests = 256;
        config.session_recovery_timeout = timeout.min(Duration::from_secs(30));
        config.max_sse_event_size = MESSAGE_BYTES_MAX;
        config.max_json_response_size = MESSAGE_BYTES_MAX;
        config
    }

    async fn post(
        &self,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let inner = &self.0;
        if let (Some(session), true) = (&session, is_call(&message)) {
            self.own_stream_of(session).await;
        }
        inner.exchange.sent(&message);
        let id = request_id(&message);
        let opening = Opening::of(&message);
        let mut request = inner.endpoint.request(Method::POST, inner.endpoint.url.clone());
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        add_headers(&mut request.headers, headers, session.as_deref());
        request.body = serde_json::to_vec(&message)?.into();
        let sent = inner.endpoint.send(request);
        let probing = inner.endpoint.probe.filter(|_| opening == Opening::Discover);
        let answer = match probing {
            Some(probe) => match tokio::time::timeout(probe, sent).await {
                Ok(answer) => answer,
                Err(_) => return self.probe_failed(id, None),
            },
            None => sent.await,
        };
        let response = answer.map_err(StreamableHttpError::Client)?;
        if !response.status.is_success() {
            return self.refused(response, id, session.is_some(), opening).await;
        }
        let session = header_text(&response.headers, &SESSION);
        let Some(id) = id else {
            // Whatever a server answers to a notification, it was taken (T3-05).
            return Ok(StreamableHttpPostResponse::Accepted);
        };
        if matches!(response.status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        self.read_answer(response, id, session).await
    }

    /// An answer that is no success.
    async fn refused(
        &self,
        response: HttpResponse,
        id: Option<RequestId>,
        in_session: bool,
        opening: Opening,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let status = response.status;
        let (fault, body) = status_fault(response).await;
        let says_session = || String::from_utf8_lossy(&body).to_lowercase().contains("session");
        if in_session
            && (status == StatusCode::NOT_FOUND || (status == StatusCode::BAD_REQUEST && says_session()))
        {
            return Err(StreamableHttpError::SessionExpired);
        }
        // The newest revision sends JSON-RPC errors with 400 and 404.
        // For `initialize` the status alone counts: a 4xx means HTTP+SSE is next (MCP-3).
        let readable = id.is_some() && opening != Opening::Initialize;
        let message = readable.then(|| self.0.exchange.receive(&body).into_iter().next()).flatten();
        if let Some(message @ ServerJsonRpcMessage::Error(_)) = message {
            return Ok(StreamableHttpPostResponse::Json(message, None));
        }
        if opening == Opening::Discover && self.0.endpoint.probe.is_some() {
            return self.probe_failed(id, Some(status));
        }
        Err(StreamableHttpError::Client(fault))
    }

    /// A probe without a good answer: the server is of the older kind.
    fn probe_failed(
        &self,
        id: Option<RequestId>,
        status: Option<StatusCode>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        if let Some(id) = &id {
            self.0.exchange.abandon(id);
        }
        let what = status.map_or("no answer".to_owned(), |status| format!("HTTP status {status}"));
        let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("server/discover: {what}"), None);
        Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::error(error, id), None))
    }

    /// A success: one JSON body or a stream, whatever its content type says.
    async fn read_answer(
        &self,
        response: HttpResponse,
        id: RequestId,
        session: Option<String>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let content_type = header_text(&response.headers, &CONTENT_TYPE).unwrap_or_default().to_lowercase();
        if content_type.starts_with("text/event-stream") {
            return Ok(StreamableHttpPostResponse::Sse(self.messages(response.body, Some(id)), session));
        }
        let body = response
            .read_bounded(MESSAGE_BYTES_MAX)
            .await
            .map_err(|error| StreamableHttpError::Client(HttpFault::Transport(error)))?;
        if body.cut {
            let settled = self.0.exchange.too_large(&id, body.bytes.len() as u64);
            let fault = StreamableHttpError::Client(HttpFault::TooLarge(MESSAGE_BYTES_MAX));
            return settled.map(|message| StreamableHttpPostResponse::Json(message, session)).ok_or(fault);
        }
        let text = String::from_utf8_lossy(&body.bytes);
        if ["event:", "data:", "id:", ":"].iter().any(|start| text.trim_start().starts_with(start)) {
            let whole = stream::once(async move { Ok(bytes::Bytes::from(body.bytes)) }).boxed();
            return Ok(StreamableHttpPostResponse::Sse(self.messages(whole, Some(id)), session));
        }
        let mut messages = self.0.exchange.receive(&body.bytes);
        match messages.len() {
            1 => Ok(StreamableHttpPostResponse::Json(messages.remove(0), session)),
            0 => {
                self.0.exchange.abandon(&id);
                let kind = if content_type.is_empty() { "no content type" } else { &content_type };
                let what =
                    format!("{} bytes of {} instead of a JSON-RPC answer", body.bytes.len(), line_of(kind));
                Err(StreamableHttpError::Client(HttpFault::NotMcp(what)))
            }
            _ => {
                let events = messages.iter().map(|message| Ok(sse_of(message))).collect::<Vec<_>>();
                Ok(StreamableHttpPostResponse::Sse(stream::iter(events).boxed(), session))
            }
        }
    }

    /// A body as events with one readable message each. Ids and retry times stay with them. An event over the
    /// bound settles the request that the stream answers.
    fn messages(
        &self,
        body: BoxStream<'static, Result<bytes::Bytes, HttpError>>,
        answers: Option<RequestId>,
    ) -> BoxStream<'static, Result<Sse, SseError>> {
        let exchange = Arc::clone(&self.0.exchange);
        let over = move |error: EventTooLarge| {
            let settled = answers.as_ref().and_then(|id| exchange.too_large(id, error.0 as u64));
            settled.as_ref().map(sse_of).ok_or_else(|| SseError::Body(Box::new(error)))
        };
        let exchange = Arc::clone(&self.0.exchange);
        body.scan(Some(Events::new(MESSAGE_BYTES_MAX)), move |events, piece| {
            let read = match (events.as_mut(), piece) {
                (None, _) => None,
                (Some(parser), Ok(piece)) => match parser.feed(&piece) {
                    Ok(read) => {
                        Some(read.iter().flat_map(|event| read_event(&exchange, event)).map(Ok).collect())
                    }
                    Err(error) => {
                        // Nothing after it can be read.
                        *events = None;
                        Some(vec![over(error)])
                    }
                },
                (Some(_), Err(error)) => Some(vec![Err(SseError::Body(Box::new(error)))]),
            };
            std::future::ready(read)
        })
        .flat_map(stream::iter)
        .boxed()
    }

    /// Waits until the server's own stream of a session was answered. What a server asks in the middle of a call
    /// may come there, and many servers lose it where nobody listens yet.
    async fn own_stream_of(&self, session: &Arc<str>) {
        let mut answered = self.0.own_stream.subscribe();
        let wait = answered.wait_for(|it| it.as_deref() == Some(&**session));
        if tokio::time::timeout(OWN_STREAM_WAIT, wait).await.is_err() {
            tracing::debug!("the server does not answer the GET of its own stream; calls go on without it");
            self.0.own_stream.send_replace(Some(Arc::clone(session)));
        }
    }

    async fn open_stream(
        &self,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Fault> {
        self.bound_resumes(last_event.as_deref())?;
        let inner = &self.0;
        let mut request = inner.endpoint.request(Method::GET, inner.endpoint.url.clone());
        request.headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        add_headers(&mut request.headers, headers, session.as_deref());
        if let Some(value) = last_event.as_deref().and_then(|id| HeaderValue::from_str(id).ok()) {
            request.headers.insert(LAST_EVENT, value);
        }
        let response = inner.endpoint.send(request).await.map_err(StreamableHttpError::Client)?;
        let content_type = header_text(&response.headers, &CONTENT_TYPE).unwrap_or_default().to_lowercase();
        if !response.status.is_success() || !content_type.starts_with("text/event-stream") {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        let opened = Instant::now();
        let (this, own_stream) = (self.clone(), last_event.is_none());
        let end = stream::once(async move {
            let mut short = this.0.short_streams.lock().unwrap_or_else(|broken| broken.into_inner());
            *short = if own_stream && opened.elapsed() < Duration::from_secs(5) { *short + 1 } else { 0 };
            None
        });
        Ok(self.messages(response.body, None).map(Some).chain(end).filter_map(std::future::ready).boxed())
    }

    /// A stream is resumed a few times from one event, and the server's own stream left alone where it keeps
    /// ending at once (T3-09).
    fn bound_resumes(&self, last_event: Option<&str>) -> Result<(), Fault> {
        let Some(id) = last_event else {
            let short = self.0.short_streams.lock().unwrap_or_else(|broken| broken.into_inner());
            return if *short < SHORT_STREAMS_MAX {
                Ok(())
            } else {
                Err(StreamableHttpError::ServerDoesNotSupportSse)
            };
        };
        let mut resumed = self.0.resumed.lock().unwrap_or_else(|broken| broken.into_inner());
        if resumed.len() > 1000 {
            resumed.clear();
        }
        let times = resumed.entry(id.to_owned()).or_default();
        *times += 1;
        if *times > RESUMES_MAX { Err(StreamableHttpError::Client(HttpFault::Closed)) } else { Ok(()) }
    }
}

impl StreamableHttpClient for PortClient {
    type Error = HttpFault;

    async fn post_message(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        self.post(message, session_id, custom_headers).await
    }

    async fn delete_session(
        &self,
        _uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Fault> {
        let inner = &self.0;
        let mut request = inner.endpoint.request(Method::DELETE, inner.endpoint.url.clone());
        request.head_timeout = Duration::from_secs(2);
        add_headers(&mut request.headers, custom_headers, Some(&session_id));
        // The session ends with us in any case; a server that keeps it longer does so at its own expense.
        let _ = inner.endpoint.send(request).await;
        Ok(())
    }

    async fn get_stream(
        &self,
        _uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Fault> {
        let own = session_id.clone().filter(|_| last_event_id.is_none());
        let stream = self.open_stream(session_id, last_event_id, custom_headers).await;
        if own.is_some() {
            self.0.own_stream.send_replace(own);
        }
        stream
    }
}

/// Which handshake a message opens, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    Discover,
    Initialize,
    None,
}

impl Opening {
    fn of(message: &ClientJsonRpcMessage) -> Self {
        match message {
            JsonRpcMessage::Request(request) => match request.request {
                ClientRequest::DiscoverRequest(_) => Opening::Discover,
                ClientRequest::InitializeRequest(_) => Opening::Initialize,
                _ => Opening::None,
            },
            _ => Opening::None,
        }
    }
}

fn add_headers(to: &mut HeaderMap, from: HashMap<HeaderName, HeaderValue>, session: Option<&str>) {
    for (name, value) in from {
        to.insert(name, value);
    }
    if let Some(value) = session.and_then(|session| HeaderValue::from_str(session).ok()) {
        to.insert(SESSION, value);
    }
}

fn header_text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

fn request_id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Request(request) => Some(request.id.clone()),
        _ => None,
    }
}

fn is_call(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::CallToolRequest(_)))
}

fn sse_of(message: &ServerJsonRpcMessage) -> Sse {
    Sse { data: serde_json::to_string(message).ok(), ..Sse::default() }
}

/// One event as rmcp's, with its data read leniently. An event without a message keeps its id.
fn read_event(exchange: &Exchange, event: &Event) -> Vec<Sse> {
    let mut out: Vec<Sse> = if event.is_message() {
        exchange.receive(event.data.as_bytes()).iter().map(sse_of).collect()
    } else {
        Vec::new()
    };
    if event.id.is_some() || event.retry.is_some() {
        if out.is_empty() {
            out.push(Sse::default());
        }
        let last = out.len() - 1;
        out[last].id.clone_from(&event.id);
        out[last].retry = event.retry;
    }
    out
}

/// How often, and after how long, a broken stream is opened anew.
#[derive(Debug)]
struct Resume;

impl SseRetryPolicy for Resume {
    fn retry(&self, current_times: usize) -> Option<Duration> {
        (current_times < 2).then(|| Duration::from_millis(200 << current_times))
    }
}
