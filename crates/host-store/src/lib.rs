//! Every row: the one append-only log, its full-text index, the stored prompts, and their keys.
//!
//! | file below the folder | what it is |
//! |---|---|
//! | `log.sqlite` | [`EventLog`]: every event, chained by a key (AUD-1). Never recreated by itself. |
//! | `search.sqlite` | full text of the log, and its runs and calls as `host-history` asks for them. Derived: a missing or damaged one is built anew. |
//! | `audit.head` | the head of the chain, time after time ([`EventLog::anchor_head`]). |
//! | `sessions.sqlite` | [`PromptVault`]: live prompt state, encrypted (ENG-7). |
//! | `keys/` | `log.key` and `sessions.key`, 32 random bytes each, owner-only. |
//! | `console.sqlite` | [`ConsoleRows`]: conversations of the web console, in a folder of its own. |
//! | `incarnations/` | one locked file per living host process ([`Incarnation`]). |
//! | `openers/` | one locked file per open log; one that nobody holds tells of an unclean stop. |
#![allow(clippy::disallowed_methods, reason = "this crate owns the store's files")]

mod append;
mod chain;
mod check;
mod connection;
mod console;
mod derived;
mod failure;
mod folder;
mod held;
mod history;
mod incarnation;
mod keeper;
mod key;
mod lock;
mod log;
mod lookup;
mod memory;
mod open_error;
mod opening;
mod recovery;
mod row;
mod runs;
mod schema;
mod search;
mod search_query;
mod search_text;
mod search_worker;
mod store_core;
mod turns;
mod vault;
mod wal_tail;

pub use chain::{Break, ChainBreak, ChainReport};
pub use check::{BackgroundCheck, FullCheck};
pub use console::{ConsoleOpenError, ConsoleRows};
pub use history::{AuditReport, Census, HeadCheck, RetentionPolicy, RetentionReport};
pub use incarnation::Incarnation;
pub use log::{Durability, EventLog, OpenOptions, OpenReport};
pub use memory::MemoryIndex;
pub use open_error::OpenError;
pub use recovery::Recovered;
pub use runs::{RunQuery, RunSummary};
pub use search_query::{SearchError, SearchScope};
pub use vault::PromptVault;

/// The version of the SQLite library that is built in, such as `3.54.1`.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}
