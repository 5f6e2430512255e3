//! Prompt state in memory.

use host_ports::BoxFuture;
use host_ports::sessions::{Loaded, PromptState, SessionError, Sessions};
use host_vocab::ConversationId;
use std::collections::HashMap;
use std::sync::Mutex;

/// Keeps prompts in memory; can lose them, spoil them, and refuse to store.
#[derive(Default)]
pub struct MemorySessions {
    states: Mutex<HashMap<ConversationId, PromptState>>,
    unreadable: Mutex<Option<String>>,
    failing: Mutex<bool>,
}

impl MemorySessions {
    /// Every load says that the stored form can't be opened, until it is called with `None`.
    pub fn spoil(&self, why: Option<&str>) {
        *self.unreadable.lock().expect("no test panics while it holds this") = why.map(str::to_owned);
    }

    /// Every save fails while this is set.
    pub fn fail_saves(&self, fail: bool) {
        *self.failing.lock().expect("no test panics while it holds this") = fail;
    }

    /// What is stored for a conversation.
    pub fn stored(&self, conversation: &str) -> Option<PromptState> {
        let states = self.states.lock().expect("no test panics while it holds this");
        states.iter().find(|(id, _)| id.as_str() == conversation).map(|(_, state)| state.clone())
    }
}

impl Sessions for MemorySessions {
    fn load(&self, conversation: &ConversationId) -> BoxFuture<'_, Loaded> {
        let conversation = conversation.clone();
        Box::pin(async move {
            if let Some(why) = self.unreadable.lock().expect("no test panics while it holds this").clone() {
                return Loaded::Unreadable(why);
            }
            let states = self.states.lock().expect("no test panics while it holds this");
            states.get(&conversation).cloned().map_or(Loaded::Nothing, Loaded::State)
        })
    }

    fn save(
        &self,
        conversation: &ConversationId,
        state: &PromptState,
    ) -> BoxFuture<'_, Result<(), SessionError>> {
        let (conversation, state) = (conversation.clone(), state.clone());
        Box::pin(async move {
            if *self.failing.lock().expect("no test panics while it holds this") {
                return Err(SessionError("the disk is full".into()));
            }
            self.states.lock().expect("no test panics while it holds this").insert(conversation, state);
            Ok(())
        })
    }

    fn forget(&self, conversation: &ConversationId) -> BoxFuture<'_, Result<(), SessionError>> {
        self.states.lock().expect("no test panics while it holds this").remove(conversation);
        Box::pin(async { Ok(()) })
    }

    fn clear(&self) -> BoxFuture<'_, Result<(u64, u64), SessionError>> {
        let mut states = self.states.lock().expect("no test panics while it holds this");
        let count = states.len() as u64;
        states.clear();
        Box::pin(async move { Ok((count, 0)) })
    }
}
