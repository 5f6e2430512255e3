//! Every view of the log.
//!
//! The log holds what happened; this crate says what of it may be seen, by whom, and in which form. It reads
//! through [`HistoryStore`], which the store answers from indexes, and shows nothing that did not go through
//! [`View`]: redacted again, without paths, bounded, and labelled as untrusted evidence (RUN-8, HIS-7).
//! What to do next ([`Navigation`]) is written by the host and stands apart from the evidence.
//!
//! | module | what it gives |
//! |---|---|
//! | [`RunViews`] | list, search, overview and timeline of settled runs (RUN) |
//! | [`CallViews`] | search of calls, and their records in chunks (HIS) |
//! | [`OwnerViews`] | the same for the owner: every conversation's runs, the running ones too |
//! | [`inventory`](mod@inventory) | what is there, and what of it is odd |
//! | [`transcript`] | the turns of a conversation, for people |
//! | [`report`](mod@report) | rates, durations, cost |
//! | [`replay`] | a recorded turn again, with no side effect (SRC-1) |
//! | [`diff`](mod@diff) | two runs side by side |
//! | [`audit`] | gate decisions, and the anchors of the chain's head (AUD-1) |
//! | [`CeilingLog`] | the foreground ceiling of the writer (HIS-2) |

pub mod audit;
mod calls;
mod ceiling;
mod cursor;
pub mod diff;
mod error;
mod fold;
mod index;
pub mod inventory;
mod kept;
mod limits;
mod navigation;
pub mod replay;
pub mod report;
mod runs;
#[doc(hidden)]
pub mod sample;
mod scope;
mod store;
mod time;
pub mod transcript;
mod view;

pub use calls::{CallArguments, CallViews};
pub use ceiling::{CeilingLog, CeilingState};
pub use error::HistoryError;
pub use fold::{Grams, fold, terms};
pub use index::{
    CALL_TEXT_BYTES_MAX, CallEnd, CallStart, RUN_TEXT_BYTES_MAX, RunEnd, RunStart, call_text, leftover_state,
    record_id, run_text,
};
pub use kept::KeptText;
pub use limits::*;
pub use navigation::{Navigation, NextAction};
pub use runs::{
    ConversationLine, ConversationPage, OwnerViews, RunArguments, RunLine, RunListing, RunPage, RunShown,
    RunViews, TranscriptPage,
};
pub use scope::HistoryScope;
pub use store::{
    CallQuery, CallRow, ConversationRow, HistoryStore, Phase, Record, Removal, RunHit, RunListQuery,
    RunMatches, RunRow, RunSearchQuery, ScopeFilter, Tombstone, ToolCount,
};
pub use time::rfc3339;
pub use view::View;
