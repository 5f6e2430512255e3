//! Tool parameters that travel as HTTP headers (`x-mcp-header`, revision 2026-07-28): which schemas may ask
//! for it. A tool whose annotation is wrong is not offered over HTTP, since a server and what stands in front
//! of it could read one call in two ways.

use serde_json::Value;
use std::collections::HashSet;

const KEY: &str = "x-mcp-header";
/// What holds data and no schemas.
const DATA: &[&str] = &["const", "default", "dependentRequired", "enum", "examples"];
/// What maps names to schemas.
const MAPS: &[&str] = &["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties"];
/// How deep is looked; deeper schemas are refused elsewhere.
const DEPTH_MAX: usize = 128;

/// Checks every annotation of an input schema.
///
/// # Errors
/// What is wrong with the first bad one.
pub(crate) fn check(schema: &Value) -> Result<(), String> {
    Walk::default().schema(schema, Place::Root, 0)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    /// A property that is reached through `properties` alone.
    Property,
    /// Anywhere else: there is no one value to send.
    Elsewhere,
}

#[derive(Default)]
struct Walk {
    /// Names so far, in lower case: header names have no case.
    seen: HashSet<String>,
}

impl Walk {
    fn schema(&mut self, schema: &Value, place: Place, depth: usize) -> Result<(), String> {
        if depth > DEPTH_MAX {
            return Ok(());
        }
        match schema {
            Value::Array(items) => {
                items.iter().try_for_each(|item| self.schema(item, Place::Elsewhere, depth + 1))
            }
            Value::Object(map) => map.iter().try_for_each(|(key, value)| match key.as_str() {
                KEY => self.annotation(value, schema, place),
                key if DATA.contains(&key) => Ok(()),
                "properties" => {
                    let below = if place == Place::Elsewhere { place } else { Place::Property };
                    self.each(value, below, depth)
                }
                key if MAPS.contains(&key) => self.each(value, Place::Elsewhere, depth),
                _ => self.schema(value, Place::Elsewhere, depth + 1),
            }),
            _ => Ok(()),
        }
    }

    fn each(&mut self, map: &Value, place: Place, depth: usize) -> Result<(), String> {
        let all = map.as_object().into_iter().flatten();
        all.map(|(_, schema)| schema).try_for_each(|schema| self.schema(schema, place, depth + 1))
    }

    fn annotation(&mut self, header: &Value, schema: &Value, place: Place) -> Result<(), String> {
        let Some(name) = header.as_str() else { return Err(format!("its {KEY} is no text")) };
        let shown = host_vocab::text::one_line(name, 60);
        if place != Place::Property {
            return Err(format!("its {KEY} {shown:?} is not at a property of its own"));
        }
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(format!("its {KEY} {shown:?} is no name of a header"));
        }
        if !self.seen.insert(name.to_ascii_lowercase()) {
            return Err(format!("its {KEY} {shown:?} is there twice"));
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("string" | "integer" | "boolean") => Ok(()),
            _ => Err(format!("its {KEY} {shown:?} is at a property that is no string, integer or boolean")),
        }
    }
}

/// RFC 9110, 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // MCP-3
    #[test]
    fn only_plain_properties_may_become_headers() {
        let with = |header: Value, kind: &str| {
            check(&json!({"type": "object", "properties": {"p": {"type": kind, KEY: header}}}))
        };
        assert!(with(json!("Region"), "string").is_ok() && with(json!("n"), "integer").is_ok());
        for bad in [json!(""), json!("a b"), json!("a:b"), json!("é"), json!("a\tb"), json!(7), json!(null)]
        {
            assert!(with(bad.clone(), "string").is_err(), "{bad}");
        }
        for kind in ["object", "array", "number", "null"] {
            assert!(with(json!("X"), kind).is_err(), "{kind}");
        }
        let nested = json!({"properties": {"o": {"type": "object", "properties": {"p": {"type": "string", KEY: "X"}}}}});
        assert!(check(&nested).is_ok());
        for bad in [
            json!({KEY: "X"}),
            json!({"properties": {"a": {"type": "string", KEY: "X"}, "b": {"type": "string", KEY: "x"}}}),
            json!({"properties": {"a": {"items": {"type": "string", KEY: "X"}}}}),
            json!({"$defs": {"a": {"type": "string", KEY: "X"}}}),
            json!({"anyOf": [{"properties": {"a": {"type": "string", KEY: "X"}}}]}),
        ] {
            assert!(check(&bad).is_err(), "{bad}");
        }
        // A parameter may have that name, and data may hold it.
        let data = json!({"properties": {KEY: {"type": "string"}}, "default": {KEY: 7}, "enum": [{KEY: ""}]});
        assert!(check(&data).is_ok());
    }
}
