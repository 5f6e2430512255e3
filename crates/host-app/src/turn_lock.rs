//! One process at a time works on a conversation (ENG-4, ENG-9).
//!
//! Within a process the engine queues the turns of a conversation. Two processes on one agent (two `run`s, or
//! a `run --local` beside a host) queue by a file: else the later one to store its prompt would lose the
//! other's turn.

use crate::state::StateFolder;
use host_files::state::{ProcessLock, StateError, ensure_private_dir};
use host_ports::CancellationToken;
use host_run::SessionHub;
use host_vocab::ConversationId;

/// The lock of one conversation, held for one turn.
pub(crate) struct TurnLock {
    lock: ProcessLock,
    mine: String,
}

impl TurnLock {
    /// Waits for the conversation. Where another process worked on it since this one did, what this process
    /// still had in memory is dropped. `None` = cancelled while it waited.
    ///
    /// # Errors
    /// Where the lock's file can't be made.
    pub(crate) async fn take(
        state: &StateFolder,
        conversation: &ConversationId,
        incarnation: &str,
        hub: &SessionHub,
        cancel: &CancellationToken,
    ) -> Result<Option<Self>, StateError> {
        let folder = state.turns();
        ensure_private_dir(&state.run())?;
        ensure_private_dir(&folder)?;
        let path =
            folder.join(format!("{}.lock", crate::digest::short_digest(conversation.as_str().as_bytes())));
        let waiting = tokio::task::spawn_blocking(move || ProcessLock::wait(&path));
        let lock = tokio::select! {
            lock = waiting => lock,
            () = cancel.cancelled() => return Ok(None),
        };
        let mut lock = match lock {
            Ok(lock) => lock?,
            Err(_) => return Ok(None),
        };
        let last = lock.note();
        if !last.is_empty() && last != incarnation {
            hub.forget_warm();
        }
        Ok(Some(TurnLock { lock, mine: incarnation.to_owned() }))
    }
}

impl Drop for TurnLock {
    fn drop(&mut self) {
        self.lock.leave(&self.mine);
    }
}
