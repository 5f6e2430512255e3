//! Long-term memory in an agent: the settings become a store, the store's tools are offered, its facts go along
//! with a turn, and a turn that is over goes into it.

mod embedder;
pub(crate) mod model;
mod office;
mod opening;
mod section;
mod tools;
mod turns;

pub use embedder::{InstallError, InstalledFile, InstalledModel};
pub use office::{MemoryOffice, OfficeError};
pub(crate) use opening::MemoryParts;

use host_config::spec::memory::MemorySpec;
use host_memory::{JournalDesk, MemoryStore, Supermemory, Upkeep};
use host_ports::CancellationToken;
use host_vocab::Diagnostic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// How long the work behind the turns may take to end (A3.11). What is left waits for the next start.
const DRAIN_MAX: Duration = Duration::from_secs(10);

/// The memory of one agent, for its runs.
pub(crate) struct AgentMemory {
    pub(crate) kept: Kept,
    pub(crate) spec: Option<MemorySpec>,
    /// The variable that is named for the embedder's key and isn't set.
    pub(crate) missing_key: Option<String>,
}

/// Where it is kept.
pub(crate) enum Kept {
    /// Nobody asked for one.
    Nowhere,
    /// It was asked for, and this machine can't have it now.
    Broken(Diagnostic),
    /// Here.
    Here(Arc<Local>),
    /// With Supermemory.
    There(Arc<Supermemory>),
}

/// A local memory and the work behind its turns.
pub(crate) struct Local {
    pub(crate) store: MemoryStore,
    pub(crate) journal: Arc<JournalDesk>,
    upkeep: Arc<Upkeep>,
    wake: Arc<Notify>,
    cancel: CancellationToken,
    working: Mutex<Option<JoinHandle<()>>>,
    /// Whether this process put anything in that is not worked off yet.
    dirty: AtomicBool,
}

impl AgentMemory {
    /// None at all.
    pub(crate) fn none() -> Arc<Self> {
        Arc::new(AgentMemory { kept: Kept::Nowhere, spec: None, missing_key: None })
    }

    /// Begins the work behind the turns: vectors, turns that wait, order. For a host that goes on; what runs
    /// one turn works off its own at the end.
    pub(crate) fn begin(&self) {
        let Kept::Here(local) = &self.kept else { return };
        let mut working = local.working.lock().unwrap_or_else(PoisonError::into_inner);
        if working.is_none() {
            let (upkeep, cancel) = (Arc::clone(&local.upkeep), local.cancel.clone());
            *working = Some(tokio::spawn(async move { upkeep.run(cancel).await }));
        }
    }

    /// Ends it. What this process put in is worked off first, within a bound.
    pub(crate) async fn close(&self) {
        let Kept::Here(local) = &self.kept else { return };
        let work = local.upkeep.work();
        if local.dirty.load(Ordering::Relaxed) && tokio::time::timeout(DRAIN_MAX, work).await.is_err() {
            tracing::warn!("memory still has work to do; it goes on at the next start");
        }
        local.cancel.cancel();
        let working = local.working.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(working) = working {
            let _ended = working.await;
        }
    }
}

impl Local {
    /// Says that there is something to work on.
    pub(crate) fn touch(&self) {
        self.dirty.store(true, Ordering::Relaxed);
        self.wake.notify_one();
    }
}
