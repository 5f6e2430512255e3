//! Long-lived children: a pair of pipes and a way to end them.

use crate::BoxFuture;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tokio::io::{AsyncRead, AsyncWrite};

/// What to start.
#[derive(Debug, Clone)]
pub struct SpawnSpec {
    /// A name for logs and status (`mcp:filesystem`).
    pub label: String,
    /// The program: a path, or a name looked up in the child's `PATH`.
    pub program: String,
    /// Its arguments, without the program itself.
    pub args: Vec<String>,
    /// Its whole environment; nothing is inherited.
    pub env: BTreeMap<String, String>,
    /// Where it starts.
    pub cwd: PathBuf,
    /// How it is confined.
    pub confine: Confine,
}

/// How a child is confined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confine {
    /// By the agent's sandbox, with these additions.
    Sandbox {
        /// Folders that it may read besides the agent's roots.
        read: Vec<PathBuf>,
        /// Folders that it may write besides the agent's roots.
        write: Vec<PathBuf>,
        /// Folders of the host's own state that are this child's (its home, its run's output): they are there for
        /// it although the state is hidden.
        own: Vec<OwnFolder>,
        /// Its network, where it differs from the agent's: `none`, `localhost`, `allowlist` or `all`.
        network: Option<String>,
    },
    /// Not at all: only for servers whose entry says `"sandbox": "off"`.
    Off,
}

/// A folder of the host's state that a child may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnFolder {
    /// Where it is.
    pub path: PathBuf,
    /// Whether it may be written.
    pub writable: bool,
}

/// A running child. Dropping it ends its whole process tree.
pub struct Spawned {
    /// Its process id, for status.
    pub pid: u32,
    /// Its input.
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    /// Its output.
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    /// Its error output.
    pub stderr: Box<dyn AsyncRead + Send + Unpin>,
    /// Its end.
    pub handle: Box<dyn ChildHandle>,
}

/// A hold on a child and everything that it started.
pub trait ChildHandle: Send + Sync {
    /// Waits for its end.
    fn wait(&self) -> BoxFuture<'_, ChildExit>;
    /// Ends the whole tree: first politely (SIGTERM, up to `grace`), then for good.
    fn kill(&self, grace: std::time::Duration) -> BoxFuture<'_, ()>;
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildExit {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

impl std::fmt::Display for ChildExit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ChildExit::Code(code) => write!(f, "exit code {code}"),
            ChildExit::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// Why a child could not be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpawnError {
    /// No such program.
    #[error("{0} was not found")]
    NotFound(String),
    /// The sandbox can't do what the policy asks (`sandbox_prepare_failed`).
    #[error("the sandbox can't confine it: {0}")]
    Sandbox(String),
    /// The operating system refused.
    #[error("it could not be started: {0}")]
    Failed(String),
}

/// Starting long-lived children.
pub trait Spawn: Send + Sync {
    /// Starts one.
    fn spawn(&self, spec: SpawnSpec) -> BoxFuture<'_, Result<Spawned, SpawnError>>;
}
