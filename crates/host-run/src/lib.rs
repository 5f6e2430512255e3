//! One run from turn to reply: a pure machine and a thin driver.
//!
//! [`Machine`] takes inputs and gives commands. It knows no clock, no async and no port, so every rule of
//! a run (who is asked, what may be repeated, which calls run side by side, what stays in the prompt) is
//! tested by scripts. [`Engine`] carries the commands out through the ports, keeps the sessions, and
//! reports [`RunEvent`]s while it goes.
//!
//! Read `machine.rs` next.

mod backlog;
mod compaction;
mod config;
mod context;
mod driver;
mod event;
mod lent;
mod machine;
mod outcome;
mod retry;
mod sessions;
mod silence;
mod steering;
mod tokens;

pub use backlog::Backlog;
pub use compaction::{CompactionConfig, Plan};
pub use config::{EngineConfig, RetryConfig, RunLimits};
pub use context::{
    Background, DEFAULT_SOUL, FENCES, ImageInput, Preceding, PromptParts, SessionBlock, SkillBody,
    SkillEntry, Skills, SurfaceKind, TurnContext, UserMessage, system_prompt, user_message,
};
pub use driver::{Completed, Engine, EngineError, EngineParts, RouteParts, RunInput, settled_event};
pub use event::{EventSink, EventStream, RunEvent, channel};
pub use lent::{ChildSurfaces, LentSurface, LentTool, SurfaceError, Surfaces};
pub use machine::{CallOrder, Command, Finished, Input, Machine, ModelOrder, Purpose, RunSpec, SettledCall};
pub use outcome::RunOutcome;
pub use retry::{Attempted, Blocked, Next, Route, backoff};
pub use sessions::{
    Busy, RESEED_BYTES_MAX, Rollover, SessionConfig, SessionHub, SessionMode, account, bucketed, reseed,
};
pub use silence::{NOTHING_TO_REPORT, is_silent};
pub use steering::{Said, Steer, Steering, steering};
pub use tokens::{estimate_messages, estimate_text};
