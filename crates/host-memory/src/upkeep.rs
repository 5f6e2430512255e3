//! What goes on behind the turns: turns that wait to be noted, vectors for new facts, and order.

use crate::intake::FailureCategory;
use crate::{Capture, CaptureStep, MemoryStore};
use host_ports::CancellationToken;
use host_ports::memory::RememberError;
use host_vocab::cron::CronSchedule;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// How often it looks by itself.
const PAUSE: Duration = Duration::from_secs(30);
/// How often backups are looked through (A16.7).
const SWEEP_EVERY_MS: i64 = 3_600_000;
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
    /// When a page of the entities is made; `None` = never.
    order: Option<CronSchedule>,
    /// When it is due next; `None` = at once, since nobody knows what a start has missed.
    order_due: Mutex<Option<Timestamp>>,
    /// When backups were looked through last, in Unix milliseconds.
    swept: Mutex<Option<i64>>,
    /// One at a time works, also where a closing host helps along.
    turn: tokio::sync::Mutex<()>,
}

impl Upkeep {
    /// Over a memory, with what becomes of its turns.
    pub fn new(store: MemoryStore, notes: Notes) -> Self {
        Upkeep {
            store,
            notes,
            wake: Arc::default(),
            order: None,
            order_due: Mutex::default(),
            swept: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// The same, which also puts the memory in order (`bujo`): at its start, and then by a schedule in UTC (A18.1). A
    /// time that passes while it is at work counts once.
    #[must_use]
    pub fn with_order(mut self, schedule: CronSchedule) -> Self {
        self.order = Some(schedule);
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
        if let Some(schedule) = &self.order {
            self.put_in_order(schedule).await;
        }
        self.sweep_backups().await;
    }

    /// Lets go of backups that are too old, where it is time to look.
    async fn sweep_backups(&self) {
        let now = self.store.parts.clock.now_ms();
        {
            let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
            if swept.is_some_and(|at| (at..at + SWEEP_EVERY_MS).contains(&now)) {
                return;
            }
            *swept = Some(now);
        }
        let store = self.store.clone();
        let done = tokio::task::spawn_blocking(move || store.expire_backups()).await;
        if let Ok(Err(error)) = done {
            tracing::warn!(%error, "old backups of the notes could not be removed");
        }
    }

    /// Makes the page of entities, where it is time.
    async fn put_in_order(&self, schedule: &CronSchedule) {
        let Ok(now) = Timestamp::from_millisecond(self.store.parts.clock.now_ms()) else { return };
        {
            let mut due = self.order_due.lock().unwrap_or_else(PoisonError::into_inner);
            let next = schedule.next_after(now, &TimeZone::UTC);
            // A clock that went back must not make it wait for the old time.
            if due.is_some_and(|at| now < at && next.is_none_or(|next| at <= next)) {
                return;
            }
            *due = next;
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
