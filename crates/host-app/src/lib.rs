//! Wiring: an agent's folder becomes a running agent.
//!
//! [`load_agent`] reads the folder, [`Agent::open`] makes the parts and joins them, [`Agent::run`] takes
//! turns. [`operator`] is the owner's way to a running host. As a library, start with [`Agent::builder`].

mod agent;
mod archive;
mod builder;
mod clock;
mod conformance;
mod console;
mod desks;
mod digest;
mod helpers;
mod load;
mod login;
mod mcp_file;
mod memory;
pub mod operator;
mod outside;
mod parts;
mod questions;
mod replay;
mod replies;
mod report;
mod run_context;
mod sampling;
mod standing;
mod state;
mod surfaces;
mod turn_lock;
mod upkeep;

pub use agent::{Agent, AgentError, OpenError, OpenOptions, People, outcome_json};
pub use archive::{Archive, DecisionPage, DecisionQuery, HeadCheck, RunsAudit};
pub use builder::{AgentBuilder, BuildError};
pub use clock::SystemClock;
pub use conformance::conformance_client;
pub use console::{ConsoleAgents, ConsoleError, ConsoleOptions, open_console, token_file};
pub use digest::{digest, variables};
pub use helpers::AgentResponder;
pub use host_mcp::{Consent, OAuthIdentity};
pub use host_memory::{ForgetError, IntakeError, MaintenanceError};
pub use host_ports::memory::RecallError;
pub use load::{Whereabouts, load_agent};
pub use login::{LoginError, login, logout};
pub use mcp_file::{ServerEdit, ServerEditError, add_server, remove_server};
pub use memory::{InstallError, InstalledFile, InstalledModel, MemoryOffice, OfficeError};
pub use outside::history_endpoint;
pub use parts::sandbox::sandbox_works;
pub use replay::{ReplayFailure, Replayed};
pub use report::{Report, Section, SectionStatus, validate};
pub use standing::{StandingError, StandingRule, StandingRules};
pub use state::StateFolder;
