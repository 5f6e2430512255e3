//! What goes on behind the turns: turns that wait to be noted, vectors for new facts, and order.

use crate::intake::FailureCategory;
use crate::{Capture, CaptureStep, MemoryStore};
use host_ports::CancellationToken;
use host_ports::memory::RememberError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How often it looks by itself.
const PAUSE: Duration = Duration::from_secs(30);
/// How many vectors are made before turns are looked at again.
const VECTORS_AT_ONCE: usize = 256;

/// What becomes of turns that wait.
pub enum Notes {
    /// None is noted; none waits.
    Nobody,
    /// The host's summary, where the first attempt at it failed.
    Summaries,
    /// What a model finds worth it (`bujo` with `writeMode: capture`).
    ByModel(Capture),
}

/// The work behind the turns of one memory. One for each memory and process.
pub struct Upkeep {
    store: MemoryStore,
    notes: Notes,
    wake: Arc<Notify>,
    /// How often a page of the entities is made; `None` = never.
    order: Option<Duration>,
    ordered: Mutex<Option<Instant>>,
    /// One at a time works, also where a closing host helps along.
    turn: tokio::sync::Mutex<()>,
}

impl Upkeep {
    /// Over a memory, with what becomes of its turns.
    pub fn new(store: MemoryStore, notes: Notes) -> Self {
        let ordered = Mutex::default();
        Upkeep {
            store,
            notes,
            wake: Arc::default(),
            order: None,
            ordered,
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// The same, which also puts the memory in order from time to time (`bujo`).
    #[must_use]
    pub fn with_order(mut self, every: Duration) -> Self {
        self.order = Some(every);
        self
    }

    /// A handle that makes it look at once: call it after a fact was stored or a turn admitted.
    pub fn waker(&self) -> Arc<Notify> {
        Arc::clone(&self.wake)
    }

    /// Works until it is cancelled. A turn in hand stays pending for the next start.
    pub async fn run(&self, cancel: CancellationToken) {
        loop {
            let worked = async {
                self.work().await;
                tokio::select! {
                    () = self.wake.notified() => {}
                    () = tokio::time::sleep(PAUSE) => {}
                }
            };
            tokio::select! {
                () = cancel.cancelled() => return,
                () = worked => {}
            }
        }
    }

    /// Does what there is to do now.
    pub async fn work(&self) {
        let _turn = self.turn.lock().await;
        match &self.notes {
            Notes::Nobody => {}
            Notes::Summaries => self.summaries().await,
            Notes::ByModel(capture) => while let CaptureStep::Noted(_) = capture.step().await {},
        }
        if let Err(why) = self.store.embed_missing(VECTORS_AT_ONCE).await {
            tracing::debug!(why, "no vectors were made; words alone find the new facts");
        }
        if let Some(every) = self.order {
            self.put_in_order(every).await;
        }
    }

    /// Makes the page of entities, where it is time.
    async fn put_in_order(&self, every: Duration) {
        let now = self.store.parts.clock.instant();
        {
            let mut ordered = self.ordered.lock().unwrap_or_else(PoisonError::into_inner);
            if ordered.is_some_and(|at| now.saturating_duration_since(at) < every) {
                return;
            }
            *ordered = Some(now);
        }
        let store = self.store.clone();
        match tokio::task::spawn_blocking(move || store.consolidate()).await {
            Ok(Ok(done)) => {
                tracing::info!(
                    facts = done.facts,
                    duplicate_groups = done.duplicate_groups,
                    "memory is in order"
                );
            }
            Ok(Err(error)) => tracing::warn!(%error, "memory could not be put in order"),
            Err(_) => {}
        }
    }

    /// Notes the summaries that wait. What can never be stored is resolved with the reason.
    async fn summaries(&self) {
        let store = self.store.clone();
        let done = tokio::task::spawn_blocking(move || {
            while let Some(mut waiting) = store.next_due()? {
                match store.note_summary(&waiting.turn) {
                    Ok(_) => store.settle_done(&waiting, "noted")?,
                    Err(
                        RememberError::NotStored { .. }
                        | RememberError::Uncertain
                        | RememberError::Unindexed { .. }
                        | RememberError::LegacyLayout { .. },
                    ) => return store.settle_failed(&mut waiting, FailureCategory::Processing),
                    Err(_) => store.settle_done(&waiting, "refused")?,
                }
            }
            Ok::<_, crate::IntakeError>(())
        });
        if let Ok(Err(error)) = done.await {
            tracing::warn!(%error, "turns that wait to be noted could not be looked at");
        }
    }
}
