//! One live connection: listing tools and calling them over rmcp's service loop.

use crate::ask::Request;
use crate::definition::{Definitions, OddTool, Page, Route, TOOLS_MAX, ToolDefinition};
use crate::exchange::{Answer, Exchange};
use crate::fault::{CallFault, ConnectError, HttpFault, line_of};
use crate::handler::{Handler, Listeners};
use crate::param_header;
use crate::stdio::ChildFacts;
use host_ports::CancellationToken;
use rmcp::model::{
    ClientRequest, DiscoverRequest, DiscoverRequestParams, ListToolsRequest, PaginatedRequestParams,
    PingRequest, ProtocolVersion, RequestId, SubscriptionFilter,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, RoleClient, RunningService, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The most pages of one list.
const PAGES_MAX: usize = 500;
/// How soon a list is read anew at the earliest, whatever its time to live.
const TTL_MIN: Duration = Duration::from_secs(30);
/// The longest time to live that is believed.
const TTL_MAX: Duration = Duration::from_secs(24 * 3600);
/// How often a subscription is opened on one connection.
const SUBSCRIPTIONS_MAX: u32 = 6;
/// How long an answer may still come in after the connection closed.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// How long telling the server of a cancellation may take.
const CANCEL_GRACE: Duration = Duration::from_millis(500);
/// How long a server that owes an answer may take to show that it still reads.
const LIVENESS: Duration = Duration::from_secs(2);

/// A connection that went through its handshake.
pub(crate) struct Connection {
    peer: Peer<RoleClient>,
    service: tokio::sync::Mutex<Option<RunningService<RoleClient, Handler>>>,
    exchange: Arc<Exchange>,
    listeners: Arc<Listeners>,
    /// Told when the server says that its list changed.
    pub(crate) list_changed: Arc<Notify>,
    /// Fires when it can't be used any more.
    pub(crate) closed: CancellationToken,
    /// What is known of the child, for stdio.
    pub(crate) child: Option<ChildFacts>,
    route: Route,
    revision: String,
    used: AtomicU64,
    /// When the list has to be read anew, where the server says how long it holds.
    listed_until: Mutex<Option<Instant>>,
    begun: Instant,
    in_flight: AtomicUsize,
}

/// The bounds of one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallBounds {
    pub(crate) timeout: Duration,
    pub(crate) total: Duration,
    pub(crate) reset_on_progress: bool,
}

/// The parts of a connection that are made before its handshake.
pub(crate) struct Parts {
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) listeners: Arc<Listeners>,
    pub(crate) list_changed: Arc<Notify>,
    pub(crate) closed: CancellationToken,
    pub(crate) child: Option<ChildFacts>,
}

impl Connection {
    /// Takes over a service whose handshake is done.
    ///
    /// # Errors
    /// Where the server chose a revision that we don't speak.
    pub(crate) fn new(
        service: RunningService<RoleClient, Handler>,
        parts: Parts,
        sse: bool,
    ) -> Result<Self, ConnectError> {
        let peer = service.peer().clone();
        let info = peer.peer_info();
        let version =
            info.as_ref().map_or(ProtocolVersion::V_2024_11_05, |info| info.protocol_version.clone());
        if !ProtocolVersion::KNOWN_VERSIONS.contains(&version) {
            return Err(ConnectError::Revision(line_of(version.as_str())));
        }
        let route = match (sse, version >= ProtocolVersion::NO_INITIALIZE) {
            (true, _) => Route::LegacySse,
            (false, true) => Route::Modern,
            (false, false) => Route::Legacy,
        };
        Ok(Connection {
            peer,
            service: tokio::sync::Mutex::new(Some(service)),
            exchange: parts.exchange,
            listeners: parts.listeners,
            list_changed: parts.list_changed,
            closed: parts.closed,
            child: parts.child,
            route,
            revision: version.as_str().to_owned(),
            used: AtomicU64::new(0),
            listed_until: Mutex::default(),
            begun: Instant::now(),
            in_flight: AtomicUsize::new(0),
        })
    }

    /// Whether it can still be used.
    pub(crate) fn is_open(&self) -> bool {
        !self.closed.is_cancelled() && !self.peer.is_transport_closed()
    }

    /// How long nothing was called on it; zero while something is.
    pub(crate) fn idle(&self) -> Duration {
        if self.in_flight.load(Ordering::Relaxed) > 0 {
            return Duration::ZERO;
        }
        self.begun.elapsed().saturating_sub(Duration::from_millis(self.used.load(Ordering::Relaxed)))
    }

    /// Lines or events that were no messages.
    pub(crate) fn noise(&self) -> u64 {
        self.exchange.noise()
    }

    /// Lists every page of tools.
    ///
    /// # Errors
    /// The server's error, or what broke.
    pub(crate) async fn define(&self) -> Result<Definitions, ConnectError> {
        let info = self.peer.peer_info();
        let server = info.as_ref().and_then(|info| info.server_info.as_ref());
        let mut definitions = Definitions {
            route: self.route,
            revision: self.revision.clone(),
            server_name: server.map(|it| line_of(&it.name)).unwrap_or_default(),
            server_version: server.map(|it| line_of(&it.version)).unwrap_or_default(),
            instructions: info.as_ref().and_then(|info| info.instructions.clone()).unwrap_or_default(),
            resources: info.as_ref().is_some_and(|info| info.capabilities.resources.is_some()),
            prompts: info.as_ref().is_some_and(|info| info.capabilities.prompts.is_some()),
            tools: Vec::new(),
            odd: Vec::new(),
        };
        let announces = info.is_some_and(|info| info.capabilities.tools.is_some());
        match self.list(&mut definitions.tools, &mut definitions.odd).await {
            Ok(()) => Ok(definitions),
            // A server without tools need not know the method.
            Err(ConnectError::Rpc { code: -32601, .. }) if !announces => Ok(definitions),
            Err(error) => Err(error),
        }
    }

    async fn list(
        &self,
        tools: &mut Vec<ToolDefinition>,
        odd: &mut Vec<OddTool>,
    ) -> Result<(), ConnectError> {
        let mut cursor: Option<String> = None;
        for _ in 0..PAGES_MAX {
            let mut request = ListToolsRequest::default();
            if cursor.is_some() {
                let mut params = PaginatedRequestParams::default();
                params.cursor.clone_from(&cursor);
                request.params = Some(params);
            }
            let raw = self.ask(ClientRequest::ListToolsRequest(request)).await?;
            let page = Page::read(&raw).map_err(ConnectError::Protocol)?;
            self.note_ttl(&page);
            for tool in page.tools() {
                match tool {
                    Ok(tool) => match self.headers_of(&tool) {
                        Ok(()) => tools.push(tool),
                        Err(why) => odd.push(OddTool { name: line_of(&tool.name), why }),
                    },
                    Err(tool) => odd.push(tool),
                }
            }
            if tools.len() + odd.len() > TOOLS_MAX {
                return Err(ConnectError::Protocol(format!("the server lists more than {TOOLS_MAX} tools")));
            }
            match page.next_cursor {
                Some(Value::String(next)) if cursor.as_deref() == Some(next.as_str()) => {
                    return Err(ConnectError::Protocol(
                        "the server's list of tools goes in a circle".to_owned(),
                    ));
                }
                Some(Value::String(next)) if !next.is_empty() => cursor = Some(next),
                _ => return Ok(()),
            }
        }
        Err(ConnectError::Protocol(format!("the server's list of tools has more than {PAGES_MAX} pages")))
    }

    /// Notes how long the list holds (MCP-13).
    fn note_ttl(&self, page: &Page) {
        let ttl = page.ttl_ms.as_ref().and_then(Value::as_u64).filter(|_| self.route == Route::Modern);
        let until = ttl.map(|ms| Instant::now() + Duration::from_millis(ms).clamp(TTL_MIN, TTL_MAX));
        *self.listed_until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    /// Whether the time to live of the list is over, of a server that doesn't announce changes. Says it once: whoever
    /// is told reads the list anew.
    pub(crate) fn list_is_stale(&self) -> bool {
        let mut until = self.listed_until.lock().unwrap_or_else(PoisonError::into_inner);
        let over = until.is_some_and(|until| until <= Instant::now());
        if over {
            *until = None;
        }
        over && !self.announces_changes()
    }

    fn announces_changes(&self) -> bool {
        let info = self.peer.peer_info();
        let tools = info.as_ref().and_then(|info| info.capabilities.tools.as_ref());
        tools.and_then(|tools| tools.list_changed) == Some(true)
    }

    /// Over HTTP the newest revision sends parameters as headers where a schema says so.
    fn headers_of(&self, tool: &ToolDefinition) -> Result<(), String> {
        let applies = self.child.is_none() && self.route == Route::Modern;
        if applies { param_header::check(&tool.input_schema) } else { Ok(()) }
    }

    /// One request of the set-up. The attempt as a whole has the bound.
    async fn ask(&self, request: ClientRequest) -> Result<Box<RawValue>, ConnectError> {
        let failed = |fault: CallFault| match fault {
            CallFault::Rpc { code, message } => {
                ConnectError::Rpc { code, message: line_of(&message), phase: "listing its tools" }
            }
            CallFault::Http(fault) => ConnectError::Http(fault),
            CallFault::TooLarge(bytes) => {
                ConnectError::Protocol(format!("the list of tools has {bytes} bytes, over the bound"))
            }
            CallFault::Protocol(why) => ConnectError::Protocol(why),
            _ if self.child.is_none() => ConnectError::Http(HttpFault::Closed),
            _ => ConnectError::Exited { exit: None, stderr: String::new(), phase: "listing its tools" },
        };
        let handle = self.send(request).await.map_err(failed)?;
        let _guard = SlotGuard { exchange: &self.exchange, id: handle.id.clone() };
        let mut handle = handle;
        let answer = tokio::select! {
            biased;
            answer = &mut handle.rx => answer.unwrap_or(Err(ServiceError::TransportClosed)),
            () = self.closed.cancelled() => self.last_words(&mut handle).await,
        };
        self.raw_of(answer.map(|_| ()), &handle.id).map_err(failed)
    }

    /// Calls a tool, or asks for something else, and waits for the answer.
    ///
    /// # Errors
    /// See [`CallFault`]; nothing is ever sent twice here.
    pub(crate) async fn call(
        &self,
        request: &Request,
        bounds: CallBounds,
    ) -> Result<Box<RawValue>, CallFault> {
        let Request { cancel, asker, .. } = request;
        let _busy = Busy::new(self);
        let beat = Arc::new(Notify::new());
        let listening = self.listeners.listen(request.progress.clone(), Arc::clone(&beat), asker.clone());
        let mut handle = self.send(request.wire()).await?;
        let _slot = SlotGuard { exchange: &self.exchange, id: handle.id.clone() };
        listening.named(handle.progress_token.0.clone());
        let ends_at = Instant::now() + bounds.total;
        let mut quiet_until = Instant::now() + bounds.timeout;
        let fault = loop {
            tokio::select! {
                biased;
                answer = &mut handle.rx => {
                    let answer = answer.unwrap_or(Err(ServiceError::TransportClosed));
                    return self.raw_of(answer.map(|_| ()), &handle.id);
                }
                () = self.closed.cancelled() => {
                    let answer = self.last_words(&mut handle).await;
                    return self.raw_of(answer.map(|_| ()), &handle.id);
                }
                () = cancel.cancelled() => break CallFault::Cancelled,
                () = tokio::time::sleep_until(quiet_until) => {
                    // While a person thinks the server waits, not we; from the answer on it has its whole time.
                    match asker.waited_until().map(|since| since + bounds.timeout) {
                        Some(until) if until > Instant::now() => quiet_until = until,
                        _ => break CallFault::Timeout(bounds.timeout),
                    }
                }
                () = tokio::time::sleep_until(ends_at) => break CallFault::Timeout(bounds.total),
                () = beat.notified(), if bounds.reset_on_progress => {
                    quiet_until = Instant::now() + bounds.timeout;
                }
            }
        };
        let reason = if fault == CallFault::Cancelled { "cancelled" } else { "timeout" };
        let _ = tokio::time::timeout(CANCEL_GRACE, handle.cancel(Some(reason.to_owned()))).await;
        Err(fault)
    }

    /// Whether the server still reads. Only asked where it owes answers that nobody waits for any more: it may
    /// be stuck in one of them (T2-11).
    pub(crate) async fn is_stuck(&self) -> bool {
        if self.child.is_none() || !self.exchange.owes_answers() {
            return false;
        }
        let request = if self.route == Route::Modern {
            ClientRequest::DiscoverRequest(DiscoverRequest::new(DiscoverRequestParams {}))
        } else {
            ClientRequest::PingRequest(PingRequest::default())
        };
        let Ok(handle) = self.send(request).await else { return true };
        let id = handle.id.clone();
        let answered = tokio::time::timeout(LIVENESS, handle.rx).await.is_ok();
        self.exchange.abandon(&id);
        if answered {
            self.exchange.forgive();
        }
        !answered
    }

    /// Subscribes to changes of the list where the newest revision wants that (MCP-13), until the connection
    /// ends or the server keeps ending the subscription.
    pub(crate) async fn follow_list(&self) {
        if self.route != Route::Modern || !self.announces_changes() {
            return;
        }
        for opened in 0..SUBSCRIPTIONS_MAX {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            let Ok(mut subscription) = self.peer.listen(filter).await else { return };
            if opened > 0 {
                // What changed while nobody listened is not told again.
                self.list_changed.notify_one();
            }
            while let Ok(Some(_)) = subscription.next().await {
                self.list_changed.notify_one();
            }
            tokio::time::sleep(Duration::from_secs(1 << opened)).await;
        }
    }

    /// Closes it politely and leaves nothing behind. Bounded by the transport's own graces.
    pub(crate) async fn close(&self) {
        self.closed.cancel();
        if let Some(mut service) = self.service.lock().await.take() {
            let _ = service.close_with_timeout(Duration::from_secs(6)).await;
        }
    }

    async fn send(&self, request: ClientRequest) -> Result<RequestHandle<RoleClient>, CallFault> {
        if !self.is_open() {
            return Err(CallFault::NotSent);
        }
        let options = PeerRequestOptions::no_options();
        self.peer.send_request_with_option(request, options).await.map_err(|_| CallFault::NotSent)
    }

    async fn last_words(
        &self,
        handle: &mut RequestHandle<RoleClient>,
    ) -> Result<rmcp::model::ServerResult, ServiceError> {
        match tokio::time::timeout(LAST_WORDS, &mut handle.rx).await {
            Ok(Ok(answer)) => answer,
            _ => Err(ServiceError::TransportClosed),
        }
    }

    fn raw_of(&self, answer: Result<(), ServiceError>, id: &RequestId) -> Result<Box<RawValue>, CallFault> {
        match answer {
            Ok(()) => match self.exchange.take(id) {
                Some(Answer::Raw(raw)) => Ok(raw),
                Some(Answer::TooLarge(bytes)) => Err(CallFault::TooLarge(bytes)),
                None => Err(CallFault::Protocol("the server's answer holds no result".to_owned())),
            },
            Err(error) => Err(fault_of(error)),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.closed.cancel();
    }
}

/// What rmcp's error means for the call.
fn fault_of(error: ServiceError) -> CallFault {
    match error {
        // rmcp's own word for a request that was in flight when the session was made anew.
        ServiceError::McpError(error) if error.message.contains("session was re-initialized before") => {
            CallFault::Lost
        }
        ServiceError::McpError(error) => {
            CallFault::Rpc { code: error.code.0, message: error.message.into_owned() }
        }
        ServiceError::TransportSend(error) => {
            http_fault(error.error.as_ref()).map_or(CallFault::Lost, CallFault::Http)
        }
        ServiceError::Timeout { timeout } => CallFault::Timeout(timeout),
        ServiceError::UnexpectedResponse => {
            CallFault::Protocol("the server's answer is of another kind".to_owned())
        }
        _ => CallFault::Lost,
    }
}

/// The HTTP fault inside a transport's error.
pub(crate) fn http_fault(error: &(dyn std::error::Error + 'static)) -> Option<HttpFault> {
    if let Some(fault) = error.downcast_ref::<HttpFault>() {
        return Some(fault.clone());
    }
    match error.downcast_ref::<StreamableHttpError<HttpFault>>()? {
        StreamableHttpError::Client(fault) => Some(fault.clone()),
        StreamableHttpError::SessionExpired | StreamableHttpError::ReinitializationFailed(_) => {
            Some(HttpFault::SessionLost)
        }
        _ => None,
    }
}

/// Forgets a request whose caller went away.
struct SlotGuard<'a> {
    exchange: &'a Exchange,
    id: RequestId,
}

impl Drop for SlotGuard<'_> {
    fn drop(&mut self) {
        self.exchange.abandon(&self.id);
    }
}

/// Counts a call in flight.
struct Busy<'a>(&'a Connection);

impl<'a> Busy<'a> {
    fn new(connection: &'a Connection) -> Self {
        connection.in_flight.fetch_add(1, Ordering::Relaxed);
        Busy(connection)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let now = u64::try_from(self.0.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.used.store(now, Ordering::Relaxed);
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
