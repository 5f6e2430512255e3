//! All settings with their values and where those came from.

use crate::environment::{Environment, read_variable};
use crate::finding::{Findings, place};
use crate::paths::Bases;
use crate::registry::{self, Branch, Field, Shape};
use crate::shape::scalar;
use crate::source::{Node, Pos, path};
use host_vocab::Place;
use indexmap::IndexMap;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Where a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A variable.
    Env,
    /// The file.
    File,
    /// Nobody set it.
    Default,
}

/// One setting.
#[derive(Debug, Clone)]
pub struct Setting {
    /// What it is.
    pub field: &'static Field,
    /// Where its value came from.
    pub origin: Origin,
    node: Option<Node>,
    file: String,
    /// Where it would stand: the nearest object of the file that is there.
    near: Pos,
    /// Whether somebody set a value that doesn't fit, which is reported at its place.
    is_misfit: bool,
}

impl Setting {
    /// Its value as it was written, or its default.
    pub fn value(&self) -> Option<Value> {
        match &self.node {
            Some(node) => Some(node.to_json()),
            None => self.field.default_json(),
        }
    }

    /// Its value with places, where somebody set it.
    pub fn node(&self) -> Option<&Node> {
        self.node.as_ref()
    }

    /// Whether somebody set a value that doesn't fit: the setting has its default then, and there is a
    /// finding.
    pub fn is_misfit(&self) -> bool {
        self.is_misfit
    }

    /// The place of the value, or of one below it (`[2]`, `rules[1].tool`).
    pub fn place(&self, below: &str) -> Place {
        let full = match below {
            "" => self.field.path.to_owned(),
            below if below.starts_with('[') => format!("{}{below}", self.field.path),
            below => format!("{}.{below}", self.field.path),
        };
        let pos = match &self.node {
            Some(node) => node.at(below).map_or(node.pos, |node| node.pos),
            None => self.near,
        };
        place(&self.file, pos, &full)
    }
}

/// All settings of an agent, in the order of the reference page.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    map: IndexMap<&'static str, Setting>,
}

impl Settings {
    /// Takes each setting from its variable, else from the file, else its default (CFG-2).
    pub(crate) fn resolve(
        file: &str,
        root: Option<&Node>,
        env: &Environment,
        findings: &mut Findings,
    ) -> Self {
        let mut map = IndexMap::new();
        for field in registry::fields().filter(|field| field.is_concrete()) {
            let Some(branch) = registry::tree().at(field.path) else { continue };
            let set = read_variable(field, branch, env, findings);
            let setting = if let (Some(node), Some(name)) = (set, field.env) {
                let file = format!("env {name}");
                Setting {
                    field,
                    origin: Origin::Env,
                    node: Some(node),
                    file,
                    near: Pos::default(),
                    is_misfit: false,
                }
            } else {
                let written = root.and_then(|root| root.at(field.path));
                let fitting = written.filter(|node| scalar(&field.shape, node).is_none());
                let near = root.map(|root| nearest_object(root, field.path)).unwrap_or_default();
                Setting {
                    field,
                    origin: if fitting.is_some() { Origin::File } else { Origin::Default },
                    node: fitting.cloned(),
                    file: if root.is_some() { file } else { "defaults" }.to_owned(),
                    near: written.map_or(near, |node| node.pos),
                    is_misfit: written.is_some() && fitting.is_none(),
                }
            };
            map.insert(field.path, setting);
        }
        Settings { map }
    }

    /// The setting at a path of the registry.
    pub fn get(&self, path: &str) -> Option<&Setting> {
        self.map.get(path)
    }

    /// All settings.
    pub fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.map.values()
    }

    /// The text of a setting.
    pub fn text(&self, path: &str) -> Option<String> {
        self.get(path)?.value()?.as_str().map(str::to_owned)
    }

    /// Whether a setting is on.
    pub fn is_on(&self, path: &str) -> bool {
        self.get(path).and_then(Setting::value).and_then(|value| value.as_bool()).unwrap_or(false)
    }

    /// The texts of a list.
    pub fn texts(&self, path: &str) -> Vec<String> {
        let value = self.get(path).and_then(Setting::value);
        let items = value.as_ref().and_then(Value::as_array);
        items.into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
    }

    /// Whether somebody set anything in a section (or the section itself).
    pub fn is_set_below(&self, section: &str) -> bool {
        self.below(section).any(|setting| setting.origin != Origin::Default)
    }

    /// The place of a setting, for a finding.
    pub fn place(&self, path: &str, below: &str) -> Place {
        match self.get(path) {
            Some(setting) => setting.place(below),
            None => place("", Pos::default(), path),
        }
    }

    fn below<'s>(&'s self, section: &'s str) -> impl Iterator<Item = &'s Setting> {
        self.map.values().filter(move |setting| {
            let rest = setting.field.path.strip_prefix(section);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    /// A section as one object: defaults filled in, also in the rows of lists, and paths made absolute.
    pub fn section(&self, section: &str, bases: &Bases) -> Value {
        let mut out = Value::Object(Map::new());
        for setting in self.below(section) {
            let Some(value) = setting.value() else { continue };
            let Some(branch) = registry::tree().at(setting.field.path) else { continue };
            let below = setting.field.path[section.len()..].trim_start_matches('.');
            put(&mut out, below, finish(branch, value, bases));
        }
        out
    }

    /// A section as its type.
    ///
    /// # Errors
    /// The registry and the type disagree, which the tests of this crate rule out for checked values.
    pub(crate) fn typed<T: DeserializeOwned>(
        &self,
        section: &str,
        bases: &Bases,
    ) -> Result<T, serde_json::Error> {
        serde_json::from_value(self.section(section, bases))
    }
}

/// The place of the deepest object on the way to a path.
fn nearest_object(root: &Node, path: &str) -> Pos {
    let mut at = root;
    for step in path.split('.') {
        match at.get(step) {
            Some(below) if below.members().is_some() => at = below,
            _ => break,
        }
    }
    at.pos
}

fn put(out: &mut Value, path: &str, value: Value) {
    let mut at = out;
    for step in path.split('.').filter(|step| !step.is_empty()) {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        let Value::Object(map) = at else { return };
        at = map.entry(step).or_insert(Value::Null);
    }
    *at = value;
}

/// Fills in the defaults below a value and makes its paths absolute.
pub(crate) fn finish(branch: &Branch, value: Value, bases: &Bases) -> Value {
    match (branch.field.map(|field| field.shape), value) {
        (Some(shape), Value::String(text)) => Value::String(absolute(&shape, text, bases)),
        (Some(Shape::List(shape)), Value::Array(items)) => items
            .into_iter()
            .map(|item| match item {
                Value::String(text) => Value::String(absolute(shape, text, bases)),
                other => other,
            })
            .collect(),
        (_, Value::Array(items)) => match branch.item.as_deref() {
            Some(row) => items.into_iter().map(|item| finish(row, item, bases)).collect(),
            None => Value::Array(items),
        },
        (_, Value::Object(mut map)) => {
            for (key, child) in &branch.children {
                fill(&mut map, key, child, bases);
            }
            if let Some(any) = branch.any.as_deref() {
                for (key, value) in &mut map {
                    if !branch.children.contains_key(key.as_str()) {
                        *value = finish(any, value.take(), bases);
                    }
                }
            }
            Value::Object(map)
        }
        (_, other) => other,
    }
}

fn fill(map: &mut Map<String, Value>, key: &str, child: &Branch, bases: &Bases) {
    let present = match map.remove(key) {
        Some(value) => Some(value),
        None => match child.field {
            Some(field) => field.default_json(),
            None => None,
        },
    };
    if let Some(value) = present {
        map.insert(key.to_owned(), finish(child, value, bases));
    }
}

fn absolute(shape: &Shape, text: String, bases: &Bases) -> String {
    let Shape::Path(base) = shape else { return text };
    match bases.resolve(&text, *base) {
        Ok(path) => path.to_string_lossy().into_owned(),
        // Reported where the paths are checked.
        Err(_) => text,
    }
}

/// Every path setting that was set, with its place, for the check of `~`.
pub(crate) fn set_paths(settings: &Settings) -> Vec<(String, Place)> {
    let mut out = Vec::new();
    for setting in settings.iter() {
        if let (Some(node), Some(branch)) = (setting.node(), registry::tree().at(setting.field.path)) {
            gather(branch, node, "", setting, &mut out);
        }
    }
    out
}

fn gather(branch: &Branch, node: &Node, at: &str, setting: &Setting, out: &mut Vec<(String, Place)>) {
    let shape = branch.field.map(|field| field.shape);
    if setting.field.path == "tools.mcpServers" {
        return;
    }
    if let (Some(Shape::Path(_)), Some(text)) = (shape, node.text()) {
        out.push((text.to_owned(), setting.place(at)));
    }
    for (index, item) in node.items().unwrap_or_default().iter().enumerate() {
        let here = path::item(at, index);
        match (shape, item.text()) {
            (Some(Shape::List(Shape::Path(_))), Some(text)) => {
                out.push((text.to_owned(), setting.place(&here)))
            }
            _ => {
                if let Some(row) = branch.item.as_deref() {
                    gather(row, item, &here, setting, out);
                }
            }
        }
    }
    for member in node.members().unwrap_or_default() {
        if let Some(child) = branch.key(&member.key) {
            gather(child, &member.node, &path::key(at, &member.key), setting, out);
        }
    }
}
