//! Every child process, confined.
//!
//! [`Sandbox`] is one agent's: it implements the `Commands` port (short commands, collected) and the `Spawn`
//! port (long-lived children). Both start a helper — this very program in a hidden mode, see [`helper_main`] —
//! under the engine that was proved to enforce the policy.
#![allow(clippy::disallowed_methods, reason = "this crate is where child processes are started")]

mod capture;
mod check;
mod commands;
mod deny_write;
mod engine;
mod forker;
mod helper;
mod identity;
mod launch;
mod network;
mod policy;
mod proof;
mod proxy;
mod run;
mod runtime_paths;
mod sandbox;
mod scratch;
mod spawner;
mod status;
mod status_line;
pub mod supervisor;

pub use check::{CheckReport, CheckRow};
pub use deny_write::Patterns;
pub use engine::{Enforcement, EngineKind, Rule, matrix};
#[doc(hidden)]
pub use helper::helper_enter;
pub use helper::{Helper, HelperError, helper_main};
pub use network::{HostList, HostListError, Network, is_public};
pub use policy::{DENY_WRITE_DEFAULT, Fallback, Limits, Mode, PolicyError, SandboxPolicy};
pub use proxy::{EgressDecision, EgressLog, TraceEgress};
pub use runtime_paths::HostEnvironment;
pub use sandbox::{Sandbox, SandboxError, SandboxSetup};
pub use status::{Effective, EngineStatus, SandboxStatus};
