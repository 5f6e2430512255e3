//! The trusted context of a run, for the stdio servers that are listed for it (CTX-1).
//!
//! A listed server is started anew for each run that calls it, with the run's own values in its environment; its
//! shared entry is never changed. Where no run lends anything (`mcp list`, `explain`), the names are there and
//! empty, so that a value of the config can't stand in for them.

use crate::server::Server;
use host_ports::spawn::OwnFolder;
use host_vocab::RunId;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// The variables of the context; nothing in a config can set them for a listed server.
pub mod names {
    /// The conversation that the run belongs to.
    pub const CONVERSATION: &str = "MONO_AGENT_MCP_PRODUCING_CONVERSATION_ID";
    /// The run.
    pub const RUN: &str = "MONO_AGENT_MCP_PRODUCING_RUN_ID";
    /// The run's own folder for output.
    pub const OUTPUT_DIR: &str = "MONO_AGENT_MCP_RUN_OUTPUT_DIR";
    /// The folder of attachments, canonical.
    pub const ATTACHMENTS_ROOT: &str = "MONO_AGENT_MCP_ATTACHMENTS_ROOT";
    /// A JSON array of paths that may be read.
    pub const ALLOWED_PATHS: &str = "MONO_AGENT_MCP_ALLOWED_ATTACHMENT_PATHS";
    /// A JSON array of `{path, dev, ino}`.
    pub const ALLOWED_IDENTITIES: &str = "MONO_AGENT_MCP_ALLOWED_ATTACHMENT_IDENTITIES";
    /// Where progress is posted.
    pub const PROGRESS_URL: &str = "MONO_AGENT_INTERACTION_PROGRESS_URL";
    /// The bearer for it.
    pub const PROGRESS_TOKEN: &str = "MONO_AGENT_INTERACTION_PROGRESS_TOKEN";
    /// The master bridge, always empty.
    pub const BRIDGE_URL: &str = "MONO_AGENT_INTERACTION_BRIDGE_URL";
    /// Its bearer, always empty.
    pub const BRIDGE_TOKEN: &str = "MONO_AGENT_INTERACTION_BRIDGE_TOKEN";

    /// All of them.
    pub const ALL: &[&str] = &[
        CONVERSATION,
        RUN,
        OUTPUT_DIR,
        ATTACHMENTS_ROOT,
        ALLOWED_PATHS,
        ALLOWED_IDENTITIES,
        PROGRESS_URL,
        PROGRESS_TOKEN,
        BRIDGE_URL,
        BRIDGE_TOKEN,
    ];
}

/// What a run lends to a server.
#[derive(Clone, Default)]
pub struct RunLoan {
    /// The values of the context; names that are missing are set to nothing.
    pub env: BTreeMap<String, String>,
    /// Folders of the host's state that show through its sandbox.
    pub folders: Vec<OwnFolder>,
}

/// Who knows what runs lend.
pub trait RunContexts: Send + Sync {
    /// What a run lends; `None` = nothing, nobody runs.
    ///
    /// # Errors
    /// Why the run could not lend what it should: then its listed servers are withheld, in these words.
    fn of(&self, run: &RunId) -> Result<Option<RunLoan>, String>;
}

/// The whole overlay: every name of the context, with the run's value or none.
pub(crate) fn overlay(loan: Option<&RunLoan>) -> BTreeMap<String, String> {
    let blank = |name: &str| match name {
        names::ALLOWED_PATHS | names::ALLOWED_IDENTITIES => "[]".to_owned(),
        _ => String::new(),
    };
    let mut overlay: BTreeMap<String, String> =
        names::ALL.iter().map(|name| ((*name).to_owned(), blank(name))).collect();
    for (name, value) in loan.into_iter().flat_map(|loan| &loan.env) {
        if !matches!(name.as_str(), names::BRIDGE_URL | names::BRIDGE_TOKEN) && overlay.contains_key(name) {
            overlay.insert(name.clone(), value.clone());
        }
    }
    overlay
}

/// The servers that were made for single runs.
#[derive(Default)]
pub(crate) struct RunServers(Mutex<HashMap<RunId, Arc<Server>>>);

impl RunServers {
    /// The server of a run, made at the first question.
    pub(crate) fn of(&self, run: &RunId, make: impl FnOnce() -> Arc<Server>) -> Arc<Server> {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(map.entry(run.clone()).or_insert_with(make))
    }

    pub(crate) fn take(&self, run: &RunId) -> Option<Arc<Server>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(run)
    }

    pub(crate) fn take_all(&self) -> Vec<Arc<Server>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).drain().map(|(_, server)| server).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // CTX-1
    #[test]
    fn every_name_is_there_and_the_master_bridge_is_empty() {
        let loan = RunLoan {
            env: [(names::RUN, "r1"), (names::BRIDGE_TOKEN, "master"), ("PATH", "/evil")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            folders: Vec::new(),
        };
        let overlay = overlay(Some(&loan));
        assert_eq!(overlay.len(), names::ALL.len());
        assert_eq!(overlay[names::RUN], "r1");
        assert_eq!(overlay[names::BRIDGE_TOKEN], "");
        assert_eq!(overlay[names::ALLOWED_PATHS], "[]");
        assert_eq!(overlay[names::CONVERSATION], "");
    }
}
