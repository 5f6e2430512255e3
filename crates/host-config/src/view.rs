//! What `mono-agent config` shows: every setting, its value and where it came from; secrets as set or unset.

use crate::registry::{Branch, tree};
use crate::secrets::{has_url_password, is_secret_name, looks_secret};
use crate::settings::{Origin, Settings};
use host_vocab::Place;
use serde::Serialize;
use serde_json::Value;

/// What stands in place of a secret within a larger value.
const HIDDEN: &str = "(set)";

/// One row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ViewRow {
    /// The setting.
    pub path: &'static str,
    /// Its value.
    pub value: ViewValue,
    /// Where the value came from.
    pub origin: Origin,
    /// The variable that sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<&'static str>,
    /// Where the value stands, where somebody set it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

impl ViewRow {
    /// The row as a line: `runtime.model = "ollama:qwen3" [file]`.
    pub fn line(&self) -> String {
        let origin = match self.origin {
            Origin::Env => "env",
            Origin::File => "file",
            Origin::Default => "default",
        };
        let value = match &self.value {
            ViewValue::Unset => "(unset)".to_owned(),
            ViewValue::Computed(words) => format!("({words})"),
            ViewValue::Secret { set: true } => "(set)".to_owned(),
            ViewValue::Secret { set: false } => "(unset)".to_owned(),
            ViewValue::Json(value) => host_vocab::text::one_line(&value.to_string(), 2000),
        };
        format!("{} = {value} [{origin}]", self.path)
    }
}

/// A value as it may be shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum ViewValue {
    /// Nothing.
    Unset,
    /// What is worked out at start, in words.
    Computed(&'static str),
    /// A secret: only whether there is one.
    Secret {
        /// Whether it is set.
        set: bool,
    },
    /// The value, with every secret in it hidden.
    Json(Value),
}

/// Every setting, in the order of the reference page.
pub fn view(settings: &Settings) -> Vec<ViewRow> {
    settings
        .iter()
        .map(|setting| {
            let field = setting.field;
            let value = match (field.secret, setting.value(), field.default) {
                (true, value, _) => ViewValue::Secret {
                    set: value.and_then(|v| v.as_str().map(|t| !t.is_empty())).unwrap_or(false),
                },
                (false, Some(value), _) => ViewValue::Json(hide(tree().at(field.path), value)),
                (false, None, crate::registry::Default::Computed(words)) => ViewValue::Computed(words),
                (false, None, _) => ViewValue::Unset,
            };
            let place = (setting.origin != Origin::Default).then(|| setting.place(""));
            ViewRow { path: field.path, value, origin: setting.origin, env: field.env, place }
        })
        .collect()
}

/// A value with every secret in it hidden: what the registry marks, what is named like one where the
/// registry knows no names, and what looks like one anywhere.
fn hide(branch: Option<&Branch>, value: Value) -> Value {
    if branch.and_then(|branch| branch.field).is_some_and(|field| field.secret) {
        return Value::String(HIDDEN.into());
    }
    match value {
        Value::String(text) if looks_secret(&text) || has_url_password(&text) => Value::String(HIDDEN.into()),
        Value::Array(items) => {
            let item = branch.and_then(|branch| branch.item.as_deref());
            items.into_iter().map(|value| hide(item, value)).collect()
        }
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| {
                let below = branch.and_then(|branch| branch.key(&key));
                let by_name = below.is_none() && value.is_string() && is_secret_name(&key);
                let value = if by_name { Value::String(HIDDEN.into()) } else { hide(below, value) };
                (key, value)
            })
            .collect(),
        other => other,
    }
}
