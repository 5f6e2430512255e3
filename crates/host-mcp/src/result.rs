//! From a server's result to ours: the one boundary where whatever a server sends becomes something that can
//! be stored, replayed and sent to every provider (MCP-11).

use crate::repair;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use host_surface::ToolOutput;
use host_vocab::{Block, Media};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The most content blocks that are kept of one result.
const BLOCKS_MAX: usize = 10_000;

/// A result that was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallResult {
    pub(crate) output: ToolOutput,
    pub(crate) is_error: bool,
    /// `complete`, or what the server wants first (`input_required`, `task`).
    pub(crate) result_type: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawResult {
    content: Option<Box<RawValue>>,
    #[serde(rename = "structuredContent")]
    structured: Option<Box<RawValue>>,
    #[serde(rename = "toolResult")]
    tool_result: Option<Box<RawValue>>,
    #[serde(rename = "isError")]
    is_error: Option<Value>,
    #[serde(rename = "resultType")]
    result_type: Option<Value>,
}

/// Reads a result. Each part is read by itself, so that an odd one loses nothing but itself.
pub(crate) fn read(raw: &RawValue) -> CallResult {
    let Ok(parts) = serde_json::from_str::<RawResult>(raw.get()) else {
        let content = vec![loose(raw)];
        let output = ToolOutput { content, ..ToolOutput::default() };
        return CallResult { output, is_error: false, result_type: "complete".to_owned() };
    };
    let is_error = match &parts.is_error {
        Some(Value::Bool(flag)) => *flag,
        Some(Value::String(word)) => word.eq_ignore_ascii_case("true"),
        _ => false,
    };
    let result_type = match parts.result_type {
        Some(Value::String(kind)) => kind,
        _ => "complete".to_owned(),
    };
    let mut content = parts.content.as_deref().map(blocks).unwrap_or_default();
    let mut structured = None;
    for value in [parts.structured.as_deref(), parts.tool_result.as_deref()].into_iter().flatten() {
        match repair::parse(value.get()) {
            Ok(value) if structured.is_none() => structured = Some(value).filter(|value| !value.is_null()),
            _ => content.push(Block::text(value.get())),
        }
    }
    if content.is_empty() && structured.is_none() && parts.content.is_none() {
        structured = leftovers(raw);
    }
    let output = ToolOutput { content, structured, ..ToolOutput::default() };
    CallResult { output, is_error, result_type }
}

/// What a server put beside the fields of the protocol, where there is nothing else.
fn leftovers(raw: &RawValue) -> Option<Value> {
    let Ok(Value::Object(mut map)) = repair::parse(raw.get()) else { return None };
    for known in ["_meta", "isError", "resultType", "ttlMs", "cacheScope", "structuredContent", "content"] {
        map.shift_remove(known);
    }
    (!map.is_empty()).then_some(Value::Object(map))
}

fn blocks(raw: &RawValue) -> Vec<Block> {
    match serde_json::from_str::<Vec<Box<RawValue>>>(raw.get()) {
        Ok(items) => items.iter().take(BLOCKS_MAX).map(|item| loose(item)).collect(),
        Err(_) => vec![loose(raw)],
    }
}

fn loose(raw: &RawValue) -> Block {
    match repair::parse(raw.get()) {
        Ok(Value::Object(map)) => block(map),
        Ok(Value::String(text)) => Block::text(text),
        Ok(other) => Block::text(other.to_string()),
        // Deeper than can be parsed: the text of it is still there.
        Err(_) => Block::text(raw.get()),
    }
}

/// A block that stands in a message or is a plain text.
pub(crate) fn block_of(value: &Value) -> Block {
    match value {
        Value::Object(map) => block(map.clone()),
        Value::String(text) => Block::text(text.clone()),
        other => Block::text(other.to_string()),
    }
}

/// A resource as it was read: a picture or a sound as such, anything else as an embedded resource.
pub(crate) fn resource_of(resource: &Value) -> Block {
    let kind = resource.get("mimeType").and_then(Value::as_str).unwrap_or_default();
    let bytes = resource.get("blob").cloned();
    let wanted = ["image", "audio"].into_iter().find(|it| kind.starts_with(&format!("{it}/")));
    match (wanted, bytes) {
        (Some(wanted), Some(data)) => {
            let map = [("type", Value::from(wanted)), ("data", data), ("mimeType", Value::from(kind))];
            block(map.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
        }
        _ => Block::Resource { resource: resource.clone() },
    }
}

fn block(mut map: Map<String, Value>) -> Block {
    let kind = map.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    match kind.as_str() {
        "text" => match map.shift_remove("text") {
            Some(Value::String(text)) => Block::Text { text },
            Some(other) => Block::text(other.to_string()),
            None => Block::text(""),
        },
        "image" => media(&map, "image/png").map_or_else(|| unreadable(&map), |media| Block::Image { media }),
        "audio" => media(&map, "audio/wav").map_or_else(|| unreadable(&map), |media| Block::Audio { media }),
        "resource_link" => match map.get("uri").and_then(Value::as_str) {
            Some(uri) => {
                let text = |name: &str| map.get(name).and_then(Value::as_str).map(str::to_owned);
                let name = text("name").or_else(|| text("title")).unwrap_or_else(|| uri.to_owned());
                Block::ResourceLink { uri: uri.to_owned(), name, mime_type: text("mimeType") }
            }
            None => Block::Other(Value::Object(map)),
        },
        "resource" => match map.get("resource") {
            Some(Value::Object(_)) => Block::Resource { resource: map["resource"].take() },
            _ => Block::Other(Value::Object(map)),
        },
        "" if map.get("text").is_some_and(Value::is_string) => {
            Block::text(map["text"].as_str().unwrap_or_default())
        }
        _ => Block::Other(Value::Object(map)),
    }
}

/// Bytes in standard base64, out of what servers send for it: with line breaks, in the URL alphabet, without
/// padding, as a `data:` address.
fn media(map: &Map<String, Value>, mime_default: &str) -> Option<Media> {
    let data = map.get("data").and_then(Value::as_str)?;
    let mut mime = map.get("mimeType").and_then(Value::as_str).filter(|mime| mime.contains('/'));
    let data = match data.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
        Some((of_address, data)) => {
            mime = mime.or(Some(of_address));
            data
        }
        None => data,
    };
    let mut data: String = data
        .chars()
        .filter(|c| !c.is_ascii_whitespace() && *c != '=')
        .map(|c| match c {
            '-' => '+',
            '_' => '/',
            other => other,
        })
        .collect();
    while !data.len().is_multiple_of(4) {
        data.push('=');
    }
    STANDARD.decode(&data).ok().filter(|bytes| !bytes.is_empty())?;
    Some(Media { data, mime_type: mime.unwrap_or(mime_default).to_owned() })
}

fn unreadable(map: &Map<String, Value>) -> Block {
    let text = |name: &str| map.get(name).and_then(Value::as_str).unwrap_or_default();
    let bytes = text("data").len();
    let kind = host_vocab::text::one_line(&format!("{} {}", text("type"), text("mimeType")), 80);
    Block::text(format!("[{kind} whose {bytes} characters of data are no base64; left out]"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn of(json: &str) -> CallResult {
        read(&RawValue::from_string(json.to_owned()).unwrap())
    }

    // T5-01, MCP-11
    #[test]
    fn text_and_structured_content_are_both_kept() {
        let result =
            of(r#"{"content":[{"type":"text","text":"TEXT-MARK"}],"structuredContent":{"m":"STRUCT-MARK"}}"#);
        assert_eq!(result.output.content, [Block::text("TEXT-MARK")]);
        assert_eq!(result.output.structured, Some(json!({"m":"STRUCT-MARK"})));
        assert_eq!(of(r#"{"structuredContent":[1]}"#).output.structured, Some(json!([1])));
        assert_eq!(of(r#"{"toolResult":{"a":1}}"#).output.structured, Some(json!({"a":1})));
        assert_eq!(of(r#"{"rows":3,"_meta":{}}"#).output.structured, Some(json!({"rows":3})));
    }

    // T5-05
    #[test]
    fn is_error_is_seen_and_the_text_stays() {
        let result = of(r#"{"isError":true,"content":[{"type":"text","text":"no such row"}]}"#);
        assert!(result.is_error);
        assert_eq!(result.output.content, [Block::text("no such row")]);
        assert!(of(r#"{"isError":"true","content":[]}"#).is_error);
        assert!(!of(r#"{"isError":null,"content":[]}"#).is_error);
    }

    // T5-03, T5-07
    #[test]
    fn every_kind_of_block_survives() {
        let result = of(r#"{"content":[
            {"type":"image","data":"aGk=","mimeType":"image/png"},
            {"type":"text","text":"after","annotations":{"audience":["robot"],"priority":"high"}},
            {"type":"resource_link","uri":"http://x/y","name":"y","size":3},
            {"type":"resource","resource":{"uri":"f:///a","text":"inner"}},
            {"type":"resource","resource":{"uri":"f:///b.pdf","mimeType":"application/pdf","blob":"aGk="}},
            {"type":"audio","data":"aGk","mimeType":"audio/wav"},
            {"type":"hologram","x":1}, "bare", {"text":"untyped"}, {"type":"text","text":7}, 5, null]}"#);
        let kinds: Vec<&str> = result
            .output
            .content
            .iter()
            .map(|block| match block {
                Block::Text { .. } => "text",
                Block::Image { .. } => "image",
                Block::Audio { .. } => "audio",
                Block::ResourceLink { .. } => "link",
                Block::Resource { .. } => "resource",
                Block::Other(_) => "other",
            })
            .collect();
        let expected = [
            "image", "text", "link", "resource", "resource", "audio", "other", "text", "text", "text",
            "text", "text",
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn pictures_come_out_as_standard_base64() {
        let data = |block: &str| match &of(&format!(r#"{{"content":[{block}]}}"#)).output.content[0] {
            Block::Image { media } => Some((media.data.clone(), media.mime_type.clone())),
            _ => None,
        };
        let png = Some(("+/8=".to_owned(), "image/png".to_owned()));
        assert_eq!(data(r#"{"type":"image","data":"-_8","mimeType":"image/png"}"#), png);
        assert_eq!(data(r#"{"type":"image","data":"data:image/png;base64,+/\n8="}"#), png);
        assert_eq!(data(r#"{"type":"image","data":"+/8=","mimeType":7}"#), png);
        assert_eq!(data(r#"{"type":"image","data":"not base64!","mimeType":"image/png"}"#), None);
        assert_eq!(data(r#"{"type":"image"}"#), None);
    }

    #[test]
    fn nesting_without_end_is_kept_as_text() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        let result =
            of(&format!(r#"{{"content":[{{"type":"text","text":"ok"}}],"structuredContent":{deep}}}"#));
        assert_eq!(result.output.content[0], Block::text("ok"));
        assert_eq!(result.output.content.len(), 2);
    }

    proptest! {
        #[test]
        fn what_comes_out_can_be_stored_and_read_again(text in "\\PC{0,20}", kind in "[a-z_]{0,14}") {
            let raw = json!({"content":[{"type":kind,"text":text,"data":text,"uri":text}]}).to_string();
            let blocks = of(&raw).output.content;
            let stored = serde_json::to_string(&blocks).unwrap();
            let again: Vec<Block> = serde_json::from_str(&stored).unwrap();
            prop_assert_eq!(again, blocks);
        }
    }
}
