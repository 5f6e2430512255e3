//! Our own tools, one file each.
//!
//! To add one: its module below, and its line in [`Builtin::new`]'s list.

mod agent;
mod ask_collaborator;
mod ask_user;
mod bash;
mod command_result;
mod command_settings;
mod edit;
mod exec;
mod file_access;
mod glob;
mod grep;
mod list_dir;
mod node_repl;
mod read;
mod search;
mod shape;
mod web;
mod web_fetch;
mod web_search;
mod write;

mod memory_journal;
mod memory_recall;
mod propose_restart;
mod publish_reply_file;
mod read_skill;
mod remember;
mod run_history;
mod session_history;
mod set_conversation_title;
mod suggest_replies;

pub use memory_journal::MemoryJournalTool;
pub use memory_recall::MemoryRecallTool;
pub use propose_restart::{ProposeRestart, ProposeRestartInput};
pub use publish_reply_file::{PublishReplyFile, PublishReplyFileInput};
pub use read_skill::{ReadSkill, Skill};
pub use remember::RememberTool;
pub use run_history::{RunHistoryInput, RunHistoryTool};
pub use session_history::{SessionHistoryInput, SessionHistoryTool};
pub use set_conversation_title::{SetConversationTitle, SetConversationTitleInput};
pub use suggest_replies::{SuggestReplies, SuggestRepliesInput};

use host_ports::BoxFuture;
use host_ports::commands::Commands;
use host_ports::files::Files;
use host_ports::spawn::Spawn;
use host_surface::{Offer, RunFacts, ToolSource};
use std::path::PathBuf;
use std::sync::Arc;

pub use agent::{AgentInput, AgentTool, HelperMenu};
pub use ask_collaborator::{
    AskCollaboratorInput, AskCollaboratorTool, COLLABORATOR_CALLS_DEFAULT, COLLABORATOR_TIMEOUT_DEFAULT,
    Collaborator, Collaborators, CollaboratorsError,
};
pub use ask_user::{AskUser, AskUserInput, PendingQuestions};
pub use bash::BashTool;
pub use command_settings::CommandSettings;
pub use edit::EditTool;
pub use exec::ExecTool;
pub use glob::GlobTool;
pub use grep::GrepTool;
pub use list_dir::ListDirTool;
pub use node_repl::NodeReplTool;
pub use read::ReadTool;
pub use web::{HostRule, WebReach, WebTools};
pub use web_fetch::{RenderCeiling, WebFetchLimits, WebFetchSettings, WebFetchTool};
pub use web_search::{
    EndpointError, SearchEngine, WebSearchLimits, WebSearchSettings, WebSearchTool, searxng_endpoint,
};
pub use write::WriteTool;

/// What the built-in tools need of the world.
#[derive(Clone)]
pub struct BuiltinPorts {
    /// The agent's files.
    pub files: Arc<dyn Files>,
    /// Short-lived commands under the agent's sandbox.
    pub commands: Arc<dyn Commands>,
}

/// The source of our own tools: built once, offered to every run.
pub struct Builtin {
    offers: Vec<Offer>,
    node: Option<NodeSession>,
}

/// What a JavaScript session is made of, one for each run.
struct NodeSession {
    spawn: Arc<dyn Spawn>,
    workspace: PathBuf,
    settings: CommandSettings,
}

impl Builtin {
    /// Builds every tool with the ports that it may touch.
    pub fn new(ports: &BuiltinPorts) -> Self {
        Self::with_settings(ports, &CommandSettings::default())
    }

    /// The same with the operator's bounds for commands.
    pub fn with_settings(ports: &BuiltinPorts, settings: &CommandSettings) -> Self {
        let BuiltinPorts { files, commands } = ports;
        let offers = vec![
            Offer::ready(ReadTool::new(Arc::clone(files))),
            Offer::ready(WriteTool::new(Arc::clone(files))),
            Offer::ready(EditTool::new(Arc::clone(files))),
            Offer::ready(GlobTool::new(Arc::clone(files))),
            Offer::ready(GrepTool::new(Arc::clone(files))),
            Offer::ready(ListDirTool::new(Arc::clone(files))),
            Offer::ready(ExecTool::new(Arc::clone(commands), settings.clone())),
            Offer::ready(BashTool::new(Arc::clone(commands), settings.clone())),
        ];
        Builtin { offers, node: None }
    }

    /// The same with `NodeRepl`: every run gets a session of its own, which ends with the run's surface.
    #[must_use]
    pub fn with_node_repl(
        mut self,
        spawn: Arc<dyn Spawn>,
        workspace: PathBuf,
        settings: &CommandSettings,
    ) -> Self {
        self.node = Some(NodeSession { spawn, workspace, settings: settings.clone() });
        self
    }
}

impl ToolSource for Builtin {
    fn name(&self) -> String {
        "builtin".to_owned()
    }

    fn offers<'a>(&'a self, _run: &'a RunFacts) -> BoxFuture<'a, Vec<Offer>> {
        let mut offers = self.offers.clone();
        offers.extend(self.node.as_ref().map(|node| {
            let spawn = Arc::clone(&node.spawn);
            Offer::ready(NodeReplTool::new(spawn, node.workspace.clone(), node.settings.clone()))
        }));
        Box::pin(async { offers })
    }
}
