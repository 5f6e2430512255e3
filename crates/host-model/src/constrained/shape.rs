//! The shape that an answer must have.

use super::SchemaMode;
use super::examples;
use crate::schema::{Dialect, project};
use host_ports::model::ToolSpec;
use serde_json::{Map, Value, json};

/// Texts are bounded in the small form: a small model that has lost its way repeats itself to the end.
const SMALL_TEXT_CHARS_MAX: u64 = 400;
const SMALL_LIST_MAX: u64 = 8;
/// The name by which a model answers instead of calling.
pub(super) const RESPOND: &str = "respond";

/// A tool's arguments as a strict shape without references.
///
/// # Errors
/// Why there is none.
pub(super) fn arguments(tool: &ToolSpec, mode: &SchemaMode) -> Result<Value, String> {
    let mut shape = project(&tool.input_schema, Dialect::Gemini)?;
    if mode.required_only {
        main_arguments(tool, &mut shape);
    }
    strict(&mut shape, mode);
    Ok(shape)
}

/// Keeps what must be given and what the tool is mostly used with.
fn main_arguments(tool: &ToolSpec, shape: &mut Value) {
    let mut required: Vec<String> = shape["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    let known = examples::of(&tool.name);
    let Some(properties) = shape["properties"].as_object_mut() else { return };
    for name in properties.keys() {
        if !required.contains(name) && known.iter().any(|example| example.uses(name)) {
            required.push(name.clone());
        }
    }
    if required.is_empty() {
        required.extend(properties.keys().take(1).cloned());
    }
    properties.retain(|name, _| required.contains(name));
    shape["required"] = json!(required);
}

/// Closes every object, bounds what is open, and drops what grammars don't take.
fn strict(shape: &mut Value, mode: &SchemaMode) {
    let Value::Object(object) = shape else { return };
    for key in ["pattern", "format", "title", "nullable", "minProperties", "maxProperties", "description"] {
        object.shift_remove(key);
    }
    let kind = object.get("type").and_then(Value::as_str).unwrap_or("").to_owned();
    match kind.as_str() {
        "object" => {
            object.insert("additionalProperties".to_owned(), json!(false));
            object.entry("properties").or_insert_with(|| json!({}));
        }
        "string" if mode.is_small() && !object.contains_key("enum") => {
            bound(object, "maxLength", SMALL_TEXT_CHARS_MAX)
        }
        // Servers refuse grammars with thousands of repetitions.
        "string" => forget_large(object, &["minLength", "maxLength"]),
        "array" if mode.is_small() => bound(object, "maxItems", SMALL_LIST_MAX),
        "array" => forget_large(object, &["minItems", "maxItems"]),
        _ => {}
    }
    for key in ["properties", "items", "anyOf"] {
        match object.get_mut(key) {
            Some(Value::Object(map)) if key == "properties" => {
                map.values_mut().for_each(|value| strict(value, mode))
            }
            Some(Value::Array(list)) => list.iter_mut().for_each(|value| strict(value, mode)),
            Some(value) => strict(value, mode),
            None => {}
        }
    }
}

fn bound(object: &mut Map<String, Value>, key: &str, most: u64) {
    let own = object.get(key).and_then(Value::as_u64).unwrap_or(u64::MAX);
    object.insert(key.to_owned(), json!(own.min(most)));
}

fn forget_large(object: &mut Map<String, Value>, keys: &[&str]) {
    for key in keys {
        if object.get(*key).and_then(Value::as_u64).is_some_and(|bound| bound > 1_000) {
            object.shift_remove(*key);
        }
    }
}

/// One object: a tool's shape or `respond`.
pub(super) fn turn(tools: &[(&str, Value)], mode: &SchemaMode) -> Value {
    let one = |name: &str, arguments: &Value| {
        json!({"type": "object", "properties": {"tool": {"const": name}, "arguments": arguments},
            "required": ["tool", "arguments"], "additionalProperties": false})
    };
    let text =
        if mode.is_small() { json!({"type": "string", "maxLength": 600}) } else { json!({"type": "string"}) };
    let respond = json!({"type": "object", "properties": {"text": text}, "required": ["text"], "additionalProperties": false});
    let mut forms: Vec<Value> = tools.iter().map(|(name, arguments)| one(name, arguments)).collect();
    forms.push(one(RESPOND, &respond));
    json!({ "anyOf": forms })
}
