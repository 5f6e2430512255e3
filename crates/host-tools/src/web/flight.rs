//! Calls that ask for the same at the same time share the work.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OnceCell;

/// Work in progress, by what it is for. When the call that does the work is dropped, one that waits for it
/// takes over.
pub(crate) struct Flights<K, V> {
    open: Mutex<HashMap<K, Arc<OnceCell<V>>>>,
}

impl<K, V> Default for Flights<K, V> {
    fn default() -> Self {
        Flights { open: Mutex::default() }
    }
}

impl<K: Eq + Hash + Clone, V: Clone> Flights<K, V> {
    /// Gives what `work` makes, or what the same work of another call makes that is under way. Nothing is
    /// kept once nobody waits.
    pub(crate) async fn share(&self, key: &K, work: impl Future<Output = V>) -> V {
        let cell = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            // Whoever was dropped in the middle left its cell behind.
            open.retain(|_, cell| Arc::strong_count(cell) > 1);
            Arc::clone(open.entry(key.clone()).or_default())
        };
        let value = cell.get_or_init(|| work).await.clone();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.get(key).is_some_and(|it| Arc::ptr_eq(it, &cell)) {
            open.remove(key);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    // TOO-4, TOO-5
    #[tokio::test(start_paused = true)]
    async fn the_same_at_the_same_time_is_done_once_and_later_again() {
        let flights = Arc::new(Flights::<u8, u32>::default());
        let count = Arc::new(AtomicU32::new(0));
        let ask = |key: u8| {
            let (flights, count) = (Arc::clone(&flights), Arc::clone(&count));
            async move {
                let work = async {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    count.fetch_add(1, Ordering::SeqCst) + 1
                };
                flights.share(&key, work).await
            }
        };
        let first = tokio::spawn(ask(1));
        tokio::time::sleep(Duration::from_millis(10)).await;
        let second = tokio::spawn(ask(1));
        let other = tokio::spawn(ask(2));
        tokio::time::sleep(Duration::from_millis(10)).await;
        // The one that does the work goes away; the other one takes over.
        first.abort();
        assert_eq!(second.await.unwrap() + other.await.unwrap(), 3);
        assert_eq!(ask(1).await, 3);
        assert!(flights.open.lock().unwrap().is_empty());
    }
}
