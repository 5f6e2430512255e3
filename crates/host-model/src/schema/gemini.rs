//! The subset of OpenAPI that Gemini takes. References are written out by then.

use super::{required_of, union};
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// The top of a schema in the subset.
pub(super) fn subset(top: &Object) -> Result<Value, String> {
    let mut out = convert(top);
    if let Value::Object(object) = &mut out {
        object.entry("properties").or_insert_with(|| json!({}));
    }
    Ok(out)
}

fn convert_value(value: &Value) -> Value {
    match value {
        Value::Object(object) => convert(object),
        _ => json!({"type": "string"}),
    }
}

fn convert(schema: &Object) -> Value {
    if let Some(all) = schema.get("allOf").and_then(Value::as_array) {
        return all_of(schema, all);
    }
    let forms = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array);
    if let Some(forms) = forms {
        return any_of(schema, forms);
    }
    if let Some(Value::Array(kinds)) = schema.get("type") {
        let forms: Vec<Value> = kinds
            .iter()
            .map(|kind| {
                let mut one = schema.clone();
                one.insert("type".to_owned(), kind.clone());
                Value::Object(one)
            })
            .collect();
        let mut rest = Object::new();
        rest.extend(schema.get("description").map(|text| ("description".to_owned(), text.clone())));
        return any_of(&rest, &forms);
    }
    plain(schema)
}

/// `null` becomes `nullable`; a union that is left stands alone, as Gemini demands.
fn any_of(schema: &Object, forms: &[Value]) -> Value {
    let is_null = |form: &Value| form.get("type").and_then(Value::as_str) == Some("null");
    let nullable = forms.iter().any(is_null);
    let mut kept: Vec<Value> = Vec::new();
    for form in forms.iter().filter(|form| !is_null(form)).map(convert_value) {
        if !kept.contains(&form) {
            kept.push(form);
        }
    }
    let description = schema.get("description").cloned();
    let mut out = match kept.len() {
        0 => json!({"type": "string"}),
        1 => kept.remove(0),
        _ => {
            if let (Some(text), Value::Object(first)) = (&description, &mut kept[0]) {
                first.entry("description").or_insert(text.clone());
            }
            return if nullable {
                // `nullable` may not stand beside a union, so each form says it.
                kept.iter_mut().filter_map(Value::as_object_mut).for_each(|form| {
                    form.insert("nullable".to_owned(), json!(true));
                });
                json!({ "anyOf": kept })
            } else {
                json!({ "anyOf": kept })
            };
        }
    };
    if let Value::Object(object) = &mut out {
        if nullable {
            object.insert("nullable".to_owned(), json!(true));
        }
        if let Some(text) = description.filter(|_| !object.contains_key("anyOf")) {
            object.insert("description".to_owned(), text);
        }
    }
    out
}

fn all_of(schema: &Object, all: &[Value]) -> Value {
    if let Ok(object) = union::object_of(schema.clone(), &Object::new()) {
        return plain(&object);
    }
    // Several rules for one plain value: later ones sharpen earlier ones.
    let mut one = schema.clone();
    one.shift_remove("allOf");
    for rule in all.iter().filter_map(Value::as_object) {
        for (key, value) in rule {
            one.entry(key.clone()).or_insert(value.clone());
        }
    }
    convert(&one)
}

fn plain(schema: &Object) -> Value {
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or("string").to_owned();
    let mut out = Object::new();
    let mut say: Vec<String> = Vec::new();
    out.insert("type".to_owned(), json!(kind));
    for key in ["title", "description"] {
        out.extend(schema.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    values(schema, &kind, &mut out, &mut say);
    let keywords: &[&str] = match kind.as_str() {
        "string" => &["minLength", "maxLength", "pattern"],
        "number" | "integer" => &["minimum", "maximum"],
        "array" => &["minItems", "maxItems"],
        "object" => &["minProperties", "maxProperties"],
        _ => &[],
    };
    for key in keywords {
        out.extend(schema.get(*key).map(|value| ((*key).to_owned(), value.clone())));
    }
    for (exclusive, word) in [("exclusiveMinimum", "greater"), ("exclusiveMaximum", "less")] {
        say.extend(schema.get(exclusive).map(|bound| format!("{word} than {bound}")));
    }
    match schema.get("format").and_then(Value::as_str) {
        Some(format @ ("date-time" | "int32" | "int64" | "float" | "double")) => {
            let fits = (format == "date-time") == (kind == "string");
            if fits {
                out.insert("format".to_owned(), json!(format));
            }
        }
        Some(format) => say.push(format!("format: {format}")),
        None => {}
    }
    if kind == "array" {
        out.insert("items".to_owned(), schema.get("items").map_or(json!({"type": "string"}), convert_value));
    }
    if kind == "object" {
        fields(schema, &mut out, &mut say);
    }
    if !say.is_empty() {
        let text = out.get("description").and_then(Value::as_str).unwrap_or("");
        let text = format!("{text}{}({})", if text.is_empty() { "" } else { " " }, say.join("; "));
        out.insert("description".to_owned(), json!(text));
    }
    Value::Object(out)
}

/// Values to choose from: only text may stand in `enum`.
fn values(schema: &Object, kind: &str, out: &mut Object, say: &mut Vec<String>) {
    let one = schema.get("const").map(|value| vec![value.clone()]);
    let list = one.or_else(|| schema.get("enum").and_then(Value::as_array).cloned());
    let Some(list) = list else { return };
    let texts: Vec<Value> =
        list.iter().filter(|value| value.as_str().is_some_and(|text| !text.is_empty())).cloned().collect();
    if kind == "string" && !texts.is_empty() {
        out.insert("enum".to_owned(), Value::Array(texts));
    } else {
        let words: Vec<String> = list.iter().take(20).map(Value::to_string).collect();
        say.push(format!("one of: {}", words.join(", ")));
    }
}

fn fields(schema: &Object, out: &mut Object, say: &mut Vec<String>) {
    let properties = schema.get("properties").and_then(Value::as_object);
    if let Some(properties) = properties.filter(|properties| !properties.is_empty()) {
        let converted: Object =
            properties.iter().map(|(name, value)| (name.clone(), convert_value(value))).collect();
        let mut required = required_of(schema);
        required.retain(|name| converted.contains_key(name));
        out.insert("properties".to_owned(), Value::Object(converted));
        if !required.is_empty() {
            out.insert("required".to_owned(), json!(required));
        }
    } else if schema.get("additionalProperties").is_some_and(Value::is_object) {
        say.push("any names, each with a value".to_owned());
    }
}
