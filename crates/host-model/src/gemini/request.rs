//! Writing a request.

use crate::content::{arguments_object, own_reasoning, picture};
use crate::effort::{name, nearest, version_after};
use crate::link::Link;
use crate::schema::Projection;
use host_ports::model::{AssistantPart, Effort, Message, ModelRequest, ToolCall, ToolResult};
use host_vocab::Block;
use serde_json::{Map, Value, json};

/// What the API takes for a call that another model made, in the place of a thought signature.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

/// The whole body.
pub(super) fn body(
    link: &Link,
    request: &ModelRequest,
    tools: &Projection,
    notes: &mut Vec<String>,
) -> Value {
    let mut body = Map::new();
    if !request.system.trim().is_empty() {
        body.insert("systemInstruction".to_owned(), json!({"parts": [{"text": request.system}]}));
    }
    body.insert("contents".to_owned(), contents(link, &request.messages));
    if !tools.tools.is_empty() {
        let list: Vec<Value> = tools
            .tools
            .iter()
            .map(
                |tool| json!({"name": tool.name, "description": tool.description, "parameters": tool.schema}),
            )
            .collect();
        body.insert("tools".to_owned(), json!([{ "functionDeclarations": list }]));
    }
    let mut config = Map::new();
    if let Some(max) = request.output_tokens_max {
        config.insert("maxOutputTokens".to_owned(), json!(max));
    }
    if let Some(thinking) = request.effort.and_then(|effort| thinking(&link.model, effort, notes)) {
        config.insert("thinkingConfig".to_owned(), thinking);
    }
    if !config.is_empty() {
        body.insert("generationConfig".to_owned(), Value::Object(config));
    }
    Value::Object(body)
}

/// Gemini 3 has levels, 2.5 a budget of tokens, older ones nothing.
fn thinking(model: &str, effort: Effort, notes: &mut Vec<String>) -> Option<Value> {
    use Effort::{High, Low, Medium, Minimal, None as Off, Xhigh};
    let (pro, version) = (model.contains("pro"), version_after(model, "gemini-"));
    match version {
        Some((3.., _)) | None => {
            let levels: &[Effort] = if pro { &[Low, High] } else { &[Minimal, Low, Medium, High] };
            let level = nearest(effort, levels, model, notes)?;
            Some(json!({"includeThoughts": level != Minimal, "thinkingLevel": name(level)}))
        }
        Some((2, 5)) => {
            let levels: &[Effort] =
                if pro { &[Minimal, Low, Medium, High, Xhigh] } else { &[Off, Minimal, Low, Medium, High] };
            let level = nearest(effort, levels, model, notes)?;
            let budget = match level {
                Off => 0,
                Minimal => 512,
                Low => 1_024,
                Medium => 8_192,
                High => 24_576,
                _ => 32_768,
            };
            Some(json!({"includeThoughts": budget > 0, "thinkingBudget": budget}))
        }
        Some(_) => {
            nearest(effort, &[], model, notes);
            None
        }
    }
}

/// The conversation: neighbours of one role become one content.
fn contents(link: &Link, messages: &[Message]) -> Value {
    let mut out: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, parts) = match message {
            Message::User { content } => ("user", user(content, link.images)),
            Message::Assistant { parts } => ("model", assistant(parts, &link.provider)),
            Message::ToolResults { results } => ("user", answers(results, link.images)),
        };
        match out.last_mut() {
            _ if parts.is_empty() => {}
            Some((last, known)) if *last == role => known.extend(parts),
            _ => out.push((role, parts)),
        }
    }
    Value::Array(out.into_iter().map(|(role, parts)| json!({"role": role, "parts": parts})).collect())
}

fn user(blocks: &[Block], images: bool) -> Vec<Value> {
    blocks
        .iter()
        .map(|block| match picture(block, images) {
            Some(media) => json!({"inlineData": {"mimeType": media.mime_type, "data": media.data}}),
            None => json!({"text": block.describe()}),
        })
        .collect()
}

fn assistant(parts: &[AssistantPart], provider: &str) -> Vec<Value> {
    let mut out = Vec::new();
    let mut first_call = true;
    for part in parts {
        match part {
            AssistantPart::Text { text } if text.is_empty() => {}
            AssistantPart::Text { text } => out.push(json!({"text": text})),
            AssistantPart::Reasoning { .. } => {
                let raw = own_reasoning(part, provider).and_then(|raw| raw["parts"].as_array());
                out.extend(raw.into_iter().flatten().cloned());
            }
            AssistantPart::Call(call) => {
                out.push(call_part(call, provider, first_call));
                first_call = false;
            }
        }
    }
    out
}

fn call_part(call: &ToolCall, provider: &str, first: bool) -> Value {
    let raw = call.raw.as_ref().filter(|raw| raw["provider"] == provider);
    let mut function = json!({"name": call.name, "args": arguments_object(&call.arguments)});
    if let Some(id) = raw.and_then(|raw| raw["id"].as_str()) {
        function["id"] = json!(id);
    }
    let mut part = json!({ "functionCall": function });
    match raw {
        Some(raw) => {
            if let Some(signature) = raw.get("thoughtSignature") {
                part["thoughtSignature"] = signature.clone();
            }
        }
        None if first => part["thoughtSignature"] = json!(FOREIGN_SIGNATURE),
        None => {}
    }
    part
}

fn answers(results: &[ToolResult], images: bool) -> Vec<Value> {
    let mut out = Vec::new();
    let mut pictures = Vec::new();
    for result in results {
        let field = if result.is_error { "error" } else { "output" };
        let text = host_vocab::blocks_text(&result.content);
        out.push(json!({"functionResponse": {"name": result.name, "response": {field: text}}}));
        for media in result.content.iter().filter_map(|block| picture(block, images)) {
            pictures.push(json!({"inlineData": {"mimeType": media.mime_type, "data": media.data}}));
        }
    }
    out.extend(pictures);
    out
}
