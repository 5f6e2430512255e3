//! A tool's input schema, made fit for the provider it goes to (MCP-10).
//!
//! The host validates arguments against the *original* schema; what is made here only tells the model what
//! to write. What a provider takes is passed on whole. A tool whose schema can't be told is reported and
//! not sent: it never hides the others (T4-03).

mod clean;
mod gemini;
mod refs;
mod union;

use host_ports::model::ToolSpec;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The most nodes of one schema that are looked at.
const NODES_MAX: usize = 20_000;
/// How deep a schema may nest.
const DEPTH_MAX: usize = 48;

/// What a provider takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// JSON Schema 2020-12; no union at the top; property names of `[a-zA-Z0-9_.-]{1,64}` (Anthropic, Bedrock).
    Anthropic,
    /// JSON Schema; no union at the top, no tuples (OpenAI and what follows it).
    OpenAi,
    /// The OpenAPI subset of Gemini: no references, no `additionalProperties`, no `const`.
    Gemini,
}

impl Dialect {
    /// The most tools that one request may hold.
    const fn tools_max(self) -> usize {
        match self {
            Dialect::OpenAi => 128,
            Dialect::Gemini => 512,
            Dialect::Anthropic => usize::MAX,
        }
    }
}

/// A tool as it goes out.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectedTool {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its schema in the provider's dialect: always an object with `properties`.
    pub schema: Value,
}

/// A tool that is not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// Why, in words for people.
    pub why: String,
}

/// All tools of a request in one dialect.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Projection {
    /// Those that are sent, in their order.
    pub tools: Vec<ProjectedTool>,
    /// Those that are not.
    pub left_out: Vec<LeftOut>,
}

impl Projection {
    /// One line about what is not sent; `None` when all are.
    pub fn notice(&self) -> Option<String> {
        const NAMED_MAX: usize = 8;
        if self.left_out.is_empty() {
            return None;
        }
        let named: Vec<String> = self
            .left_out
            .iter()
            .take(NAMED_MAX)
            .map(|tool| format!("{} ({})", tool.name, tool.why))
            .collect();
        let more = match self.left_out.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "{} of {} tools can't be offered to this model: {}{more}",
            self.left_out.len(),
            self.left_out.len() + self.tools.len(),
            named.join("; ")
        ))
    }
}

/// Makes one schema fit.
///
/// # Errors
/// Why the model can't be told of it, in words that follow "its schema …".
pub fn project(schema: &Value, dialect: Dialect) -> Result<Value, String> {
    let empty = Value::Object(Map::new());
    let root = match schema {
        Value::Null | Value::Bool(true) => &empty,
        Value::Bool(false) => return Err("accepts nothing".to_owned()),
        Value::Object(_) => schema,
        _ => return Err("is no JSON Schema".to_owned()),
    };
    let mut cleaner = clean::Cleaner::new(root, dialect);
    let (top, mut defs) = cleaner.run()?;
    let mut top = union::object_of(top, &defs)?;
    top.insert("type".to_owned(), json!("object"));
    top.entry("properties").or_insert_with(|| json!({}));
    if dialect == Dialect::Gemini {
        return gemini::subset(&top);
    }
    if dialect == Dialect::Anthropic {
        plain_property_names(&mut top)?;
    }
    refs::keep_reachable(&top, &mut defs);
    if !defs.is_empty() {
        top.insert("$defs".to_owned(), Value::Object(defs));
    }
    Ok(in_usual_order(top))
}

/// `type` and `properties` first: schemas read better that way, and small models copy what they read.
fn in_usual_order(mut top: Map<String, Value>) -> Value {
    let mut out = Map::new();
    for key in ["type", "description", "properties", "required"] {
        if let Some(value) = top.shift_remove(key) {
            out.insert(key.to_owned(), value);
        }
    }
    out.extend(top);
    Value::Object(out)
}

fn plain_property_names(top: &mut Map<String, Value>) -> Result<(), String> {
    let plain = |name: &str| {
        (1..=64).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
    };
    let required: HashSet<String> = required_of(top).into_iter().collect();
    let Some(Value::Object(properties)) = top.get_mut("properties") else { return Ok(()) };
    if let Some(odd) = properties.keys().find(|name| !plain(name) && required.contains(*name)) {
        let odd = host_vocab::text::one_line(odd, 40);
        return Err(format!("requires the property `{odd}`, a name that this provider does not take"));
    }
    properties.retain(|name, _| plain(name));
    Ok(())
}

fn required_of(object: &Map<String, Value>) -> Vec<String> {
    let list = object.get("required").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Makes all tools fit; the odd ones are named with their reason.
pub fn project_tools(tools: &[ToolSpec], dialect: Dialect) -> Projection {
    let mut out = Projection::default();
    let mut names = HashSet::new();
    for tool in tools {
        let projected = if !fit_name(&tool.name) {
            Err("its name is not one of up to 64 letters, digits, `_` and `-`".to_owned())
        } else if !names.insert(tool.name.as_str()) {
            Err("another tool has its name".to_owned())
        } else if out.tools.len() >= dialect.tools_max() {
            Err(format!("this provider takes {} tools at most", dialect.tools_max()))
        } else {
            project(&tool.input_schema, dialect).map_err(|why| format!("its schema {why}"))
        };
        match projected {
            Ok(schema) => out.tools.push(ProjectedTool {
                name: tool.name.clone(),
                description: tool.description.clone(),
                schema,
            }),
            Err(why) => {
                out.left_out.push(LeftOut { name: host_vocab::text::one_line(&tool.name, 64), why });
            }
        }
    }
    out
}

fn fit_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// The projection of the newest tool list: a run sends the same list with every request.
#[derive(Default)]
pub(crate) struct ToolCache(Mutex<Option<Cached>>);

type Cached = (Arc<[ToolSpec]>, Arc<Projection>);

impl ToolCache {
    pub(crate) fn get(&self, tools: &Arc<[ToolSpec]>, dialect: Dialect) -> Arc<Projection> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, projection)) = slot.as_ref()
            && Arc::ptr_eq(known, tools)
        {
            return projection.clone();
        }
        let projection = Arc::new(project_tools(tools, dialect));
        *slot = Some((tools.clone(), projection.clone()));
        projection
    }
}

#[cfg(test)]
mod tests;
