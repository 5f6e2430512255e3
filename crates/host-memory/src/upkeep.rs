//! What goes on behind the turns: vectors for new facts, and turns that wait to be noted.

use crate::{Capture, CaptureStep, MemoryStore};
use host_ports::CancellationToken;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// How often it looks by itself.
const PAUSE: Duration = Duration::from_secs(30);
/// How many vectors are made before turns are looked at again.
const VECTORS_AT_ONCE: usize = 256;

/// The work behind the turns of one memory. One for each memory and process.
pub struct Upkeep {
    store: MemoryStore,
    capture: Option<Capture>,
    wake: Arc<Notify>,
}

impl Upkeep {
    /// Over a memory, and the capture of turns where there is one (`bujo` with `writeMode: capture`).
    pub fn new(store: MemoryStore, capture: Option<Capture>) -> Self {
        Upkeep { store, capture, wake: Arc::default() }
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
        if let Some(capture) = &self.capture {
            while let CaptureStep::Noted(_) = capture.step().await {}
        }
        if let Err(why) = self.store.embed_missing(VECTORS_AT_ONCE).await {
            tracing::debug!(why, "no vectors were made; words alone find the new facts");
        }
    }
}
