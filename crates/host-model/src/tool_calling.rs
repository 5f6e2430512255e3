//! How tools reach a model.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// How tools reach a model (`toolCalling`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolCalling {
    /// Found out: by one cheap request on a local endpoint, by the first refusal elsewhere.
    #[default]
    Auto,
    /// As the provider's own tool calls.
    Native,
    /// As a schema that the answer must keep; Chat Completions only.
    Schema,
    /// Not at all.
    None,
}

/// What was found out of endpoints, in memory: whether a model on a base URL carries tool calls. Share one
/// over all models of a process.
#[derive(Debug, Default)]
pub struct Verdicts(Mutex<HashMap<(String, String), bool>>);

impl Verdicts {
    /// The most that are remembered.
    const KNOWN_MAX: usize = 256;

    pub(crate) fn get(&self, base_url: &str, model: &str) -> Option<bool> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&(base_url.to_owned(), model.to_owned())).copied()
    }

    pub(crate) fn set(&self, base_url: &str, model: &str, native: bool) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= Self::KNOWN_MAX {
            known.clear();
        }
        known.insert((base_url.to_owned(), model.to_owned()), native);
    }
}
