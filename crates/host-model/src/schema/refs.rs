//! References inside one schema. Nothing is ever fetched.

use serde_json::{Map, Value};
use std::collections::{HashSet, VecDeque};

/// How many references may follow each other before a chain counts as a circle.
const CHAIN_MAX: usize = 32;

/// What a reference points at inside `root`; `None` when it points nowhere, elsewhere, or only at itself.
pub(super) fn target_of<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let mut target = direct(root, reference)?;
    // A chain that only ever refers on must end somewhere.
    let first = target;
    for _ in 0..CHAIN_MAX {
        match target.get("$ref").and_then(Value::as_str) {
            Some(next) if target.as_object().is_some_and(|object| object.len() == 1) => {
                target = direct(root, next)?;
            }
            _ => return Some(first),
        }
    }
    None
}

fn direct<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = percent_decoded(reference.strip_prefix('#')?);
    let found = if pointer.is_empty() { Some(root) } else { root.pointer(&pointer) };
    found.filter(|value| value.is_object() || value.is_boolean())
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Names for the definitions that references need: every kind of pointer ends as `#/$defs/name`.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: Vec<(String, String)>,
    open: VecDeque<(String, String)>,
}

impl Names {
    /// The name of what a reference points at; the definition is put on the list of what is still to do.
    pub(super) fn name_of(&mut self, reference: &str) -> String {
        if let Some((_, name)) = self.known.iter().find(|(known, _)| known == reference) {
            return name.clone();
        }
        let last = reference.rsplit('/').next().unwrap_or("");
        let plain: String = last
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
            .take(48)
            .collect();
        let stem = if reference == "#" || plain.is_empty() { "self".to_owned() } else { plain };
        let taken = |name: &str| self.known.iter().any(|(_, known)| known == name);
        let name = if taken(&stem) { format!("{stem}_{}", self.known.len()) } else { stem };
        self.known.push((reference.to_owned(), name.clone()));
        self.open.push_back((reference.to_owned(), name.clone()));
        name
    }

    /// The next definition that was named but not yet looked at.
    pub(super) fn next_open(&mut self) -> Option<(String, String)> {
        self.open.pop_front()
    }
}

/// Drops the definitions that nothing refers to any more.
pub(super) fn keep_reachable(top: &Map<String, Value>, defs: &mut Map<String, Value>) {
    let mut reached = HashSet::new();
    let mut open = Vec::new();
    top.values().for_each(|value| names_in(value, &mut open));
    while let Some(name) = open.pop() {
        if reached.insert(name.clone())
            && let Some(def) = defs.get(&name)
        {
            names_in(def, &mut open);
        }
    }
    defs.retain(|name, _| reached.contains(name));
}

fn names_in(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match value {
                    Value::String(text) if key == "$ref" => {
                        out.extend(text.strip_prefix("#/$defs/").map(str::to_owned));
                    }
                    _ => names_in(value, out),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| names_in(value, out)),
        _ => {}
    }
}
