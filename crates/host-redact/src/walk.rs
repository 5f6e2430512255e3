//! The walk over a JSON value.

use crate::names::is_sensitive_key;
use crate::redactor::{REDACTED, Redactor};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashSet;

/// Containers within containers, counting the outermost.
pub const DEPTH_MAX: usize = 12;
/// Values in all, containers too.
pub const NODES_MAX: usize = 10_000;
/// Items of one array.
pub const ITEMS_MAX: usize = 1_000;
/// Keys of one object.
pub const KEYS_MAX: usize = 1_000;

const MAX_DEPTH: &str = "[max-depth]";
const MAX_NODES: &str = "[max-nodes]";
const MAX_ITEMS: &str = "[max-items]";
const MAX_KEYS: &str = "[max-keys]";

/// Redacts a value in place where it can, so that a clean one costs no allocation.
pub(crate) fn value(redactor: &Redactor, mut value: Value) -> Value {
    let mut walk = Walk { redactor, nodes: 0 };
    walk.node(&mut value, 1);
    value
}

struct Walk<'a> {
    redactor: &'a Redactor,
    nodes: usize,
}

fn marker(text: &str) -> Value {
    Value::String(text.to_owned())
}

impl Walk<'_> {
    fn node(&mut self, value: &mut Value, depth: usize) {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            set(value, MAX_NODES);
            return;
        }
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                if number.as_u64().is_some_and(|number| number >= 10_000_000)
                    && self.redactor.is_number(&number.to_string())
                {
                    set(value, REDACTED);
                }
            }
            Value::String(text) => {
                if let Cow::Owned(clean) = self.redactor.clean(text) {
                    *text = clean;
                }
            }
            Value::Array(_) | Value::Object(_) if depth > DEPTH_MAX => set(value, MAX_DEPTH),
            Value::Array(items) => {
                if items.len() > ITEMS_MAX {
                    items.truncate(ITEMS_MAX);
                    items.push(marker(MAX_ITEMS));
                }
                for item in items.iter_mut() {
                    self.node(item, depth + 1);
                }
            }
            Value::Object(map) => self.object(map, depth),
        }
    }

    fn object(&mut self, map: &mut Map<String, Value>, depth: usize) {
        if map.len() > KEYS_MAX {
            let whole = std::mem::take(map);
            map.extend(whole.into_iter().filter(|(key, _)| key != MAX_KEYS).take(KEYS_MAX));
            map.insert(MAX_KEYS.to_owned(), marker(MAX_KEYS));
        }
        let mut renamed = false;
        for (key, value) in map.iter_mut() {
            if is_sensitive_key(key) {
                self.nodes += 1;
                hide(value);
            } else {
                self.node(value, depth + 1);
            }
            renamed |= matches!(self.redactor.clean(key), Cow::Owned(_));
        }
        if renamed {
            self.rename(map);
        }
    }

    /// Gives the keys that hold a secret another name. Keys that stay keep theirs; the others are numbered
    /// in order, so that the same object always comes out the same and nothing is lost.
    fn rename(&self, map: &mut Map<String, Value>) {
        let whole = std::mem::take(map);
        let mut taken: HashSet<String> = whole
            .keys()
            .filter(|key| matches!(self.redactor.clean(key), Cow::Borrowed(_)))
            .cloned()
            .collect();
        for (key, value) in whole {
            let name = match self.redactor.clean(&key) {
                Cow::Borrowed(_) => None,
                Cow::Owned(clean) => Some(free_name(clean, &taken)),
            };
            match name {
                None => map.insert(key, value),
                Some(name) => {
                    taken.insert(name.clone());
                    map.insert(name, value)
                }
            };
        }
    }
}

fn free_name(clean: String, taken: &HashSet<String>) -> String {
    if !taken.contains(&clean) {
        return clean;
    }
    let mut number = 2_usize;
    loop {
        let name = format!("{clean}#{number}");
        if !taken.contains(&name) {
            return name;
        }
        number += 1;
    }
}

/// Under a sensitive key a number stays (token counts), and so does `null`, which says nothing.
fn hide(value: &mut Value) {
    match value {
        Value::Number(_) | Value::Null => {}
        Value::String(text) if text == REDACTED => {}
        _ => set(value, REDACTED),
    }
}

fn set(value: &mut Value, text: &str) {
    *value = marker(text);
}
