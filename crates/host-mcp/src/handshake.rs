//! Mending the two results of a handshake, so that one odd field does not lose a server.

use crate::repair;
use rmcp::model::{DiscoverResult, InitializeResult, ServerResult};
use serde_json::{Map, Value, json};

/// The result of `initialize` with everything in the shape that rmcp wants: a revision, capabilities that
/// are objects, a server with a name and a version.
pub(crate) fn initialize_result(raw: &str) -> ServerResult {
    let value = object(raw);
    let mut mended = Map::new();
    mended
        .insert("protocolVersion".into(), value.get("protocolVersion").map_or(json!("2024-11-05"), as_text));
    mended.insert("capabilities".into(), capabilities(value.get("capabilities")));
    mended.insert("serverInfo".into(), server_info(value.get("serverInfo")));
    copy_texts(&value, &mut mended);
    match serde_json::from_value::<InitializeResult>(Value::Object(mended)) {
        Ok(result) => ServerResult::InitializeResult(result),
        Err(_) => ServerResult::CustomResult(rmcp::model::CustomResult::new(Value::Object(value))),
    }
}

/// The result of `server/discover`, likewise.
pub(crate) fn discover_result(raw: &str) -> ServerResult {
    let value = object(raw);
    if !value.get("supportedVersions").is_some_and(Value::is_array) {
        return ServerResult::CustomResult(rmcp::model::CustomResult::new(Value::Object(value)));
    }
    let versions: Vec<Value> = value["supportedVersions"]
        .as_array()
        .map(|versions| versions.iter().filter(|it| it.is_string()).cloned().collect())
        .unwrap_or_default();
    let mut mended = Map::new();
    mended.insert("resultType".into(), json!("complete"));
    mended.insert("supportedVersions".into(), Value::Array(versions));
    mended.insert("capabilities".into(), capabilities(value.get("capabilities")));
    mended.insert("ttlMs".into(), json!(value.get("ttlMs").and_then(Value::as_u64).unwrap_or(0)));
    mended.insert("cacheScope".into(), json!("private"));
    copy_texts(&value, &mut mended);
    match serde_json::from_value::<DiscoverResult>(Value::Object(mended)) {
        Ok(result) => ServerResult::DiscoverResult(result),
        Err(_) => ServerResult::CustomResult(rmcp::model::CustomResult::new(Value::Object(value))),
    }
}

fn object(raw: &str) -> Map<String, Value> {
    match repair::parse(raw) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

fn as_text(value: &Value) -> Value {
    match value {
        Value::String(_) => value.clone(),
        other => Value::String(other.to_string()),
    }
}

fn copy_texts(from: &Map<String, Value>, to: &mut Map<String, Value>) {
    if let Some(instructions) = from.get("instructions").filter(|it| it.is_string()) {
        to.insert("instructions".into(), instructions.clone());
    }
    if let Some(meta) = from.get("_meta").filter(|it| it.is_object()) {
        to.insert("_meta".into(), meta.clone());
    }
}

/// Capabilities as objects: `true` means `{}`, anything else that is no object is left out, and so is every
/// member of the wrong type.
fn capabilities(value: Option<&Value>) -> Value {
    let known = ["tools", "prompts", "resources", "logging", "completions", "experimental", "extensions"];
    let mut out = Map::new();
    for (name, value) in value.and_then(Value::as_object).into_iter().flatten() {
        let members = match value {
            Value::Bool(true) => Map::new(),
            Value::Object(members) => members.clone(),
            _ => continue,
        };
        if !known.contains(&name.as_str()) {
            continue;
        }
        let nested = matches!(name.as_str(), "experimental" | "extensions");
        let keeps = |value: &Value| if nested { value.is_object() } else { value.is_boolean() };
        let members = members.into_iter().filter(|(_, value)| keeps(value)).collect();
        out.insert(name.clone(), Value::Object(members));
    }
    Value::Object(out)
}

fn server_info(value: Option<&Value>) -> Value {
    let text = |name: &str| value.and_then(|it| it.get(name)).and_then(Value::as_str).unwrap_or_default();
    json!({ "name": text("name"), "version": text("version") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_odd_handshake_is_mended() {
        let raw = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":true,"logging":null,"x":1,
            "resources":{"subscribe":"yes","listChanged":true}},"serverInfo":{"name":"s","icons":[{"sizes":"48x48"}]},
            "instructions":"use me"}"#;
        let ServerResult::InitializeResult(result) = initialize_result(raw) else { panic!() };
        assert!(result.capabilities.tools.is_some());
        assert!(result.capabilities.logging.is_none());
        assert_eq!(result.server_info.name, "s");
        assert_eq!(result.instructions.as_deref(), Some("use me"));
        for raw in ["{}", "null", "[]", r#"{"protocolVersion":7,"capabilities":[],"serverInfo":"x"}"#] {
            assert!(matches!(initialize_result(raw), ServerResult::InitializeResult(_)), "{raw}");
        }
    }

    #[test]
    fn an_odd_discovery_is_mended() {
        let raw = r#"{"supportedVersions":["2026-07-28",3],"capabilities":{"tools":{}},"ttlMs":-1}"#;
        let ServerResult::DiscoverResult(result) = discover_result(raw) else { panic!() };
        assert_eq!(result.supported_versions.len(), 1);
        assert!(matches!(discover_result("{}"), ServerResult::CustomResult(_)));
    }
}
