//! From the settings to a memory.

use super::{AgentMemory, Kept, Local, embedder};
use crate::clock::SystemClock;
use crate::state::StateFolder;
use host_config::AgentSpec;
use host_config::environment::Environment;
use host_config::spec::memory::{MemoryBackend, MemoryMode, MemorySpec, MemoryWriteMode};
use host_files::MemoryFolder;
use host_memory::{
    Capture, CaptureConfig, JournalDesk, MemoryStore, Notes, Refusal, StoreParts, Supermemory,
    SupermemoryConfig, Tier, Upkeep,
};
use host_ports::clock::Clock;
use host_ports::http::Http;
use host_ports::model::Model;
use host_redact::Redactor;
use host_store::MemoryIndex;
use host_vocab::cron::CronSchedule;
use host_vocab::{Code, Diagnostic, Kind, Secret};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// What `H` in `memory.consolidation.cron` is drawn from.
const CONSOLIDATION_SEED: &str = "memory.consolidation";

/// What a memory is made of besides its settings.
pub(crate) struct MemoryParts<'a> {
    pub(crate) spec: &'a AgentSpec,
    pub(crate) env: &'a Environment,
    pub(crate) state: &'a StateFolder,
    pub(crate) http: &'a Arc<dyn Http>,
    pub(crate) redactor: &'a Arc<Redactor>,
}

/// A store, here or elsewhere.
pub(crate) enum Opened {
    Here(MemoryStore),
    There(Supermemory),
}

/// Why there is none.
pub(crate) enum NotOpened {
    /// The settings are wrong: the agent doesn't start.
    Settings(Diagnostic),
    /// This machine can't have it now: the agent works without.
    Machine(Diagnostic),
}

impl AgentMemory {
    /// The memory of an agent; `notes` is the model that takes notes, where one does.
    ///
    /// # Errors
    /// Settings that are wrong. A folder that can't be used only withholds the tools.
    pub(crate) fn open(
        parts: &MemoryParts<'_>,
        notes: Option<Arc<dyn Model>>,
    ) -> Result<Arc<Self>, Diagnostic> {
        let Some(spec) = parts.spec.memory.clone() else { return Ok(Self::none()) };
        let kept = match opened(parts, &spec) {
            Ok(Opened::There(store)) => Kept::There(Arc::new(store)),
            Ok(Opened::Here(store)) => Kept::Here(Arc::new(local(store, &spec, notes))),
            Err(NotOpened::Settings(fault)) => return Err(fault),
            Err(NotOpened::Machine(fault)) => {
                tracing::warn!("{fault}");
                Kept::Broken(fault)
            }
        };
        let missing_key = embedder::missing_key(&spec.embeddings, parts.env).map(str::to_owned);
        Ok(Arc::new(AgentMemory { kept, spec: Some(spec), missing_key }))
    }
}

fn local(store: MemoryStore, spec: &MemorySpec, model: Option<Arc<dyn Model>>) -> Local {
    let notes = match (spec.write_mode, model) {
        (MemoryWriteMode::Capture, Some(model)) => {
            Notes::ByModel(Capture::new(store.clone(), model, capture_config(spec)))
        }
        (MemoryWriteMode::AppendHostSummary, _) => Notes::Summaries,
        _ => Notes::Nobody,
    };
    let mut upkeep = Upkeep::new(store.clone(), notes);
    // The settings were checked: only an expression that is one gets here.
    if store.tier() == Tier::Bujo
        && spec.consolidation.enabled
        && store.is_writable()
        && let Ok(schedule) = CronSchedule::parse(&spec.consolidation.cron, CONSOLIDATION_SEED)
    {
        upkeep = upkeep.with_order(schedule);
    }
    let upkeep = Arc::new(upkeep);
    Local {
        journal: Arc::new(JournalDesk::new(store.clone())),
        wake: upkeep.waker(),
        upkeep,
        store,
        cancel: host_ports::CancellationToken::new(),
        working: std::sync::Mutex::default(),
        dirty: std::sync::atomic::AtomicBool::new(false),
    }
}

fn capture_config(spec: &MemorySpec) -> CaptureConfig {
    CaptureConfig {
        focus: spec.capture.focus.clone(),
        only: spec.capture.only.clone(),
        timeout: Duration::from_millis(spec.llm.timeout_ms),
    }
}

/// Makes the store of the settings. Nothing is read yet.
pub(crate) fn opened(parts: &MemoryParts<'_>, spec: &MemorySpec) -> Result<Opened, NotOpened> {
    let refusal = Refusal::new(Arc::clone(parts.redactor), parts.env.iter());
    if spec.backend == MemoryBackend::Supermemory {
        return supermemory(parts, spec, refusal).map(Opened::There).map_err(NotOpened::Settings);
    }
    apart(parts.spec, &spec.path).map_err(NotOpened::Settings)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let embedder = embedder::of(&spec.embeddings, parts.env, &parts.state.models(), parts.http, &clock)
        .map_err(NotOpened::Settings)?;
    let folder = MemoryFolder::open(&spec.path).map_err(|error| {
        let fault = Diagnostic::new(Kind::Environment, Code::new("memory_unusable"), error.to_string());
        NotOpened::Machine(fault.hint("make memory.path a folder of this user's own, or change the setting"))
    })?;
    let index = MemoryIndex::new(&folder.index_path());
    Ok(Opened::Here(MemoryStore::new(StoreParts {
        read_only: !folder.is_writable(),
        files: Arc::new(folder),
        index: Arc::new(index),
        refusal,
        clock,
        embedder,
        tier: match spec.mode {
            MemoryMode::Lite => Tier::Lite,
            MemoryMode::Journal => Tier::Journal,
            MemoryMode::Bujo => Tier::Bujo,
        },
    })))
}

/// The folder of a memory is hidden from tools, so nothing that they need may lie in it.
fn apart(spec: &AgentSpec, path: &Path) -> Result<(), Diagnostic> {
    let path = host_files::state::real(path);
    let inside = [("workspace", &spec.places.workspace), ("agent's folder", &spec.places.folder)]
        .into_iter()
        .find(|(_, place)| host_files::state::real(place).starts_with(&path));
    let Some((what, _)) = inside else { return Ok(()) };
    let text = format!("memory.path: the {what} lies in {}", path.display());
    Err(Diagnostic::new(Kind::Config, Code::new("config_memory"), text)
        .hint("give memory a folder of its own, such as .mono-agent/memory"))
}

fn supermemory(
    parts: &MemoryParts<'_>,
    spec: &MemorySpec,
    refusal: Refusal,
) -> Result<Supermemory, Diagnostic> {
    let it = &spec.supermemory;
    let base_url = Url::parse(&it.base_url).map_err(|error| {
        let text = format!("memory.supermemory.baseUrl: {error}");
        Diagnostic::new(Kind::Config, Code::new("config_memory"), text).hint("write an http or https address")
    })?;
    let named = it.api_key_env.as_deref().and_then(|name| parts.env.get(name));
    let named = named.filter(|key| !key.trim().is_empty()).cloned().map(Secret::new);
    let config = SupermemoryConfig {
        base_url,
        container: it.container.clone(),
        key: named.or_else(|| it.api_key.clone()),
        timeout: Duration::from_millis(it.timeout_ms),
    };
    Ok(Supermemory::new(Arc::clone(parts.http), refusal, config))
}
