//! Memory as its operator works on it: `mono-agent memory …`. It opens the memory alone: no log, no sandbox, no
//! servers, no model.

use super::embedder::{self, InstallError, InstalledModel};
use super::opening::{MemoryParts, NotOpened, Opened, opened};
use crate::parts::store::redactor;
use crate::state::StateFolder;
use host_config::AgentSpec;
use host_config::Loaded;
use host_config::environment::Environment;
use host_config::spec::memory::MemorySpec;
use host_files::state;
use host_memory::{
    DayNotes, ForgetError, ForgetPlan, Forgotten, Health, IntakeError, IntakeReport, MaintenanceError,
    MemoryStore, Rebuilt, Retried, Stats,
};
use host_net::{NetHttp, NetSettings};
use host_ports::http::Http;
use host_ports::memory::{Hit, Recall as _, RecallError, Recalled};
use host_vocab::{Code, Diagnostic, Kind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest plan or list of ids that is read, in bytes.
const PLAN_BYTES_MAX: u64 = 256 * 1024;

/// Why an operator's request was not done.
#[derive(Debug, thiserror::Error)]
pub enum OfficeError {
    /// There is no memory, or it can't be opened; with what to do.
    #[error("{0}")]
    NotThere(Box<Diagnostic>),
    /// The remote store has no such thing.
    #[error("memory.backend is \"supermemory\": {0} is for memories that are kept here")]
    Remote(&'static str),
    /// Notes or index.
    #[error(transparent)]
    Maintenance(#[from] MaintenanceError),
    /// Looking up.
    #[error(transparent)]
    Recall(#[from] RecallError),
    /// Turns that wait.
    #[error(transparent)]
    Intake(#[from] IntakeError),
    /// Forgetting.
    #[error(transparent)]
    Forget(#[from] ForgetError),
    /// A plan, or a list of ids.
    #[error("{path}: {why}")]
    File {
        /// Which file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// The local model.
    #[error(transparent)]
    Install(#[from] InstallError),
}

/// The memory of an agent that need not run.
pub struct MemoryOffice {
    spec: AgentSpec,
    env: Environment,
    state: StateFolder,
}

impl MemoryOffice {
    /// Of a loaded agent; `None` where its settings could not be read.
    pub fn of(loaded: Loaded) -> Option<Self> {
        let spec = loaded.spec?;
        let state = StateFolder::new(spec.places.state.clone(), Some(spec.artifacts.dir.clone()));
        Some(MemoryOffice { spec, env: loaded.env, state })
    }

    /// The memory of an agent that is open here.
    pub(crate) fn beside(spec: &AgentSpec, env: &Environment, state: &StateFolder) -> Self {
        MemoryOffice { spec: spec.clone(), env: env.clone(), state: state.clone() }
    }

    /// Where the agent keeps its state.
    pub fn state(&self) -> &StateFolder {
        &self.state
    }

    /// Whether the agent has a memory at all.
    pub fn is_configured(&self) -> bool {
        self.spec.memory.is_some()
    }

    fn settings(&self) -> Result<&MemorySpec, OfficeError> {
        self.spec.memory.as_ref().ok_or_else(|| {
            let fault =
                Diagnostic::new(Kind::Config, Code::new("memory_not_configured"), "this agent has no memory");
            OfficeError::NotThere(Box::new(
                fault.hint("set memory.mode in mono-agent.config.json (lite, journal, bujo)"),
            ))
        })
    }

    fn open(&self) -> Result<Opened, OfficeError> {
        let http: Arc<dyn Http> = Arc::new(NetHttp::new(NetSettings::default()));
        let redactor = Arc::new(redactor(&self.spec, &self.env));
        let parts = MemoryParts {
            spec: &self.spec,
            env: &self.env,
            state: &self.state,
            http: &http,
            redactor: &redactor,
        };
        opened(&parts, self.settings()?).map_err(|error| {
            let (NotOpened::Settings(fault) | NotOpened::Machine(fault)) = error;
            OfficeError::NotThere(Box::new(fault))
        })
    }

    fn store(&self, verb: &'static str) -> Result<MemoryStore, OfficeError> {
        match self.open()? {
            Opened::Here(store) => Ok(store),
            Opened::There(_) => Err(OfficeError::Remote(verb)),
        }
    }

    /// `stats`.
    ///
    /// # Errors
    /// See [`OfficeError`].
    pub fn stats(&self) -> Result<Stats, OfficeError> {
        Ok(self.store("stats")?.stats()?)
    }

    /// `today`; `show` with a date.
    ///
    /// # Errors
    /// See [`OfficeError`].
    pub fn day(&self, date: Option<&str>) -> Result<DayNotes, OfficeError> {
        Ok(match date {
            Some(date) => self.store("show")?.show(date)?,
            None => self.store("today")?.today()?,
        })
    }

    /// `top`: the newest facts.
    ///
    /// # Errors
    /// See [`OfficeError`].
    pub fn top(&self, limit: usize) -> Result<Vec<Hit>, OfficeError> {
        Ok(self.store("top")?.top(limit)?)
    }

    /// `search`.
    ///
    /// # Errors
    /// See [`OfficeError`].
    pub async fn search(&self, query: &str, limit: usize) -> Result<Recalled, OfficeError> {
        Ok(match self.open()? {
            Opened::Here(store) => store.recall(query, limit).await?,
            Opened::There(store) => store.recall(query, limit).await?,
        })
    }

    /// `audit`; `None` where there is no memory to look at.
    ///
    /// # Errors
    /// See [`OfficeError`].
    pub fn audit(&self) -> Result<Option<Health>, OfficeError> {
        if !self.is_configured() {
            return Ok(None);
        }
        Ok(Some(self.store("audit")?.audit()))
    }

    /// The files of the notes that can't be read, with the reason.
    ///
    /// # Errors
    /// See [`OfficeError`].
    pub fn unreadable(&self) -> Result<Vec<(String, String)>, OfficeError> {
        Ok(self.store("audit")?.unreadable()?)
    }

    /// `rebuild`: the index, then every vector. The second part says why it could not make them all.
    ///
    /// # Errors
    /// See [`OfficeError`].
    pub async fn rebuild(&self) -> Result<(Rebuilt, Option<String>), OfficeError> {
        let store = self.store("rebuild")?;
        let mut rebuilt = store.rebuild()?;
        let degraded = store.embed_missing(usize::MAX).await.err();
        rebuilt.index = store.stats()?.index;
        Ok((rebuilt, degraded))
    }

    /// `inspect`.
    ///
    /// # Errors
    /// See [`OfficeError`].
    pub fn inspect(&self, id: Option<&str>) -> Result<IntakeReport, OfficeError> {
        Ok(self.store("inspect")?.inspect(id)?)
    }

    /// `retry`.
    ///
    /// # Errors
    /// See [`OfficeError`].
    pub fn retry(&self, id: Option<&str>) -> Result<Retried, OfficeError> {
        Ok(self.store("retry")?.retry(id)?)
    }

    /// `resolve`.
    ///
    /// # Errors
    /// See [`OfficeError`].
    pub fn resolve(&self, id: &str, reason: &str) -> Result<(), OfficeError> {
        Ok(self.store("resolve")?.resolve(id, reason)?)
    }

    /// `forget prepare`: writes a plan that is new, for its owner alone, outside the memory. Nothing else
    /// changes.
    ///
    /// # Errors
    /// See [`OfficeError`].
    pub fn forget_prepare(
        &self,
        ids: &[String],
        ids_file: Option<&Path>,
        reason: &str,
        plan: &Path,
    ) -> Result<ForgetPlan, OfficeError> {
        let store = self.store("forget")?;
        let mut ids = ids.to_vec();
        if let Some(file) = ids_file {
            let text = text_of(file)?;
            ids.extend(text.lines().map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned));
        }
        let file = |why: &str| OfficeError::File { path: plan.display().to_string(), why: why.to_owned() };
        let folder = plan.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if state::real(folder).starts_with(state::real(&self.settings()?.path)) {
            return Err(file("a plan doesn't belong into the memory's folder"));
        }
        let made = store.forget_prepare(&ids, reason)?;
        let text = serde_json::to_string_pretty(&made).unwrap_or_default() + "\n";
        match state::write_new(plan, text.as_bytes(), 0o600) {
            Ok(()) => Ok(made),
            Err(state::StateError::Io { source, .. })
                if source.kind() == std::io::ErrorKind::AlreadyExists =>
            {
                Err(file("there is a file already; a plan is always a new one"))
            }
            Err(error) => Err(file(&error.to_string())),
        }
    }

    /// `forget apply`. The second part is the backup's place.
    ///
    /// # Errors
    /// See [`OfficeError`].
    pub fn forget_apply(&self, plan: &Path) -> Result<(Forgotten, PathBuf), OfficeError> {
        let store = self.store("forget")?;
        let text = text_of(plan)?;
        let read: ForgetPlan = serde_json::from_str(&text).map_err(|_| OfficeError::File {
            path: plan.display().to_string(),
            why: "it is no plan of `mono-agent memory forget prepare`".to_owned(),
        })?;
        let done = store.forget_apply(&read)?;
        let beside = self.settings()?.path.parent().map(|it| it.join(&done.backup)).unwrap_or_default();
        Ok((done, beside))
    }

    /// `forget restore`.
    ///
    /// # Errors
    /// See [`OfficeError`].
    pub fn forget_restore(&self, backup: &str) -> Result<(), OfficeError> {
        Ok(self.store("forget")?.forget_restore(backup)?)
    }

    /// `forget resume`: whether there was anything to put back.
    ///
    /// # Errors
    /// See [`OfficeError`].
    pub fn forget_resume(&self) -> Result<bool, OfficeError> {
        Ok(self.store("forget")?.forget_resume()?)
    }

    /// The local model, and whether it is there.
    pub fn local_model(&self) -> InstalledModel {
        embedder::installed(&self.state.models())
    }

    /// `embedder install --from …`.
    ///
    /// # Errors
    /// See [`InstallError`].
    pub fn install_local_model(&self, from: &Path) -> Result<InstalledModel, OfficeError> {
        state::ensure_private_dir(self.state.root()).map_err(InstallError::Write)?;
        Ok(embedder::install(&self.state.models(), from)?)
    }
}

fn text_of(path: &Path) -> Result<String, OfficeError> {
    let fault = |why: String| OfficeError::File { path: path.display().to_string(), why };
    let bytes = state::read_bounded(path, PLAN_BYTES_MAX).map_err(|error| fault(error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| fault("it is no UTF-8 text".to_owned()))
}
