//! Edits that were previewed and may be written once, unchanged (FIL-5).

use super::patch::Patch;
use host_vocab::ConversationId;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The most previews that wait; the oldest goes first.
const PREPARED_MAX: usize = 64;
/// The most bytes that all of them hold.
const PREPARED_BYTES_MAX: usize = 32 * 1024 * 1024;

/// One edit, ready to be written.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) conversation: ConversationId,
    /// Where the file really is, and how it is shown.
    pub(super) place: PathBuf,
    pub(super) shown: String,
    /// The whole file that the edit was made from, and what it becomes.
    pub(super) before: Vec<u8>,
    pub(super) after: Vec<u8>,
    pub(super) patch: Patch,
    pub(super) report: String,
}

/// What waits, in memory alone: after a restart there is nothing to apply.
#[derive(Debug, Default)]
pub(super) struct PreparedEdits {
    waiting: Mutex<VecDeque<(String, Prepared)>>,
}

impl PreparedEdits {
    /// Keeps an edit and gives the id that writes it.
    pub(super) fn keep(&self, edit: Prepared) -> String {
        let id = uuid::Uuid::new_v4().to_string();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push_back((id.clone(), edit));
        let bytes = |waiting: &VecDeque<(String, Prepared)>| -> usize {
            waiting.iter().map(|(_, edit)| edit.before.len() + edit.after.len()).sum()
        };
        while waiting.len() > 1 && (waiting.len() > PREPARED_MAX || bytes(&waiting) > PREPARED_BYTES_MAX) {
            waiting.pop_front();
        }
        id
    }

    /// Takes an edit out, if the id is of this conversation and this file. A file that is gone or is now
    /// elsewhere still takes it out by its name, so that the write can say what changed.
    pub(super) fn take(
        &self,
        id: &str,
        conversation: &ConversationId,
        path: &str,
        place: Option<&Path>,
    ) -> Option<Prepared> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let at = waiting.iter().position(|(known, edit)| {
            let same_file =
                place == Some(edit.place.as_path()) || edit.shown == path.trim_start_matches("./");
            known == id && edit.conversation == *conversation && same_file
        })?;
        waiting.remove(at).map(|(_, edit)| edit)
    }
}
