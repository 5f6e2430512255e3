//! Where tools come from.

use crate::tool::{AnyTool, Tool, erase};
use host_ports::BoxFuture;
use host_turn::{Channel, Trigger};
use host_vocab::{ConversationId, RunId};
use serde::Serialize;
use std::sync::Arc;

/// A family of tools: the built-ins, the app's own, one MCP server, one plugin.
pub trait ToolSource: Send + Sync {
    /// Its name in `explain` and the log: `builtin`, `app`, `mcp:<server>`, `plugin:<name>`.
    fn name(&self) -> String;

    /// What it has for this run: every tool that it knows, ready or withheld with the reason. It must not
    /// wait longer than its own bound, and it must not fail: what can't be had is withheld.
    fn offers<'a>(&'a self, run: &'a RunFacts) -> BoxFuture<'a, Vec<Offer>>;
}

/// What a source says of one tool for one run.
#[derive(Clone)]
pub enum Offer {
    /// Here it is.
    Ready(Arc<dyn AnyTool>),
    /// It exists, but not for this run.
    Withheld(Withheld),
}

impl Offer {
    /// A tool of ours.
    pub fn ready<T: Tool>(tool: T) -> Self {
        Offer::Ready(erase(tool))
    }

    /// A tool that isn't there for this run.
    pub fn withheld(name: impl Into<String>, by: WithheldBy, why: impl Into<String>) -> Self {
        Offer::Withheld(Withheld { name: name.into(), by, why: why.into() })
    }
}

/// A tool that a run doesn't have, and whose doing that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// Its name.
    pub name: String,
    /// Who withholds it.
    pub by: WithheldBy,
    /// Why, in words that name the setting to change.
    pub why: String,
}

/// Who can withhold a tool. The names are a contract of `explain --json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WithheldBy {
    /// The allow and deny lists.
    Policy,
    /// The tool's own source (a server that is down, an odd schema).
    Source,
    /// The channel that the turn came from.
    Channel,
    /// The sandbox (no engine, no network).
    Sandbox,
    /// An approval rule that denies it whatever its arguments.
    Approval,
    /// Something that it needs isn't configured.
    Capability,
    /// A bound or a clash of names.
    Limit,
    /// It belongs to the other config dialect.
    Dialect,
}

impl WithheldBy {
    /// The word of the contract.
    pub const fn as_str(self) -> &'static str {
        match self {
            WithheldBy::Policy => "policy",
            WithheldBy::Source => "source",
            WithheldBy::Channel => "channel",
            WithheldBy::Sandbox => "sandbox",
            WithheldBy::Approval => "approval",
            WithheldBy::Capability => "capability",
            WithheldBy::Limit => "limit",
            WithheldBy::Dialect => "dialect",
        }
    }
}

/// What a source may know of the run that it makes offers for.
#[derive(Debug, Clone)]
pub struct RunFacts {
    /// The run.
    pub run: RunId,
    /// The conversation, daily bucket included.
    pub conversation: ConversationId,
    /// Where the turn came from.
    pub channel: Channel,
    /// What set it going.
    pub trigger: Trigger,
    /// Whether the run stands alone.
    pub isolated: bool,
}
