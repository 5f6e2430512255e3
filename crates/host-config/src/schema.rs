//! The JSON Schema of the config, from the registry.

use crate::registry::{Branch, Default, Shape, tree};
use serde_json::{Map, Value, json};

/// The JSON Schema (2020-12) of `mono-agent.config.json`, for editors. `$schema` itself is allowed.
pub fn schema() -> Value {
    let mut root = object(tree(), false);
    if let Some(properties) = root.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("$schema".into(), json!({ "type": "string" }));
    }
    let mut out = Map::new();
    out.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    out.insert("title".into(), "mono-agent.config.json".into());
    out.extend(root);
    Value::Object(out)
}

fn describe(branch: &Branch) -> Value {
    let Some(field) = branch.field else { return Value::Object(object(branch, false)) };
    let mut out = of_shape(&field.shape, branch);
    out.insert("description".into(), text_of(field.doc, field.default).into());
    if let Some(default) = field.default_json() {
        out.insert("default".into(), default);
    }
    if let Some(name) = field.env {
        out.insert("x-env".into(), name.into());
    }
    if field.secret {
        out.insert("x-secret".into(), true.into());
    }
    Value::Object(out)
}

fn text_of(doc: &str, default: Default) -> String {
    match default {
        Default::Computed(words) => format!("{doc} Default: {words}."),
        _ => doc.to_owned(),
    }
}

fn of_shape(shape: &Shape, branch: &Branch) -> Map<String, Value> {
    let value = match shape {
        Shape::Bool => json!({ "type": "boolean" }),
        Shape::Int(i64::MIN, i64::MAX) => json!({ "type": "integer" }),
        Shape::Int(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Shape::Number(least, most) => json!({ "type": "number", "minimum": least, "maximum": most }),
        Shape::AnyText => json!({ "type": "string" }),
        Shape::Text | Shape::Path(_) | Shape::Zone => json!({ "type": "string", "minLength": 1 }),
        Shape::Choice(choices) => json!({ "enum": choices }),
        Shape::Model => json!({ "type": "string", "pattern": "^[A-Za-z0-9._-]+:.+$" }),
        Shape::EnvName => json!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" }),
        Shape::Url => json!({ "type": "string", "pattern": "^https?://" }),
        Shape::Null => json!({ "type": "null" }),
        Shape::List(inner) => json!({ "type": "array", "items": of_shape(inner, &Branch::default()) }),
        Shape::Rows => match branch.item.as_deref() {
            Some(row) => json!({ "type": "array", "items": describe(row) }),
            None => json!({ "type": "array" }),
        },
        Shape::Map => return object(branch, false),
        Shape::Open => return object(branch, branch.is_leaf()),
        Shape::Either(shapes) => {
            let options: Vec<Value> = shapes.iter().map(|shape| of_shape(shape, branch).into()).collect();
            json!({ "anyOf": options })
        }
    };
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// An object with the keys of a branch; `open` lets any other key in.
fn object(branch: &Branch, open: bool) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("type".into(), "object".into());
    if !branch.children.is_empty() {
        let properties: Map<String, Value> =
            branch.children.iter().map(|(key, child)| ((*key).to_owned(), describe(child))).collect();
        out.insert("properties".into(), Value::Object(properties));
        let required: Vec<&str> = branch
            .children
            .iter()
            .filter(|(_, child)| child.field.is_some_and(|field| field.required))
            .map(|(key, _)| *key)
            .collect();
        if !required.is_empty() {
            out.insert("required".into(), json!(required));
        }
    }
    let other = match branch.any.as_deref() {
        Some(any) => describe(any),
        None => Value::Bool(open),
    };
    out.insert("additionalProperties".into(), other);
    out
}
