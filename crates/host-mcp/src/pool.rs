//! All servers of an agent.

use crate::cache::DefinitionCache;
use crate::config::{McpServerConfig, McpTransport};
use crate::definition::Route;
use crate::library::{Admits, LibrarySource};
use crate::lifecycle::Ports;
use crate::oauth::{OAuth, OAuthPorts, is_credential_header};
use crate::run_context::{RunContexts, overlay};
use crate::server::{Server, Snapshot};
use crate::source::{McpSource, sort_out};
use crate::status::{ServerState, ServerStatus, TestReport};
use futures_util::future::join_all;
use host_ports::elicit::Elicit;
use host_ports::http::Http;
use host_ports::sample::Sample;
use host_ports::spawn::Spawn;
use host_redact::Redactor;
use host_surface::ToolSource;
use host_vocab::{RunId, ServerName, ToolName};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// When cached definitions are read anew from the server (MCP-16).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refresh {
    /// Before anything is offered: for `validate`, `tools`, `explain`, `mcp list`.
    Blocking,
    /// Behind the back of the first run, once in a process, where they are older than this.
    Background {
        /// The age from which on they are read anew.
        older_than: Duration,
    },
    /// Only when the server is connected to for a call.
    Never,
}

/// What a pool may be told besides its servers.
#[derive(Clone)]
pub struct PoolOptions {
    /// The host's own variables, out of which each stdio server is given the safe list (MCP-6).
    pub host_env: BTreeMap<String, String>,
    /// Variables that win over every entry (CTX-1).
    pub overlay: BTreeMap<String, String>,
    /// A folder that holds one folder for each confined server, by its name: its private, writable `HOME`
    /// (MCP-6). Whoever sets this makes the folders. `None` = the sandbox's own short-lived home.
    pub homes: Option<PathBuf>,
    /// Folders that servers are told of as roots; empty = roots are not announced. Some servers replace the
    /// folders of their command line by these.
    pub roots: Vec<PathBuf>,
    /// Where definitions outlive the process.
    pub cache: Option<Arc<dyn DefinitionCache>>,
    /// When cached definitions are read anew.
    pub refresh: Refresh,
    /// How long a connection may be idle before it is closed.
    pub idle_close: Duration,
    /// Who is asked what servers want of a person in the middle of a call (MCP-14); `None` = it is not
    /// announced, and declined.
    pub elicit: Option<Arc<dyn Elicit>>,
    /// Who writes what servers with `sampling` want of the agent's model (MCP-14); `None` = sampling is off.
    pub model: Option<Arc<dyn Sample>>,
    /// Who knows what each run lends to servers with `run_context` (CTX-1).
    pub contexts: Option<Arc<dyn RunContexts>>,
    /// Logins to remote servers whose entry has no credential (MCP-15); `None` = there are none.
    pub oauth: Option<OAuthPorts>,
    /// What no error, status or log line may carry: servers print and send back what they were given.
    pub redactor: Arc<Redactor>,
}

impl Default for PoolOptions {
    fn default() -> Self {
        PoolOptions {
            host_env: BTreeMap::new(),
            overlay: BTreeMap::new(),
            homes: None,
            roots: Vec::new(),
            cache: None,
            refresh: Refresh::Background { older_than: Duration::from_secs(60) },
            idle_close: Duration::from_secs(900),
            elicit: None,
            model: None,
            contexts: None,
            oauth: None,
            redactor: Arc::default(),
        }
    }
}

/// All servers of an agent. Connections are shared by its runs and end with it.
pub struct McpPool {
    sources: Vec<Arc<McpSource>>,
}

impl McpPool {
    /// A pool over declared servers. Nothing is started yet. Names must differ; of two entries with one name
    /// the first counts.
    pub fn new(
        servers: Vec<McpServerConfig>,
        spawn: Arc<dyn Spawn>,
        http: Arc<dyn Http>,
        options: PoolOptions,
    ) -> Self {
        let ports = Ports {
            spawn,
            http,
            host_env: Arc::new(options.host_env),
            overlay: Arc::new(options.overlay),
            lent: Arc::default(),
            oauth: None,
            homes: options.homes,
            roots: options.roots.into(),
            elicit: options.elicit,
            model: options.model,
            redactor: options.redactor,
        };
        let mut sources: Vec<Arc<McpSource>> = Vec::new();
        for config in servers {
            if sources.iter().any(|it| *it.server_name() == config.name) {
                continue;
            }
            let cache = options.cache.clone();
            let mut ports = ports.clone();
            ports.oauth = oauth_of(&config, options.oauth.as_ref());
            if config.takes_run_context() {
                let mut blank = overlay(None);
                blank.extend(ports.overlay.iter().map(|(name, value)| (name.clone(), value.clone())));
                ports.overlay = Arc::new(blank);
            }
            let server = Server::new(config, ports, cache, options.refresh, options.idle_close);
            sources.push(Arc::new(McpSource::new(server, options.contexts.clone())));
        }
        McpPool { sources }
    }

    /// One source for each server, for sealing.
    pub fn sources(&self) -> Vec<Arc<dyn ToolSource>> {
        self.sources.iter().map(|source| Arc::clone(source) as Arc<dyn ToolSource>).collect()
    }

    /// Resources and prompts of the servers that `admits` lets through, as two tools; none where there are no servers.
    pub fn library(&self, admits: Admits) -> Option<Arc<dyn ToolSource>> {
        let there = !self.sources.is_empty();
        there.then(|| Arc::new(LibrarySource::new(self.sources.clone(), admits)) as Arc<dyn ToolSource>)
    }

    /// Connects to every server and lists its tools, all at once; each waits at most its own `timeout`. The
    /// status says afterwards what came of it (MCP-4).
    pub async fn discover(&self) {
        join_all(self.sources.iter().map(|source| source.server.connection(Duration::ZERO))).await;
    }

    /// The servers marked `required` that can't be used right now, with the cause: a run does not go on without
    /// them. Ask after sealing or [`McpPool::discover`].
    pub fn required_down(&self) -> Vec<(ServerName, String)> {
        let required = self.sources.iter().filter(|source| source.server.config.required);
        required
            .filter_map(|source| {
                let why = source.server.down()?;
                Some((source.server_name().clone(), source.server.shown(&why)))
            })
            .collect()
    }

    /// What is known of each server, in the order of the config.
    pub fn status(&self) -> Vec<ServerStatus> {
        self.sources.iter().map(|source| status_of(&source.server)).collect()
    }

    /// The local names of the tools that a server offers, as far as they are known.
    pub fn offered(&self, name: &str) -> Vec<ToolName> {
        let Some(source) = self.sources.iter().find(|it| it.server_name().as_str() == name) else {
            return Vec::new();
        };
        let Some(definitions) = source.server.snapshot().definitions else { return Vec::new() };
        let (names, _left_out) = sort_out(&source.server.config, &definitions);
        names.into_iter().filter_map(|name| ToolName::parse(name).ok()).collect()
    }

    /// Connects to one server apart from everything else, lists its tools and closes again; a quarantine ends
    /// if that works. `None` = no server of that name.
    pub async fn test(&self, name: &str) -> Option<TestReport> {
        let source = self.sources.iter().find(|it| it.server_name().as_str() == name)?;
        let begun = Instant::now();
        let (result, noise, stderr_tail) = source.server.test().await;
        let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut report = TestReport {
            name: name.to_owned(),
            error: None,
            era: None,
            revision: None,
            server: None,
            took_ms,
            advertised: 0,
            tools: Vec::new(),
            left_out: Vec::new(),
            noise,
            stderr_tail,
        };
        match result {
            Err(error) => report.error = Some(source.server.shown(&error)),
            Ok(definitions) => {
                let (tools, left_out) = sort_out(&source.server.config, &definitions);
                report.era = Some(era_of(definitions.route));
                report.advertised = definitions.advertised();
                report.tools = tools;
                report.left_out = left_out;
                let named = format!("{} {}", definitions.server_name, definitions.server_version);
                report.server = Some(named.trim().to_owned());
                report.revision = Some(definitions.revision);
            }
        }
        Some(report)
    }

    /// Ends the servers that were started for one run, and waits until they are gone (CTX-2). Takes a few
    /// seconds at most.
    pub async fn end_run(&self, run: &RunId) {
        join_all(self.sources.iter().map(|source| source.end_run(run))).await;
    }

    /// Ends every server and what it started. Takes a few seconds at most.
    pub async fn shutdown(&self) {
        join_all(self.sources.iter().map(|source| source.shutdown())).await;
    }
}

/// The login of a remote server. A configured credential is used or refused, never replaced (T3-11).
fn oauth_of(config: &McpServerConfig, ports: Option<&OAuthPorts>) -> Option<Arc<OAuth>> {
    let McpTransport::Http(http) = &config.transport else { return None };
    let ports = ports.filter(|_| !http.headers.keys().any(|name| is_credential_header(name.as_str())))?;
    Some(Arc::new(OAuth::new(http.url.clone(), ports.clone())))
}

fn status_of(server: &Server) -> ServerStatus {
    let Snapshot {
        definitions,
        cached,
        connected,
        quarantined,
        failures,
        error,
        starts,
        pid,
        noise,
        stderr_tail,
    } = server.snapshot();
    let state = match (quarantined, failures > 0, connected, definitions.is_some()) {
        (true, ..) => ServerState::Quarantined,
        (_, true, ..) => ServerState::Degraded,
        (_, _, true, _) => ServerState::Connected,
        (_, _, _, true) => ServerState::Discovered,
        _ => ServerState::Configured,
    };
    let (offered, left_out) = match &definitions {
        Some(definitions) => sort_out(&server.config, definitions),
        None => Default::default(),
    };
    ServerStatus {
        name: server.config.name.to_string(),
        transport: server.transport(),
        required: server.config.required,
        state,
        era: definitions.as_ref().map(|it| era_of(it.route)),
        revision: definitions.as_ref().map(|it| it.revision.clone()),
        advertised: definitions.as_ref().map_or(0, |it| it.advertised()),
        offered: offered.len(),
        left_out,
        error: error.map(|error| server.shown(&error)),
        cached,
        starts,
        failures,
        pid,
        noise,
        stderr_tail,
    }
}

const fn era_of(route: Route) -> &'static str {
    match route {
        Route::Modern => "modern",
        Route::Legacy => "legacy",
        Route::LegacySse => "legacy-sse",
    }
}
