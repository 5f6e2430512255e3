//! What is known of a server, here and in the cache.

use super::{Known, Server};
use crate::cache::{ENTRY_BYTES_MAX, Entry, now_ms};
use crate::definition::Definitions;
use std::sync::Arc;

impl Server {
    /// Takes new definitions; whether they differ from what was known.
    pub(super) fn adopt(&self, definitions: &Definitions) -> bool {
        let mut state = self.state();
        let same = state.known.as_ref().is_some_and(|known| *known.definitions == *definitions);
        let stale = state.known.as_ref().is_none_or(|known| known.cached_at.is_some());
        let kept = match &state.known {
            // The same value stays the same allocation, so that what was built from it is kept.
            Some(known) if same => Arc::clone(&known.definitions),
            _ => Arc::new(definitions.clone()),
        };
        state.known = Some(Known { definitions: kept, cached_at: None });
        !same || stale
    }

    pub(crate) async fn read_cache(&self) {
        let Some(cache) = &self.cache else { return };
        if self.state().cache_read {
            return;
        }
        let found = cache.load(&self.digest).await;
        let entry = found
            .filter(|bytes| bytes.len() <= ENTRY_BYTES_MAX)
            .and_then(|bytes| serde_json::from_slice::<Entry>(&bytes).ok());
        let mut state = self.state();
        if !std::mem::replace(&mut state.cache_read, true)
            && state.known.is_none()
            && let Some(Entry { at, definitions }) = entry
        {
            state.known = Some(Known { definitions: Arc::new(definitions), cached_at: Some(at) });
        }
    }

    pub(super) async fn write_cache(&self, definitions: Definitions) {
        let Some(cache) = &self.cache else { return };
        let entry = Entry { at: now_ms(), definitions };
        if let Ok(bytes) = serde_json::to_vec(&entry)
            && bytes.len() <= ENTRY_BYTES_MAX
        {
            cache.store(&self.digest, bytes).await;
        }
    }
}
