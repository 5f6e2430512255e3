//! Every tool name of ours that a policy may speak of, and how each is gated.
//!
//! A name is known whether or not this agent has what the tool needs: `SlackSendMessage` without Slack is
//! known (POL-12). The kebab-case spelling of the TOML dialect is a rule, not a second table (TML-1).

use host_vocab::ToolName;

/// How the lists treat a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// Both lists decide (POL-5).
    Gated,
    /// The lists change nothing; the sentence names what does (POL-6).
    OwnSwitch(&'static str),
    /// A tool of a declared external MCP server: its declaration is its boundary (POL-6, POL-7).
    External,
}

/// Which family a tool belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Files, commands and the web.
    BuiltIn,
    /// A tool of the host itself, with the name of its app-owned server (POL-11).
    AppOwned {
        /// The server name that makes its MCP-shaped spelling.
        server: &'static str,
    },
    /// A session tool of the TOML dialect (SES-1); withheld in the JSON dialect.
    Session,
}

/// One known tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownTool {
    /// The canonical name, the only one that is registered or shown.
    pub name: &'static str,
    /// How the lists treat it.
    pub gate: Gate,
    /// Its family.
    pub family: Family,
    /// What else it needs to be offered, in a few words; empty for nothing.
    pub needs: &'static str,
}

impl KnownTool {
    /// The MCP-shaped spelling of an app-owned tool, `mcp__<server>__<Tool>` (POL-11).
    pub fn mcp_spelling(&self) -> Option<String> {
        match self.family {
            Family::AppOwned { server } => Some(format!("mcp__{server}__{}", self.name)),
            Family::BuiltIn | Family::Session => None,
        }
    }
}

const fn built_in(name: &'static str, needs: &'static str) -> KnownTool {
    KnownTool { name, gate: Gate::Gated, family: Family::BuiltIn, needs }
}

const fn app(name: &'static str, server: &'static str, needs: &'static str) -> KnownTool {
    KnownTool { name, gate: Gate::Gated, family: Family::AppOwned { server }, needs }
}

const fn session(name: &'static str) -> KnownTool {
    KnownTool { name, gate: Gate::Gated, family: Family::Session, needs: "the TOML dialect" }
}

const fn own(
    name: &'static str,
    server: &'static str,
    switch: &'static str,
    needs: &'static str,
) -> KnownTool {
    KnownTool { name, gate: Gate::OwnSwitch(switch), family: Family::AppOwned { server }, needs }
}

/// All known tools: built-ins, app-owned tools, session tools.
pub const CATALOGUE: &[KnownTool] = &[
    built_in("Read", ""),
    built_in("Write", ""),
    built_in("Edit", ""),
    built_in("Glob", ""),
    built_in("Grep", ""),
    built_in("ListDir", ""),
    built_in("Bash", ""),
    built_in("Exec", ""),
    built_in("NodeRepl", "Node.js"),
    built_in("WebFetch", ""),
    built_in("WebSearch", "a search provider"),
    built_in("ReadSkill", "a skill"),
    built_in("Agent", ""),
    built_in("McpResources", "an MCP server with resources"),
    built_in("McpPrompts", "an MCP server with prompts"),
    app("RunHistory", "mono-agent-run-history", ""),
    app("SessionHistory", "mono-agent-session-history", ""),
    app("MemoryJournal", "mono-agent-memory-journal", "memory reads and a local store"),
    app("SetConversationTitle", "mono-agent-conversation-title", "an interactive web turn"),
    app("Remember", "mono-agent-remember", "memory writes"),
    app("PublishReplyFile", "mono-agent-reply-files", "a channel that shows files"),
    app("SuggestReplies", "mono-agent-suggest-replies", "a channel that shows buttons"),
    app("ProposeRestart", "mono-agent-propose-restart", "a supervised host"),
    app("AskUser", "mono-agent-ask-user", "a channel that can ask"),
    app("SlackSendMessage", "mono-agent-slack", "the Slack channel"),
    app("TelegramSendMessage", "mono-agent-telegram", "the Telegram channel"),
    app("TelegramSendFile", "mono-agent-telegram", "the Telegram channel"),
    app("DiscordSendMessage", "mono-agent-discord", "the Discord channel"),
    app("MatrixSendMessage", "mono-agent-matrix", "the Matrix channel"),
    own("MemoryRecall", "mono-agent-memory", "memory.recallTool.enabled", "memory"),
    own("AskCollaborator", "mono-agent-collaborators", "the composition (collaborators)", "collaborators"),
    own("ToolSearch", "mono-agent-tool-search", "the size of the surface (lazy tools)", "tools to list"),
    session("OpenFile"),
    session("CloseFile"),
    session("ReadSections"),
    session("DownloadAttachments"),
    session("Respond"),
    session("NoResponse"),
    session("React"),
    session("ReadHistory"),
    session("Schedule"),
    session("Invoke"),
    session("SessionInfo"),
    session("ListSessions"),
    session("ReadSession"),
    session("QuerySessions"),
    session("PruneBoundaries"),
];

/// The known tool of a canonical name, without case. Aliases are not looked at.
pub fn known_tool(name: &str) -> Option<&'static KnownTool> {
    CATALOGUE.iter().find(|tool| tool.name.eq_ignore_ascii_case(name))
}

/// How the lists treat a tool of ours. A name that is not in the catalogue is gated: the rule is closed
/// from the other side (POL-5).
pub fn gate_of(name: &ToolName) -> Gate {
    known_tool(name.as_str()).map_or(Gate::Gated, |tool| tool.gate)
}

/// Whether a server name belongs to the host itself, so that no external server may take it (POL-11).
pub fn is_app_owned_server(name: &str) -> bool {
    app_owned_tools(name).next().is_some()
}

/// The tools of an app-owned server, without case.
pub(crate) fn app_owned_tools(server: &str) -> impl Iterator<Item = &'static KnownTool> + '_ {
    CATALOGUE.iter().filter(
        move |tool| matches!(tool.family, Family::AppOwned { server: s } if s.eq_ignore_ascii_case(server)),
    )
}

/// The kebab-case spelling that the TOML dialect shows: `ReadSections` becomes `read-sections` (TML-1).
pub fn kebab_spelling(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for (at, letter) in name.chars().enumerate() {
        if letter.is_ascii_uppercase() && at > 0 {
            out.push('-');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

/// The canonical spelling of a kebab-case name: `read-sections` becomes `ReadSections` (TML-1). It is a
/// rule, so the result need not be a known tool; `None` where the text isn't lower-case kebab at all.
pub fn canonical_spelling(kebab: &str) -> Option<String> {
    let mut out = String::with_capacity(kebab.len());
    for part in kebab.split('-') {
        let mut letters = part.chars();
        let first = letters.next()?;
        if !first.is_ascii_lowercase() {
            return None;
        }
        out.push(first.to_ascii_uppercase());
        for letter in letters {
            if !letter.is_ascii_lowercase() && !letter.is_ascii_digit() {
                return None;
            }
            out.push(letter);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_vocab::ServerName;

    // POL-5, POL-6, POL-11, TML-1
    #[test]
    fn every_row_is_well_formed_and_spelled_once() {
        for (at, tool) in CATALOGUE.iter().enumerate() {
            let name = ToolName::parse(tool.name).unwrap();
            assert_eq!(canonical_spelling(&kebab_spelling(tool.name)).as_deref(), Some(tool.name));
            assert!(CATALOGUE[..at].iter().all(|t| !t.name.eq_ignore_ascii_case(tool.name)), "{name} twice");
            if let Some(spelling) = tool.mcp_spelling() {
                ToolName::parse(spelling).unwrap();
                let Family::AppOwned { server } = tool.family else { unreachable!() };
                ServerName::parse(server).unwrap();
                assert!(is_app_owned_server(server));
            }
        }
        assert!(!is_app_owned_server("mono-agent-of-someone-else"));
        assert_eq!(gate_of(&ToolName::parse("SomethingNew").unwrap()), Gate::Gated);
        assert_eq!(gate_of(&ToolName::parse("listdir").unwrap()), Gate::Gated);
        assert!(matches!(gate_of(&ToolName::parse("memoryrecall").unwrap()), Gate::OwnSwitch(_)));
    }

    // TML-1
    #[test]
    fn kebab_is_a_rule_with_one_spelling() {
        assert_eq!(canonical_spelling("read-sections").as_deref(), Some("ReadSections"));
        for bad in ["", "Read", "read_sections", "read--x", "-read", "read-", "READ", "reaD"] {
            assert_eq!(canonical_spelling(bad), None, "{bad}");
        }
    }
}
