//! One entry of a list: what it is written as, and what it means.

use crate::alias::{legacy_alias, resolve_tool_name};
use crate::catalogue::{CATALOGUE, app_owned_tools};
use crate::nearest::{nearest, quoted};
use host_vocab::{ServerName, ToolName};

/// The names that exist beside the catalogue. All of it is known before a policy is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownNames {
    /// The declared external MCP servers, whether or not they run.
    pub servers: Vec<ServerName>,
    /// Tools of loaded plugins, and custom tools of a library user.
    pub plugin_tools: Vec<ToolName>,
}

/// What an entry covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// `*`: every policy-gated tool.
    All,
    /// One tool of ours, by its canonical name.
    Ours(ToolName),
    /// One tool of an external server, by its local name.
    External(ToolName),
    /// `mcp__<server>__*`.
    ExternalServer(ServerName),
    /// `mcp__*`.
    ExternalAll,
}

impl Target {
    /// The spelling that we recommend.
    pub(crate) fn spelling(&self) -> String {
        match self {
            Target::All => "*".into(),
            Target::Ours(name) | Target::External(name) => name.to_string(),
            Target::ExternalServer(server) => format!("mcp__{server}__*"),
            Target::ExternalAll => "mcp__*".into(),
        }
    }

    /// What two entries are compared by: the spelling without case.
    pub(crate) fn key(&self) -> String {
        self.spelling().to_ascii_lowercase()
    }

    /// Whether it covers a tool of ours; `*` does.
    pub(crate) fn covers_ours(&self, name: &ToolName) -> bool {
        match self {
            Target::All => true,
            Target::Ours(tool) => tool.as_str().eq_ignore_ascii_case(name.as_str()),
            Target::External(_) | Target::ExternalServer(_) | Target::ExternalAll => false,
        }
    }

    /// Whether it covers a tool of an external server; `*` does only where the lists gate those.
    pub(crate) fn covers_external(&self, server: &str, local: &str, star_counts: bool) -> bool {
        match self {
            Target::All => star_counts,
            Target::ExternalAll => true,
            Target::ExternalServer(s) => s.as_str().eq_ignore_ascii_case(server),
            Target::External(tool) => tool.as_str().eq_ignore_ascii_case(local),
            Target::Ours(_) => false,
        }
    }
}

/// Why an entry means nothing, and the way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryFault {
    /// What is wrong with it.
    pub(crate) message: String,
    /// What to write instead, where that can be said.
    pub(crate) hint: Option<String>,
}

fn fault<T>(message: String, hint: Option<String>) -> Result<T, EntryFault> {
    Err(EntryFault { message, hint })
}

/// What an entry means. Names match without case, old names count, MCP-shaped names of app-owned servers
/// mean the app-owned tool (POL-4, POL-10, POL-11).
pub(crate) fn read_entry(text: &str, known: &KnownNames) -> Result<Vec<Target>, EntryFault> {
    if text.trim() != text {
        return fault(
            format!("{} has white space around it", quoted(text)),
            Some(format!("write {}", quoted(text.trim()))),
        );
    }
    if text == "*" {
        return Ok(vec![Target::All]);
    }
    if text.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("mcp__")) {
        return read_mcp_entry(text, &text[5..], known);
    }
    if let Some(tool) = resolve_tool_name(text) {
        return Ok(vec![ours(tool.name)]);
    }
    if let Some(tool) = known.plugin_tools.iter().find(|tool| tool.as_str().eq_ignore_ascii_case(text)) {
        return Ok(vec![Target::Ours(tool.clone())]);
    }
    unknown_name(text, known)
}

fn ours(name: &'static str) -> Target {
    // The catalogue's test parses every row.
    Target::Ours(ToolName::parse(name).expect("catalogue names are tool names"))
}

fn read_mcp_entry(text: &str, rest: &str, known: &KnownNames) -> Result<Vec<Target>, EntryFault> {
    if rest == "*" {
        return Ok(vec![Target::ExternalAll]);
    }
    if let Some(server) = rest.strip_suffix("__*") {
        return read_server_wildcard(text, server, known);
    }
    if text.contains('*') {
        return fault(
            format!("{} is no pattern: `*` stands only for a whole tool name", quoted(text)),
            Some(
                "write `mcp__<server>__*` for all tools of a server, `mcp__*` for all external tools".into(),
            ),
        );
    }
    // The longest declared server wins, since a server name may end in `_`.
    let declared = known
        .servers
        .iter()
        .filter(|server| strip_server(rest, server.as_str()).is_some_and(|tool| !tool.is_empty()))
        .max_by_key(|server| server.as_str().len());
    if let Some(server) = declared {
        let remote = strip_server(rest, server.as_str()).unwrap_or_default();
        return match ToolName::for_mcp(server, remote) {
            Ok(local) => Ok(vec![Target::External(local)]),
            Err(_) => fault(
                format!(
                    "{} is longer than a tool name can be (64 characters), so it matches nothing",
                    quoted(text)
                ),
                Some(format!("write `mcp__{server}__*` for all tools of that server")),
            ),
        };
    }
    match rest.split_once("__") {
        Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
            read_app_owned(text, server, tool).unwrap_or_else(|| undeclared(text, server, known))
        }
        _ => incomplete(text, rest.trim_end_matches('_'), known),
    }
}

/// The tool part after `<server>__`, where the text begins with that server, without case.
fn strip_server<'a>(rest: &'a str, server: &str) -> Option<&'a str> {
    let head = rest.get(..server.len())?;
    head.eq_ignore_ascii_case(server).then(|| rest[server.len()..].strip_prefix("__")).flatten()
}

fn read_server_wildcard(text: &str, server: &str, known: &KnownNames) -> Result<Vec<Target>, EntryFault> {
    let tools: Vec<Target> = app_owned_tools(server).map(|tool| ours(tool.name)).collect();
    if !tools.is_empty() {
        return Ok(tools);
    }
    match known.servers.iter().find(|s| s.as_str().eq_ignore_ascii_case(server)) {
        Some(server) => Ok(vec![Target::ExternalServer(server.clone())]),
        None => undeclared(text, server, known),
    }
}

fn read_app_owned(text: &str, server: &str, tool: &str) -> Option<Result<Vec<Target>, EntryFault>> {
    let mut tools = app_owned_tools(server).peekable();
    tools.peek()?;
    if let Some(found) = tools.find(|known| known.name.eq_ignore_ascii_case(tool)) {
        return Some(Ok(vec![ours(found.name)]));
    }
    let right = app_owned_tools(server).next().and_then(crate::catalogue::KnownTool::mcp_spelling);
    Some(fault(
        format!("{} names no tool of the host's own server {}", quoted(text), quoted(server)),
        right.map(|right| format!("write `{right}` or `mcp__{server}__*`")),
    ))
}

fn undeclared<T>(text: &str, server: &str, known: &KnownNames) -> Result<T, EntryFault> {
    let near = nearest(server, known.servers.iter().map(ServerName::as_str));
    let hint = match near {
        Some(near) => format!("the nearest declared server is `{near}`"),
        None if known.servers.is_empty() => {
            "no MCP server is declared; remove the entry or declare it".into()
        }
        None => format!("declared servers: {}", server_names(known)),
    };
    fault(
        format!("{} needs a declared MCP server {}, and there is none", quoted(text), quoted(server)),
        Some(hint),
    )
}

fn incomplete<T>(text: &str, server: &str, known: &KnownNames) -> Result<T, EntryFault> {
    if server.is_empty() {
        return fault(
            format!("{} names no server and no tool", quoted(text)),
            Some("write `mcp__*` for all external MCP tools".into()),
        );
    }
    let near = nearest(server, known.servers.iter().map(ServerName::as_str)).unwrap_or(server);
    fault(
        format!("{} names a server without a tool, so it would match nothing", quoted(text)),
        Some(format!("write `mcp__{near}__*` for all of its tools or `mcp__{near}__<tool>` for one")),
    )
}

fn unknown_name<T>(text: &str, known: &KnownNames) -> Result<T, EntryFault> {
    let message = format!("{} is not a known tool name", quoted(text));
    if let Some(server) = known.servers.iter().find(|s| s.as_str().eq_ignore_ascii_case(text)) {
        return fault(message, Some(format!("`{server}` is an MCP server: write `mcp__{server}__*`")));
    }
    let near = nearest(
        text,
        CATALOGUE.iter().map(|t| t.name).chain(known.plugin_tools.iter().map(ToolName::as_str)),
    );
    let mut hints = Vec::new();
    if let Some(near) = near {
        hints.push(format!("the nearest known name is `{near}`"));
    }
    if !known.servers.is_empty() {
        let spellings: Vec<String> = known
            .servers
            .iter()
            .take(3)
            .filter_map(|server| ToolName::for_mcp(server, text).ok())
            .map(|local| format!("`{local}`"))
            .collect();
        if !spellings.is_empty() {
            hints.push(format!("a tool of an MCP server is written {}", spellings.join(" or ")));
        }
    } else if near.is_none() {
        hints.push("a tool of an MCP server is written `mcp__<server>__<tool>`".into());
    }
    fault(message, (!hints.is_empty()).then(|| hints.join("; ")))
}

fn server_names(known: &KnownNames) -> String {
    let mut names: Vec<String> = known.servers.iter().take(8).map(|s| format!("`{s}`")).collect();
    if known.servers.len() > names.len() {
        names.push("…".into());
    }
    names.join(", ")
}

/// The canonical name where the text is an old one.
pub(crate) fn old_name(text: &str) -> Option<&'static str> {
    legacy_alias(text).map(|row| row.canonical)
}
