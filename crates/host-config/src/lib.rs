//! Both dialects and the environment, as typed settings.
//!
//! [`load`] takes a folder, an environment and a way to read files, and gives an [`AgentSpec`] with all
//! [`Finding`]s: not only the first, each with file, line, column, JSON path and a way out (CFG-1 to CFG-3).
//! One table ([`registry`]) says which settings there are; the loader's checks, [`schema`],
//! [`reference_markdown`] and [`view`] all come from it.
//!
//! This crate opens no file and reads no variable: it is given both, and it never writes a config.

mod check;
pub mod environment;
pub mod finding;
mod init;
mod load;
pub mod mcp;
mod model_ref;
mod nearest;
mod paths;
mod reference;
pub mod registry;
mod resolved;
mod rules;
mod schema;
mod secrets;
mod settings;
mod shape;
pub mod source;
pub mod spec;
mod unbuilt;
mod view;

pub use environment::Environment;
pub use finding::{Finding, Findings, Severity};
pub use init::{
    IDENTITY_FILE, InitChoices, InitFile, InitSandbox, InitTools, allow_all_opens, init_files, init_template,
    needs_second_confirmation,
};
pub use load::{CONFIG_FILE, LoadInput, Loaded, STATE_FOLDER, Source, load, reading_failed};
pub use mcp::{BrokenServer, McpConfig, McpServerSpec};
pub use model_ref::{ModelRef, ModelRefError};
pub use nearest::nearest;
pub use paths::{Bases, PathError};
pub use reference::reference_markdown;
pub use registry::variables;
pub use schema::schema;
pub use settings::{Origin, Setting, Settings};
pub use spec::{AgentSpec, Dialect};
pub use unbuilt::{NotBuilt, not_built_yet};
pub use view::{ViewRow, ViewValue, view};
