//! The schema of a tool's arguments, and checking against it.

use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// A schema with its compiled form, which is made on first use and shared by clones.
#[derive(Clone)]
pub struct InputSchema {
    /// What arguments are checked against.
    schema: Arc<Value>,
    /// What a model is told: the same without what only a checker needs.
    shown: Arc<Value>,
    compiled: Arc<OnceLock<Result<jsonschema::Validator, String>>>,
}

/// What is wrong with some arguments (TOO-8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaProblem {
    /// Where, as a JSON path from the arguments' root (`edits[0].old_string`); empty = the root.
    pub path: String,
    /// What was expected there.
    pub expected: String,
}

impl std::fmt::Debug for InputSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.schema.fmt(f)
    }
}

impl InputSchema {
    /// From a schema as a server gave it (JSON Schema, 2020-12 unless it says otherwise). Nothing outside
    /// of it is ever fetched.
    pub fn new(schema: Value) -> Self {
        Self::shared(Arc::new(schema))
    }

    /// The same of a schema that is kept elsewhere too.
    pub fn shared(schema: Arc<Value>) -> Self {
        InputSchema { shown: Arc::clone(&schema), schema, compiled: Arc::new(OnceLock::new()) }
    }

    /// From a type of ours.
    pub fn of<T: schemars::JsonSchema>() -> Self {
        let mut settings = schemars::generate::SchemaSettings::draft2020_12();
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
        if let Some(map) = schema.as_object_mut() {
            map.shift_remove("title");
            map.shift_remove("description");
            map.entry("properties").or_insert_with(|| Value::Object(Default::default()));
        }
        let mut shown = schema.clone();
        lighten(&mut shown);
        InputSchema { shown: Arc::new(shown), ..Self::new(schema) }
    }

    /// The schema as a model is told it. One of a server is whole; one of ours leaves out that an optional
    /// field may be `null` too (some models send that, and it is taken) and the width of integers.
    pub fn value(&self) -> &Arc<Value> {
        &self.shown
    }

    /// The names of all arguments that a caller is told of; `None` where others may be meant as well: the
    /// schema says so, or names arguments in ways beyond `properties`. Many servers leave out
    /// `additionalProperties`, which is no invitation.
    pub fn arguments(&self) -> Option<Vec<&str>> {
        const BEYOND: [&str; 8] =
            ["patternProperties", "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"];
        let schema = self.schema.as_object()?;
        if BEYOND.iter().any(|key| schema.contains_key(*key)) {
            return None;
        }
        let names = schema.get("properties").and_then(Value::as_object);
        let names: Vec<&str> = names.map(|map| map.keys().map(String::as_str).collect()).unwrap_or_default();
        match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => Some(names),
            None if !names.is_empty() => Some(names),
            _ => None,
        }
    }

    /// Whether the schema can be used at all; the error says why not.
    ///
    /// # Errors
    /// What is wrong with the schema itself.
    pub fn usable(&self) -> Result<(), String> {
        self.compiled().as_ref().map(|_| ()).map_err(Clone::clone)
    }

    /// Checks arguments: at most the first five problems.
    ///
    /// # Errors
    /// Each problem with its place and what was expected.
    pub fn check(&self, arguments: &Value) -> Result<(), Vec<SchemaProblem>> {
        let validator = match self.compiled() {
            Ok(validator) => validator,
            Err(why) => {
                let expected = format!("a usable input schema, but this tool's own is broken: {why}");
                return Err(vec![SchemaProblem { path: String::new(), expected }]);
            }
        };
        if validator.is_valid(arguments) {
            return Ok(());
        }
        let problems: Vec<_> = validator
            .iter_errors(arguments)
            .take(5)
            .map(|error| SchemaProblem {
                path: dotted(&error.instance_path().to_string()),
                expected: host_vocab::text::one_line(&error.to_string(), 300),
            })
            .collect();
        Err(problems)
    }

    fn compiled(&self) -> &Result<jsonschema::Validator, String> {
        self.compiled.get_or_init(|| {
            jsonschema::options()
                .build(&self.schema)
                .map_err(|error| host_vocab::text::one_line(&error.to_string(), 300))
        })
    }
}

/// Takes out of a generated schema what costs a prompt its room and tells a model nothing.
fn lighten(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::Array(kinds)) = map.get("type")
                && let [kind, null] = kinds.as_slice()
                && null == "null"
            {
                let kind = kind.clone();
                map.insert("type".to_owned(), kind);
            }
            // Unknown arguments are refused by the checker; saying so for every object costs a prompt its room.
            if map.get("additionalProperties") == Some(&Value::Bool(false)) {
                map.shift_remove("additionalProperties");
            }
            if let Some(Value::Array(choices)) = map.get_mut("enum") {
                choices.retain(|choice| !choice.is_null());
            }
            if map.get("default") == Some(&Value::Null) {
                map.shift_remove("default");
            }
            if map.get("type").is_some_and(|kind| kind == "integer") {
                map.shift_remove("format");
                if map.get("minimum") == Some(&Value::from(0)) {
                    map.shift_remove("minimum");
                }
            }
            map.values_mut().for_each(lighten);
        }
        Value::Array(items) => items.iter_mut().for_each(lighten),
        _ => {}
    }
}

/// `/edits/0/old_string` as `edits[0].old_string`.
fn dotted(pointer: &str) -> String {
    let mut out = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if part.bytes().all(|b| b.is_ascii_digit()) && !part.is_empty() {
            out.push_str(&format!("[{part}]"));
        } else {
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(&part);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // TOO-9: which names a rule may look at.
    #[test]
    fn the_arguments_that_a_caller_is_told_of() {
        let of = |more: Value| {
            let mut schema = json!({"type": "object", "properties": {"message": {"type": "string"}}});
            schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            InputSchema::new(schema).arguments().map(|names| names.join(","))
        };
        assert_eq!(of(json!({})).as_deref(), Some("message"));
        assert_eq!(of(json!({"additionalProperties": false})).as_deref(), Some("message"));
        assert_eq!(of(json!({"additionalProperties": true})), None);
        assert_eq!(of(json!({"allOf": [{"properties": {"more": {}}}]})), None);
        assert_eq!(of(json!({"properties": {}})), None);
        assert_eq!(of(json!({"properties": {}, "additionalProperties": false})).as_deref(), Some(""));
    }

    // TOO-8
    #[test]
    fn a_problem_names_its_place() {
        let schema = InputSchema::new(json!({
            "type":"object",
            "properties":{"edits":{"type":"array","items":{"type":"object","required":["old"]}}},
            "additionalProperties":false
        }));
        assert!(schema.check(&json!({"edits":[{"old":1}]})).is_ok());
        let problems = schema.check(&json!({"edits":[{"old":1},{}]})).unwrap_err();
        assert_eq!(problems[0].path, "edits[1]");
        assert!(problems[0].expected.contains("old"), "{problems:?}");
        let problems = schema.check(&json!({"edit":[]})).unwrap_err();
        assert!(problems[0].expected.contains("edit"), "{problems:?}");
    }

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Light {
        /// How many.
        n: Option<u32>,
        type_: Option<Vec<i64>>,
    }

    // TOO-8: what is shown is shorter, what is checked is not.
    #[test]
    fn a_model_is_told_less_than_the_checker_knows() {
        let schema = InputSchema::of::<Light>();
        let shown = schema.value().to_string();
        assert!(!shown.contains("null") && !shown.contains("uint32"), "{shown}");
        assert!(!shown.contains("additionalProperties"), "{shown}");
        assert!(shown.contains("How many."), "{shown}");
        assert!(schema.check(&json!({"n": null})).is_ok());
        assert!(schema.check(&json!({"n": -1})).is_err());
        assert!(schema.check(&json!({"m": 1})).is_err());
    }

    #[test]
    fn nothing_is_fetched_for_a_reference() {
        let schema = InputSchema::new(json!({"$ref":"http://127.0.0.1:9/x.json"}));
        assert!(schema.usable().is_err());
        assert!(schema.check(&json!({})).is_err());
    }
}
