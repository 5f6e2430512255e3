use super::*;
use std::time::Instant;

fn show(schema: Value) -> String {
    [Dialect::Anthropic, Dialect::OpenAi, Dialect::Gemini]
        .map(|dialect| match project(&schema, dialect) {
            Ok(schema) => format!("{dialect:?}: {}", serde_json::to_string_pretty(&schema).unwrap()),
            Err(why) => format!("{dialect:?}: its schema {why}"),
        })
        .join("\n")
}

fn tool(name: &str, schema: Value) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: "d".to_owned(), input_schema: Arc::new(schema) }
}

// T4-01
#[test]
fn an_object_always_has_properties() {
    for schema in [
        json!({"type": "object"}),
        json!({}),
        json!(true),
        Value::Null,
        json!({"additionalProperties": false}),
    ] {
        for dialect in [Dialect::Anthropic, Dialect::OpenAi, Dialect::Gemini] {
            let out = project(&schema, dialect).unwrap();
            assert_eq!(
                (&out["type"], &out["properties"]),
                (&json!("object"), &json!({})),
                "{schema} {dialect:?}"
            );
        }
    }
}

// T4-03
#[test]
fn a_union_at_the_top_becomes_one_object_that_says_its_forms() {
    insta::assert_snapshot!(show(json!({"anyOf": [
        {"type": "object", "title": "By id", "properties": {"kind": {"const": "id"}, "id": {"type": "integer"}}, "required": ["kind", "id"], "additionalProperties": false},
        {"type": "object", "properties": {"kind": {"const": "name"}, "name": {"type": "string"}, "exact": {"type": "boolean"}}, "required": ["kind", "name"], "additionalProperties": false}
    ]})));
}

// T4-03
#[test]
fn all_of_one_of_and_references_at_the_top() {
    insta::assert_snapshot!(show(json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "allOf": [{"$ref": "#/definitions/base"}, {"properties": {"n": {"type": "number"}}, "required": ["n"]}],
        "oneOf": [{"$ref": "#/definitions/a"}, {"type": "string"}, {"properties": {"b": {"$ref": "#/definitions/deep"}}}],
        "not": {"required": ["z"]},
        "definitions": {
            "base": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            "a": {"type": "object", "properties": {"a": {"type": "string"}}},
            "deep": {"type": "object", "properties": {"x": {"type": "string"}}},
            "unused": {"type": "object"}
        }
    })));
}

// T4-03
#[test]
fn an_odd_tool_is_named_and_hides_no_other() {
    let tools = [
        tool("good", json!({"type": "object", "properties": {"a": {"type": "string"}}})),
        tool("text", json!({"type": "string"})),
        tool(
            "union",
            json!({"anyOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}}]}),
        ),
        tool("no good name", json!({})),
        tool("never", json!(false)),
        tool("good", json!({})),
        tool("strings", json!({"oneOf": [{"type": "string"}, {"type": "number"}]})),
        tool("last", json!({"type": "object"})),
    ];
    for dialect in [Dialect::Anthropic, Dialect::OpenAi, Dialect::Gemini] {
        let out = project_tools(&tools, dialect);
        let names: Vec<&str> = out.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["good", "union", "last"]);
        assert_eq!(out.left_out.len(), 5);
    }
    insta::assert_snapshot!(project_tools(&tools, Dialect::OpenAi).notice().unwrap());
}

// T4-05
#[test]
fn definitions_reach_the_model() {
    insta::assert_snapshot!(show(
        json!({"type":"object","properties":{"t":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/n"}}}}}})
    ));
}

// T4-05
#[test]
fn references_of_every_kind() {
    insta::assert_snapshot!(show(json!({
        "type": "object",
        "properties": {
            "self": {"$ref": "#"},
            "place": {"$ref": "#/properties/base", "description": "like base"},
            "base": {"type": "string", "minLength": 1},
            "gone": {"$ref": "#/$defs/nowhere"},
            "far": {"$ref": "https://example.com/schema.json"},
            "circle": {"$ref": "#/$defs/a"},
            "slash": {"$ref": "#/$defs/x~1y%20z"}
        },
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}, "x/y z": {"type": "boolean"}}
    })));
}

// MCP-10
#[test]
fn old_drafts_and_slips_are_mended() {
    insta::assert_snapshot!(show(json!({
        "id": "http://x/y", "properties": {
            "id": {"type": "string", "required": true},
            "low": {"type": "number", "minimum": 3, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false},
            "any": {"type": "any"},
            "maybe": {"type": ["string", "null"]},
            "open": {"type": "string", "nullable": true},
            "mixed": {"type": ["string", "integer"]},
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "number"}]},
            "bare": {"type": "array"},
            "inner": {"properties": {"a": true, "b": false}},
            "choice": {"enum": ["x", "y"]},
            "number": {"enum": [1, 2]},
            "fixed": {"const": "v"},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "wrong": {"type": 5, "properties": [], "enum": "x", "minLength": "2", "pattern": 3, "required": "a", "anyOf": []},
            "odd": 7
        }
    })));
}

// MCP-10
#[test]
fn property_names_that_a_provider_refuses() {
    let schema = json!({"type": "object", "properties": {"ok": {}, "not ok": {}}});
    assert_eq!(project(&schema, Dialect::Anthropic).unwrap()["properties"], json!({"ok": {}}));
    let needed = json!({"type": "object", "properties": {"not ok": {}}, "required": ["not ok"]});
    assert!(project(&needed, Dialect::Anthropic).unwrap_err().contains("not ok"));
    assert!(project(&needed, Dialect::OpenAi).is_ok());
}

// MCP-10
#[test]
fn what_a_provider_takes_is_passed_on_whole() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "description": "x", "pattern": "^a", "examples": ["a"], "x-note": {"k": 1}},
        "b": {"type": "array", "items": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]}, "uniqueItems": true}},
        "required": ["a"], "additionalProperties": false});
    assert_eq!(project(&schema, Dialect::Anthropic).unwrap(), schema);
    assert_eq!(project(&schema, Dialect::OpenAi).unwrap(), schema);
}

// MCP-10
#[test]
fn hostile_and_huge_schemas_cost_little() {
    let start = Instant::now();
    // Each definition names the next twice: written out it would have 2^30 parts.
    let mut defs = Map::new();
    for n in 0..30 {
        let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
        defs.insert(format!("d{n}"), json!({"type": "object", "properties": {"l": next, "r": next}}));
    }
    let bomb = json!({"type": "object", "properties": {"t": {"$ref": "#/$defs/d0"}}, "$defs": defs});
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"type": "array", "items": deep});
    }
    let deep = json!({"type": "object", "properties": {"d": deep}});
    let wide: Map<String, Value> = (0..30_000).map(|n| (format!("p{n}"), json!({}))).collect();
    let wide = json!({"type": "object", "properties": wide});
    for dialect in [Dialect::Anthropic, Dialect::OpenAi, Dialect::Gemini] {
        assert!(project(&bomb, dialect).unwrap().to_string().len() < 300_000);
        assert!(project(&deep, dialect).unwrap_err().contains("nests deeper"));
        assert!(project(&wide, dialect).unwrap_err().contains("parts"));
    }
    let plain = Arc::new(json!({"type": "object", "properties": {"a": {"type": "string"}}}));
    let tools: Vec<ToolSpec> = (0..5_000)
        .map(|n| ToolSpec { name: format!("t{n}"), description: String::new(), input_schema: plain.clone() })
        .collect();
    assert_eq!(project_tools(&tools, Dialect::Anthropic).tools.len(), 5_000);
    assert_eq!(project_tools(&tools, Dialect::OpenAi).left_out.len(), 5_000 - 128);
    let tools: Arc<[ToolSpec]> = tools.into();
    let cache = ToolCache::default();
    let first = cache.get(&tools, Dialect::Anthropic);
    assert!(Arc::ptr_eq(&first, &cache.get(&tools, Dialect::Anthropic)));
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}
