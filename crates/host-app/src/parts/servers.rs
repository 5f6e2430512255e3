//! MCP servers: from their entries to a pool, and what is broken by name.

use crate::parts::plugins::Plugins;
use crate::parts::vault::FileVault;
use crate::state::StateFolder;
use host_config::environment::Environment;
use host_config::mcp::{
    HttpKind as SpecHttpKind, HttpSpec, McpEra, McpServerSpec, McpTransport as SpecTransport, ServerSandbox,
    StdioSpec,
};
use host_config::{AgentSpec, Origin};
use host_mcp::{
    DefinitionCache, ENTRY_BYTES_MAX, EraChoice, HttpConfig, HttpFor, HttpKind, McpPool, McpServerConfig,
    McpTransport, OAuthIdentity, OAuthPorts, PoolOptions, Refresh, RunContexts, StdioConfig,
};
use host_net::{NetHttp, PublicOnly};
use host_policy::{Subject, ToolPolicy};
use host_ports::BoxFuture;
use host_ports::elicit::Elicit;
use host_ports::http::{Http, Redirects};
use host_ports::sample::Sample;
use host_ports::spawn::{Confine, Spawn};
use host_redact::Redactor;
use host_surface::{Offer, RunFacts, ToolSource, WithheldBy};
use host_vocab::{Secret, ToolName, text};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// Every server and every plugin of an agent.
pub(crate) struct Servers {
    pub(crate) pool: Arc<McpPool>,
    /// The same for plugins: their names are apart from those of servers (LIB-2).
    pub(crate) plugins: McpPool,
    pub(crate) broken: Vec<Broken>,
    pub(crate) broken_plugins: Vec<Broken>,
    /// Servers without which no run begins.
    pub(crate) required: Vec<String>,
}

/// What discovery and token requests go out by: the open Internet and the server's own host, so that a server can't
/// send the host to an address inside.
pub(crate) fn oauth_http() -> HttpFor {
    Arc::new(|url: &Url| {
        let own = url.host_str().map(str::to_owned);
        Arc::new(NetHttp::confined(Arc::new(PublicOnly::except(own)))) as Arc<dyn Http>
    })
}

/// What servers need of the world.
pub(crate) struct ServerPorts {
    pub(crate) spawn: Arc<dyn Spawn>,
    pub(crate) http: Arc<dyn Http>,
    pub(crate) redactor: Arc<Redactor>,
    /// Who is asked what they want of a person.
    pub(crate) elicit: Arc<dyn Elicit>,
    /// Who writes what they want of the agent's model.
    pub(crate) model: Arc<dyn Sample>,
    /// Who knows what runs lend them.
    pub(crate) contexts: Arc<dyn RunContexts>,
}

/// A server or plugin that can't even be tried.
#[derive(Debug, Clone)]
pub(crate) struct Broken {
    pub(crate) name: String,
    pub(crate) why: String,
    /// The tools that a plugin's manifest names all the same.
    pub(crate) tools: Vec<ToolName>,
}

impl Servers {
    pub(crate) fn of(
        spec: &AgentSpec,
        env: &Environment,
        state: &StateFolder,
        plugins: &Plugins,
        ports: ServerPorts,
        refresh: Refresh,
    ) -> Self {
        let mut broken: Vec<Broken> = spec
            .mcp
            .broken
            .iter()
            .map(|entry| Broken {
                name: entry.name.clone(),
                why: entry.reasons.join("; "),
                tools: Vec::new(),
            })
            .collect();
        let mut servers = Vec::new();
        let mut required: Vec<String> =
            spec.mcp.broken.iter().filter(|entry| entry.required).map(|entry| entry.name.clone()).collect();
        for entry in spec.mcp.servers.iter().filter(|entry| !entry.disabled) {
            if entry.required {
                required.push(entry.name.to_string());
            }
            match config(entry, spec, env) {
                Ok(config) => servers.push(config),
                Err(why) => broken.push(Broken { name: entry.name.to_string(), why, tools: Vec::new() }),
            }
        }
        let options = PoolOptions {
            host_env: env.clone().into_iter().collect(),
            cache: Some(Arc::new(DiskCache { folder: state.definitions() })),
            homes: homes(state.server_homes(), spec, &servers),
            refresh,
            elicit: Some(ports.elicit),
            model: Some(ports.model),
            roots: vec![spec.places.workspace.clone()],
            contexts: Some(ports.contexts),
            oauth: Some(OAuthPorts {
                vault: Arc::new(FileVault { folder: state.grants() }),
                http: oauth_http(),
                identity: OAuthIdentity::default(),
                consent: None,
            }),
            redactor: ports.redactor,
            ..PoolOptions::default()
        };
        let of_plugins = PoolOptions {
            homes: homes(state.plugin_homes(), spec, &plugins.usable),
            model: None,
            contexts: None,
            oauth: None,
            ..options.clone()
        };
        let (spawn, http) = (Arc::clone(&ports.spawn), Arc::clone(&ports.http));
        Servers {
            plugins: McpPool::new(plugins.usable.clone(), spawn, http, of_plugins),
            pool: Arc::new(McpPool::new(servers, ports.spawn, ports.http, options)),
            broken,
            broken_plugins: plugins.broken.clone(),
            required,
        }
    }

    /// Ends every server and every plugin. Takes a few seconds at most.
    pub(crate) async fn shutdown(&self) {
        futures_util::future::join(self.pool.shutdown(), self.plugins.shutdown()).await;
    }

    /// Every source: one for each server and each plugin, and one for each that is broken.
    pub(crate) fn sources(&self) -> Vec<Arc<dyn ToolSource>> {
        let broken = self.broken.iter().map(BrokenSource::server);
        let broken = broken.chain(self.broken_plugins.iter().map(BrokenSource::plugin));
        let broken = broken.map(|it| Arc::new(it) as Arc<dyn ToolSource>);
        self.pool.sources().into_iter().chain(self.plugins.sources()).chain(broken).collect()
    }

    /// Resources and prompts of the servers that a policy doesn't deny as a whole (POL-7).
    pub(crate) fn library(&self, policy: &ToolPolicy) -> Option<Arc<dyn ToolSource>> {
        let policy = policy.clone();
        self.pool.library(Arc::new(move |server| {
            // A name that no entry spells: rules for the whole server count alone.
            let any = ToolName::parse(format!("mcp__{server}__"));
            any.is_ok_and(|local| policy.judge(Subject::External { server, local: &local }).allowed)
        }))
    }

    /// The first required server that is not usable, with its cause.
    pub(crate) fn missing_required(&self) -> Option<String> {
        let broken = self.broken.iter().find(|it| self.required.contains(&it.name));
        let missing = broken.map(|it| (it.name.clone(), it.why.clone())).or_else(|| {
            let down = self.pool.required_down().into_iter().next();
            down.map(|(name, why)| (name.to_string(), why))
        });
        missing.map(|(name, why)| format!("the required MCP server {name} can't be used: {why}"))
    }
}

/// What of a server's entry must not be written anywhere.
pub(crate) fn secrets_of(server: &McpServerSpec) -> Vec<Secret> {
    match &server.transport {
        SpecTransport::Stdio(stdio) => stdio
            .env
            .iter()
            .flat_map(|(name, value)| match host_redact::is_credential_variable(name) {
                true => vec![value.clone()],
                false => host_redact::secrets_within(value.expose()),
            })
            .collect(),
        SpecTransport::Http(http) => {
            http.headers.iter().flat_map(|(_, value)| header_secrets(value)).collect()
        }
    }
}

/// A header's value, and what stands behind its scheme (`Bearer …`): either of them may turn up somewhere.
pub(crate) fn header_secrets(value: &Secret) -> Vec<Secret> {
    let behind = value.expose().trim().split_once(' ').map(|(_, rest)| Secret::new(rest.trim()));
    std::iter::once(value.clone()).chain(behind).collect()
}

/// How long a call may be silent, where somebody set it for the whole agent.
pub(crate) fn call_timeout_ms(spec: &AgentSpec) -> Option<u64> {
    let set = spec.settings.get("tools.mcpCallTimeoutMs").is_some_and(|it| it.origin != Origin::Default);
    set.then_some(spec.tools.mcp_call_timeout_ms)
}

fn config(entry: &McpServerSpec, spec: &AgentSpec, env: &Environment) -> Result<McpServerConfig, String> {
    let transport = match &entry.transport {
        SpecTransport::Stdio(stdio) => McpTransport::Stdio(stdio_config(stdio)),
        SpecTransport::Http(http) => McpTransport::Http(http_config(http, env)?),
    };
    let tools = &spec.tools;
    // The agent-wide setting stands in for an entry that says nothing, where somebody set it.
    let agent_wide = call_timeout_ms(spec).filter(|_| !entry.timeout_is_set);
    let timeout = agent_wide.unwrap_or(entry.timeout_ms);
    Ok(McpServerConfig {
        timeout: Duration::from_millis(timeout),
        required: entry.required,
        sampling: spec.tools.sampling_servers.iter().any(|name| *name == entry.name.as_str()),
        run_context: spec.tools.request_context_servers.iter().any(|name| *name == entry.name.as_str()),
        confine: confine(entry),
        reset_timeout_on_progress: entry.reset_timeout_on_progress,
        call_total_max: Duration::from_millis(tools.mcp_call_max_total_timeout_ms),
        era: match entry.era {
            McpEra::Auto => EraChoice::Auto,
            McpEra::Legacy => EraChoice::Legacy,
            McpEra::Modern => EraChoice::Modern,
        },
        ..McpServerConfig::of(entry.name.clone(), transport)
    })
}

fn stdio_config(stdio: &StdioSpec) -> StdioConfig {
    StdioConfig {
        command: stdio.command.clone(),
        args: stdio.args.clone(),
        env: stdio.env.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())).collect(),
        inherit_env: stdio.inherit_env.clone(),
        cwd: stdio.cwd.clone(),
    }
}

/// Headers with their values, from the entry, the environment and files. A value that isn't there costs
/// this one server.
fn http_config(http: &HttpSpec, env: &Environment) -> Result<HttpConfig, String> {
    let mut headers = http::HeaderMap::new();
    let mut put = |name: &str, value: &str, from: &str| -> Result<(), String> {
        let name = http::HeaderName::try_from(name).map_err(|_| format!("{name} is no header name"))?;
        let mut value = http::HeaderValue::try_from(value.trim()).map_err(|_| {
            format!("the value of the header {name} ({from}) has characters that no header may have")
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    };
    for (name, value) in &http.headers {
        put(name, value.expose(), "literal")?;
    }
    for (name, variable) in &http.headers_from_env {
        let value = env.get(variable).filter(|value| !value.trim().is_empty());
        let value =
            value.ok_or_else(|| format!("the variable {variable} for its header {name} is not set"))?;
        put(name, value, variable)?;
    }
    for (name, path) in &http.headers_from_file {
        let shown = path.display();
        let bytes = crate::load::read(path).map_err(|error| {
            format!("the file {shown} for its header {name} can't be read: {}", error.kind())
        })?;
        let value = String::from_utf8(bytes)
            .map_err(|_| format!("the file {shown} for its header {name} is no text"))?;
        put(name, &value, "file")?;
    }
    Ok(HttpConfig {
        url: http.url.clone(),
        kind: match http.kind {
            SpecHttpKind::Auto => HttpKind::Auto,
            SpecHttpKind::Http => HttpKind::Streamable,
            SpecHttpKind::Sse => HttpKind::Sse,
        },
        headers,
        redirects: Redirects::SameOrigin(3),
    })
}

/// A private home for each confined server or plugin, below the state folder: caches of `npx` and `uvx` outlive it there
/// (MCP-6). None where the sandbox's children are another user, who could not enter it: then a server has the
/// sandbox's own short-lived home.
fn homes(homes: PathBuf, spec: &AgentSpec, servers: &[McpServerConfig]) -> Option<PathBuf> {
    let own = host_files::state::owner_of(&spec.places.workspace) == Some(host_files::state::user_id());
    for server in servers.iter().filter(|it| own && matches!(it.confine, Confine::Sandbox { .. })) {
        if let Err(error) = host_files::state::ensure_private_dir(&homes.join(server.name.as_str())) {
            tracing::warn!(server = %server.name, %error, "the server's home could not be made");
            return None;
        }
    }
    own.then_some(homes)
}

/// A server runs in the agent's sandbox with a private writable home of its own, its program and script
/// readable, unless its entry says otherwise (MCP-6).
fn confine(entry: &McpServerSpec) -> Confine {
    let SpecTransport::Stdio(stdio) = &entry.transport else { return Confine::Off };
    let (mut read, write, network) = match &entry.sandbox {
        Some(ServerSandbox::Off) => return Confine::Off,
        Some(ServerSandbox::Confined { readable_roots, writable_roots, network }) => {
            (readable_roots.clone(), writable_roots.clone(), network.map(|it| it.as_str().to_owned()))
        }
        None => (Vec::new(), Vec::new(), None),
    };
    read.extend(installed_at(stdio));
    Confine::Sandbox { read, write, own: Vec::new(), network }
}

/// Where a server's own program and scripts lie: the folder of an absolute program or script, and for a
/// script below `node_modules` or a Python environment that whole installation.
fn installed_at(stdio: &StdioSpec) -> Vec<PathBuf> {
    let absolute = std::iter::once(stdio.command.as_str())
        .chain(stdio.args.iter().map(String::as_str))
        .map(PathBuf::from)
        .filter(|path| path.is_absolute() && host_files::state::is_file(path));
    let mut folders = Vec::new();
    for path in absolute {
        let whole = path.ancestors().skip(1).find(|above| {
            above.file_name().is_some_and(|name| name == "node_modules")
                || host_files::state::is_file(&above.join("pyvenv.cfg"))
        });
        let folder = whole.or(path.parent()).map(PathBuf::from);
        folders.extend(folder.filter(|it| it.components().count() > 2));
    }
    folders.sort();
    folders.dedup();
    folders
}

/// A server or plugin that can't be tried: `explain` and the model's errors name it with its cause (MCP-4, T1-03).
struct BrokenSource {
    source: String,
    rows: Vec<String>,
    why: String,
}

impl BrokenSource {
    fn server(broken: &Broken) -> Self {
        let name = text::one_line(&broken.name, 64);
        BrokenSource {
            source: format!("mcp:{name}"),
            rows: vec![format!("mcp__{name}__*")],
            why: broken.why.clone(),
        }
    }

    fn plugin(broken: &Broken) -> Self {
        let source = format!("plugin:{}", text::one_line(&broken.name, 64));
        let tools = broken.tools.iter().map(ToString::to_string);
        let rows = std::iter::once(source.clone()).chain(tools).collect();
        BrokenSource { source, rows, why: broken.why.clone() }
    }
}

impl ToolSource for BrokenSource {
    fn name(&self) -> String {
        self.source.clone()
    }

    fn offers<'a>(&'a self, _run: &'a RunFacts) -> BoxFuture<'a, Vec<Offer>> {
        let rows = self.rows.iter();
        let offers = rows.map(|row| Offer::withheld(row, WithheldBy::Source, self.why.clone())).collect();
        Box::pin(async move { offers })
    }
}

/// Definitions on disk, owner-only. A broken or missing entry is simply asked for again.
struct DiskCache {
    folder: PathBuf,
}

impl DefinitionCache for DiskCache {
    fn load<'a>(&'a self, digest: &'a str) -> BoxFuture<'a, Option<Vec<u8>>> {
        let path = self.folder.join(format!("{digest}.json"));
        Box::pin(async move {
            let read = move || host_files::state::read_bounded(&path, ENTRY_BYTES_MAX as u64).ok();
            tokio::task::spawn_blocking(read).await.ok().flatten()
        })
    }

    fn store<'a>(&'a self, digest: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, ()> {
        let folder = self.folder.clone();
        let path = folder.join(format!("{digest}.json"));
        Box::pin(async move {
            let write = move || {
                let done = host_files::state::ensure_private_dir(&folder)
                    .and_then(|_| host_files::state::write_atomic(&path, &bytes, 0o600));
                if let Err(error) = done {
                    tracing::debug!(%error, "a server's definitions could not be cached");
                }
            };
            let _ = tokio::task::spawn_blocking(write).await;
        })
    }
}
