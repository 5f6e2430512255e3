//! The session of a replay: it is found as the recorded run found it, so that the same boundaries come of it.

use super::scratch::Past;
use host_event::{Fact, StoredEvent};
use host_ports::BoxFuture;
use host_ports::sessions::{Loaded, PromptState, SessionError, Sessions};
use host_vocab::ConversationId;

/// What ends the reason of a prompt that could not be opened.
const UNREADABLE: &str = "its stored form can't be opened: ";
/// How the reason begins where turns were missing in a stored prompt.
const MISSED: &str = "the turns that follow";

/// How a run found its session, as its boundaries tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// Whole, or new: there is no boundary.
    Plain,
    /// Stored, but without the newest turns.
    Missed,
    /// Not stored any more; rebuilt from the log.
    Rebuilt,
    /// Stored, and not to be opened.
    Unreadable(String),
    /// Of an earlier day.
    Rollover,
}

impl Found {
    pub(super) fn of(events: &[StoredEvent]) -> Self {
        for event in events {
            let Some(Fact::SessionBoundary { boundary, reason }) = &event.fact else { continue };
            match boundary.as_str() {
                "rollover" => return Found::Rollover,
                "reseeded" if reason.starts_with(MISSED) => return Found::Missed,
                "reseeded" => {
                    return match reason.strip_prefix(UNREADABLE) {
                        Some(why) => Found::Unreadable(why.to_owned()),
                        None => Found::Rebuilt,
                    };
                }
                _ => {}
            }
        }
        Found::Plain
    }

    pub(super) fn past(&self) -> Past {
        Past {
            same_day: matches!(self, Found::Missed | Found::Rebuilt | Found::Unreadable(_)),
            other_day: *self == Found::Rollover,
        }
    }
}

/// Sessions that keep nothing.
#[derive(Debug, Clone)]
pub struct ReplaySessions {
    found: Found,
}

impl ReplaySessions {
    pub(super) fn new(found: Found) -> Self {
        ReplaySessions { found }
    }
}

impl Sessions for ReplaySessions {
    fn load(&self, _conversation: &ConversationId) -> BoxFuture<'_, Loaded> {
        let loaded = match &self.found {
            Found::Missed => Loaded::State(PromptState::default()),
            Found::Unreadable(why) => Loaded::Unreadable(why.clone()),
            Found::Plain | Found::Rebuilt | Found::Rollover => Loaded::Nothing,
        };
        Box::pin(async move { loaded })
    }

    fn save(
        &self,
        _conversation: &ConversationId,
        _state: &PromptState,
    ) -> BoxFuture<'_, Result<(), SessionError>> {
        Box::pin(async { Ok(()) })
    }

    fn forget(&self, _conversation: &ConversationId) -> BoxFuture<'_, Result<(), SessionError>> {
        Box::pin(async { Ok(()) })
    }

    fn clear(&self) -> BoxFuture<'_, Result<(u64, u64), SessionError>> {
        Box::pin(async { Ok((0, 0)) })
    }
}
