//! The `Memory` section of `validate` (A22).

use super::{AgentMemory, Kept};
use crate::report::{Report, Section, SectionStatus};
use host_memory::{EmbedError, MemoryStore};

const TITLE: &str = "Memory";

impl AgentMemory {
    /// How it stands: the folder, the index, what waits, and one vector by the embedder. No model is asked.
    pub(crate) async fn section(&self) -> Section {
        let Some(spec) = &self.spec else {
            let line = "off: no memory is configured (memory.mode)".to_owned();
            return Report::section(TITLE, SectionStatus::Disabled, vec![line]);
        };
        let (mut status, mut lines) = match &self.kept {
            Kept::Nowhere => (SectionStatus::Disabled, Vec::new()),
            Kept::Broken(fault) => (SectionStatus::Error, vec![fault.to_string()]),
            Kept::There(_) => {
                let line =
                    format!("Supermemory at {}: recall alone, not asked now", spec.supermemory.base_url);
                (SectionStatus::Ok, vec![line])
            }
            Kept::Here(local) => here(&local.store).await,
        };
        if !self.recalls() {
            lines.push("memory.recallTool.enabled is off: no MemoryRecall and no MemoryJournal".to_owned());
        }
        if let Some(variable) = &self.missing_key {
            status = status.max(SectionStatus::Waiting);
            lines.push(format!("[WARN] the embedder's key is not there; set {variable}"));
        }
        Report::section(TITLE, status, lines)
    }
}

async fn here(store: &MemoryStore) -> (SectionStatus, Vec<String>) {
    let looked = store.clone();
    let Ok(health) = tokio::task::spawn_blocking(move || looked.audit()).await else {
        return (SectionStatus::Error, vec!["looking at it broke; this is a fault of the host".to_owned()]);
    };
    let waiting = if health.counts.pending > 0 {
        format!("; {} turns wait to be noted", health.counts.pending)
    } else {
        String::new()
    };
    let read_only = if store.is_writable() { "" } else { "; read-only: no Remember" };
    let mut lines = vec![format!("{}: {} facts{waiting}{read_only}", health.mode, health.counts.memories)];
    let mut status = SectionStatus::Ok;
    for issue in &health.issues {
        let (worse, advice) = match *issue {
            "canonical_mismatch" | "intake_pending" => continue,
            "configured_identity_mismatch" => (
                SectionStatus::Error,
                "the vectors are another model's: mono-agent stop, then mono-agent memory rebuild",
            ),
            "mutation_in_progress" => (
                SectionStatus::Error,
                "an application of memory forget broke off: mono-agent memory forget resume",
            ),
            "dead_letters" => (
                SectionStatus::Waiting,
                "turns were given up: mono-agent memory inspect, then retry or resolve",
            ),
            _ => (SectionStatus::Error, "mono-agent memory audit says what to do"),
        };
        status = status.max(worse);
        lines.push(format!("{issue}: {advice}"));
    }
    match store.try_embedder().await {
        None => {}
        Some(Ok(())) => lines.push("the embedder answers".to_owned()),
        Some(Err(error)) => {
            let (worse, advice) = match error {
                EmbedError::NotInstalled => (SectionStatus::Waiting, "mono-agent memory embedder install"),
                EmbedError::Answer(_) => (SectionStatus::Error, "look at memory.embeddings"),
                _ => (SectionStatus::Waiting, "words alone answer until it does"),
            };
            status = status.max(worse);
            lines.push(format!("[WARN] {error}: {advice}"));
        }
    }
    (status, lines)
}
