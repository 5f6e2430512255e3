//! The walk of stage 2 over a JSON value.

use super::family::{self, Family};
use super::{Omission, Sanitiser};
use crate::REDACTED;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::HashSet;

/// Deeper than stage 1 lets anything through.
const DEPTH_MAX: usize = 32;
/// The longest key that is shown, in characters.
const KEY_CHARS_MAX: usize = 256;

pub(super) fn value(sanitiser: &Sanitiser, value: &mut Value, omission: Omission, depth: usize) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => {
            if let Cow::Owned(clean) = changed(sanitiser, text, omission) {
                *text = clean;
            }
        }
        Value::Array(_) | Value::Object(_) if depth >= DEPTH_MAX => {
            *value = Value::String("[max-depth]".to_owned());
        }
        Value::Array(items) => {
            for item in items.iter_mut() {
                self::value(sanitiser, item, omission, depth + 1);
            }
        }
        Value::Object(map) => object(sanitiser, map, omission, depth),
    }
}

/// The text, owned only where it changed.
fn changed<'t>(sanitiser: &Sanitiser, text: &'t str, omission: Omission) -> Cow<'t, str> {
    let clean = sanitiser.text(text, omission);
    if clean == text { Cow::Borrowed(text) } else { Cow::Owned(clean.into_owned()) }
}

fn object(sanitiser: &Sanitiser, map: &mut Map<String, Value>, omission: Omission, depth: usize) {
    let mut renamed = false;
    for (key, item) in map.iter_mut() {
        match family::of(key) {
            Family::Plain => value(sanitiser, item, omission, depth + 1),
            Family::NumbersStay if item.is_number() => {}
            Family::NumbersStay | Family::NothingStays => hide(item),
        }
        renamed |= shown(sanitiser, key, omission).is_some();
    }
    if renamed {
        rename(sanitiser, map, omission);
    }
}

fn hide(item: &mut Value) {
    if !item.is_null() && item != REDACTED {
        *item = Value::String(REDACTED.to_owned());
    }
}

/// The name that a key is shown under; `None` where it is its own.
fn shown(sanitiser: &Sanitiser, key: &str, omission: Omission) -> Option<String> {
    let clean = sanitiser.text(key, omission);
    let long = clean.chars().nth(KEY_CHARS_MAX).is_some();
    if !long {
        return (clean != key).then(|| clean.into_owned());
    }
    let cut: String = clean.chars().take(KEY_CHARS_MAX - 1).collect();
    // The cut may have made something new of its end.
    Some(sanitiser.text(&format!("{cut}…"), omission).into_owned())
}

/// Safe keys keep their names; the others are numbered in order where they come out alike, so that the same
/// object always comes out the same and no value is lost.
fn rename(sanitiser: &Sanitiser, map: &mut Map<String, Value>, omission: Omission) {
    let whole = std::mem::take(map);
    let mut taken: HashSet<String> =
        whole.keys().filter(|key| shown(sanitiser, key, omission).is_none()).cloned().collect();
    for (key, item) in whole {
        let name = match shown(sanitiser, &key, omission) {
            None => key,
            Some(clean) => {
                let name = free(clean, &taken);
                taken.insert(name.clone());
                name
            }
        };
        map.insert(name, item);
    }
}

fn free(clean: String, taken: &HashSet<String>) -> String {
    if !taken.contains(&clean) {
        return clean;
    }
    // No more names are taken than there are keys, so this ends.
    (2_usize..).map(|number| format!("{clean}#{number}")).find(|name| !taken.contains(name)).unwrap_or(clean)
}
