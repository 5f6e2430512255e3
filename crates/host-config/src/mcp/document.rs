//! The file and the inline form, merged (MCP-1, MCP-2).

use super::entry::{self, Entry};
use super::server::{BrokenServer, McpConfig, McpServerSpec};
use crate::check::suggestion;
use crate::environment::Environment;
use crate::finding::{Findings, code, config, place, quote_str};
use crate::paths::Bases;
use crate::source::{self, Document, Duplicate, Member, Node, path};
use host_vocab::{Place, text::one_line};
use indexmap::IndexMap;
use std::path::PathBuf;

/// The key that holds the entries of a file.
pub const MCP_KEY: &str = "mcpServers";
/// The most servers that are read.
const SERVERS_MAX: usize = 500;

/// What is read.
pub(crate) struct McpInput<'i> {
    /// The path of the file, as shown, and what reading it gave.
    pub file: Option<McpFile>,
    /// The inline form: its text's name, the value and the keys that came twice in it.
    pub inline: Option<(&'i str, &'i Node, &'i [Duplicate])>,
    /// Folders.
    pub bases: &'i Bases,
    /// Variables.
    pub env: &'i Environment,
}

/// The file that `tools.mcpConfigPath` names.
pub(crate) struct McpFile {
    /// Its absolute path.
    pub path: PathBuf,
    /// Its name in messages.
    pub shown: String,
    /// Where it was named.
    pub named_at: Place,
    /// What reading it gave.
    pub content: std::io::Result<Vec<u8>>,
}

/// All servers of the file and the inline form.
pub(crate) fn read_servers(input: McpInput<'_>, findings: &mut Findings) -> McpConfig {
    let mut config = McpConfig::default();
    let document = input.file.as_ref().and_then(|file| {
        config.file = Some(file.path.clone());
        read_file(file, &mut config, findings)
    });
    let mut found: Vec<Declared> = Vec::new();
    if let (Some(file), Some(document)) = (&input.file, &document) {
        for member in entries_of_file(&file.shown, document, findings) {
            let part = Part { file: &file.shown, base: MCP_KEY, duplicates: &document.duplicates };
            found.push(part.entry(member, &input, findings));
        }
    }
    if let Some((file, node, duplicates)) = input.inline {
        let base = "tools.mcpServers";
        if node.members().is_some_and(<[_]>::is_empty) {
            let message = "`tools.mcpServers` declares no server";
            findings
                .warning(config_at(message, entry::base_place(file, node.pos, base)).hint("take it away"));
        }
        for member in bounded(node.members().unwrap_or_default(), file, base, findings) {
            found.push(Part { file, base, duplicates }.entry(member, &input, findings));
        }
    }
    merge(found, &mut config, findings);
    config
}

fn config_at(message: impl Into<String>, at: Place) -> host_vocab::Diagnostic {
    config(code::MCP_SUSPECT, message).at(at)
}

/// One entry and what it became.
struct Declared {
    origin: Place,
    name: String,
    result: Result<McpServerSpec, BrokenServer>,
}

struct Part<'p> {
    file: &'p str,
    base: &'p str,
    duplicates: &'p [Duplicate],
}

impl Part<'_> {
    fn entry(&self, member: &Member, input: &McpInput<'_>, findings: &mut Findings) -> Declared {
        let own = path::key(self.base, &member.key);
        let twice: Vec<Duplicate> = self
            .duplicates
            .iter()
            .filter(|twice| twice.path != own && is_within(&twice.path, &own))
            .cloned()
            .collect();
        let entry = Entry {
            file: self.file,
            base: self.base,
            member,
            duplicates: &twice,
            bases: input.bases,
            env: input.env,
            findings: Findings::default(),
        };
        let origin = entry.origin();
        Declared { origin, name: member.key.clone(), result: entry::read(entry, findings) }
    }
}

/// Whether a path is another or below it.
pub(crate) fn is_within(path: &str, base: &str) -> bool {
    path.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn read_file(file: &McpFile, config_out: &mut McpConfig, findings: &mut Findings) -> Option<Document> {
    let bytes = match &file.content {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            config_out.file_missing = true;
            let message = format!("an MCP config file is missing: {}", file.path.display());
            let found = config(code::MCP_MISSING, message).at(file.named_at.clone());
            findings
                .warning(found.hint(
                    "write the file, or take `tools.mcpConfigPath` away; it starts from the workspace",
                ));
            return None;
        }
        Err(error) => {
            let why = crate::load::reading_failed(error);
            let message = format!("the MCP config {} can't be read: {why}", file.path.display());
            findings.error(
                config(code::UNREADABLE, message)
                    .at(file.named_at.clone())
                    .hint("`tools.mcpConfigPath` names a file that the host may read"),
            );
            return None;
        }
    };
    match source::read(bytes) {
        Ok(document) => Some(document),
        Err(error) => {
            // Which servers it declares can't be known, and one of them may be required: no start.
            let mut found = config(code::SYNTAX, error.message.clone()).at(place(&file.shown, error.pos, ""));
            found.hints.extend(error.hint);
            findings.error(found);
            None
        }
    }
}

/// The entries of a file. Everything beside `mcpServers` is a finding (T1-11).
fn entries_of_file<'d>(file: &str, document: &'d Document, findings: &mut Findings) -> Vec<&'d Member> {
    let root = &document.root;
    let Some(members) = root.members() else {
        let message = format!("an MCP config is an object; this is {}", root.kind());
        let found = config(code::WRONG_TYPE, message).at(place(file, root.pos, ""));
        findings.error(found.hint("write { \"mcpServers\": { \"name\": { \"command\": \"…\" } } }"));
        return Vec::new();
    };
    let main = members.iter().find(|member| member.key == MCP_KEY);
    let mut noted = false;
    for member in members {
        if member.key != MCP_KEY && !is_silent(&member.key) {
            noted |= stray(file, member, main.is_some(), findings);
        }
    }
    for twice in
        document.duplicates.iter().filter(|twice| !is_within(&twice.path, MCP_KEY) || twice.path == MCP_KEY)
    {
        let message = format!("this key stands already at line {}", twice.first.line);
        let found = config(code::DUPLICATE_KEY, message).at(place(file, twice.again, &twice.path));
        findings.error(found.hint("keep one of the two"));
    }
    let Some(main) = main else {
        if !noted {
            let found = config_at("the MCP config declares no server", place(file, root.pos, ""));
            findings.warning(found.hint("write { \"mcpServers\": { \"name\": { \"command\": \"…\" } } }"));
        }
        return Vec::new();
    };
    let Some(entries) = main.node.members() else {
        let message = format!("`mcpServers` is {}; it takes an object", main.node.kind());
        let found = config(code::WRONG_TYPE, message).at(place(file, main.node.pos, MCP_KEY));
        findings.error(found.hint("write \"mcpServers\": { \"name\": { \"command\": \"…\" } }"));
        return Vec::new();
    };
    if entries.is_empty() && !noted {
        let found = config_at("the MCP config declares no server", place(file, main.node.pos, MCP_KEY));
        findings.warning(found.hint("add one, or take `tools.mcpConfigPath` away"));
    }
    bounded(entries, file, MCP_KEY, findings)
}

fn is_silent(key: &str) -> bool {
    matches!(key, "$schema" | "$comment")
}

/// A key beside `mcpServers`. Whether servers stand under it decides how it is told.
fn stray(file: &str, member: &Member, has_main: bool, findings: &mut Findings) -> bool {
    let shown = quote_str(&member.key);
    let at = place(file, member.key_pos, &path::key("", &member.key));
    let looks_like_entry = ["command", "url", "args"]
        .iter()
        .any(|key| member.node.get(key).is_some_and(|node| node.members().is_none()));
    let holds_entries =
        member.node.members().is_some_and(|inner| inner.iter().any(|m| m.node.members().is_some()));
    let (message, hint) = if looks_like_entry {
        let message = format!("the server {shown} stands beside `mcpServers`, not in it: it is not used");
        (message, format!("write \"mcpServers\": {{ {shown}: {{ … }} }}"))
    } else if holds_entries || suggestion(&member.key, &[MCP_KEY]).is_some() {
        let message = format!("{shown} is not read: servers stand under `mcpServers`");
        (message, "rename it to `mcpServers`".to_owned())
    } else {
        (format!("{shown} is no key that is known here"), "an MCP config has the key `mcpServers`".to_owned())
    };
    let found = config(code::UNKNOWN_KEY, message).at(at).hint(hint);
    // With no `mcpServers` beside it, no server would be left, and nothing says which were needed.
    if has_main {
        findings.partial(found)
    } else {
        findings.error(found)
    }
    true
}

fn bounded<'m>(members: &'m [Member], file: &str, base: &str, findings: &mut Findings) -> Vec<&'m Member> {
    if let Some(over) = members.get(SERVERS_MAX) {
        let message = format!("{} servers are declared; at most {SERVERS_MAX} are read", members.len());
        findings.error(config(code::OUT_OF_RANGE, message).at(place(file, over.key_pos, base)));
    }
    members.iter().take(SERVERS_MAX).collect()
}

/// Puts all entries together. A name that was declared twice is used for neither (MCP-2).
fn merge(found: Vec<Declared>, out: &mut McpConfig, findings: &mut Findings) {
    let mut by_name: IndexMap<String, Vec<Declared>> = IndexMap::new();
    for declared in found {
        by_name.entry(declared.name.clone()).or_default().push(declared);
    }
    for (name, mut all) in by_name {
        if all.len() == 1 {
            match all.remove(0).result {
                Ok(spec) => out.servers.push(spec),
                Err(broken) => out.broken.push(broken),
            }
            continue;
        }
        let places: Vec<String> = all.iter().map(|one| one.origin.to_string()).collect();
        let reason =
            format!("the server {} is declared twice: at {}", quote_str(&name), places.join(" and at "));
        let required = all.iter().any(|one| match &one.result {
            Ok(spec) => spec.required,
            Err(broken) => broken.required,
        });
        let origin = all[all.len() - 1].origin.clone();
        let diagnostic = config(code::CONFLICT, reason.clone()).at(origin).hint("keep one of the two");
        if required {
            findings.error(diagnostic)
        } else {
            findings.partial(diagnostic)
        }
        let (name, origin) = (one_line(&name, 64), all[0].origin.clone());
        out.broken.push(BrokenServer { name, origin, reasons: vec![reason], required });
    }
}
