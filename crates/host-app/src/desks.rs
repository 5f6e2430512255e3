//! Which person plays the model in which conversation.

use host_ports::BoxFuture;
use host_ports::model::ModelRequest;
use host_ports::operator::{OperatorDesk, OperatorMove};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Routes each request of `manual:operator` to the desk of its turn. A turn without a desk is left at once.
#[derive(Default)]
pub(crate) struct Desks(Mutex<HashMap<String, Arc<dyn OperatorDesk>>>);

/// A desk's place; it is given up when this goes.
pub(crate) struct Seat {
    desks: Arc<Desks>,
    key: String,
}

impl Desks {
    /// Seats a desk for a turn's cache key.
    pub(crate) fn seat(self: &Arc<Self>, key: String, desk: Arc<dyn OperatorDesk>) -> Seat {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), desk);
        Seat { desks: Arc::clone(self), key }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.desks.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

impl OperatorDesk for Desks {
    fn next_move(&self, request: &ModelRequest) -> BoxFuture<'_, OperatorMove> {
        let desks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let desk = request.cache_key.as_ref().and_then(|key| desks.get(key)).cloned();
        let request = request.clone();
        Box::pin(async move {
            match desk {
                Some(desk) => desk.next_move(&request).await,
                None => OperatorMove::Leave,
            }
        })
    }
}
