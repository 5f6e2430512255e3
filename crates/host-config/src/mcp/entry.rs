//! One entry: checked by itself, so that a bad one costs itself alone (T1-03).

use super::server::{
    BrokenServer, HttpKind, McpEra, McpServerSpec, McpTransport, ServerNetwork, ServerSandbox,
};
use crate::check::Walk;
use crate::environment::Environment;
use crate::finding::{Findings, code, config, place, quote_str};
use crate::paths::Bases;
use crate::registry::{self, Base};
use crate::source::{Duplicate, Member, Node, Pos, path};
use host_vocab::{Code, Diagnostic, Place, ServerName, text::one_line};
use std::path::PathBuf;

/// Keys of other hosts that leave nothing open when they are not obeyed.
const HARMLESS_KEYS: &[&str] = &[
    "$comment",
    "alwaysAllow",
    "autoApprove",
    "comment",
    "description",
    "displayName",
    "gallery",
    "icon",
    "name",
    "note",
    "notes",
    "title",
    "trust",
    "version",
];

/// Where an entry stands and what it is read with.
pub(super) struct Entry<'e> {
    pub file: &'e str,
    /// The JSON path of the object that holds the entries.
    pub base: &'e str,
    pub member: &'e Member,
    pub duplicates: &'e [Duplicate],
    pub bases: &'e Bases,
    pub env: &'e Environment,
    pub findings: Findings,
}

impl Entry<'_> {
    pub(super) fn name(&self) -> String {
        one_line(&self.member.key, 64)
    }

    pub(super) fn path(&self) -> String {
        path::key(self.base, &self.member.key)
    }

    pub(super) fn origin(&self) -> Place {
        place(self.file, self.member.key_pos, &self.path())
    }

    pub(super) fn node(&self) -> &Node {
        &self.member.node
    }

    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.member.node.get(key)
    }

    pub(super) fn is_on(&self, key: &str) -> bool {
        self.get(key).is_some_and(|node| node.value == crate::source::Value::Bool(true))
    }

    pub(super) fn text(&self, key: &str) -> Option<String> {
        Some(self.get(key)?.text()?.to_owned())
    }

    /// The members of an object in the entry, as texts with their places.
    pub(super) fn texts_of(&self, key: &str) -> Vec<(String, String, Place)> {
        let base = path::key(&self.path(), key);
        let members = self.get(key).and_then(Node::members).unwrap_or_default();
        members
            .iter()
            .filter_map(|m| {
                let at = place(self.file, m.node.pos, &path::key(&base, &m.key));
                Some((m.key.clone(), m.node.text()?.to_owned(), at))
            })
            .collect()
    }

    /// The items of a list in the entry, as texts with their places.
    pub(super) fn items_of(&self, key: &str) -> Vec<(String, Place)> {
        let base = path::key(&self.path(), key);
        let items = self.get(key).and_then(Node::items).unwrap_or_default();
        let with_place = items.iter().enumerate().filter_map(|(index, item)| {
            Some((item.text()?.to_owned(), place(self.file, item.pos, &path::item(&base, index))))
        });
        with_place.collect()
    }

    pub(super) fn place_of(&self, key: &str) -> Place {
        let pos = self.get(key).map_or(self.member.key_pos, |node| node.pos);
        place(self.file, pos, &path::key(&self.path(), key))
    }

    pub(super) fn bad(&mut self, code: Code, at: Place, message: String, hint: &str) {
        let found = self.diagnostic(code, at, message);
        self.findings.partial(found.hint(hint));
    }

    pub(super) fn suspect(&mut self, at: Place, message: String, hint: impl Into<String>) {
        let found = self.diagnostic(code::MCP_SUSPECT, at, message);
        self.findings.warning(found.hint(hint));
    }

    fn diagnostic(&self, code: Code, at: Place, message: String) -> Diagnostic {
        config(code, format!("server {}: {message}", quote_str(&self.member.key))).at(at)
    }

    /// A path with `~` expanded, absolute; a path that can't be is a finding.
    pub(super) fn resolve(&mut self, text: &str, at: &Place) -> PathBuf {
        match self.bases.resolve(text, Base::Workspace) {
            Ok(path) => path,
            Err(error) => {
                self.bad(code::BAD_VALUE, at.clone(), error.to_string(), "write the folder out");
                PathBuf::from(text)
            }
        }
    }

    /// A text whose leading `~` is expanded; one that can't be is a finding.
    pub(super) fn tilde(&mut self, text: &str, at: &Place) -> String {
        match self.bases.tilde(text) {
            Ok(text) => text,
            // `~name` in an argument or a value is most often no path at all.
            Err(crate::paths::PathError::OtherHome) => text.to_owned(),
            Err(error) => {
                self.bad(code::BAD_VALUE, at.clone(), error.to_string(), "write the folder out");
                text.to_owned()
            }
        }
    }

    /// A literal value that holds what others would expand is worth knowing (MCP-5, T1-07).
    pub(super) fn note_placeholder(&mut self, what: &str, text: &str, at: &Place, way_out: &str) {
        if let Some(found) = super::placeholder(text) {
            let found = one_line(found, 60);
            let message = format!("{what} holds `{found}`, which is not expanded: it is used as it stands");
            self.suspect(at.clone(), message, way_out);
        }
    }
}

/// Reads one entry. Its findings are handed on as `fatal` where the server is required.
pub(super) fn read(mut entry: Entry<'_>, findings: &mut Findings) -> Result<McpServerSpec, BrokenServer> {
    let required = entry.is_on("required");
    let spec = check(&mut entry);
    let origin = entry.origin();
    let name = entry.name();
    let Entry { findings: mine, .. } = entry;
    let broken = mine.has_error();
    let reasons = mine.reasons();
    findings.absorb_part(mine, required);
    match spec {
        Some(spec) if !broken => Ok(spec),
        _ => Err(BrokenServer { name, origin, reasons, required }),
    }
}

fn check(entry: &mut Entry<'_>) -> Option<McpServerSpec> {
    let path = entry.path();
    let branch = registry::tree().at("tools.mcpServers.*")?;
    let mut findings = std::mem::take(&mut entry.findings);
    let mut walk =
        Walk::new(entry.file, &mut findings).partial().foreign(HARMLESS_KEYS).quiet_about_secrets();
    walk.duplicates(entry.duplicates);
    walk.section(branch, entry.node(), &path);
    findings.prefix(&format!("server {}: ", quote_str(&entry.member.key)));
    entry.findings = findings;
    let name = match ServerName::parse(entry.member.key.clone()) {
        Ok(name) if name.as_str().starts_with("mono-agent-") => {
            let message = "names that begin with `mono-agent-` belong to the host".to_owned();
            entry.bad(code::MCP_ENTRY, entry.origin(), message, "give it another name");
            None
        }
        Ok(name) => Some(name),
        Err(error) => {
            let hint = "rename it; the name becomes a part of its tools' names";
            entry.bad(code::MCP_ENTRY, entry.origin(), error.to_string(), hint);
            None
        }
    };
    entry.node().members()?;
    let transport = transport(entry);
    let sandbox = sandbox(entry, matches!(transport, Some(McpTransport::Http(_))));
    let timeout = entry.get("timeout").and_then(Node::integer);
    let era = match entry.text("era").as_deref() {
        Some("legacy") => McpEra::Legacy,
        Some("modern") => McpEra::Modern,
        _ => McpEra::Auto,
    };
    Some(McpServerSpec {
        name: name?,
        origin: entry.origin(),
        transport: transport?,
        timeout_ms: timeout.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(60_000),
        timeout_is_set: timeout.is_some(),
        required: entry.is_on("required"),
        sandbox,
        reset_timeout_on_progress: entry.is_on("resetTimeoutOnProgress"),
        era,
        disabled: entry.is_on("disabled"),
    })
}

/// The transport, as `type`, `transport`, `command` and `url` say together.
fn transport(entry: &mut Entry<'_>) -> Option<McpTransport> {
    let kind = entry.text("type").or_else(|| entry.text("transport"));
    if let (Some(one), Some(other)) = (entry.text("type"), entry.text("transport"))
        && one != other
    {
        let at = entry.place_of("transport");
        entry.bad(code::CONFLICT, at, "`type` and `transport` differ".into(), "keep one of the two");
        return None;
    }
    let (command, url) = (entry.get("command").is_some(), entry.get("url").is_some());
    let kind = kind.as_deref();
    match (command, url) {
        (true, true) => {
            let message = "it has both `command` (a stdio server) and `url` (a remote one)".to_owned();
            let at = entry.place_of("url");
            entry.bad(code::CONFLICT, at, message, "keep one of the two");
            None
        }
        (false, false) => {
            let wanted = match kind {
                Some("stdio") => "it has no `command`",
                Some(_) => "it has no `url`",
                None => "it has neither `command` nor `url`",
            };
            let hint = "a stdio server has \"command\", a remote one \"url\"";
            entry.bad(code::MCP_ENTRY, entry.origin(), wanted.into(), hint);
            None
        }
        (true, false) if kind.is_some_and(|kind| kind != "stdio") => {
            let message =
                format!("its type is {}, yet it has a `command`", quote_str(kind.unwrap_or_default()));
            let at = entry.place_of("command");
            entry.bad(
                code::CONFLICT,
                at,
                message,
                "a remote server has \"url\"; a stdio server needs no type",
            );
            None
        }
        (false, true) if kind == Some("stdio") => {
            let at = entry.place_of("url");
            let hint = "a stdio server has \"command\"; a remote one needs no type";
            entry.bad(code::CONFLICT, at, "its type is \"stdio\", yet it has a `url`".into(), hint);
            None
        }
        (true, false) => {
            misplaced(
                entry,
                &["headers", "headersFromEnv", "headersFromFile"],
                "a stdio server has no headers",
            );
            super::stdio::read(entry).map(McpTransport::Stdio)
        }
        (false, true) => {
            misplaced(entry, &["args", "env", "inheritEnv", "cwd"], "a remote server is not started here");
            let kind = match kind {
                None => HttpKind::Auto,
                Some("sse") => HttpKind::Sse,
                Some(_) => HttpKind::Http,
            };
            super::remote::read(entry, kind).map(McpTransport::Http)
        }
    }
}

fn misplaced(entry: &mut Entry<'_>, keys: &[&str], why: &str) {
    for key in keys {
        let is_empty = entry.get(key).is_none_or(|node| {
            node.members().is_some_and(<[_]>::is_empty) || node.items().is_some_and(<[_]>::is_empty)
        });
        if !is_empty {
            let at = entry.place_of(key);
            entry.bad(code::CONFLICT, at, format!("`{key}` has no place in it: {why}"), "take it away");
        }
    }
}

fn sandbox(entry: &mut Entry<'_>, remote: bool) -> Option<ServerSandbox> {
    let node = entry.get("sandbox")?.clone();
    if remote {
        misplaced_sandbox(entry);
        return None;
    }
    if node.text() == Some("off") {
        return Some(ServerSandbox::Off);
    }
    let base = path::key(&entry.path(), "sandbox");
    let mut roots = |key: &str| {
        let items = node.get(key).and_then(Node::items).unwrap_or_default();
        let mut out = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let at = place(entry.file, item.pos, &path::item(&path::key(&base, key), index));
            if let Some(text) = item.text() {
                out.push(entry.resolve(text, &at));
            }
        }
        out
    };
    let (readable_roots, writable_roots) = (roots("readableRoots"), roots("writableRoots"));
    let network = match node.get("network").and_then(Node::text) {
        Some("none") => Some(ServerNetwork::None),
        Some("localhost") => Some(ServerNetwork::Localhost),
        Some("allowlist") => Some(ServerNetwork::Allowlist),
        Some("all") => Some(ServerNetwork::All),
        _ => None,
    };
    Some(ServerSandbox::Confined { readable_roots, writable_roots, network })
}

fn misplaced_sandbox(entry: &mut Entry<'_>) {
    let at = entry.place_of("sandbox");
    let message = "`sandbox` has no place in it: a remote server is not started here".to_owned();
    entry.bad(code::CONFLICT, at, message, "take it away");
}

/// The place of a whole object of entries.
pub(super) fn base_place(file: &str, pos: Pos, base: &str) -> Place {
    place(file, pos, base)
}
