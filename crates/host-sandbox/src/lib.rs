//! Every child process, confined.
//!
//! [`Sandbox`] is one agent's: it implements the `Commands` port (short commands, collected) and the `Spawn`
//! port (long-lived children). Both start a helper — a small program of its own, `helper/` of this crate, carried
//! inside — under the engine that was proved to enforce the policy.
#![allow(clippy::disallowed_methods, reason = "this crate is where child processes are started")]

mod broker;
mod capture;
mod check;
mod commands;
mod deny_write;
mod engine;
mod filter;
mod forker;
mod identity;
mod launch;
mod network;
mod policy;
mod proof;
mod proxy;
mod ruleset;
mod run;
mod runtime_paths;
mod sandbox;
mod scratch;
mod slot;
mod spawner;
mod status;
mod status_line;
pub mod supervisor;
#[allow(dead_code, reason = "the helper uses the other half of it")]
mod wire;

pub use broker::{Broker, BrokeredSecret, Roots};
pub use check::{CheckReport, CheckRow};
pub use deny_write::Patterns;
pub use engine::{Enforcement, EngineKind, Rule, matrix};
pub use network::{HostList, HostListError, Network, is_public};
pub use policy::{DENY_WRITE_DEFAULT, Fallback, Limits, Mode, PolicyError, SandboxPolicy};
pub use proxy::{EgressDecision, EgressLog, TraceEgress};
pub use runtime_paths::HostEnvironment;
pub use sandbox::{Sandbox, SandboxError, SandboxSetup};
pub use status::{Effective, EngineStatus, SandboxStatus};
