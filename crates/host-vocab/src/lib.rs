//! The words that every other crate speaks: names and ids that can't be malformed, content blocks,
//! closed codes, bounded text, and the two wrappers that say how far a value is to be trusted.
//!
//! Nothing here reads a file, a clock or the network.

mod code;
mod content;
pub mod cron;
mod diagnostic;
mod effect;
mod id;
pub mod limits;
mod name;
mod secret;
pub mod text;
mod untrusted;

pub use code::Code;
pub use content::{Block, Media, blocks_text};
pub use diagnostic::{Diagnostic, Kind, Place};
pub use effect::{Effect, may_run_together};
pub use id::{CallId, ConversationId, IdError, RunId};
pub use name::{NameError, ServerName, ToolName};
pub use secret::Secret;
pub use untrusted::Untrusted;
