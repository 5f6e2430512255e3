//! Which person is asked in which run what MCP servers want to know (MCP-14).

use host_ports::BoxFuture;
use host_ports::elicit::{Elicit, ElicitAnswer, ElicitRequest};
use host_vocab::RunId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Routes a server's question to the person of its run. A run without one declines.
#[derive(Default)]
pub(crate) struct Questions(Mutex<HashMap<RunId, Arc<dyn Elicit>>>);

/// A person's place; it is given up when this goes.
pub(crate) struct QuestionSeat {
    questions: Arc<Questions>,
    run: RunId,
}

impl Questions {
    /// Lets a person answer for a run.
    pub(crate) fn seat(self: &Arc<Self>, run: RunId, person: Arc<dyn Elicit>) -> QuestionSeat {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(run.clone(), person);
        QuestionSeat { questions: Arc::clone(self), run }
    }
}

impl Drop for QuestionSeat {
    fn drop(&mut self) {
        self.questions.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.run);
    }
}

impl Elicit for Questions {
    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitAnswer> {
        let person = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&request.run).cloned();
        Box::pin(async move {
            match person {
                Some(person) => person.elicit(request).await,
                None => ElicitAnswer::Declined,
            }
        })
    }
}
