//! The gate's first steps: which tool is meant, and whether the arguments fit it.

use super::{Arguments, CallRequest, Refused, codes};
use crate::source::WithheldBy;
use crate::surface::{Sealed, Surface};
use host_vocab::limits::ARGUMENT_BYTES_MAX;
use serde_json::{Value, json};

/// Lookup and schema: the tool, and arguments that fit it.
pub(super) fn admit<'a>(surface: &'a Surface, request: &CallRequest) -> Result<(&'a Sealed, Value), Refused> {
    let sealed = look_up(surface, &request.name)?;
    let arguments = parse(&request.arguments)?;
    sealed.tool.info().schema.check(&arguments).map_err(|problems| {
        let list: Vec<String> = problems
            .iter()
            .map(|p| {
                let place = if p.path.is_empty() { String::new() } else { format!(" at {}", p.path) };
                format!("arguments{place}: {}", p.expected)
            })
            .collect();
        Refused { code: codes::INVALID_ARGUMENTS, by: "schema", why: list.join("; ") }
    })?;
    Ok((sealed, arguments))
}

/// A name is exact: an alias, another case or a server's own name reaches nothing (TOO-8).
fn look_up<'a>(surface: &'a Surface, name: &str) -> Result<&'a Sealed, Refused> {
    if let Some(sealed) = surface.tools.get(name) {
        return Ok(sealed);
    }
    let shown = super::record::shown_name(surface, name, 80);
    // A server that is down has one row for all of its tools: `mcp__server__*`.
    let covers = |row: &str| row == name || row.strip_suffix('*').is_some_and(|all| name.starts_with(all));
    if let Some((_, withheld)) = surface.withheld.iter().find(|(_, it)| covers(&it.name)) {
        let by = match withheld.by {
            WithheldBy::Policy => "policy",
            other => other.as_str(),
        };
        let why = format!("{shown} is not available in this run (withheld by {by}): {}", withheld.why);
        return Err(Refused { code: codes::TOOL_DENIED, by: "surface", why });
    }
    let near = surface
        .tools
        .keys()
        .map(|known| (strsim::jaro_winkler(&known.as_str().to_lowercase(), &name.to_lowercase()), known))
        .filter(|(score, _)| *score > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let hint = near.map(|(_, known)| format!("; did you mean {known}?")).unwrap_or_default();
    let why = format!("there is no tool named {shown} in this run{hint}");
    Err(Refused { code: codes::UNKNOWN_TOOL, by: "surface", why })
}

/// Arguments are an object. What is no JSON is refused with its place, never taken for `{}`.
fn parse(arguments: &Arguments) -> Result<Value, Refused> {
    let refused = |why: String| Refused { code: codes::INVALID_ARGUMENTS, by: "schema", why };
    let value = match arguments {
        Arguments::Value(value) => value.clone(),
        Arguments::Raw(raw) if raw.len() > ARGUMENT_BYTES_MAX => {
            return Err(refused(format!(
                "the arguments have {} bytes; at most {ARGUMENT_BYTES_MAX} are taken",
                raw.len()
            )));
        }
        Arguments::Raw(raw) if raw.trim().is_empty() => json!({}),
        Arguments::Raw(raw) => serde_json::from_str(raw).map_err(|error| {
            refused(format!("the arguments are not valid JSON: {error}; send one JSON object"))
        })?,
    };
    match value {
        Value::Object(_) => Ok(value),
        other => {
            let kind = match other {
                Value::Array(_) => "an array",
                Value::String(_) => "a string",
                Value::Null => "null",
                _ => "a scalar",
            };
            Err(refused(format!("the arguments are {kind}; send one JSON object")))
        }
    }
}
