//! What people are asked. The open ones live as long as their turn; the last closed ones are kept, so that a page
//! that answers too late is told what was answered.

use crate::shapes::{Ask, AskKind};
use serde_json::Value;
use std::collections::VecDeque;

/// How many closed questions are kept.
const CLOSED_MAX: usize = 512;

/// An open question, with its number at the host.
pub(crate) struct OpenAsk {
    pub(crate) ask: Ask,
    pub(crate) host: u64,
}

/// All questions.
#[derive(Default)]
pub(crate) struct Asks {
    open: Vec<OpenAsk>,
    closed: VecDeque<Ask>,
}

impl Asks {
    pub(crate) fn open(&mut self, ask: Ask, host: u64) {
        self.open.push(OpenAsk { ask, host });
    }

    /// The open ones of a conversation, oldest first.
    pub(crate) fn of(&self, thread: &str) -> Vec<Ask> {
        self.open.iter().filter(|it| it.ask.thread_id == thread).map(|it| it.ask.clone()).collect()
    }

    pub(crate) fn find(&self, thread: &str, id: &str) -> Option<&OpenAsk> {
        self.open.iter().find(|it| it.ask.thread_id == thread && it.ask.id == id)
    }

    pub(crate) fn find_closed(&self, thread: &str, id: &str) -> Option<&Ask> {
        self.closed.iter().find(|it| it.thread_id == thread && it.id == id)
    }

    /// Closes those that fit; gives them.
    pub(crate) fn close(
        &mut self,
        fits: impl Fn(&OpenAsk) -> bool,
        state: &str,
        answer: Option<&Value>,
        at: &str,
    ) -> Vec<Ask> {
        let (closing, open) =
            std::mem::take(&mut self.open).into_iter().partition::<Vec<_>, _>(|it| fits(it));
        self.open = open;
        let mut closed = Vec::new();
        for OpenAsk { mut ask, .. } in closing {
            let late = ask.expires_at.as_deref().is_some_and(|expires| at >= expires);
            let word = if state == "cancelled" && late { "expired" } else { state };
            word.clone_into(&mut ask.state);
            ask.answered_at = Some(at.to_owned());
            ask.answer = answer.cloned();
            if self.closed.len() == CLOSED_MAX {
                self.closed.pop_front();
            }
            self.closed.push_back(ask.clone());
            closed.push(ask);
        }
        closed
    }
}

/// The call that an approval is about.
pub(crate) fn call_of(ask: &Ask) -> Option<&str> {
    match &ask.kind {
        AskKind::Approval { call_id, .. } => Some(call_id),
        AskKind::AskUser { .. } | AskKind::Elicit { .. } => None,
    }
}
