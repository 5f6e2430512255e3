//! What a tool can do to the world.

use serde::{Deserialize, Serialize};

/// One kind of effect. A tool declares all of its own; nothing about safety is a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Reads files of the workspace.
    ReadsWorkspace,
    /// Writes files of the workspace.
    WritesWorkspace,
    /// Runs other programs.
    Executes,
    /// Reaches the network.
    ReachesNetwork,
    /// Sends a message to a person or another system.
    Sends,
    /// Changes long-term memory.
    Remembers,
    /// Reads long-term memory.
    ReadsMemory,
    /// Reads earlier runs.
    ReadsHistory,
    /// Adds to the reply (a file, buttons, a title).
    Presents,
    /// Asks the person.
    Asks,
    /// Someone else's code decides (an MCP server, a plugin).
    Foreign,
}

impl Effect {
    /// Whether this effect leaves everything as it was.
    pub const fn reads_only(self) -> bool {
        matches!(
            self,
            Effect::ReadsWorkspace | Effect::ReadsMemory | Effect::ReadsHistory | Effect::ReachesNetwork
        )
    }
}

/// Whether calls to a tool with these effects may run beside others (ENG-1). A tool that declares
/// nothing is not trusted to be harmless.
pub fn may_run_together(effects: &[Effect]) -> bool {
    !effects.is_empty() && effects.iter().all(|e| e.reads_only())
}
