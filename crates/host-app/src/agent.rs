//! An opened agent: every part made, joined, and ready for turns.

use crate::clock::SystemClock;
use crate::desks::Desks;
use crate::operator::protocol::{ChannelStatus, Status};
use crate::parts::governance::Governance;
use crate::parts::models::{self, ModelNote};
use crate::parts::prompt::Texts;
use crate::parts::servers::Servers;
use crate::parts::sources::{AppTools, OtherDialect};
use crate::parts::store::Store;
use crate::parts::web;
use crate::parts::{history, sandbox};
use crate::state::StateFolder;
use crate::surfaces::TurnSurfaces;
use crate::turn_lock::TurnLock;
use host_config::{AgentSpec, Loaded, not_built_yet};
use host_event::{Fact, Scope};
use host_files::{AgentFiles, KeptFolder};
use host_history::CeilingLog;
use host_mcp::{McpPool, Refresh};
use host_net::{NetHttp, NetSettings};
use host_policy::{ApprovalRules, ToolPolicy};
use host_ports::CancellationToken;
use host_ports::ask::{Ask, NobodyToAsk};
use host_ports::clock::Clock as _;
use host_ports::http::Http;
use host_ports::kept::KeptOutput;
use host_ports::log::Recorder;
use host_ports::model::ToolSpec;
use host_ports::operator::OperatorDesk;
use host_ports::sessions::SessionError;
use host_run::{
    Engine, EventSink, ImageInput, RunInput, RunOutcome, SessionHub, SurfaceError, Surfaces as _, TurnContext,
};
use host_sandbox::{Effective, EngineKind, Sandbox, SandboxStatus};
use host_store::{EventLog, Incarnation, PromptVault};
use host_surface::{
    Arguments, CallRequest, Explanation, Offer, ProgressSink, RunFacts, Settled, Surface, ToolSource,
};
use host_tools::{Builtin, BuiltinPorts, CommandSettings, ReadSkill};
use host_turn::{AttachmentKind, Channel, Ending, Trigger, Turn, Usage};
use host_vocab::{CallId, ConversationId, Diagnostic, RunId};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The longest that any call may take; tools have shorter bounds of their own.
pub(crate) const CALL_DEADLINE: Duration = Duration::from_secs(2_700);
/// The largest picture that is shown to a model, in bytes.
const IMAGE_BYTES_MAX: u64 = 20 * 1024 * 1024;

/// How to open an agent.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// Whether it must have a model (for `run`, `chat`, `start`), or not (`explain`, `call`).
    pub needs_model: bool,
    /// Whether what servers offer is asked anew before it is shown.
    pub fresh_definitions: bool,
    /// How often a host of this agent was started.
    pub generation: u64,
    /// Whether a supervisor brings it back.
    pub supervised: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions { needs_model: true, fresh_definitions: false, generation: 0, supervised: false }
    }
}

/// Why an agent could not be opened: every reason, with its place.
#[derive(Debug)]
pub struct OpenError(pub Vec<Diagnostic>);

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&all.join("\n"))
    }
}

impl std::error::Error for OpenError {}

/// Why an agent could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// No surface could be sealed.
    #[error(transparent)]
    Surface(#[from] SurfaceError),
    /// The call could not be put on record.
    #[error("nothing was run, because it could not be recorded: {0}")]
    Log(#[from] host_ports::log::LogError),
}

/// The people at the other end of a turn.
#[derive(Clone)]
pub struct People {
    /// Who is asked for approvals.
    pub ask: Arc<dyn Ask>,
    /// Who plays the model, where it is `manual:operator`.
    pub desk: Option<Arc<dyn OperatorDesk>>,
}

impl People {
    /// Nobody is there.
    pub fn nobody() -> Self {
        People { ask: Arc::new(NobodyToAsk), desk: None }
    }
}

/// An opened agent. Clones share everything; [`Agent::close`] ends it for all of them.
#[derive(Clone)]
pub struct Agent {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) name: String,
    pub(crate) recorder: Recorder,
    pub(crate) keep: Arc<dyn KeptOutput>,
    pub(crate) sources: Vec<Arc<dyn ToolSource>>,
    pub(crate) policy: ToolPolicy,
    pub(crate) approvals: Arc<ApprovalRules>,
    pub(crate) call_deadline: Duration,
    pub(crate) servers: Option<Servers>,
    pub(crate) engine: Option<Engine>,
    pub(crate) hub: Arc<SessionHub>,
    pub(crate) incarnation: String,
    pub(crate) texts: Texts,
    pub(crate) desks: Arc<Desks>,
    pub(crate) model: ModelNote,
    pub(crate) home: Option<Home>,
    pub(crate) started_at: i64,
    pub(crate) active: AtomicU64,
}

/// What an agent has that lives in a folder, and one that was built by a program may not have.
pub(crate) struct Home {
    pub(crate) spec: AgentSpec,
    pub(crate) state: StateFolder,
    pub(crate) log: Arc<EventLog>,
    pub(crate) ceiling: Arc<CeilingLog>,
    pub(crate) vault: Arc<PromptVault>,
    pub(crate) _incarnation: Incarnation,
    pub(crate) sandbox: Sandbox,
    pub(crate) governance_line: String,
    pub(crate) options: OpenOptions,
    /// What the settings were read from, as a digest.
    pub(crate) settings: String,
}

impl Agent {
    /// Makes every part of a loaded agent. Nothing is started that isn't needed yet: no engine of the
    /// sandbox is tried, no server and no provider is connected to.
    ///
    /// # Errors
    /// All that is wrong with the settings or this machine.
    pub async fn open(loaded: Loaded, options: OpenOptions) -> Result<Agent, OpenError> {
        let Some(spec) = loaded.spec else {
            return Err(OpenError(fatal(loaded.findings)));
        };
        let env = loaded.env;
        let settings = digest(&loaded.sources);
        let named: Vec<_> =
            loaded.sources.iter().filter(|it| it.role == "env").map(|it| it.path.clone()).collect();
        let state = state_of(&spec);
        let mut faults = Vec::new();
        let governance = Governance::of(&spec).map_err(|found| faults.extend(found)).ok();
        let texts = Texts::read(&spec).map_err(|found| faults.extend(found)).ok();
        let (Some(governance), Some(texts)) = (governance, texts) else { return Err(OpenError(faults)) };
        let one = |fault: Diagnostic| OpenError(vec![fault]);
        let store = Store::open(&spec, &env, &state).map_err(one)?;
        let bounds = (spec.tool_output.max_bytes, spec.tool_output.max_agent_bytes);
        let keep = KeptFolder::with_bounds(state.tool_output(), bounds.0, bounds.1);
        let kept = Arc::new(keep.map_err(|error| one(unwritable(&error)))?);
        let keep: Arc<dyn KeptOutput> = Arc::clone(&kept) as _;
        let sandbox = sandbox::sandbox(&spec, &env, &state, &named, Arc::clone(&keep)).map_err(one)?;
        host_files::state::ensure_private_dir(&state.attachments())
            .map_err(|error| one(unwritable(&error)))?;
        let files =
            AgentFiles::new(&sandbox::files(&spec, &state, &named)).map_err(|error| one(roots(&error)))?;
        let http: Arc<dyn Http> = Arc::new(NetHttp::new(NetSettings::default()));
        let refresh = if options.fresh_definitions {
            Refresh::Blocking
        } else {
            Refresh::Background { older_than: Duration::from_secs(60) }
        };
        let spawn = Arc::new(sandbox.clone());
        let redactor = Arc::clone(store.recorder.redactor());
        let servers = Servers::of(&spec, &env, &state, spawn, Arc::clone(&http), refresh, redactor);
        let mut sources: Vec<Arc<dyn ToolSource>> =
            vec![Arc::new(builtin(files, &sandbox, &spec)), Arc::new(OtherDialect)];
        sources.push(Arc::new(web::tools(&spec, &env).map_err(one)?));
        let view = history::view(&spec, &env, &state, store.recorder.redactor());
        let mut app = history::offers(&spec, &store.log, &view, &kept, &governance.policy);
        let skills = texts.skills_to_read();
        if !skills.is_empty() {
            app.push(Offer::ready(ReadSkill::new(skills)));
        }
        sources.push(Arc::new(AppTools::new(app)));
        sources.extend(servers.sources());
        let desks = Arc::new(Desks::default());
        let hub = Arc::new(SessionHub::new(
            models::sessions(&spec),
            Arc::clone(&store.vault) as _,
            store.recorder.clone(),
        ));
        let mut made = None;
        if options.needs_model {
            made = Some(models::chain(&spec, &env, &http, &desks).await.map_err(OpenError)?);
        }
        let (chain, note) = made.unwrap_or_default();
        let incarnation = store.incarnation.id().to_owned();
        let engine = models::engine(chain, &spec, Arc::clone(&hub), incarnation.clone());
        let line = governance.describe(&spec).line;
        let inner = Inner {
            name: spec.agent.name.clone().unwrap_or_else(|| folder_name(&spec)),
            recorder: store.recorder,
            keep,
            sources,
            policy: governance.policy,
            approvals: Arc::new(governance.approvals),
            call_deadline: CALL_DEADLINE,
            servers: Some(servers),
            engine,
            hub,
            incarnation,
            texts,
            desks,
            model: note,
            started_at: SystemClock.now_ms(),
            active: AtomicU64::new(0),
            home: Some(Home {
                spec,
                state,
                log: store.log,
                ceiling: store.ceiling,
                vault: store.vault,
                _incarnation: store.incarnation,
                sandbox,
                governance_line: line,
                options,
                settings,
            }),
        };
        Ok(Agent { inner: Arc::new(inner) })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The model that answers first, and what people should know about it.
    pub fn model(&self) -> &ModelNote {
        &self.inner.model
    }

    /// Its settings, where it lives in a folder.
    pub fn spec(&self) -> Option<&AgentSpec> {
        self.inner.home.as_ref().map(|home| &home.spec)
    }

    /// Its state folder, where it has one.
    pub fn state(&self) -> Option<&StateFolder> {
        self.inner.home.as_ref().map(|home| &home.state)
    }

    /// Its sandbox, where it has one.
    pub fn sandbox(&self) -> Option<&Sandbox> {
        self.inner.home.as_ref().map(|home| &home.sandbox)
    }

    /// Its log, where it is the host's own.
    pub fn log(&self) -> Option<&Arc<EventLog>> {
        self.inner.home.as_ref().map(|home| &home.log)
    }

    /// Its MCP servers.
    pub fn servers(&self) -> Option<&Arc<McpPool>> {
        self.inner.servers.as_ref().map(|servers| &servers.pool)
    }

    /// How long a person has to approve a call.
    pub fn approval_timeout(&self) -> Duration {
        Duration::from_millis(self.inner.approvals.timeout_ms())
    }

    /// Whether a supervisor brings this host back.
    pub fn supervised(&self) -> bool {
        self.inner.home.as_ref().is_some_and(|home| home.options.supervised)
    }

    /// Ends, in the log, what earlier processes of this agent left unfinished (ENG-7). A run of a process that
    /// still lives is left alone.
    pub async fn recover(&self) {
        let Some(home) = &self.inner.home else { return };
        let log = Arc::clone(&home.log);
        let now = SystemClock.now_ms();
        match tokio::task::spawn_blocking(move || log.recover_interrupted(now)).await {
            Ok(Ok(recovered)) if !recovered.is_empty() => {
                tracing::info!(
                    runs = recovered.len(),
                    "runs of a process that died are marked as interrupted"
                );
            }
            Ok(Err(error)) => tracing::warn!(%error, "earlier runs could not be looked through"),
            _ => {}
        }
    }

    /// Runs one turn to its end. Nothing is an error: what went wrong is in the outcome's ending.
    pub async fn run(
        &self,
        turn: Turn,
        people: People,
        events: EventSink,
        cancel: CancellationToken,
    ) -> RunOutcome {
        let inner = &self.inner;
        let Some(engine) = &inner.engine else { return no_model(turn) };
        inner.active.fetch_add(1, Ordering::Relaxed);
        let exact = inner.hub.exact(&turn);
        // A lock that can't be had is no reason to lose the turn; the conversation may then lack another
        // process's newest one.
        let _alone = match &inner.home {
            Some(home) if !turn.isolated => {
                let taken =
                    TurnLock::take(&home.state, &exact, &inner.incarnation, &inner.hub, &cancel).await;
                taken.inspect_err(|error| tracing::warn!(%error, "the conversation could not be locked")).ok()
            }
            _ => None,
        };
        let _seat = people.desk.map(|desk| inner.desks.seat(self.desk_key(&exact), desk));
        let surfaces = Arc::new(TurnSurfaces::new(Arc::clone(inner), people.ask));
        let context = self.context(&turn);
        let outcome = engine.run(RunInput { context, cancel, events, ..RunInput::new(turn, surfaces) }).await;
        inner.active.fetch_sub(1, Ordering::Relaxed);
        outcome
    }

    /// The key that the engine gives the session's requests.
    fn desk_key(&self, exact: &ConversationId) -> String {
        let digest = self.inner.recorder.log().keyed_digest(format!("session {exact}").as_bytes());
        digest.chars().take(32).collect()
    }

    fn context(&self, turn: &Turn) -> TurnContext {
        let pictures = turn.attachments.iter().filter(|it| it.kind == AttachmentKind::Image);
        let images = pictures
            .filter_map(|it| {
                let bytes =
                    host_files::state::read_bounded(std::path::Path::new(&it.path), IMAGE_BYTES_MAX).ok()?;
                Some(ImageInput { name: it.name.clone(), media_type: it.media_type.clone(), bytes })
            })
            .collect();
        TurnContext {
            prompt: self.inner.texts.parts(turn, self.inner.can_read_skills()),
            images,
            ..TurnContext::default()
        }
    }

    /// Runs one tool through the same seal and gate as a run, without a model.
    ///
    /// # Errors
    /// Where no surface could be sealed, or nothing can be recorded.
    pub async fn call(
        &self,
        channel: &str,
        tool: &str,
        arguments: Arguments,
        people: People,
        cancel: CancellationToken,
    ) -> Result<Settled, AgentError> {
        let surface = self.seal(channel, people).await?;
        let facts = surface.facts().clone();
        let scope = Scope::of_run(&facts.conversation, &facts.run);
        let (offered, withheld) = surface.record();
        let started = Fact::RunStarted {
            incarnation: self.inner.incarnation.clone(),
            source: channel.to_owned(),
            source_detail: Some("call".to_owned()),
            user_input: format!("call {tool}"),
            attachments: Vec::new(),
            model: "none".to_owned(),
            effort: None,
            isolated: true,
            offered,
            withheld,
        };
        self.inner.recorder.record(scope.clone(), started).await?;
        let begun = SystemClock.instant();
        let request = CallRequest {
            id: CallId::fresh(),
            name: tool.to_owned(),
            arguments,
            cancel: cancel.clone(),
            progress: ProgressSink::default(),
        };
        let mut settled = surface.call(request).await;
        let ended = Fact::RunSettled {
            ending: ending_of(&settled, &cancel),
            text: String::new(),
            usage: Usage::default(),
            duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            failover_history: Vec::new(),
        };
        settled.recorded &= self.inner.recorder.record(scope, ended).await.is_ok();
        Ok(settled)
    }

    /// Every tool of a turn from this channel, offered or withheld and by whom.
    ///
    /// # Errors
    /// Where no surface could be sealed.
    pub async fn explain(&self, channel: &str) -> Result<Explanation, AgentError> {
        Ok(self.seal(channel, People::nobody()).await?.explain())
    }

    /// What a model would be told of the tools.
    ///
    /// # Errors
    /// Where no surface could be sealed.
    pub async fn tool_specs(&self, channel: &str) -> Result<Arc<[ToolSpec]>, AgentError> {
        Ok(self.seal(channel, People::nobody()).await?.specs())
    }

    /// The system prompt of a turn from this channel.
    pub fn system_prompt(&self, channel: &str) -> String {
        let mut turn = Turn::terminal(call_conversation(channel), "");
        turn.channel = Channel::new(channel);
        host_run::system_prompt(&self.inner.texts.parts(&turn, self.inner.can_read_skills()))
    }

    async fn seal(&self, channel: &str, people: People) -> Result<Surface, AgentError> {
        let facts = RunFacts {
            run: RunId::fresh(),
            conversation: call_conversation(channel),
            channel: Channel::new(channel),
            trigger: Trigger::Interactive,
            isolated: true,
        };
        Ok(TurnSurfaces::new(Arc::clone(&self.inner), people.ask).seal(facts).await?)
    }

    /// Forgets the prompts of all conversations; gives their number and bytes.
    ///
    /// # Errors
    /// Then some may still stand.
    pub async fn clear_sessions(&self) -> Result<(u64, u64), SessionError> {
        self.inner.hub.clear().await
    }

    /// How this host is.
    pub async fn status(&self) -> Status {
        let inner = &self.inner;
        let home = inner.home.as_ref();
        let servers = inner.servers.as_ref().map(|it| it.pool.status()).unwrap_or_default();
        let sandbox = match home {
            Some(home) => line_of(&home.sandbox.status().await),
            None => "none".to_owned(),
        };
        Status {
            ok: true,
            name: inner.name.clone(),
            pid: std::process::id(),
            generation: home.map_or(0, |home| home.options.generation),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: inner.started_at,
            model: inner.model.reference.clone(),
            active_runs: inner.active.load(Ordering::Relaxed),
            sandbox,
            channels: home.map(|home| channels(&home.spec)).unwrap_or_default(),
            servers: serde_json::to_value(servers).unwrap_or(Value::Null),
            supervised: self.supervised(),
            settings: home.map(|home| home.settings.clone()).unwrap_or_default(),
        }
    }

    /// The tool policy in one line.
    pub fn policy_line(&self) -> &str {
        self.inner.home.as_ref().map_or("set by the program", |home| &home.governance_line)
    }

    /// Servers that can't even be tried, with the reason.
    pub fn broken_servers(&self) -> Vec<(String, String)> {
        let broken = self.inner.servers.iter().flat_map(|it| &it.broken);
        broken.map(|it| (it.name.clone(), it.why.clone())).collect()
    }

    /// Puts the start of a host on record.
    pub async fn started(&self) {
        let incarnation = self.inner.incarnation.clone();
        let version = env!("CARGO_PKG_VERSION").to_owned();
        self.note(Fact::HostStarted { incarnation, version }).await;
    }

    /// Puts the end of a host on record.
    pub async fn stopped(&self) {
        self.note(Fact::HostStopped { incarnation: self.inner.incarnation.clone() }).await;
    }

    async fn note(&self, fact: Fact) {
        if let Err(error) = self.inner.recorder.record(Scope::default(), fact).await {
            tracing::warn!(%error, "the log could not be written");
        }
    }

    /// Ends everything that was started: servers, and the log in order.
    pub async fn close(&self) {
        if let Some(servers) = &self.inner.servers {
            servers.pool.shutdown().await;
        }
        // What could not be recorded in time is tried once more; what still can't be is said by the runs themselves.
        let _left = tokio::time::timeout(Duration::from_secs(5), self.inner.hub.backlog().flush()).await;
        if let Some(home) = &self.inner.home {
            if let Err(error) = home.ceiling.drain().await {
                tracing::warn!(%error, "some of the log could not be written");
            }
            home.vault.close();
            if let Err(error) = home.log.close() {
                tracing::warn!(%error, "the log was not closed in order");
            }
        }
    }
}

impl Inner {
    pub(crate) fn can_read_skills(&self) -> bool {
        !self.texts.skills_to_read().is_empty()
            && host_vocab::ToolName::parse("ReadSkill")
                .is_ok_and(|name| self.policy.judge(host_policy::Subject::Gated(&name)).allowed)
    }
}

/// The object that a run ends with for programs.
pub fn outcome_json(outcome: &RunOutcome) -> Value {
    let (kind, error) = match &outcome.ending {
        Ending::Failed { kind, error } => (Some(kind.as_str()), Some(error.clone())),
        Ending::Interrupted { kind } => (Some(kind.as_str()), None),
        Ending::Succeeded | Ending::Cancelled => (None, None),
    };
    json!({
        "run": outcome.run,
        "conversation": outcome.conversation,
        "status": outcome.ending.status(),
        "failureKind": kind,
        "error": error,
        "text": outcome.reply.text,
        "notices": outcome.reply.notices,
        "partial": outcome.partial,
        "usage": outcome.usage,
        "durationMs": outcome.duration_ms,
        "model": outcome.model,
        "recorded": outcome.recorded,
    })
}

pub(crate) fn state_of(spec: &AgentSpec) -> StateFolder {
    StateFolder::new(spec.places.state.clone(), Some(spec.artifacts.dir.clone()))
}

/// A digest of the files that settings are read from: it tells whether a running host was started with what
/// stands there now.
pub fn digest(sources: &[host_config::Source]) -> String {
    use sha2::{Digest as _, Sha256};
    let mut hash = Sha256::new();
    for source in sources.iter().filter(|it| it.found) {
        hash.update(source.role.as_bytes());
        hash.update(crate::load::read(&source.path).unwrap_or_default());
        hash.update([0]);
    }
    hex(&hash.finalize())
}

/// A short digest for names of files.
pub(crate) fn short_digest(bytes: &[u8]) -> String {
    use sha2::{Digest as _, Sha256};
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    host_vocab::text::hex(&bytes[..16])
}

/// How the run of a single call ended.
fn ending_of(settled: &Settled, cancel: &CancellationToken) -> Ending {
    if cancel.is_cancelled() {
        return Ending::Cancelled;
    }
    if !settled.is_error() {
        return Ending::Succeeded;
    }
    let error = format!("the call was {} ({})", settled.how.as_str(), settled.code);
    Ending::Failed { kind: host_turn::FailureKind::RuntimeError, error }
}

fn call_conversation(channel: &str) -> ConversationId {
    ConversationId::parse(format!("{channel}:call"))
        .or_else(|_| ConversationId::parse("terminal:call"))
        .expect("the fall-back is a valid id")
}

fn folder_name(spec: &AgentSpec) -> String {
    let name = spec.places.folder.file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "agent".to_owned())
}

/// What keeps an agent from starting.
fn fatal(findings: Vec<host_config::Finding>) -> Vec<Diagnostic> {
    findings.into_iter().filter(|it| it.fatal).map(|it| it.diagnostic).collect()
}

fn roots(error: &host_files::FilesError) -> Diagnostic {
    Diagnostic::new(host_vocab::Kind::Config, host_vocab::Code::new("folder_unusable"), error.to_string())
        .hint("make the folder, or change runtime.workspace, sandbox.readableRoots or sandbox.writableRoots")
}

/// The built-in tools, over the agent's files and its sandbox.
fn builtin(files: AgentFiles, sandbox: &Sandbox, spec: &AgentSpec) -> Builtin {
    let settings = CommandSettings::default();
    let ports = BuiltinPorts { files: Arc::new(files), commands: Arc::new(sandbox.clone()) };
    let spawn = Arc::new(sandbox.clone());
    Builtin::with_settings(&ports, &settings).with_node_repl(spawn, spec.places.workspace.clone(), &settings)
}

/// The sandbox in one line.
pub(crate) fn line_of(status: &SandboxStatus) -> String {
    match (&status.blocked, status.effective) {
        (Some(why), _) => format!("blocked: {why}"),
        (None, Effective::UnsafeHostProcess) => {
            "UNSAFE: no engine works here, and commands run with the host's own rights (sandbox.fallback)"
                .to_owned()
        }
        (None, Effective::Off) => "off: commands run with the host's own rights (sandbox.mode)".to_owned(),
        _ => {
            let engine = status.engine.map_or("none", EngineKind::as_str);
            format!("native by {engine}; network {}: {}", status.network.as_str(), status.network_how)
        }
    }
}

fn unwritable(error: &host_files::state::StateError) -> Diagnostic {
    Diagnostic::new(host_vocab::Kind::Environment, host_vocab::Code::new("state_unusable"), error.to_string())
        .hint("make artifacts.dir a folder that this user alone can write")
}

fn channels(spec: &AgentSpec) -> Vec<ChannelStatus> {
    let mut all = vec![ChannelStatus {
        name: "terminal".to_owned(),
        state: "running".to_owned(),
        detail: "mono-agent chat, run and call join over the local socket".to_owned(),
    }];
    all.extend(not_built_yet(spec).into_iter().map(|it| ChannelStatus {
        name: it.path.to_owned(),
        state: "waiting_for_config".to_owned(),
        detail: format!("read, not run: {}", it.what),
    }));
    all
}

fn no_model(turn: Turn) -> RunOutcome {
    RunOutcome {
        run: RunId::fresh(),
        conversation: turn.conversation,
        reply: host_turn::Reply::default(),
        ending: Ending::Failed {
            kind: host_turn::FailureKind::ProviderUnavailable,
            error: "this agent was opened without a model; set runtime.model".to_owned(),
        },
        partial: false,
        silent: false,
        usage: Usage::default(),
        duration_ms: 0,
        model: String::new(),
        failover_history: Vec::new(),
        recorded: false,
    }
}
