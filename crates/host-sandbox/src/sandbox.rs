//! The sandbox of one agent: its policy, the engine that was proved to enforce it, and everything that a child
//! needs to be started under it.

use crate::broker::{Broker, Broking, Session};
use crate::deny_write::{Patterns, Placeholders, Protected};
use crate::engine::{Engine, EngineKind, Job, Landlock, Plain, Wrap, find_bubblewrap, unmet};
use crate::identity::Become;
use crate::launch::{LaunchError, Tree, launch};
use crate::network::Network;
use crate::policy::{Fallback, Mode, PolicyError, SandboxPolicy};
use crate::proof::Proofs;
use crate::proxy::{EgressLog, Rules, WayOut};
use crate::runtime_paths::{HostEnvironment, Runtime};
use crate::slot::{Slot, Slots};
use host_ports::kept::KeptOutput;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// What a sandbox is made of.
pub struct SandboxSetup {
    /// What children may do.
    pub policy: SandboxPolicy,
    /// The host's own environment, as far as children may know of it.
    pub environment: HostEnvironment,
    /// The agent's private state folder: hidden from children, and where quarantine, notes and proofs go.
    /// Without one, quarantine goes to a private temporary folder and nothing is remembered.
    pub state: Option<PathBuf>,
    /// Further folders that no child may see.
    pub hidden: Vec<PathBuf>,
    /// Where large output goes.
    pub keep: Arc<dyn KeptOutput>,
    /// Who is told of each connection that the proxy allowed or refused (SBX-3).
    pub egress: Arc<dyn EgressLog>,
    /// The secrets that children use and never see (SBX-7).
    pub broker: Broker,
}

/// Every engine, best first.
const ENGINES: [EngineKind; 2] = [EngineKind::Bubblewrap, EngineKind::Landlock];

/// Why there is no sandbox.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// The policy can't be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

/// The sandbox of one agent. Clones share everything.
#[derive(Clone)]
pub struct Sandbox(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) policy: SandboxPolicy,
    pub(crate) environment: HostEnvironment,
    pub(crate) runtime: Runtime,
    pub(crate) state: Option<PathBuf>,
    pub(crate) hidden: Vec<PathBuf>,
    pub(crate) engines: Vec<EngineKind>,
    pub(crate) keep: Arc<dyn KeptOutput>,
    pub(crate) proofs: Proofs,
    patterns: OnceLock<Arc<Patterns>>,
    slots: Arc<Slots>,
    placeholders: Placeholders,
    egress: Arc<dyn EgressLog>,
    pub(crate) broking: Broking,
}

/// A child to start.
pub(crate) struct ChildSpec<'a> {
    pub(crate) argv: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) cwd: PathBuf,
    pub(crate) policy: &'a SandboxPolicy,
    pub(crate) confined: bool,
    /// The run whose placeholders it has; `None` = it has its own.
    pub(crate) run: Option<String>,
    /// Roots that show through the hidden state.
    pub(crate) own: Vec<host_ports::spawn::OwnFolder>,
}

/// A child that was started, with what has to be undone after it.
pub(crate) struct Started {
    pub(crate) tree: Tree,
    pub(crate) after: After,
    pub(crate) engine: EngineKind,
}

/// What is to be done when the tree is over.
pub(crate) struct After {
    pub(crate) protected: Protected,
    /// Folders in which the engine lets nothing be made, for the sake of a protected name.
    pub(crate) guarded: Vec<PathBuf>,
    slot: Option<Slot>,
    _way_out: Option<WayOut>,
}

impl After {
    /// Says whether everything of the tree is gone for sure.
    pub(crate) fn tree_is_over(&mut self, clean: bool) {
        if clean && let Some(slot) = &mut self.slot {
            slot.is_left();
        }
    }
}

/// Why a child was not started.
#[derive(Debug)]
pub(crate) enum StartError {
    /// No engine can do what the policy asks; a sentence.
    Sandbox(String),
    /// The operating system refused.
    Os(std::io::Error),
}

impl Sandbox {
    /// Makes one. No engine is tried yet; see [`Sandbox::status`].
    ///
    /// # Errors
    /// A policy that can't be used.
    pub fn new(setup: SandboxSetup) -> Result<Self, SandboxError> {
        Self::with_engines(setup, &ENGINES)
    }

    /// The same with some engines ruled out: those that aren't in the list are not tried.
    ///
    /// # Errors
    /// As [`Sandbox::new`].
    pub fn with_engines(setup: SandboxSetup, engines: &[EngineKind]) -> Result<Self, SandboxError> {
        setup.policy.validate()?;
        let mut policy = setup.policy;
        real(&mut policy.workspace);
        policy.readable.iter_mut().chain(&mut policy.writable).for_each(real);
        let mut state = setup.state;
        let mut hidden = setup.hidden;
        if let Some(state) = &mut state {
            // It must exist to be covered: a child could otherwise make it.
            make_private(state);
            real(state);
            hidden.push(state.clone());
        }
        hidden.iter_mut().for_each(real);
        let writable = if policy.mode == Mode::Native { &policy.writable[..] } else { &[] };
        let runtime = Runtime::find(&setup.environment.path, writable);
        let placeholders = Placeholders::new(state.as_ref().map(|state| state.join("sandbox/placeholders")));
        let proofs = Proofs::new(state.as_ref().map(|state| state.join("sandbox/proofs.json")));
        Ok(Sandbox(Arc::new(Inner {
            policy,
            environment: setup.environment,
            runtime,
            state,
            hidden,
            engines: engines.to_vec(),
            keep: setup.keep,
            proofs,
            patterns: OnceLock::new(),
            slots: Arc::default(),
            placeholders,
            egress: setup.egress,
            broking: Broking::new(setup.broker),
        })))
    }

    /// The engine's own command with the very options of a call, but without our helper: what a measurement
    /// stands beside. `None` where the engine is not bubblewrap.
    #[doc(hidden)]
    pub fn bare_command(&self, argv: &[&str]) -> Option<std::process::Command> {
        let inner = &self.0;
        // By name: the numbers of open files would be ours alone.
        let engine = find_bubblewrap(&inner.policy.writable).ok()?.by_name();
        let job = Job {
            argv: Vec::new(),
            env: BTreeMap::new(),
            cwd: inner.policy.workspace.clone(),
            policy: &inner.policy,
            identity: Become::owner_of(&inner.policy.workspace),
            runtime: &inner.runtime,
            protected: &Protected::default(),
            hidden: &inner.hidden,
            proxied: false,
            certificates: None,
            own: &[],
        };
        let Wrap::Bubblewrap { program, options, .. } = engine.plan(job).ok()?.wrap else { return None };
        let mut command = std::process::Command::new(program);
        command.args(options).arg("--").args(argv);
        Some(command)
    }

    /// The policy in effect, with its roots resolved.
    pub fn policy(&self) -> &SandboxPolicy {
        &self.0.policy
    }
}

impl Inner {
    /// The engine that enforces a policy, proved to work here. The error says why there is none and what to do.
    pub(crate) fn engine_for(&self, policy: &SandboxPolicy) -> Result<Box<dyn Engine>, String> {
        if policy.mode == Mode::Off {
            return Ok(Box::new(Plain(EngineKind::Off)));
        }
        let mut reasons = Vec::new();
        for candidate in self.candidates() {
            match candidate.and_then(|engine| self.eligible(engine, policy)) {
                Ok(engine) => return Ok(engine),
                Err(why) => reasons.push(why),
            }
        }
        if policy.fallback == Fallback::UnsafeHostProcess && policy.unsafe_allow_host_process {
            tracing::warn!(
                "no sandbox engine works here: commands run UNCONFINED, roots and deny rules are inert"
            );
            return Ok(Box::new(Plain(EngineKind::UnsafeHostProcess)));
        }
        Err(format!(
            "no sandbox engine can enforce the policy here, and the policy is fail-closed. {}",
            reasons.join(" ")
        ))
    }

    /// The engines of this machine, best first, or why one isn't there.
    pub(crate) fn candidates(&self) -> [Result<Box<dyn Engine>, String>; 2] {
        let ruled_out = |kind: EngineKind| format!("{}: it is ruled out here.", kind.as_str());
        ENGINES.map(|kind| {
            if !self.engines.contains(&kind) {
                return Err(match kind {
                    EngineKind::Bubblewrap => format!("{} (apt-get install bubblewrap)", ruled_out(kind)),
                    kind => ruled_out(kind),
                });
            }
            let found: Result<Box<dyn Engine>, String> = match kind {
                EngineKind::Landlock => Landlock::find().map(|engine| Box::new(engine) as Box<dyn Engine>),
                _ => find_bubblewrap(&self.policy.writable).map(|engine| Box::new(engine) as Box<dyn Engine>),
            };
            found.map_err(|why| format!("{}: {why}.", kind.as_str()))
        })
    }

    /// Whether an engine enforces every rule of a policy and works here; the error is a sentence that names it.
    pub(crate) fn eligible(
        &self,
        engine: Box<dyn Engine>,
        policy: &SandboxPolicy,
    ) -> Result<Box<dyn Engine>, String> {
        let name = engine.kind().as_str();
        let patterns = self.patterns(policy).map_err(|error| format!("{name}: {error}."))?;
        if let Some((rule, why)) = unmet(engine.kind(), policy, &patterns) {
            return Err(format!("{name}: it doesn't enforce \"{}\": {why}.", rule.describe()));
        }
        match self.proofs.of(engine.as_ref(), self) {
            Ok(()) => Ok(engine),
            Err(why) => Err(format!("{name}: it doesn't work here: {why}.")),
        }
    }

    /// What a policy protects, compiled; of the agent's own policy once and for all.
    fn patterns(&self, policy: &SandboxPolicy) -> Result<Arc<Patterns>, PolicyError> {
        let parse = || Patterns::parse(&policy.workspace, &policy.deny_write).map(Arc::new);
        if policy.workspace != self.policy.workspace || policy.deny_write != self.policy.deny_write {
            return parse();
        }
        match self.patterns.get() {
            Some(known) => Ok(Arc::clone(known)),
            None => parse().map(|fresh| Arc::clone(self.patterns.get_or_init(|| fresh))),
        }
    }

    /// Starts a child under a policy.
    pub(crate) fn start(&self, spec: ChildSpec<'_>) -> Result<Started, StartError> {
        let engine: Box<dyn Engine> = if spec.confined {
            self.engine_for(spec.policy).map_err(StartError::Sandbox)?
        } else {
            Box::new(Plain(EngineKind::Off))
        };
        self.start_with(engine.as_ref(), spec)
    }

    /// Starts a child under an engine that was chosen already.
    pub(crate) fn start_with(&self, engine: &dyn Engine, spec: ChildSpec<'_>) -> Result<Started, StartError> {
        let kind = engine.kind();
        let confines = matches!(kind, EngineKind::Bubblewrap | EngineKind::Landlock);
        let protected = if confines && !spec.policy.deny_write.is_empty() {
            let patterns =
                self.patterns(spec.policy).map_err(|error| StartError::Sandbox(error.to_string()))?;
            let placeholders = (kind == EngineKind::Bubblewrap).then_some(&self.placeholders);
            Protected::prepare(&patterns, &spec.policy.writable, placeholders).map_err(StartError::Sandbox)?
        } else {
            Protected::default()
        };
        let identity = if confines { Become::owner_of(&spec.policy.workspace) } else { None };
        let mut slot = match kind {
            EngineKind::Landlock => {
                Some(self.slots.take(&self.environment.tmpdir, identity).map_err(StartError::Os)?)
            }
            _ => None,
        };
        let proxied = confines && matches!(spec.policy.network, Network::Localhost | Network::Allowlist(_));
        let session: Option<Arc<Session>> =
            if proxied { self.broking.session(spec.run.as_deref()).map_err(StartError::Os)? } else { None };
        let mut policy = spec.policy.clone();
        policy.writable.extend(slot.iter().map(|slot| slot.path().to_path_buf()));
        let mut env = self.base_environment(kind, slot.as_ref().map(Slot::path), proxied);
        env.extend(spec.env);
        // Whoever else would give it the value: it gets the placeholder.
        env.extend(session.iter().flat_map(|session| session.variables()));
        let plan = engine
            .plan(Job {
                argv: spec.argv,
                env,
                cwd: spec.cwd,
                policy: &policy,
                identity,
                runtime: &self.runtime,
                protected: &protected,
                hidden: &self.hidden,
                proxied,
                certificates: session.as_ref().map(|session| session.certificates.as_slice()),
                own: &spec.own,
            })
            .map_err(StartError::Sandbox)?;
        let guarded = plan.guarded.clone();
        let mut tree = launch(plan, slot.as_mut()).map_err(|error| match error {
            LaunchError::Confine(why) => StartError::Sandbox(why),
            LaunchError::Os(error) => StartError::Os(error),
        })?;
        let way_out = match tree.forward.take() {
            Some(forward) => {
                let (network, log) = (spec.policy.network.clone(), Arc::clone(&self.egress));
                let rules = Rules { network, log, session };
                Some(crate::proxy::serve(rules, forward).map_err(StartError::Os)?)
            }
            None => None,
        };
        Ok(Started { tree, after: After { protected, guarded, slot, _way_out: way_out }, engine: kind })
    }

    /// What every child has in its environment.
    fn base_environment(
        &self,
        engine: EngineKind,
        scratch: Option<&Path>,
        proxied: bool,
    ) -> BTreeMap<String, String> {
        let or = |text: &str, other: &str| if text.is_empty() { other.to_owned() } else { text.to_owned() };
        let (home, tmpdir) = match (engine, scratch) {
            (_, Some(scratch)) => (scratch.display().to_string(), scratch.display().to_string()),
            (EngineKind::Bubblewrap, None) => (crate::engine::HOME_INSIDE.to_owned(), "/tmp".to_owned()),
            _ => (or(&self.environment.home, "/"), or(&self.environment.tmpdir, "/tmp")),
        };
        let mut env = self.runtime.env.clone();
        env.insert("PATH".to_owned(), self.runtime.path.clone());
        env.insert("HOME".to_owned(), home);
        env.insert("TMPDIR".to_owned(), tmpdir);
        env.insert("LANG".to_owned(), or(&self.environment.lang, "C.UTF-8"));
        env.insert("TERM".to_owned(), "dumb".to_owned());
        if proxied {
            env.extend(crate::proxy::variables(crate::engine::PROXY_PORT));
        }
        env
    }

    /// Where names go that should not have been made.
    pub(crate) fn quarantine(&self, run: &str, call: &str) -> PathBuf {
        let safe = |text: &str| -> String {
            text.chars().take(80).map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
        };
        let base = match &self.state {
            Some(state) => state.join("sandbox/quarantine"),
            None => std::env::temp_dir().join(format!("mono-agent-quarantine-{}", std::process::id())),
        };
        base.join(safe(run)).join(safe(call))
    }
}

/// Resolves links, where the path exists.
fn real(path: &mut PathBuf) {
    if let Ok(resolved) = std::fs::canonicalize(&*path) {
        *path = resolved;
    }
}

fn make_private(folder: &Path) {
    use std::os::unix::fs::DirBuilderExt as _;
    let _ = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
}
