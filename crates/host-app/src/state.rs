//! Where an agent keeps its state.

use host_http::SocketAddress;
use std::path::{Path, PathBuf};

/// The agent's private folder (`.mono-agent` below the agent's own) and the places in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFolder {
    root: PathBuf,
    /// Where runs' artifacts go (`artifacts.dir`).
    artifacts: PathBuf,
}

impl StateFolder {
    /// The state of an agent, with its artifacts elsewhere where the config says so.
    pub fn new(root: PathBuf, artifacts: Option<PathBuf>) -> Self {
        let artifacts = artifacts.unwrap_or_else(|| root.join("artifacts"));
        StateFolder { root, artifacts }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The log, the sessions and their keys.
    pub fn log(&self) -> PathBuf {
        self.root.join("log")
    }

    /// Output that was too large for a result.
    pub fn tool_output(&self) -> PathBuf {
        self.artifacts.join("tool-output")
    }

    /// Folders of runs' own output, gone with the run (CTX-2).
    pub fn outbound(&self) -> PathBuf {
        self.artifacts.join("outbound")
    }

    /// Runs' artifacts.
    pub fn artifacts(&self) -> &Path {
        &self.artifacts
    }

    /// Files that came with turns.
    pub fn attachments(&self) -> PathBuf {
        self.root.join("attachments")
    }

    /// Definitions of servers' tools, by digest.
    pub fn definitions(&self) -> PathBuf {
        self.root.join("cache").join("mcp")
    }

    /// Local models.
    pub fn models(&self) -> PathBuf {
        self.root.join("models")
    }

    /// What was granted at logins to MCP servers.
    pub fn grants(&self) -> PathBuf {
        self.root.join("oauth")
    }

    /// Private homes of servers.
    pub fn server_homes(&self) -> PathBuf {
        self.root.join("homes")
    }

    /// Private homes of plugins.
    pub fn plugin_homes(&self) -> PathBuf {
        self.root.join("plugin-homes")
    }

    /// What a detached host prints.
    pub fn host_log(&self) -> PathBuf {
        self.root.join("logs").join("host.log")
    }

    /// What only a living process needs.
    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    /// Locks of conversations, between processes.
    pub fn turns(&self) -> PathBuf {
        self.run().join("turns")
    }

    /// The generation counter of the process.
    pub fn generation(&self) -> PathBuf {
        self.run().join("generation")
    }

    /// The lock that the supervisor of this agent holds as long as it lives.
    pub fn supervisor_seat(&self) -> PathBuf {
        self.run().join("supervisor.lock")
    }

    /// The lock that the host of this agent holds as long as it lives.
    pub fn host_seat(&self) -> PathBuf {
        self.run().join("host.lock")
    }

    /// The socket of a running host.
    pub fn socket(&self, uid: u32) -> SocketAddress {
        SocketAddress::of_state(&self.root, uid)
    }
}
