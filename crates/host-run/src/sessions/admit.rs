//! Who may run now: one turn of a conversation at a time, and only so many runs in all.

use super::{SessionHub, Warm};
use host_ports::CancellationToken;
use host_vocab::ConversationId;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit};

/// How often idle conversations are looked for, in milliseconds.
const SWEEP_EVERY_MS: i64 = 30_000;

/// Why a turn may not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Busy {
    /// As many runs wait as may.
    #[error("the agent is busy: {0} runs are waiting already (maxPendingRuns); try again later")]
    Full(usize),
    /// It was cancelled while it waited.
    #[error("the turn was cancelled while it waited for its place")]
    Cancelled,
}

/// A run's place. Dropping it lets the next one in.
pub(crate) struct Place {
    /// The conversation; `None` for a run that stands alone.
    pub(crate) warm: Option<OwnedMutexGuard<Warm>>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Place {
    /// The place of a run that runs inside another's.
    pub(crate) fn nested() -> Self {
        Place { warm: None, _permit: None }
    }
}

/// The queues.
#[derive(Default)]
pub(super) struct Admission {
    conversations: Mutex<Conversations>,
    waiting: AtomicUsize,
}

#[derive(Default)]
struct Conversations {
    all: HashMap<ConversationId, Conversation>,
    swept_at: i64,
}

struct Conversation {
    warm: Arc<tokio::sync::Mutex<Warm>>,
    used_at: i64,
}

impl Admission {
    pub(super) fn conversation(&self, id: &ConversationId, now: i64) -> Arc<tokio::sync::Mutex<Warm>> {
        let mut conversations = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = conversations
            .all
            .entry(id.clone())
            .or_insert_with(|| Conversation { warm: Arc::default(), used_at: now });
        entry.used_at = now;
        Arc::clone(&entry.warm)
    }

    pub(super) fn sweep(&self, now: i64, idle: Duration) {
        let idle_ms = i64::try_from(idle.as_millis()).unwrap_or(i64::MAX);
        let mut conversations = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        conversations.swept_at = now;
        // One that is in use has another holder.
        conversations
            .all
            .retain(|_, it| Arc::strong_count(&it.warm) > 1 || now.saturating_sub(it.used_at) < idle_ms);
    }

    fn sweep_now_and_then(&self, now: i64, idle: Duration) {
        let due = {
            let conversations = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
            now.saturating_sub(conversations.swept_at) >= SWEEP_EVERY_MS
        };
        if due {
            self.sweep(now, idle);
        }
    }

    pub(super) fn forget_all(&self) {
        let mut conversations = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        conversations.all.retain(|_, it| {
            if let Ok(mut warm) = it.warm.try_lock() {
                *warm = Warm::default();
                return false;
            }
            true
        });
    }

    pub(super) fn touch(&self, id: &ConversationId, now: i64) {
        let mut conversations = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(it) = conversations.all.get_mut(id) {
            it.used_at = now;
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner).all.len()
    }
}

/// Counts a run that waits for as long as it waits.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(count: &'a AtomicUsize, most: usize) -> Result<Self, Busy> {
        count
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| (n < most).then_some(n + 1))
            .map(|_| Waiting(count))
            .map_err(|_| Busy::Full(most))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl SessionHub {
    /// Waits for a place: first for the conversation's earlier turns, then for a free run. A turn that waits for
    /// its conversation holds no run.
    pub(crate) async fn admit(
        &self,
        conversation: Option<&ConversationId>,
        cancel: &CancellationToken,
    ) -> Result<Place, Busy> {
        let now = self.now();
        self.admission.sweep_now_and_then(now, self.config.idle);
        let queue = conversation.map(|id| self.admission.conversation(id, now));
        // Counted once, for both waits: who waited for the conversation is not sent away at the second door.
        let mut waiting = None;
        let mut warm = None;
        if let Some(queue) = &queue {
            warm = Some(match Arc::clone(queue).try_lock_owned() {
                Ok(guard) => guard,
                Err(_) => {
                    waiting = Some(Waiting::enter(&self.admission.waiting, self.config.pending_max)?);
                    tokio::select! {
                        guard = Arc::clone(queue).lock_owned() => guard,
                        () = cancel.cancelled() => return Err(Busy::Cancelled),
                    }
                }
            });
        }
        let permit = match Arc::clone(&self.running).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                if waiting.is_none() {
                    waiting = Some(Waiting::enter(&self.admission.waiting, self.config.pending_max)?);
                }
                tokio::select! {
                    permit = Arc::clone(&self.running).acquire_owned() => permit.map_err(|_| Busy::Cancelled)?,
                    () = cancel.cancelled() => return Err(Busy::Cancelled),
                }
            }
        };
        drop(waiting);
        Ok(Place { warm, _permit: Some(permit) })
    }

    /// A conversation was just used.
    pub(crate) fn touch(&self, id: &ConversationId) {
        self.admission.touch(id, self.now());
    }

    #[cfg(test)]
    pub(super) fn in_memory(&self) -> usize {
        self.admission.len()
    }
}
