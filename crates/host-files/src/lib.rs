//! Every open file.
//!
//! [`AgentFiles`] answers the [`host_ports::files::Files`] port: one resolver over descriptors (SBX-6), an
//! own walk, atomic writes (FIL-6). [`KeptFolder`] keeps output that is too large for a result (TOO-7).
//! [`attachment`] stores what comes with a turn, and [`state`] holds the few calls that the host needs for
//! its own files.
//!
//! Decisions fall on opened objects, not on strings. A path is walked from the descriptor of a root that was
//! opened at the start: with `openat2` (beneath, no symbolic or magic links) where nothing on the way is a
//! link, else one component at a time with `O_NOFOLLOW`, where the text of a link is resolved against the
//! roots again. The second way needs no `openat2`, so it is also what an older kernel gets.

#![allow(clippy::disallowed_methods, reason = "this crate is where files are opened")]

mod agent;
pub mod attachment;
mod config;
mod deny;
mod kept;
mod memory;
mod private;
pub mod publish;
mod replace;
mod resolve;
mod rotating;
pub mod run_output;
pub mod state;
mod walk;

pub use agent::AgentFiles;
pub use config::{FilesConfig, FilesError};
pub use kept::{KeptError, KeptFolder};
pub use memory::{MemoryFolder, MemoryFolderError};
pub use rotating::RotatingFile;
