//! The views of completed calls (HIS).

mod arguments;
mod get;
mod record;
mod search;

pub use arguments::CallArguments;

use crate::error::HistoryError;
use crate::kept::KeptText;
use crate::limits::TEXT_CHARS_MAX;
use crate::scope::HistoryScope;
use crate::store::{CallRow, HistoryStore};
use crate::view::{NOTICE, View};
use arguments::Asked;
use serde_json::Value;
use std::sync::Arc;

/// The tool's name.
pub(crate) const TOOL: &str = "SessionHistory";

/// Answers `SessionHistory`. Everything blocks for a moment: call from a blocking thread.
#[derive(Clone)]
pub struct CallViews {
    store: Arc<dyn HistoryStore>,
    view: View,
    kept: Option<Arc<dyn KeptText>>,
}

impl CallViews {
    /// The views of a store. Without `kept`, output that was kept apart is never available.
    pub fn new(store: Arc<dyn HistoryStore>, view: View, kept: Option<Arc<dyn KeptText>>) -> Self {
        CallViews { store, view, kept }
    }

    /// Answers one call: the object that the model is given, at most 10,000 characters as JSON.
    ///
    /// # Errors
    /// See [`HistoryError`].
    pub fn answer(&self, scope: &HistoryScope, arguments: &CallArguments) -> Result<Value, HistoryError> {
        match Asked::of(arguments)? {
            Asked::Search(search) => self.search(scope, &search),
            Asked::Get(get) => self.get(scope, &get),
        }
    }

    /// Makes a page that fits: `make` is given less and less room until it does.
    fn fitting(&self, rooms: &[usize], make: impl Fn(usize) -> Value) -> Result<Value, HistoryError> {
        let behind = self.store.behind()?;
        let mut page = Value::Null;
        for room in rooms {
            page = make(*room);
            if let Some(map) = page.as_object_mut() {
                if behind > 0 {
                    let note =
                        format!("the index is {behind} events behind the log; the newest may be missing");
                    map.insert("incomplete".into(), Value::String(note));
                }
                map.insert("untrusted".into(), Value::Bool(true));
                map.insert("notice".into(), NOTICE.into());
            }
            if page.to_string().chars().count() <= TEXT_CHARS_MAX {
                break;
            }
        }
        Ok(page)
    }

    /// Whether a call may be seen: not of the run that asks, and isolated ones only where that was said.
    fn is_seen(scope: &HistoryScope, call: &CallRow, isolated: bool) -> bool {
        !scope.is_current(call.conversation.as_ref(), &call.run) && (isolated || !call.isolated)
    }
}
