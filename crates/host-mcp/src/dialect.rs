//! Schemas in the words of older drafts, said in today's (MCP-10).
//!
//! Draft 4 has `exclusiveMinimum: true` beside `minimum`, draft 3 `required: true` on a property. A validator of
//! 2020-12 refuses the whole schema for either, and providers do too; what names such a draft, or one that nobody knows,
//! is then taken for today's, in which lists of `items` are `prefixItems`. The meaning stays the same.

use serde_json::{Map, Value};

/// Keys whose values are data, not schemas.
const DATA: &[&str] = &["const", "default", "enum", "example", "examples"];
/// Keys whose members are schemas by name.
const NAMED: &[&str] = &["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// Drafts that are read in their own words.
const KNOWN: &[&str] = &["/draft-06/", "/draft-07/", "/draft/2019-09/", "/draft/2020-12/"];

/// Rewrites what is of an older draft; everything else is left as it is. Depth is bounded by the parser (128).
pub(crate) fn modernise(schema: &mut Value) {
    let named = schema.get("$schema").and_then(Value::as_str).map(str::to_owned);
    let known = named.as_deref().and_then(|named| KNOWN.iter().find(|it| named.contains(**it)));
    if let (None, Some(map)) = (known, schema.as_object_mut()) {
        map.shift_remove("$schema");
    }
    let todays = known.is_none_or(|it| it.contains("2020-12"));
    rewrite(schema, todays);
}

fn rewrite(schema: &mut Value, todays: bool) {
    match schema {
        Value::Object(map) => rewrite_object(map, todays),
        Value::Array(items) => items.iter_mut().for_each(|it| rewrite(it, todays)),
        _ => {}
    }
}

fn rewrite_object(map: &mut Map<String, Value>, todays: bool) {
    if todays {
        tuple(map);
    }
    exclusive(map, "exclusiveMinimum", "minimum");
    exclusive(map, "exclusiveMaximum", "maximum");
    collect_required(map);
    for (key, value) in map.iter_mut() {
        if NAMED.contains(&key.as_str()) {
            value
                .as_object_mut()
                .into_iter()
                .flat_map(|named| named.values_mut())
                .for_each(|it| rewrite(it, todays));
        } else if !DATA.contains(&key.as_str()) {
            rewrite(value, todays);
        }
    }
}

/// `items: [a, b], additionalItems: c` is `prefixItems: [a, b], items: c`.
fn tuple(map: &mut Map<String, Value>) {
    if !map.get("items").is_some_and(Value::is_array) || map.contains_key("prefixItems") {
        return;
    }
    if let Some(first) = map.shift_remove("items") {
        map.insert("prefixItems".to_owned(), first);
    }
    if let Some(others) = map.shift_remove("additionalItems") {
        map.insert("items".to_owned(), others);
    }
}

/// `minimum: 5, exclusiveMinimum: true` is `exclusiveMinimum: 5`.
fn exclusive(map: &mut Map<String, Value>, flag: &str, bound: &str) {
    let Some(Value::Bool(is_exclusive)) = map.get(flag) else { return };
    let is_exclusive = *is_exclusive;
    map.shift_remove(flag);
    if is_exclusive && let Some(value) = map.shift_remove(bound) {
        map.insert(flag.to_owned(), value);
    }
}

/// `required: true` on a property belongs into the list of its object.
fn collect_required(map: &mut Map<String, Value>) {
    let mut names = Vec::new();
    for (name, property) in map.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        let Some(property) = property.as_object_mut() else { continue };
        if let Some(Value::Bool(required)) = property.get("required") {
            if *required {
                names.push(Value::from(name.as_str()));
            }
            property.shift_remove("required");
        }
    }
    if names.is_empty() {
        return;
    }
    let list = map.entry("required").or_insert_with(|| Value::Array(Vec::new()));
    if let Some(list) = list.as_array_mut() {
        names.retain(|name| !list.contains(name));
        list.extend(names);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_surface::InputSchema;
    use serde_json::json;

    // MCP-10: a schema that names its older draft is checked as that draft meant it; an unknown one costs no tool.
    #[test]
    fn a_named_older_draft_is_meant_as_it_was() {
        for named in [
            "http://json-schema.org/draft-04/schema#",
            "http://json-schema.org/draft-03/schema",
            "https://example.com/mine",
        ] {
            let mut schema = json!({"$schema": named, "type": "object", "properties": {
                "n": {"type": "number", "minimum": 0, "exclusiveMinimum": true},
                "pair": {"type": "array", "items": [{"type": "string"}, {"type": "number"}], "additionalItems": false}}});
            modernise(&mut schema);
            let schema = InputSchema::new(schema);
            assert!(schema.usable().is_ok(), "{named}");
            assert!(schema.check(&json!({"n": 1, "pair": ["a", 2]})).is_ok());
            for bad in [json!({"n": 0}), json!({"pair": [1]}), json!({"pair": ["a", 1, 2]})] {
                assert!(schema.check(&bad).is_err(), "{named}: {bad}");
            }
        }
        let mut seven = json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
            "properties": {"pair": {"type": "array", "items": [{"type": "string"}]}}});
        let before = seven.clone();
        modernise(&mut seven);
        assert_eq!(seven, before, "draft 7 is read in its own words");
        assert!(InputSchema::new(seven).check(&json!({"pair": [1]})).is_err());
    }

    // MCP-10
    #[test]
    fn older_drafts_are_understood() {
        let mut schema = json!({
            "type": "object",
            "properties": {
                "n": {"type": "number", "minimum": 0, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false},
                "name": {"type": "string", "required": true},
                "exclusiveMinimum": {"type": "boolean", "default": true},
                "data": {"enum": [{"minimum": 1, "exclusiveMinimum": true}]}
            },
            "required": ["n"]
        });
        assert!(InputSchema::new(schema.clone()).usable().is_err());
        modernise(&mut schema);
        let checked = InputSchema::new(schema.clone());
        assert_eq!(checked.usable(), Ok(()));
        assert!(checked.check(&json!({"n": 0.5, "name": "x"})).is_ok());
        assert!(checked.check(&json!({"n": 0, "name": "x"})).is_err());
        assert!(checked.check(&json!({"n": 9})).is_err());
        assert_eq!(schema["required"], json!(["n", "name"]));
        assert_eq!(schema["properties"]["data"]["enum"][0]["exclusiveMinimum"], json!(true));
    }

    // MCP-10
    #[test]
    fn what_is_of_today_is_left_alone() {
        let schema = json!({
            "$defs": {"node": {"type": "object", "required": ["kids"], "properties": {
                "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}},
            "anyOf": [{"type": "object", "required": ["a"]}, {"exclusiveMinimum": 3}],
            "properties": {"required": {"type": "boolean"}}
        });
        let mut same = schema.clone();
        modernise(&mut same);
        assert_eq!(same, schema);
    }
}
