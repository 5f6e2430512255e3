//! A policy from a JSON file of its own, for library users.

use crate::create::{McpToolPolicy, PolicyInput, create_tool_policy};
use crate::entry::KnownNames;
use crate::error::{PolicyFinding, ToolPolicyError};
use crate::nearest::{nearest, quoted};
use crate::policy::ToolPolicy;
use serde_json::{Map, Value};
use std::path::Path;

const KEYS: [&str; 3] = ["allowedTools", "disallowedTools", "mcpToolPolicy"];

/// Reads a policy file: `{"allowedTools": [...], "disallowedTools": [...], "mcpToolPolicy": "open"}`, all
/// optional. A missing `allowedTools` fails closed, as everywhere in the library (POL-14). This crate opens
/// no file, so the caller says how to read one.
///
/// # Errors
/// `tool_policy_read_failed` where the file can't be read or is no JSON, else as [`create_tool_policy`].
pub fn load_tool_policy_from_json_file(
    path: &Path,
    known: KnownNames,
    read: impl FnOnce(&Path) -> std::io::Result<String>,
) -> Result<ToolPolicy, ToolPolicyError> {
    let name = quoted(&path.display().to_string());
    let text = read(path).map_err(|error| {
        ToolPolicyError::read_failed(format!("the tool policy file {name} can't be read: {}", error.kind()))
    })?;
    tool_policy_from_json_str(&text, known).map_err(|mut error| {
        if error.message != ToolPolicyError::OVERLAP {
            error.message = format!("{name}: {}", error.message);
        }
        error
    })
}

/// The same from text that was already read.
///
/// # Errors
/// See [`load_tool_policy_from_json_file`].
pub fn tool_policy_from_json_str(text: &str, known: KnownNames) -> Result<ToolPolicy, ToolPolicyError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value: Value = serde_json::from_str(text).map_err(|error| {
        ToolPolicyError::read_failed(format!(
            "the tool policy is no JSON: line {}, column {}",
            error.line(),
            error.column()
        ))
    })?;
    create_tool_policy(input_of(&value, known)?)
}

fn input_of(value: &Value, known: KnownNames) -> Result<PolicyInput, ToolPolicyError> {
    let mut problems = Vec::new();
    let empty = Map::new();
    let map = value.as_object().unwrap_or_else(|| {
        problems.push(finding("$", format!("expected an object, found {}", kind(value)), None));
        &empty
    });
    for key in map.keys().filter(|key| !KEYS.contains(&key.as_str())) {
        let hint = nearest(key, KEYS).map(|near| format!("the nearest key is `{near}`"));
        problems.push(finding(key, "is not a key of a tool policy".into(), hint));
    }
    let allowed = list_of(map, "allowedTools", &mut problems);
    let disallowed = list_of(map, "disallowedTools", &mut problems).unwrap_or_default();
    let mcp = match map.get("mcpToolPolicy") {
        None => McpToolPolicy::Open,
        Some(value) => value.as_str().and_then(McpToolPolicy::parse).unwrap_or_else(|| {
            problems.push(finding("mcpToolPolicy", "expected \"open\" or \"gated\"".into(), None));
            McpToolPolicy::Gated
        }),
    };
    if !problems.is_empty() {
        return Err(ToolPolicyError::invalid(Vec::new(), problems));
    }
    Ok(PolicyInput {
        allowed,
        disallowed,
        mcp_tool_policy: mcp,
        known,
        allowed_place: crate::ListPlace::Setting("allowedTools".into()),
        disallowed_place: crate::ListPlace::Setting("disallowedTools".into()),
        ..PolicyInput::default()
    })
}

fn list_of(map: &Map<String, Value>, key: &str, problems: &mut Vec<PolicyFinding>) -> Option<Vec<String>> {
    let value = map.get(key)?;
    let Some(items) = value.as_array() else {
        problems.push(finding(key, format!("expected an array of strings, found {}", kind(value)), None));
        return None;
    };
    let mut names = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        match item.as_str() {
            Some(name) => names.push(name.to_owned()),
            None => {
                let message = format!("expected a string, found {}", kind(item));
                problems.push(finding(&format!("{key}[{index}]"), message, None));
            }
        }
    }
    Some(names)
}

fn finding(place: &str, message: String, hint: Option<String>) -> PolicyFinding {
    PolicyFinding { place: quoted(place).trim_matches('"').to_owned(), message, hint }
}

/// The JSON type of a value, in words.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
