//! The walk of a file along the registry: what isn't a known key with a fitting value is a finding.

use crate::finding::{Findings, code, config, place, quote};
use crate::nearest::{fold, nearest};
use crate::registry::{self, Branch, Field, IGNORED, RETIRED, Shape};
use crate::secrets::is_secret_name;
use crate::shape::{Problem, scalar};
use crate::source::{Duplicate, Member, Node, Pos, Value, path};
use host_vocab::{Diagnostic, text::one_line};

/// Keys of other hosts and older habits, and what they are called here.
const MEANT: &[(&str, &str)] = &[
    ("environment", "env"),
    ("envs", "env"),
    ("httpUrl", "url"),
    ("serverUrl", "url"),
    ("uri", "url"),
    ("endpoint", "url"),
    ("cmd", "command"),
    ("exec", "command"),
    ("arguments", "args"),
    ("argv", "args"),
    ("workingDirectory", "cwd"),
    ("workdir", "cwd"),
    ("enabled", "disabled"),
    ("timeoutMs", "timeout"),
    ("timeoutSeconds", "timeout"),
    ("servers", "mcpServers"),
    ("mcp", "mcpServers"),
    ("deniedTools", "disallowedTools"),
    ("blockedTools", "disallowedTools"),
    ("excludeTools", "disallowedTools"),
    ("includeTools", "allowedTools"),
];

/// A walk through one text.
pub(crate) struct Walk<'w> {
    file: &'w str,
    notes_secrets: bool,
    is_partial: bool,
    foreign: &'static [&'static str],
    findings: &'w mut Findings,
}

impl<'w> Walk<'w> {
    /// A walk through a file: a misfit is fatal, a secret is a warning.
    pub fn new(file: &'w str, findings: &'w mut Findings) -> Self {
        Walk { file, notes_secrets: true, is_partial: false, foreign: &[], findings }
    }

    /// A misfit costs this part alone.
    pub fn partial(mut self) -> Self {
        self.is_partial = true;
        self
    }

    /// Secrets are no finding: the text is no file, or somebody else looks for them.
    pub fn quiet_about_secrets(mut self) -> Self {
        self.notes_secrets = false;
        self
    }

    /// Keys of other programs, which are a warning alone.
    pub fn foreign(mut self, keys: &'static [&'static str]) -> Self {
        self.foreign = keys;
        self
    }
}

impl Walk<'_> {
    /// Reports keys that came twice.
    pub fn duplicates(&mut self, duplicates: &[Duplicate]) {
        for twice in duplicates {
            let message = format!("this key stands already at line {}", twice.first.line);
            let at = place(self.file, twice.again, &twice.path);
            let found = config(code::DUPLICATE_KEY, message).at(at).hint("keep one of the two");
            self.misfit(found);
        }
    }

    /// Checks a value against the branch that describes it.
    pub fn value(&mut self, branch: &Branch, node: &Node, at: &str) {
        let Some(field) = branch.field else { return self.section(branch, node, at) };
        match field.shape {
            // Entries of MCP servers are checked one by one, so that a bad one costs itself alone.
            Shape::Map if field.path == "tools.mcpServers" => self.is_object(field, node, at),
            Shape::Map => self.map(branch, field, node, at),
            Shape::Rows => self.rows(branch, field, node, at),
            Shape::Either(shapes) if node.members().is_some() && shapes.iter().any(is_object_shape) => {
                self.section(branch, node, at);
            }
            Shape::Open => {
                self.is_object(field, node, at);
                self.open(node, at, 0);
            }
            shape => self.scalar(field, &shape, node, at),
        }
    }

    fn scalar(&mut self, field: &Field, shape: &Shape, node: &Node, at: &str) {
        if let Some(problem) = scalar(shape, node) {
            self.report(field, node, at, problem);
        } else if field.secret && self.notes_secrets && node.text().is_some_and(|text| !text.is_empty()) {
            self.secret(field, node, at);
        } else if let (Shape::List(inner), Some(items)) = (shape, node.items()) {
            for (index, item) in items.iter().enumerate() {
                if let Some(problem) = scalar(inner, item) {
                    self.report(field, item, &path::item(at, index), problem);
                }
            }
        }
    }

    fn is_object(&mut self, field: &Field, node: &Node, at: &str) {
        if let Some(problem) = scalar(&field.shape, node) {
            self.report(field, node, at, problem);
        }
    }

    fn map(&mut self, branch: &Branch, field: &Field, node: &Node, at: &str) {
        let Some(members) = node.members() else { return self.is_object(field, node, at) };
        for member in members {
            if let Some(below) = branch.key(&member.key) {
                self.value(below, &member.node, &path::key(at, &member.key));
            }
        }
    }

    fn rows(&mut self, branch: &Branch, field: &Field, node: &Node, at: &str) {
        let (Some(items), Some(row)) = (node.items(), branch.item.as_deref()) else {
            return self.is_object(field, node, at);
        };
        for (index, item) in items.iter().enumerate() {
            self.value(row, item, &path::item(at, index));
        }
    }

    /// An object with named keys.
    pub fn section(&mut self, branch: &Branch, node: &Node, at: &str) {
        let Some(members) = node.members() else {
            let what = if at.is_empty() { "a config" } else { at };
            let message = format!("{what} is {}; it takes an object: {{ \"key\": value }}", describe(node));
            let found = config(code::WRONG_TYPE, message).at(place(self.file, node.pos, at));
            return self.misfit(found);
        };
        for member in members {
            let below = path::key(at, &member.key);
            if at.is_empty() && member.key == "$schema" {
                continue;
            }
            if let Some(old) = RETIRED.iter().find(|old| old.path == below) {
                self.retired(member, &below, old.instead);
            } else if let Some(ignored) = IGNORED.iter().find(|ignored| ignored.path == below) {
                self.ignored(member.key_pos, &below, ignored.why);
            } else if let Some(child) = branch.key(&member.key) {
                self.value(child, &member.node, &below);
            } else if self.foreign.contains(&member.key.as_str()) {
                self.ignored(member.key_pos, &below, "it belongs to another program");
            } else {
                self.unknown(branch, member, &below);
            }
        }
        self.required(branch, node, at);
    }

    fn required(&mut self, branch: &Branch, node: &Node, at: &str) {
        for (key, child) in &branch.children {
            if child.field.is_some_and(|field| field.required) && node.get(key).is_none() {
                let message = format!("`{key}` is missing");
                let found = config(code::MISSING_KEY, message).at(place(self.file, node.pos, at));
                self.misfit(found.hint(format!("add \"{key}\": …")));
            }
        }
    }

    fn retired(&mut self, member: &Member, at: &str, instead: &str) {
        let message =
            format!("`{at}` was retired (it is {})", quote_unless_secret(&member.key, &member.node));
        let found = config(code::RETIRED, message).at(place(self.file, member.key_pos, at)).hint(instead);
        self.misfit(found);
    }

    fn ignored(&mut self, pos: Pos, at: &str, why: &str) {
        let message = format!("`{at}` has no effect: {why}");
        let found = config(code::IGNORED, message).at(place(self.file, pos, at));
        self.findings.warning(found.hint("take it away"));
    }

    fn unknown(&mut self, branch: &Branch, member: &Member, at: &str) {
        let known: Vec<&str> = branch.children.keys().copied().collect();
        let guess = if self.findings.is_full() { None } else { suggestion(&member.key, &known) };
        let value = quote_unless_secret(guess.as_deref().unwrap_or(&member.key), &member.node);
        let value = if is_secret_name(&member.key) { "a value that is not shown".to_owned() } else { value };
        let shown = one_line(&member.key, 64);
        let message = format!("`{shown}` is no key that is known here (it is {value})");
        let mut found = config(code::UNKNOWN_KEY, message).at(place(self.file, member.key_pos, at));
        found = match guess {
            Some(guess) => found.hint(format!("did you mean `{guess}`?")),
            None => found.hint(known_keys(&known)),
        };
        self.misfit(found);
    }

    fn report(&mut self, field: &Field, node: &Node, at: &str, problem: Problem) {
        let value = if field.secret { format!("{} (not shown)", node.kind()) } else { describe(node) };
        let message = format!("{at} is {value}; it takes {}", problem.takes);
        let mut found = config(problem.code, message).at(place(self.file, node.pos, at));
        found.hints.extend(problem.hint);
        if field.path == "tools.mcpServers.*.command" && node.items().is_some() {
            found.hints.push("the program goes alone into \"command\", all else into \"args\"".into());
        }
        self.misfit(found);
    }

    fn secret(&mut self, field: &Field, node: &Node, at: &str) {
        let text = node.text().unwrap_or_default();
        let hoped = crate::mcp::placeholder(text).is_some() || text.starts_with("env:");
        let message = match hoped {
            true => {
                format!("{at} is literal: nothing in it is expanded, so the reference itself is the secret")
            }
            false => format!("a secret stands in this file ({at})"),
        };
        let found =
            config(code::SECRET_IN_FILE, message).at(place(self.file, node.pos, at)).hint(way_out(field));
        self.findings.warning(found);
    }

    /// Settings that others own: only secrets among them are looked for.
    fn open(&mut self, node: &Node, at: &str, depth: usize) {
        if !self.notes_secrets || depth > 8 {
            return;
        }
        for member in node.members().unwrap_or_default() {
            let below = path::key(at, &member.key);
            match member.node.text() {
                Some(text) if !text.is_empty() && is_secret_name(&member.key) => {
                    let found =
                        config(code::SECRET_IN_FILE, format!("a secret stands in this file ({below})"))
                            .at(place(self.file, member.node.pos, &below))
                            .hint("put it into a variable, and its name here, where the plugin takes one");
                    self.findings.warning(found);
                }
                _ => self.open(&member.node, &below, depth + 1),
            }
        }
    }

    fn misfit(&mut self, found: Diagnostic) {
        if self.is_partial { self.findings.partial(found) } else { self.findings.error(found) }
    }
}

/// What to do with a secret that stands in a file.
fn way_out(field: &Field) -> String {
    match field.env {
        Some(name) => format!("set {name} in the environment or in `.env`, and take the key away"),
        None if field.path.ends_with(".apiKey") => {
            "name the variable that holds it: \"apiKeyEnv\": \"MY_KEY\", and set MY_KEY in `.env`".into()
        }
        None => "keep it in the environment or in `.env`".into(),
    }
}

fn is_object_shape(shape: &Shape) -> bool {
    matches!(shape, Shape::Map | Shape::Open)
}

fn describe(node: &Node) -> String {
    match node.value {
        Value::Null => "null".into(),
        Value::Bool(_) | Value::Number(_) | Value::Text(_) => quote(node),
        Value::List(_) | Value::Object(_) => format!("{} {}", node.kind(), quote(node)),
    }
}

fn quote_unless_secret(key: &str, node: &Node) -> String {
    if is_secret_name(key) { "a value that is not shown".into() } else { describe(node) }
}

fn known_keys(known: &[&str]) -> String {
    const SHOWN: usize = 16;
    let mut list = known.iter().take(SHOWN).map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    if known.len() > SHOWN {
        list.push_str(&format!(" and {} more", known.len() - SHOWN));
    }
    if list.is_empty() { "take it away".into() } else { format!("known here: {list}") }
}

/// What was probably meant by an unknown key.
pub(crate) fn suggestion(written: &str, known: &[&str]) -> Option<String> {
    let folded = fold(written);
    if let Some(exact) = known.iter().find(|key| fold(key) == folded) {
        return Some((*exact).to_owned());
    }
    let meant = MEANT.iter().find(|(from, to)| fold(from) == folded && known.contains(to));
    if let Some((_, to)) = meant {
        return Some((*to).to_owned());
    }
    if let Some(near) = nearest(written, known.iter().copied()) {
        return Some(near.to_owned());
    }
    // The right key in the wrong section.
    registry::fields()
        .filter(|field| field.is_concrete())
        .find(|field| {
            field.path.rsplit('.').next().is_some_and(|last| fold(last) == folded && last.len() > 4)
        })
        .map(|field| field.path.to_owned())
}
