//! From a declared server to a connection: transport, era, handshake, list.
//!
//! The era of a server is found out by `server/discover` and remembered with its definitions. A server that
//! stays silent at the probe is answered in its stead; one that dies of it is started anew with `initialize`;
//! a URL whose first POST gets a 4xx is tried as HTTP+SSE.

use crate::config::{EraChoice, HttpConfig, HttpKind, McpServerConfig, McpTransport, StdioConfig};
use crate::connection::{Connection, Parts, http_fault};
use crate::definition::{Definitions, Route};
use crate::environment::{EnvironmentError, EnvironmentSources, child_environment};
use crate::exchange::Exchange;
use crate::fault::{ConnectError, HttpFault, line_of};
use crate::handler::{Handler, Listeners};
use crate::install::install_paths;
use crate::legacy_sse::LegacySse;
use crate::oauth::OAuth;
use crate::stderr::Tail;
use crate::stdio::{ChildFacts, StdioTransport};
use crate::streamable::{Endpoint, PortClient};
use host_ports::CancellationToken;
use host_ports::elicit::Elicit;
use host_ports::http::Http;
use host_ports::sample::Sample;
use host_ports::spawn::{Confine, OwnFolder, Spawn, SpawnSpec};
use host_redact::Redactor;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// How long a server may stay silent at the probe, at most.
const PROBE_MAX: Duration = Duration::from_secs(3);

/// What connecting needs of the world.
#[derive(Clone)]
pub(crate) struct Ports {
    pub(crate) spawn: Arc<dyn Spawn>,
    pub(crate) http: Arc<dyn Http>,
    /// The host's own variables, out of which the safe list is taken.
    pub(crate) host_env: Arc<BTreeMap<String, String>>,
    /// Variables that win over every entry (CTX-1).
    pub(crate) overlay: Arc<BTreeMap<String, String>>,
    /// Folders of the host's state that a run lends.
    pub(crate) lent: Arc<[OwnFolder]>,
    /// Tokens for a remote server that wants a login.
    pub(crate) oauth: Option<Arc<OAuth>>,
    /// Where each confined server has a home of its own.
    pub(crate) homes: Option<PathBuf>,
    /// Folders that a server is told of when it asks.
    pub(crate) roots: Arc<[PathBuf]>,
    /// Who is asked what servers want of a person.
    pub(crate) elicit: Option<Arc<dyn Elicit>>,
    /// Who writes what servers want of the agent's model.
    pub(crate) model: Option<Arc<dyn Sample>>,
    /// What no message may carry.
    pub(crate) redactor: Arc<Redactor>,
}

/// What is seen of an attempt from outside, for the message when its time is up.
#[derive(Clone, Default)]
pub(crate) struct Attempt {
    phase: Arc<Mutex<&'static str>>,
    stderr: Arc<Mutex<Tail>>,
}

impl Attempt {
    fn enter(&self, phase: &'static str) {
        *self.phase.lock().unwrap_or_else(|broken| broken.into_inner()) = phase;
    }

    /// The error for an attempt whose time is up.
    pub(crate) fn timed_out(&self, after: Duration) -> ConnectError {
        let phase = *self.phase.lock().unwrap_or_else(|broken| broken.into_inner());
        let phase = if phase.is_empty() { "starting" } else { phase };
        ConnectError::Timeout { after, phase, stderr: self.stderr().line() }
    }

    /// The end of what the child that was started last wrote to stderr.
    pub(crate) fn stderr(&self) -> Tail {
        self.stderr.lock().unwrap_or_else(|broken| broken.into_inner()).clone()
    }

    /// A fresh end for the next child.
    fn next_child(&self, redactor: &Arc<Redactor>) -> Tail {
        let tail = Tail::new(Arc::clone(redactor));
        *self.stderr.lock().unwrap_or_else(|broken| broken.into_inner()) = tail.clone();
        tail
    }
}

/// Connects and lists. The caller holds the bound; dropping this ends what was started.
pub(crate) async fn establish(
    config: &McpServerConfig,
    ports: &Ports,
    known: Option<Route>,
    attempt: &Attempt,
) -> Result<(Connection, Definitions), ConnectError> {
    let route = match config.era {
        EraChoice::Legacy => Some(Route::Legacy),
        EraChoice::Modern => Some(Route::Modern),
        EraChoice::Auto => known,
    };
    let label = config.source_name();
    let job = Job { config, ports, attempt, label };
    match &config.transport {
        McpTransport::Stdio(stdio) => job.stdio(stdio, route).await,
        McpTransport::Http(http) => job.http(http, route).await,
    }
}

struct Job<'a> {
    config: &'a McpServerConfig,
    ports: &'a Ports,
    attempt: &'a Attempt,
    label: String,
}

type Established = Result<(Connection, Definitions), ConnectError>;

impl Job<'_> {
    /// How long the answer to a probe is waited for; only where there is another way to say hello.
    fn probe(&self, mode: &ClientLifecycleMode) -> Option<Duration> {
        let probing = matches!(mode, ClientLifecycleMode::Auto { .. });
        probing.then(|| PROBE_MAX.min(self.config.timeout / 4))
    }

    async fn stdio(&self, stdio: &StdioConfig, route: Option<Route>) -> Established {
        let mode = lifecycle(route);
        let pinned = self.config.era != EraChoice::Auto;
        let (error, late_discover) = match self.stdio_once(stdio, mode.clone()).await {
            Ok(done) => return Ok(done),
            Err(failed) => failed,
        };
        if pinned || error.is_final() {
            return Err(error);
        }
        let next = match mode {
            // It answered the probe after all, too late: it is modern.
            ClientLifecycleMode::Auto { .. } if late_discover => lifecycle(Some(Route::Modern)),
            // It may have died of the probe, or changed its era since it was remembered.
            ClientLifecycleMode::Auto { .. } if died(&error) => ClientLifecycleMode::Initialize,
            ClientLifecycleMode::Auto { .. } => return Err(error),
            ClientLifecycleMode::Discover { .. } => ClientLifecycleMode::Initialize,
            _ => lifecycle(None),
        };
        // The first failure is the one to tell: the second try is only another way to say hello.
        self.stdio_once(stdio, next).await.map_err(|(second, _)| if died(&error) { second } else { error })
    }

    async fn stdio_once(
        &self,
        stdio: &StdioConfig,
        mode: ClientLifecycleMode,
    ) -> Result<(Connection, Definitions), (ConnectError, bool)> {
        self.attempt.enter("starting");
        let spec = self.spec(stdio).map_err(|error| (ConnectError::Config(error.to_string()), false))?;
        let spawned =
            self.ports.spawn.spawn(spec).await.map_err(|error| (ConnectError::Spawn(error), false))?;
        let exchange = Arc::new(Exchange::new(self.label.clone(), false));
        let stderr = self.attempt.next_child(&self.ports.redactor);
        let transport =
            StdioTransport::new(&self.label, spawned, Arc::clone(&exchange), stderr, self.probe(&mode));
        let child = transport.facts();
        let parts = self.parts(Arc::clone(&exchange), child.closed.clone(), Some(child.clone()));
        let result = self.serve(transport, mode, parts, false).await;
        match result {
            Ok(done) => Ok(done),
            Err(error) => Err((self.with_exit(error, &child).await, exchange.late_discover())),
        }
    }

    /// What is started: under a sandbox with a home of its own, and with its installation to read (MCP-6).
    fn spec(&self, stdio: &StdioConfig) -> Result<SpawnSpec, EnvironmentError> {
        let mut confine = self.config.confine.clone();
        let own_home = self.ports.homes.as_ref().map(|homes| homes.join(self.config.name.as_str()));
        let confined = matches!(confine, Confine::Sandbox { .. });
        let env = child_environment(EnvironmentSources {
            host: &self.ports.host_env,
            inherit: &stdio.inherit_env,
            literal: &stdio.env,
            overlay: &self.ports.overlay,
            confined,
            home: own_home.as_deref(),
        })?;
        if let Confine::Sandbox { read, own, .. } = &mut confine {
            let home = self.ports.host_env.get("HOME").map(Path::new);
            read.extend(install_paths(stdio, home));
            own.extend(own_home.map(|path| OwnFolder { path, writable: true }));
            own.extend(self.ports.lent.iter().cloned());
        }
        Ok(SpawnSpec {
            label: self.label.clone(),
            program: program(stdio),
            args: stdio.args.clone(),
            env,
            cwd: stdio.cwd.clone(),
            confine,
        })
    }

    /// Where the child is gone, how it went says more than that the connection closed.
    async fn with_exit(&self, error: ConnectError, child: &ChildFacts) -> ConnectError {
        match error {
            ConnectError::Exited { phase, .. } => {
                let exit = child.ended().await;
                ConnectError::Exited { exit, stderr: child.stderr.line(), phase }
            }
            other => other,
        }
    }

    async fn http(&self, http: &HttpConfig, route: Option<Route>) -> Established {
        let streamable = if http.kind == HttpKind::Sse
            || (http.kind == HttpKind::Auto && route == Some(Route::LegacySse))
        {
            None
        } else {
            let first = self.streamable(http, lifecycle(route.filter(|it| *it != Route::LegacySse))).await;
            match first {
                // What was remembered may be out of date.
                Err(error) if route.is_some() && self.config.era == EraChoice::Auto && !error.is_final() => {
                    Some(self.streamable(http, lifecycle(None)).await)
                }
                other => Some(other),
            }
        };
        match streamable {
            None => match self.sse(http).await {
                Err(error) if http.kind == HttpKind::Auto && !error.is_final() => {
                    self.streamable(http, lifecycle(None)).await.map_err(|_| error)
                }
                other => other,
            },
            Some(Err(ConnectError::Http(fault @ HttpFault::Status { status: 400..=499, .. })))
                if http.kind == HttpKind::Auto =>
            {
                self.sse(http)
                    .await
                    .map_err(|sse| ConnectError::BothHttp { streamable: fault, sse: Box::new(sse) })
            }
            Some(done) => done,
        }
    }

    async fn streamable(&self, http: &HttpConfig, mode: ClientLifecycleMode) -> Established {
        self.attempt.enter("connecting over streamable HTTP");
        let exchange = Arc::new(Exchange::new(self.label.clone(), true));
        let client = PortClient::new(self.endpoint(http, self.probe(&mode)), Arc::clone(&exchange));
        let config = PortClient::transport_config(&http.url, self.config.timeout);
        let transport = StreamableHttpClientTransport::with_client(client, config);
        let parts = self.parts(exchange, CancellationToken::new(), None);
        self.serve(transport, mode, parts, false).await
    }

    async fn sse(&self, http: &HttpConfig) -> Established {
        self.attempt.enter("connecting over HTTP+SSE");
        let exchange = Arc::new(Exchange::new(self.label.clone(), false));
        let closed = CancellationToken::new();
        let transport = LegacySse::open(self.endpoint(http, None), Arc::clone(&exchange), closed.clone())
            .await
            .map_err(ConnectError::Http)?;
        let parts = self.parts(exchange, closed, None);
        self.serve(transport, ClientLifecycleMode::Initialize, parts, true).await
    }

    fn endpoint(&self, http: &HttpConfig, probe: Option<Duration>) -> Endpoint {
        Endpoint {
            http: Arc::clone(&self.ports.http),
            url: http.url.clone(),
            headers: http.headers.clone(),
            redirects: http.redirects,
            oauth: self.ports.oauth.clone(),
            head_timeout: self.config.call_total_max.max(self.config.timeout) + Duration::from_secs(5),
            probe,
        }
    }

    fn parts(&self, exchange: Arc<Exchange>, closed: CancellationToken, child: Option<ChildFacts>) -> Parts {
        Parts {
            exchange,
            listeners: Arc::new(Listeners::default()),
            list_changed: Arc::new(Notify::new()),
            closed,
            child,
        }
    }

    /// Handshake and list.
    async fn serve<T>(&self, transport: T, mode: ClientLifecycleMode, parts: Parts, sse: bool) -> Established
    where
        T: Transport<RoleClient> + 'static,
    {
        self.attempt.enter("shaking hands");
        let handler = Handler::new(
            self.label.clone(),
            Arc::clone(&parts.listeners),
            Arc::clone(&parts.list_changed),
            Arc::clone(&self.ports.roots),
            self.ports.elicit.is_some(),
            self.ports.model.is_some() && self.config.sampling,
        );
        let over_http = parts.child.is_none();
        let service = Box::pin(handler.serve_with_lifecycle(transport, mode)).await.map_err(|error| {
            match handshake_error(error) {
                ConnectError::Exited { .. } if over_http => ConnectError::Http(HttpFault::Closed),
                error => error,
            }
        })?;
        let connection = Connection::new(service, parts, sse)?;
        self.attempt.enter("listing its tools");
        let definitions = connection.define().await?;
        Ok((connection, definitions))
    }
}

/// A path is meant from the server's own folder, whoever starts it from where (T1-09).
fn program(stdio: &StdioConfig) -> String {
    if stdio.command.contains('/') {
        stdio.cwd.join(&stdio.command).to_string_lossy().into_owned()
    } else {
        stdio.command.clone()
    }
}

fn died(error: &ConnectError) -> bool {
    matches!(error, ConnectError::Exited { .. })
}

fn lifecycle(route: Option<Route>) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match route {
        Some(Route::Modern) => ClientLifecycleMode::Discover { preferred_versions },
        Some(Route::Legacy | Route::LegacySse) => ClientLifecycleMode::Initialize,
        None => ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
    }
}

fn handshake_error(error: ClientInitializeError) -> ConnectError {
    const PHASE: &str = "shaking hands";
    match error {
        ClientInitializeError::ConnectionClosed(_) => {
            ConnectError::Exited { exit: None, stderr: String::new(), phase: PHASE }
        }
        ClientInitializeError::TransportError { error, .. } => match http_fault(error.error.as_ref()) {
            Some(fault) => ConnectError::Http(fault),
            None => ConnectError::Exited { exit: None, stderr: String::new(), phase: PHASE },
        },
        ClientInitializeError::JsonRpcError(error) => {
            ConnectError::Rpc { code: error.code.0, message: line_of(&error.message), phase: PHASE }
        }
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let versions: Vec<&str> = server_supported.iter().map(|it| it.as_str()).collect();
            ConnectError::Revision(line_of(&versions.join(", ")))
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => handshake_error(*fallback),
        ClientInitializeError::Cancelled => ConnectError::Stopped,
        _ => ConnectError::Protocol("the server's answer to the handshake is not of the protocol".to_owned()),
    }
}
