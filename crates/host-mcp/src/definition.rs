//! What a server says of itself and its tools, read leniently and kept as it came.

use crate::dialect;
use crate::repair;
use host_surface::InputSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The most tools that are taken from one server.
pub(crate) const TOOLS_MAX: usize = 10_000;
/// The longest remote name that is kept, in bytes.
const REMOTE_NAME_BYTES_MAX: usize = 1024;

/// Which handshake a server was reached by; remembered with its definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// `server/discover`, from 2026-07-28.
    Modern,
    /// `initialize`, up to 2025-11-25.
    Legacy,
    /// `initialize` over HTTP+SSE.
    LegacySse,
}

/// All that is known of a server: what the cache keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Definitions {
    /// How it was reached.
    pub route: Route,
    /// The protocol revision that was agreed on.
    pub revision: String,
    /// What it calls itself.
    pub server_name: String,
    /// Its version.
    pub server_version: String,
    /// Its own usage instructions.
    pub instructions: String,
    /// Whether it has resources.
    #[serde(default)]
    pub resources: bool,
    /// Whether it has prompts.
    #[serde(default)]
    pub prompts: bool,
    /// Its tools, in its order.
    pub tools: Vec<ToolDefinition>,
    /// Tools that can't be used, with the reason.
    pub odd: Vec<OddTool>,
}

/// One tool as a server advertises it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    /// What the server calls it.
    pub name: String,
    /// What it says of it.
    pub description: String,
    /// The schema of its arguments, as the server wrote it but for the words of older drafts.
    pub input_schema: Arc<Value>,
    /// Everything else that the server said (title, annotations, `_meta`, output schema). Hints: nothing is
    /// decided by them.
    pub rest: Map<String, Value>,
}

/// A tool that a server advertises and that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OddTool {
    /// Its name, as far as it has one.
    pub name: String,
    /// Why not.
    pub why: String,
}

/// One page of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Page {
    tools: Option<Vec<Box<RawValue>>>,
    /// How long the list holds, in milliseconds; in the newest revision alone.
    #[serde(rename = "ttlMs")]
    pub(crate) ttl_ms: Option<Value>,
    /// Passed back as it came.
    #[serde(rename = "nextCursor")]
    pub(crate) next_cursor: Option<Value>,
}

impl Page {
    /// Reads one page.
    pub(crate) fn read(raw: &RawValue) -> Result<Self, String> {
        let read = |text: &str| serde_json::from_str::<Page>(text);
        read(raw.get())
            .or_else(|_| read(&repair::repaired(raw.get())))
            .map_err(|_| "the list of tools is no list".to_owned())
    }

    /// The tools of the page, each read by itself: an odd one loses nothing but itself.
    pub(crate) fn tools(&self) -> impl Iterator<Item = Result<ToolDefinition, OddTool>> + '_ {
        self.tools.iter().flatten().map(|raw| tool(raw))
    }
}

fn tool(raw: &RawValue) -> Result<ToolDefinition, OddTool> {
    let odd =
        |name: &str, why: &str| OddTool { name: host_vocab::text::one_line(name, 200), why: why.to_owned() };
    let mut map = match repair::parse(raw.get()) {
        Ok(Value::Object(map)) => map,
        Ok(_) => return Err(odd("(no name)", "its entry in the list is no object")),
        Err(_) => {
            return Err(odd(&name_in(raw), "its definition nests deeper than 128 levels or is no JSON"));
        }
    };
    let name = match map.shift_remove("name") {
        Some(Value::String(name)) if name.len() <= REMOTE_NAME_BYTES_MAX => name,
        Some(Value::String(name)) => return Err(odd(&name, "its name is over 1024 bytes")),
        _ => return Err(odd("(no name)", "the server gave it no name")),
    };
    let description = match map.shift_remove("description") {
        Some(Value::String(description)) => description,
        _ => String::new(),
    };
    let schema = map.shift_remove("inputSchema").or_else(|| map.shift_remove("input_schema"));
    let mut input_schema = match schema {
        None | Some(Value::Null | Value::Bool(true)) => json!({"type": "object", "properties": {}}),
        Some(Value::Object(schema)) => Value::Object(schema),
        Some(_) => return Err(odd(&name, "its input schema is no object")),
    };
    if takes_no_object(&input_schema) {
        return Err(odd(&name, "its input schema is not that of an object, and arguments always are one"));
    }
    dialect::modernise(&mut input_schema);
    if let Err(why) = InputSchema::new(input_schema.clone()).usable() {
        return Err(odd(&name, &format!("its input schema is broken: {why}")));
    }
    Ok(ToolDefinition { name, description, input_schema: Arc::new(input_schema), rest: map })
}

fn takes_no_object(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind != "object",
        Some(Value::Array(kinds)) => !kinds.iter().any(|kind| kind == "object"),
        _ => false,
    }
}

/// The name of a tool whose definition can't be parsed.
fn name_in(raw: &RawValue) -> String {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    serde_json::from_str::<Named>(raw.get()).map_or_else(|_| "(no name)".to_owned(), |named| named.name)
}

impl Definitions {
    /// A tool by the server's own name.
    pub fn tool(&self, remote: &str) -> Option<&ToolDefinition> {
        self.tools.iter().find(|tool| tool.name == remote)
    }

    /// How many tools the server advertises.
    pub fn advertised(&self) -> usize {
        self.tools.len() + self.odd.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(json: &str) -> (Vec<ToolDefinition>, Vec<OddTool>) {
        let page = Page::read(&RawValue::from_string(json.to_owned()).unwrap()).unwrap();
        let (good, odd): (Vec<_>, Vec<_>) = page.tools().partition(Result::is_ok);
        (good.into_iter().map(Result::unwrap).collect(), odd.into_iter().map(Result::unwrap_err).collect())
    }

    // T4-01, T4-03, T4-05, MCP-10
    #[test]
    fn one_odd_tool_never_hides_the_others() {
        let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
        let (good, odd) = page(&format!(
            r##"{{"nextCursor":"c","tools":[
            {{"name":"plain","inputSchema":{{"type":"object"}}}},
            {{"name":"none"}},
            {{"name":"union","inputSchema":{{"anyOf":[{{"type":"object"}},{{"type":"object"}}]}}}},
            {{"name":"refs","inputSchema":{{"type":"object","properties":{{"t":{{"$ref":"#/$defs/n"}}}},"$defs":{{"n":{{}}}}}}}},
            {{"name":"icons","icons":[{{"src":"x","sizes":"48x48","theme":"sepia"}}],"execution":{{"x":1}},"inputSchema":{{}}}},
            {{"name":"texty","inputSchema":{{"type":"string"}}}},
            {{"name":"list","inputSchema":[]}},
            {{"name":7,"inputSchema":{{}}}},
            {{"name":"deep","inputSchema":{{"x":{deep}}}}},
            "bare"]}}"##
        ));
        let names: Vec<&str> = good.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["plain", "none", "union", "refs", "icons"]);
        assert!(good[3].input_schema.get("$defs").is_some());
        assert!(good[4].rest.contains_key("execution"));
        let names: Vec<&str> = odd.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["texty", "list", "(no name)", "deep", "(no name)"]);
    }

    #[test]
    fn definitions_survive_the_cache() {
        let definitions = Definitions {
            route: Route::Legacy,
            revision: "2025-11-25".into(),
            server_name: "s".into(),
            server_version: "1".into(),
            instructions: "use".into(),
            resources: true,
            prompts: false,
            tools: page(r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#).0,
            odd: Vec::new(),
        };
        let stored = serde_json::to_vec(&definitions).unwrap();
        assert_eq!(serde_json::from_slice::<Definitions>(&stored).unwrap(), definitions);
    }
}
