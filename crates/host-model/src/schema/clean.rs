//! One walk over a schema: odd keywords mended or dropped, references gathered.

use super::refs::{Names, target_of};
use super::{DEPTH_MAX, Dialect, NODES_MAX};
use serde_json::{Map, Value, json};

/// How often one definition may stand inside itself when references are written out.
const INLINE_AGAIN_MAX: usize = 2;
/// How many references may be written out inside each other.
const INLINE_DEPTH_MAX: usize = 8;
/// After this many nodes references are not written out any further.
const INLINE_NODES_MAX: usize = 2_000;

const TYPES: &[&str] = &["object", "array", "string", "number", "integer", "boolean", "null"];

type Object = Map<String, Value>;

/// Walks a schema for one dialect.
pub(super) struct Cleaner<'a> {
    root: &'a Value,
    dialect: Dialect,
    nodes: usize,
    names: Names,
    inside: Vec<String>,
}

impl<'a> Cleaner<'a> {
    pub(super) fn new(root: &'a Value, dialect: Dialect) -> Self {
        Cleaner { root, dialect, nodes: 0, names: Names::default(), inside: Vec::new() }
    }

    /// The clean top of the schema, and the definitions that it refers to.
    pub(super) fn run(&mut self) -> Result<(Object, Object), String> {
        let top = match self.schema(self.root, 0)? {
            Some(Value::Object(top)) => top,
            _ => return Err("accepts nothing".to_owned()),
        };
        let mut defs = Map::new();
        while let Some((pointer, name)) = self.names.next_open() {
            let target = target_of(self.root, &pointer).cloned().unwrap_or(json!({}));
            let clean = self.schema(&target, 0)?.unwrap_or(json!({"not": {}}));
            defs.insert(name, clean);
        }
        Ok((top, defs))
    }

    /// One schema; `None` = it accepts nothing.
    fn schema(&mut self, schema: &Value, depth: usize) -> Result<Option<Value>, String> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(format!("has more than {NODES_MAX} parts"));
        }
        if depth > DEPTH_MAX {
            return Err(format!("nests deeper than {DEPTH_MAX}"));
        }
        match schema {
            Value::Bool(false) => Ok(None),
            Value::Object(object) => match object.get("$ref") {
                Some(Value::String(reference)) => self.reference(object, reference, depth).map(Some),
                _ => self.object(object, depth).map(|clean| Some(Value::Object(clean))),
            },
            _ => Ok(Some(json!({}))),
        }
    }

    fn reference(
        &mut self,
        object: &Map<String, Value>,
        reference: &str,
        depth: usize,
    ) -> Result<Value, String> {
        let siblings: Map<String, Value> =
            object.iter().filter(|(key, _)| *key != "$ref").map(|(k, v)| (k.clone(), v.clone())).collect();
        let mut beside = self.object(&siblings, depth)?;
        let Some(target) = target_of(self.root, reference).cloned() else {
            // Nothing is fetched and nothing is guessed: anything may stand there.
            beside.entry("description").or_insert_with(|| json!("(its definition is missing)"));
            return Ok(Value::Object(beside));
        };
        if self.dialect != Dialect::Gemini {
            beside.insert("$ref".to_owned(), json!(format!("#/$defs/{}", self.names.name_of(reference))));
            return Ok(Value::Object(beside));
        }
        let again = self.inside.iter().filter(|open| *open == reference).count();
        if again >= INLINE_AGAIN_MAX || self.inside.len() >= INLINE_DEPTH_MAX || self.nodes > INLINE_NODES_MAX
        {
            let kind = target.get("type").filter(|kind| kind.is_string()).cloned().unwrap_or(json!("object"));
            let short = reference.rsplit('/').next().unwrap_or(reference);
            return Ok(
                json!({"type": kind, "description": format!("nested further in the same way ({short})")}),
            );
        }
        self.inside.push(reference.to_owned());
        let inlined = self.schema(&target, depth + 1);
        self.inside.pop();
        let mut inlined = match inlined? {
            Some(Value::Object(object)) => object,
            _ => Map::new(),
        };
        inlined.extend(beside);
        Ok(Value::Object(inlined))
    }

    fn object(&mut self, object: &Map<String, Value>, depth: usize) -> Result<Map<String, Value>, String> {
        let mut out = Map::new();
        let mut required = strings(object.get("required"));
        for (key, value) in object {
            match key.as_str() {
                "type" => {
                    if let Some(kind) = types(value) {
                        out.insert(key.clone(), kind);
                    }
                }
                "properties" => {
                    if let Value::Object(properties) = value {
                        let clean = self.properties(properties, &mut required, depth)?;
                        out.insert(key.clone(), Value::Object(clean));
                    }
                }
                "patternProperties" | "dependentSchemas" => {
                    if let Value::Object(map) = value {
                        let clean = self.properties(map, &mut Vec::new(), depth)?;
                        out.insert(key.clone(), Value::Object(clean));
                    }
                }
                "items" | "prefixItems" => self.items(key, value, depth, &mut out)?,
                "anyOf" | "oneOf" | "allOf" => {
                    let branches = self.list(value, depth)?;
                    if !branches.is_empty() {
                        out.insert(key.clone(), Value::Array(branches));
                    }
                }
                "additionalProperties" | "unevaluatedProperties" | "unevaluatedItems"
                    if value.is_boolean() =>
                {
                    out.insert(key.clone(), value.clone());
                }
                "additionalProperties"
                | "unevaluatedProperties"
                | "unevaluatedItems"
                | "contains"
                | "propertyNames"
                | "if"
                | "then"
                | "else"
                | "not"
                | "contentSchema" => {
                    if value.is_object()
                        && let Some(clean) = self.schema(value, depth + 1)?
                    {
                        out.insert(key.clone(), clean);
                    }
                }
                _ if plain_keyword_fits(key, value) => {
                    out.insert(key.clone(), value.clone());
                }
                _ => {}
            }
        }
        exclusive_bounds(object, &mut out);
        if !required.is_empty() {
            out.insert("required".to_owned(), json!(required));
        }
        openapi_null(object, &mut out);
        infer_type(&mut out);
        if out.get("type").and_then(Value::as_str) == Some("array")
            && !out.contains_key("items")
            && !out.contains_key("prefixItems")
        {
            out.insert("items".to_owned(), json!({}));
        }
        Ok(out)
    }

    /// The schemas of a map. A property that accepts nothing goes; `required: true` on a property (draft 3)
    /// moves to where it belongs.
    fn properties(
        &mut self,
        properties: &Map<String, Value>,
        required: &mut Vec<String>,
        depth: usize,
    ) -> Result<Map<String, Value>, String> {
        let mut out = Map::new();
        for (name, schema) in properties {
            if schema.get("required") == Some(&Value::Bool(true)) && !required.contains(name) {
                required.push(name.clone());
            }
            if let Some(clean) = self.schema(schema, depth + 1)? {
                out.insert(name.clone(), clean);
            }
        }
        Ok(out)
    }

    fn list(&mut self, value: &Value, depth: usize) -> Result<Vec<Value>, String> {
        let mut out = Vec::new();
        for branch in value.as_array().into_iter().flatten() {
            out.extend(self.schema(branch, depth + 1)?);
        }
        Ok(out)
    }

    /// `items`, and tuples in their old and new form: where tuples aren't taken any of their items may
    /// stand anywhere.
    fn items(
        &mut self,
        key: &str,
        value: &Value,
        depth: usize,
        out: &mut Map<String, Value>,
    ) -> Result<(), String> {
        if !value.is_array() {
            if key == "items"
                && value.is_object()
                && !out.contains_key("items")
                && let Some(clean) = self.schema(value, depth + 1)?
            {
                out.insert("items".to_owned(), clean);
            }
            return Ok(());
        }
        let mut tuple = self.list(value, depth)?;
        if tuple.is_empty() {
            return Ok(());
        }
        if self.dialect == Dialect::Anthropic {
            out.insert("prefixItems".to_owned(), Value::Array(tuple));
            return Ok(());
        }
        tuple.dedup();
        let any = if tuple.len() == 1 { tuple.remove(0) } else { json!({ "anyOf": tuple }) };
        out.insert("items".to_owned(), any);
        Ok(())
    }
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for text in value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        if !out.iter().any(|known| known == text) {
            out.push(text.to_owned());
        }
    }
    out
}

fn types(value: &Value) -> Option<Value> {
    let one = |value: &Value| {
        let lower = value.as_str()?.to_ascii_lowercase();
        TYPES.contains(&lower.as_str()).then_some(lower)
    };
    if let Value::Array(list) = value {
        let mut known: Vec<String> = Vec::new();
        for kind in list.iter().filter_map(one) {
            if !known.contains(&kind) {
                known.push(kind);
            }
        }
        return match known.len() {
            0 => None,
            1 => Some(json!(known[0])),
            _ => Some(json!(known)),
        };
    }
    one(value).map(Value::String)
}

/// Whether a keyword without sub-schemas has a value of its right kind. A wrong one would make a provider
/// refuse the whole request, and with it every other tool.
fn plain_keyword_fits(key: &str, value: &Value) -> bool {
    match key {
        "$schema" | "$id" | "$anchor" | "$dynamicRef" | "$dynamicAnchor" | "$recursiveRef"
        | "$recursiveAnchor" | "$vocabulary" | "$comment" | "$defs" | "$ref" | "definitions"
        | "additionalItems" | "dependencies" | "nullable" | "required" => false,
        "id" => !value.is_string(),
        "exclusiveMinimum" | "exclusiveMaximum" | "minimum" | "maximum" => value.is_number(),
        "multipleOf" => value.as_f64().is_some_and(|step| step > 0.0),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => value.is_u64(),
        "pattern" | "format" | "title" | "description" | "contentEncoding" | "contentMediaType" => {
            value.is_string()
        }
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
        "enum" => value.as_array().is_some_and(|list| !list.is_empty()),
        "examples" => value.is_array(),
        "dependentRequired" => value.is_object(),
        other => !other.starts_with('$'),
    }
}

/// Draft 4 wrote `minimum: 3, exclusiveMinimum: true`.
fn exclusive_bounds(object: &Map<String, Value>, out: &mut Map<String, Value>) {
    for (flag, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if object.get(flag) == Some(&Value::Bool(true))
            && let Some(limit) = out.shift_remove(bound)
        {
            out.insert(flag.to_owned(), limit);
        }
    }
}

/// OpenAPI writes `nullable: true` where JSON Schema has a type `null`.
fn openapi_null(object: &Map<String, Value>, out: &mut Map<String, Value>) {
    if object.get("nullable") == Some(&Value::Bool(true))
        && let Some(Value::String(kind)) = out.get("type")
        && kind != "null"
    {
        let both = json!([kind, "null"]);
        out.insert("type".to_owned(), both);
    }
}

fn infer_type(out: &mut Map<String, Value>) {
    let has = |key: &str| out.contains_key(key);
    if has("type") || has("$ref") || has("anyOf") || has("oneOf") || has("allOf") {
        return;
    }
    let kind = if let Some(values) = out.get("enum").and_then(Value::as_array) {
        let first = kind_of(&values[0]);
        if values.iter().all(|value| kind_of(value) == first) { first } else { return }
    } else if let Some(value) = out.get("const") {
        kind_of(value)
    } else if has("properties") || has("required") || has("additionalProperties") || has("patternProperties")
    {
        "object"
    } else if has("items") || has("prefixItems") {
        "array"
    } else {
        return;
    };
    out.insert("type".to_owned(), json!(kind));
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
