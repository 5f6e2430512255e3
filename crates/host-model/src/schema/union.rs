//! Unions at the top of a schema, merged into the one object that providers take (T4-03).

use super::required_of;
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// How deep unions may stand in unions at the top.
const DEPTH_MAX: usize = 6;
/// The most forms that a description lists.
const FORMS_MAX: usize = 12;

/// The top of a schema as one object without unions. What a merge can't say stands in the description; the
/// host still checks the original.
pub(super) fn object_of(top: Object, defs: &Object) -> Result<Object, String> {
    merged(top, defs, 0)
}

fn merged(mut object: Object, defs: &Object, depth: usize) -> Result<Object, String> {
    if depth > DEPTH_MAX {
        return Err(format!("has unions nested deeper than {DEPTH_MAX} at its top"));
    }
    let reference = object.shift_remove("$ref");
    let all = branches(object.shift_remove("allOf"));
    let mut any = branches(object.shift_remove("anyOf"));
    let one = branches(object.shift_remove("oneOf"));
    for key in ["not", "if", "then", "else", "enum", "const", "dependentSchemas"] {
        object.shift_remove(key);
    }
    check_kind(&object)?;
    if let Some(name) = reference.as_ref().and_then(Value::as_str).and_then(|r| r.strip_prefix("#/$defs/")) {
        let target = defs.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
        object = both(merged(target, defs, depth + 1)?, object);
    }
    for branch in all {
        object = both(object, merged(branch, defs, depth + 1)?);
    }
    // `anyOf` and `oneOf` side by side are rare: each must hold, so each is merged for itself.
    for forms in [std::mem::take(&mut any), one] {
        if !forms.is_empty() {
            let mut why = String::new();
            let mut readable = Vec::new();
            for form in forms {
                match merged(form, defs, depth + 1) {
                    Ok(form) => readable.push(form),
                    Err(fault) => why = fault,
                }
            }
            if readable.is_empty() {
                return Err(why);
            }
            object = both(object, either(readable));
        }
    }
    Ok(object)
}

fn branches(value: Option<Value>) -> Vec<Object> {
    let Some(Value::Array(list)) = value else { return Vec::new() };
    list.into_iter()
        .filter_map(|branch| if let Value::Object(object) = branch { Some(object) } else { None })
        .collect()
}

fn check_kind(object: &Object) -> Result<(), String> {
    let fits = match object.get("type") {
        None => true,
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(_) => false,
    };
    if fits { Ok(()) } else { Err("describes no object, and arguments are one".to_owned()) }
}

/// Both must hold.
fn both(mut a: Object, b: Object) -> Object {
    let mut required = required_of(&a);
    required.extend(required_of(&b).into_iter().filter(|name| !required.contains(name)).collect::<Vec<_>>());
    let closed = a.get("additionalProperties") == Some(&Value::Bool(false));
    for (key, value) in b {
        match key.as_str() {
            "properties" => {
                let Value::Object(more) = value else { continue };
                let slot = a.entry("properties").or_insert_with(|| json!({}));
                if let Value::Object(properties) = slot {
                    for (name, schema) in more {
                        let together = match properties.get(&name) {
                            Some(known) if *known != schema => json!({"allOf": [known, schema]}),
                            _ => schema,
                        };
                        properties.insert(name, together);
                    }
                }
            }
            "description" => {
                let text = match (a.get("description").and_then(Value::as_str), value.as_str()) {
                    (Some(first), Some(second)) if first != second => format!("{first}\n{second}"),
                    (_, Some(second)) => second.to_owned(),
                    _ => continue,
                };
                a.insert(key, json!(text));
            }
            "required" => {}
            _ => {
                a.entry(key).or_insert(value);
            }
        }
    }
    if closed || a.get("additionalProperties") == Some(&Value::Bool(false)) {
        // Two closed halves would forbid each other's properties; the merged object has them all.
        a.insert("additionalProperties".to_owned(), json!(false));
    }
    if !required.is_empty() {
        a.insert("required".to_owned(), json!(required));
    }
    a
}

/// One of them must hold: all properties, what all require, and the forms in words.
fn either(forms: Vec<Object>) -> Object {
    if forms.len() == 1 {
        return forms.into_iter().next().unwrap_or_default();
    }
    let mut properties: Vec<(String, Vec<Value>)> = Vec::new();
    for form in &forms {
        for (name, schema) in form.get("properties").and_then(Value::as_object).into_iter().flatten() {
            match properties.iter_mut().find(|(known, _)| known == name) {
                Some((_, schemas)) if !schemas.contains(schema) => schemas.push(schema.clone()),
                Some(_) => {}
                None => properties.push((name.clone(), vec![schema.clone()])),
            }
        }
    }
    let first = required_of(&forms[0]);
    let required: Vec<String> =
        first.into_iter().filter(|name| forms.iter().all(|form| required_of(form).contains(name))).collect();
    let closed = forms.iter().all(|form| form.get("additionalProperties") == Some(&Value::Bool(false)));
    let said: Vec<String> = forms
        .iter()
        .take(FORMS_MAX)
        .enumerate()
        .map(|(n, form)| format!("({}) {}", n + 1, in_words(form)))
        .collect();
    let mut out = Object::new();
    out.insert(
        "description".to_owned(),
        json!(format!("Give exactly one of these forms: {}", said.join("; "))),
    );
    let properties: Object =
        properties.into_iter().map(|(name, schemas)| (name, one_schema(schemas))).collect();
    out.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        out.insert("required".to_owned(), json!(required));
    }
    if closed {
        out.insert("additionalProperties".to_owned(), json!(false));
    }
    out
}

/// One schema for a property that has another in each form; constants become one list of values.
fn one_schema(mut schemas: Vec<Value>) -> Value {
    if schemas.len() == 1 {
        return schemas.remove(0);
    }
    let values: Option<Vec<Value>> = schemas
        .iter()
        .map(|schema| match (schema.get("const"), schema.get("enum").and_then(Value::as_array)) {
            (Some(value), _) => Some(vec![value.clone()]),
            (None, Some(list)) => Some(list.clone()),
            _ => None,
        })
        .collect::<Option<Vec<_>>>()
        .map(|lists| lists.concat());
    match values {
        Some(values) if values.iter().all(Value::is_string) => {
            let mut known: Vec<Value> = Vec::new();
            for value in values {
                if !known.contains(&value) {
                    known.push(value);
                }
            }
            json!({"type": "string", "enum": known})
        }
        _ => json!({ "anyOf": schemas }),
    }
}

fn in_words(form: &Object) -> String {
    let required = required_of(form);
    let names: Vec<String> = form
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, schema)| {
            let value = schema.get("const").map(|value| format!(" = {value}")).unwrap_or_default();
            let optional = if required.contains(name) { "" } else { "?" };
            format!("{name}{optional}{value}")
        })
        .collect();
    let names = if names.is_empty() { "{}".to_owned() } else { format!("{{{}}}", names.join(", ")) };
    match form.get("title").or_else(|| form.get("description")).and_then(Value::as_str) {
        Some(title) => format!("{}: {names}", host_vocab::text::one_line(title, 80)),
        None => names,
    }
}
