//! From a loaded folder to an opened agent.

use super::{Agent, CALL_DEADLINE, Home, Inner};
use crate::archive::Archive;
use crate::clock::SystemClock;
use crate::desks::Desks;
use crate::digest::{digest, variables};
use crate::helpers::HelperOffice;
use crate::memory::{AgentMemory, MemoryOffice, MemoryParts};
use crate::parts::governance::Governance;
use crate::parts::kept::RedactedOutput;
use crate::parts::models;
use crate::parts::plugins::Plugins;
use crate::parts::prompt::Texts;
use crate::parts::servers::{ServerPorts, Servers};
use crate::parts::sources::{AppTools, OtherDialect};
use crate::parts::store::Store;
use crate::parts::web;
use crate::parts::{history, sandbox};
use crate::questions::Questions;
use crate::replies::ReplyOffice;
use crate::run_context::Loans;
use crate::sampling::ServersModel;
use crate::standing::{StandingError, StandingRules};
use crate::state::StateFolder;
use host_config::environment::Environment;
use host_config::{AgentSpec, Loaded};
use host_files::{AgentFiles, KeptFolder};
use host_mcp::Refresh;
use host_net::{NetHttp, NetSettings};
use host_ports::clock::Clock as _;
use host_ports::http::Http;
use host_ports::kept::KeptOutput;
use host_redact::Redactor;
use host_run::SessionHub;
use host_sandbox::Sandbox;
use host_surface::{Offer, ToolSource};
use host_tools::{Builtin, BuiltinPorts, Collaborators, CommandSettings, ReadSkill};
use host_vocab::Diagnostic;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

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
    /// Whom its runs can ask; a program composes them (TOO-6).
    pub collaborators: Collaborators,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions {
            needs_model: true,
            fresh_definitions: false,
            generation: 0,
            supervised: false,
            collaborators: Collaborators::default(),
        }
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
        let shown_settings = serde_json::to_value(host_config::view(&loaded.settings)).unwrap_or_default();
        let settings = digest(&loaded.sources);
        let variables = variables(&env);
        let named: Vec<_> =
            loaded.sources.iter().filter(|it| it.role == "env").map(|it| it.path.clone()).collect();
        let state = state_of(&spec);
        let mut faults = Vec::new();
        let plugins = Plugins::read(&spec);
        let governance = Governance::of(&spec, &plugins).map_err(|found| faults.extend(found)).ok();
        let texts = Texts::read(&spec).map_err(|found| faults.extend(found)).ok();
        let (Some(governance), Some(texts)) = (governance, texts) else { return Err(OpenError(faults)) };
        let one = |fault: Diagnostic| OpenError(vec![fault]);
        let store = Store::open(&spec, &env, &state).map_err(one)?;
        let bounds = (spec.tool_output.max_bytes, spec.tool_output.max_agent_bytes);
        let keep = KeptFolder::with_bounds(state.tool_output(), bounds.0, bounds.1);
        let kept = Arc::new(keep.map_err(|error| one(unwritable(&error)))?);
        let redactor = Arc::clone(store.recorder.redactor());
        let keep: Arc<dyn KeptOutput> = Arc::new(RedactedOutput::new(Arc::clone(&kept), redactor, bounds.0));
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
        let questions = Arc::new(Questions::default());
        let listed = !spec.tools.request_context_servers.is_empty();
        let loans = Loans::new(listed, &state, Arc::clone(&redactor));
        let model = Arc::new(ServersModel::default());
        let ports = ServerPorts {
            spawn,
            http: Arc::clone(&http),
            redactor,
            elicit: Arc::clone(&questions) as _,
            model: Arc::clone(&model) as _,
            contexts: Arc::clone(&loans) as _,
        };
        let servers = Servers::of(&spec, &env, &state, &plugins, ports, refresh);
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
        let desks = Arc::new(Desks::default());
        let memory = memory(&spec, &env, &state, &http, store.recorder.redactor(), &desks).map_err(one)?;
        sources.push(Arc::clone(&memory) as _);
        let misnamed = governance.misnamed(&spec, &sources).await;
        if !misnamed.is_empty() {
            return Err(OpenError(misnamed));
        }
        sources.extend(servers.sources());
        sources.extend(servers.library(&governance.policy));
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
        let archive = Archive::beside(&spec, &store.log, store.recorder.redactor(), &view);
        let office = MemoryOffice::beside(&spec, &env, &state);
        let incarnation = store.incarnation.id().to_owned();
        let engine = models::engine(chain, &spec, Arc::clone(&hub), incarnation.clone());
        let maker = options.needs_model.then(|| models::Maker::new(&spec, &env, &http, &desks));
        let helpers = HelperOffice::of(&spec, &governance.known, maker.as_ref(), engine.as_ref(), &texts)
            .map_err(OpenError)?;
        let line = governance.describe(&spec).line;
        let standing = StandingRules::open(state.root()).map_err(|error| one(unusable(&error)))?;
        let replies = ReplyOffice::of(&spec, &state, options.supervised);
        let inner = Inner {
            name: spec.agent.name.clone().unwrap_or_else(|| folder_name(&spec)),
            recorder: store.recorder,
            keep,
            sources,
            policy: governance.policy,
            approvals: Arc::new(governance.approvals),
            call_deadline: CALL_DEADLINE,
            servers: Some(servers),
            memory,
            engine,
            hub,
            incarnation,
            texts,
            desks,
            helpers,
            collaborators: options.collaborators.clone(),
            questions,
            loans: Some(loans),
            model: note,
            started_at: SystemClock.now_ms(),
            active: AtomicU64::new(0),
            standing: Some(Arc::new(standing)),
            replies,
            web: std::sync::OnceLock::new(),
            home: Some(Home {
                spec,
                state,
                believed: crate::upkeep::Believed::of(&store.log),
                log: store.log,
                ceiling: store.ceiling,
                archive,
                office,
                shown_settings,
                kept,
                vault: store.vault,
                _incarnation: store.incarnation,
                sandbox,
                governance_line: line,
                options,
                settings,
                variables,
            }),
        };
        let inner = Arc::new(inner);
        model.fill(&inner);
        Ok(Agent { inner })
    }
}

/// The agent's memory, with the model that takes its notes.
fn memory(
    spec: &AgentSpec,
    env: &Environment,
    state: &StateFolder,
    http: &Arc<dyn Http>,
    redactor: &Arc<Redactor>,
    desks: &Arc<Desks>,
) -> Result<Arc<AgentMemory>, Diagnostic> {
    let notes = crate::memory::model::of(spec, env, http, desks)?;
    AgentMemory::open(&MemoryParts { spec, env, state, http, redactor }, notes)
}

/// The built-in tools, over the agent's files and its sandbox.
fn builtin(files: AgentFiles, sandbox: &Sandbox, spec: &AgentSpec) -> Builtin {
    let settings = CommandSettings::default();
    let ports = BuiltinPorts { files: Arc::new(files), commands: Arc::new(sandbox.clone()) };
    let spawn = Arc::new(sandbox.clone());
    Builtin::with_settings(&ports, &settings).with_node_repl(spawn, spec.places.workspace.clone(), &settings)
}

fn state_of(spec: &AgentSpec) -> StateFolder {
    StateFolder::new(spec.places.state.clone(), Some(spec.artifacts.dir.clone()))
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

fn unusable(error: &StandingError) -> Diagnostic {
    Diagnostic::new(
        host_vocab::Kind::Environment,
        host_vocab::Code::new("approvals_unusable"),
        error.to_string(),
    )
}

fn unwritable(error: &host_files::state::StateError) -> Diagnostic {
    Diagnostic::new(host_vocab::Kind::Environment, host_vocab::Code::new("state_unusable"), error.to_string())
        .hint("make artifacts.dir a folder that this user alone can write")
}
