//! An agent built by a program, without a folder (LIB-1).

use crate::agent::{Agent, CALL_DEADLINE, Inner};
use crate::clock::SystemClock;
use crate::desks::Desks;
use crate::memory::AgentMemory;
use crate::parts::models::ModelNote;
use crate::parts::prompt::Texts;
use crate::parts::sources::AppTools;
use host_policy::{ApprovalRules, RuntimeCapabilities, ToolPolicy, UnenforceablePolicy};
use host_ports::clock::Clock as _;
use host_ports::kept::{KeepNothing, KeptOutput};
use host_ports::log::{Log, Recorder};
use host_ports::model::Model;
use host_ports::sessions::Sessions;
use host_redact::Redactor;
use host_run::{Engine, EngineConfig, EngineError, EngineParts, RouteParts, SessionConfig, SessionHub};
use host_surface::{Offer, Tool, ToolSource};
use host_tools::Collaborators;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Why an agent could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// There is no model.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// There is no log: a host without a record is none.
    #[error("give the agent a log (AgentBuilder::log); every call is recorded")]
    NoLog,
    /// There is no store for prompts.
    #[error("give the agent a store for its sessions (AgentBuilder::sessions)")]
    NoSessions,
    /// The runtime can't enforce the policy (POL-13).
    #[error(transparent)]
    Policy(#[from] UnenforceablePolicy),
}

/// Builds an agent of parts that the program gives. What isn't given stays closed: no policy = no tool that
/// the lists gate (POL-14), nobody to ask = no.
#[derive(Default)]
pub struct AgentBuilder {
    name: Option<String>,
    identity: Option<String>,
    models: Vec<(Arc<dyn Model>, RuntimeCapabilities)>,
    offers: Vec<Offer>,
    sources: Vec<Arc<dyn ToolSource>>,
    policy: Option<ToolPolicy>,
    approvals: ApprovalRules,
    log: Option<Arc<dyn Log>>,
    sessions: Option<Arc<dyn Sessions>>,
    keep: Option<Arc<dyn KeptOutput>>,
    redactor: Option<Arc<Redactor>>,
    config: EngineConfig,
    session_config: SessionConfig,
    collaborators: Collaborators,
}

impl Agent {
    /// An agent built by a program.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::default()
    }
}

impl AgentBuilder {
    /// A name for people.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Who the agent is: the identity section of its prompt.
    #[must_use]
    pub fn identity(mut self, text: impl Into<String>) -> Self {
        self.identity = Some(text.into());
        self
    }

    /// A model; the first is the first choice, the others are fall-backs. Models of this workspace enforce the
    /// policy; for a runtime of your own say what it can with [`AgentBuilder::runtime`].
    #[must_use]
    pub fn model(self, model: Arc<dyn Model>) -> Self {
        self.runtime(model, RuntimeCapabilities::ours())
    }

    /// A runtime of your own, with what it says of itself. One that doesn't say that it enforces the policy is
    /// refused for a restrictive one (POL-13).
    #[must_use]
    pub fn runtime(mut self, model: Arc<dyn Model>, capabilities: RuntimeCapabilities) -> Self {
        self.models.push((model, capabilities));
        self
    }

    /// A tool of your own.
    #[must_use]
    pub fn tool<T: Tool>(mut self, tool: T) -> Self {
        self.offers.push(Offer::ready(tool));
        self
    }

    /// A whole source of tools.
    #[must_use]
    pub fn source(mut self, source: Arc<dyn ToolSource>) -> Self {
        self.sources.push(source);
        self
    }

    /// Which tools exist. Without it none that the lists gate.
    #[must_use]
    pub fn policy(mut self, policy: ToolPolicy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Which calls may run.
    #[must_use]
    pub fn approvals(mut self, rules: ApprovalRules) -> Self {
        self.approvals = rules;
        self
    }

    /// Whom its runs can ask by `AskCollaborator` (TOO-6), such as other agents ([`crate::AgentResponder`]).
    #[must_use]
    pub fn collaborators(mut self, collaborators: Collaborators) -> Self {
        self.collaborators = collaborators;
        self
    }

    /// Where everything is recorded.
    #[must_use]
    pub fn log(mut self, log: Arc<dyn Log>) -> Self {
        self.log = Some(log);
        self
    }

    /// Where prompts are kept.
    #[must_use]
    pub fn sessions(mut self, sessions: Arc<dyn Sessions>) -> Self {
        self.sessions = Some(sessions);
        self
    }

    /// Where large output is kept; without it, it is cut.
    #[must_use]
    pub fn keep(mut self, keep: Arc<dyn KeptOutput>) -> Self {
        self.keep = Some(keep);
        self
    }

    /// What must not be written, besides known shapes.
    #[must_use]
    pub fn redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = Some(Arc::new(redactor));
        self
    }

    /// Bounds, back-off, compaction.
    #[must_use]
    pub fn engine(mut self, config: EngineConfig) -> Self {
        self.config = config;
        self
    }

    /// How conversations are kept.
    #[must_use]
    pub fn session_config(mut self, config: SessionConfig) -> Self {
        self.session_config = config;
        self
    }

    /// Joins the parts.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn build(self) -> Result<Agent, BuildError> {
        let policy = self.policy.unwrap_or_else(ToolPolicy::fail_closed);
        for (_, capabilities) in &self.models {
            capabilities.enforces(&policy)?;
        }
        let log = self.log.ok_or(BuildError::NoLog)?;
        let sessions = self.sessions.ok_or(BuildError::NoSessions)?;
        let recorder = Recorder::new(log, self.redactor.unwrap_or_default(), Arc::new(SystemClock));
        let hub = Arc::new(SessionHub::new(self.session_config, sessions, recorder.clone()));
        let reference = self.models.first().map(|(model, _)| model.info().reference).unwrap_or_default();
        let incarnation = uuid::Uuid::now_v7().simple().to_string();
        let chain = self
            .models
            .into_iter()
            .map(|(model, _)| RouteParts { model, attempts: 2, effort: None })
            .collect();
        let engine = Engine::new(EngineParts {
            chain,
            hub: Arc::clone(&hub),
            config: self.config,
            incarnation: incarnation.clone(),
        })?;
        let mut sources: Vec<Arc<dyn ToolSource>> = vec![Arc::new(AppTools::new(self.offers))];
        sources.extend(self.sources);
        Ok(Agent {
            inner: Arc::new(Inner {
                name: self.name.unwrap_or_else(|| "agent".to_owned()),
                recorder,
                keep: self.keep.unwrap_or_else(|| Arc::new(KeepNothing)),
                sources,
                policy,
                approvals: Arc::new(self.approvals),
                call_deadline: CALL_DEADLINE,
                servers: None,
                memory: AgentMemory::none(),
                engine: Some(engine),
                hub,
                incarnation,
                texts: Texts::of_identity(self.identity),
                desks: Arc::new(Desks::default()),
                helpers: None,
                collaborators: self.collaborators,
                questions: Arc::default(),
                loans: None,
                model: ModelNote { reference, ..ModelNote::default() },
                home: None,
                started_at: SystemClock.now_ms(),
                active: AtomicU64::new(0),
                standing: None,
                replies: crate::replies::ReplyOffice::default(),
                web: std::sync::OnceLock::new(),
            }),
        })
    }
}
