//! `MemoryRecall`, `MemoryJournal` and `Remember` of an agent: offered, or withheld with the setting that does it.

use super::{AgentMemory, Kept, Local};
use host_memory::MemoryStore;
use host_ports::BoxFuture;
use host_ports::memory::{Recall, Remember, RememberError, Remembered};
use host_surface::{Offer, RunFacts, ToolSource, WithheldBy};
use host_tools::{MemoryJournalTool, MemoryRecallTool, RememberTool};
use std::sync::Arc;

const RECALL: &str = "MemoryRecall";
const JOURNAL: &str = "MemoryJournal";
const REMEMBER: &str = "Remember";
const RECALL_OFF: &str = "memory.recallTool.enabled is off";
const REMEMBER_OFF: &str = "memory.rememberTool.enabled is off";

impl ToolSource for AgentMemory {
    fn name(&self) -> String {
        "memory".to_owned()
    }

    fn offers<'a>(&'a self, _run: &'a RunFacts) -> BoxFuture<'a, Vec<Offer>> {
        Box::pin(async { self.offered() })
    }
}

fn lacks(name: &str, why: impl Into<String>) -> Offer {
    Offer::withheld(name, WithheldBy::Capability, why)
}

impl AgentMemory {
    /// Whether `MemoryRecall` and `MemoryJournal` may be there at all (REC-1).
    pub(crate) fn recalls(&self) -> bool {
        self.spec.as_ref().is_some_and(|spec| spec.recall_tool.enabled)
    }

    /// Whether `Remember` may be there as far as the settings go (REM-2).
    fn remembers(&self) -> bool {
        self.spec.as_ref().is_some_and(|spec| spec.remember_tool.enabled != Some(false))
    }

    fn offered(&self) -> Vec<Offer> {
        match &self.kept {
            Kept::Nowhere => {
                let why = "no memory is configured; set memory.mode";
                [RECALL, JOURNAL, REMEMBER].map(|name| lacks(name, why)).into()
            }
            // The model may be told this; where the folder is, `validate` says.
            Kept::Broken(_) => {
                let why = "the folder of memory.path can't be used (mono-agent validate says why)";
                [RECALL, JOURNAL, REMEMBER].map(|name| Offer::withheld(name, WithheldBy::Source, why)).into()
            }
            Kept::There(store) => vec![
                self.recall(Arc::clone(store) as _),
                lacks(JOURNAL, "memory.backend is \"supermemory\", which can't be read by date"),
                lacks(REMEMBER, "memory.backend is \"supermemory\", which takes no facts"),
            ],
            Kept::Here(local) => {
                vec![self.recall(Arc::new(local.store.clone())), self.journal(local), self.remember(local)]
            }
        }
    }

    fn recall(&self, store: Arc<dyn Recall>) -> Offer {
        if self.recalls() { Offer::ready(MemoryRecallTool::new(store)) } else { lacks(RECALL, RECALL_OFF) }
    }

    /// Two gates (JRN-6): this switch, and the lists, which the seal asks.
    fn journal(&self, local: &Local) -> Offer {
        if self.recalls() {
            Offer::ready(MemoryJournalTool::new(Arc::clone(&local.journal) as _))
        } else {
            lacks(JOURNAL, RECALL_OFF)
        }
    }

    fn remember(&self, local: &Arc<Local>) -> Offer {
        if !self.remembers() {
            lacks(REMEMBER, REMEMBER_OFF)
        } else if local.store.is_writable() {
            Offer::ready(RememberTool::new(Arc::new(Noting(local.store.clone(), Arc::clone(local)))))
        } else {
            lacks(REMEMBER, "this memory is read-only")
        }
    }
}

/// Storing facts, with a word to the work behind: a new fact has no vector yet.
struct Noting(MemoryStore, Arc<Local>);

impl Remember for Noting {
    fn remember<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Remembered, RememberError>> {
        Box::pin(async move {
            let done = self.0.remember(text).await;
            if done.is_ok() {
                self.1.touch();
            }
            done
        })
    }
}
