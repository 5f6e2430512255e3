//! Writing a request.

use super::Chat;
use crate::content::{data_url, own_reasoning, picture};
use crate::effort::{name, nearest};
use crate::link::Link;
use crate::schema::Projection;
use host_ports::model::{AssistantPart, Effort, Message, ModelRequest, ToolResult};
use host_vocab::Block;
use serde_json::{Map, Value, json};

/// The whole body.
pub(super) fn body(
    wire: Chat,
    link: &Link,
    request: &ModelRequest,
    tools: &Projection,
    notes: &mut Vec<String>,
) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(link.model));
    body.insert("messages".to_owned(), messages(link, request));
    if !tools.tools.is_empty() {
        let list: Vec<Value> = tools
            .tools
            .iter()
            .map(|tool| {
                json!({"type": "function", "function":
                    {"name": tool.name, "description": tool.description, "parameters": tool.schema}})
            })
            .collect();
        body.insert("tools".to_owned(), Value::Array(list));
    }
    body.insert("stream".to_owned(), json!(true));
    body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    if let Some(max) = request.output_tokens_max {
        let field = if wire.openai { "max_completion_tokens" } else { "max_tokens" };
        body.insert(field.to_owned(), json!(max));
    }
    if let Some(level) = request.effort.and_then(|effort| effort_of(wire, &link.model, effort, notes)) {
        body.insert("reasoning_effort".to_owned(), json!(level));
    }
    if let Some(key) = request.cache_key.as_ref().filter(|_| wire.openai) {
        body.insert("prompt_cache_key".to_owned(), json!(key));
    }
    Value::Object(body)
}

fn effort_of(wire: Chat, model: &str, effort: Effort, notes: &mut Vec<String>) -> Option<&'static str> {
    if wire.openai {
        return nearest(effort, openai_levels(model), model, notes).map(name);
    }
    // What a server of another kind makes of it is unknown; nothing is what all understand by `none`.
    if effort == Effort::None {
        return None;
    }
    nearest(effort, &[Effort::Low, Effort::Medium, Effort::High], model, notes).map(name)
}

/// The levels of OpenAI's models, by their names.
pub(crate) fn openai_levels(model: &str) -> &'static [Effort] {
    use Effort::{High, Low, Medium, Minimal, None, Xhigh};
    match crate::effort::version_after(model, "gpt-") {
        _ if !is_reasoning(model) => &[],
        Some((5, 0)) => &[Minimal, Low, Medium, High],
        Some((5, 1)) => &[None, Low, Medium, High],
        Some((5.., _)) => &[None, Low, Medium, High, Xhigh],
        _ => &[Low, Medium, High],
    }
}

/// Whether one of OpenAI's models thinks before it answers.
pub(crate) fn is_reasoning(model: &str) -> bool {
    let base = model.rsplit('/').next().unwrap_or(model);
    let o_series = base.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let gpt = crate::effort::version_after(base, "gpt-").is_some_and(|version| version.0 >= 5);
    o_series || (gpt && !base.contains("chat")) || base.contains("codex")
}

fn messages(link: &Link, request: &ModelRequest) -> Value {
    let mut out = Vec::new();
    if !request.system.trim().is_empty() {
        out.push(json!({"role": "system", "content": request.system}));
    }
    for message in &request.messages {
        match message {
            Message::User { content } => {
                out.push(json!({"role": "user", "content": content_of(content, link.images)}))
            }
            Message::Assistant { parts } => out.extend(assistant(parts, &link.provider)),
            Message::ToolResults { results } => tool_results(results, link.images, &mut out),
        }
    }
    Value::Array(out)
}

/// Plain text where there is nothing else, since not every server reads a list.
fn content_of(blocks: &[Block], images: bool) -> Value {
    if blocks.iter().all(|block| picture(block, images).is_none()) {
        return json!(host_vocab::blocks_text(blocks));
    }
    let parts = blocks.iter().map(|block| match picture(block, images) {
        Some(media) => json!({"type": "image_url", "image_url": {"url": data_url(media)}}),
        None => json!({"type": "text", "text": block.describe()}),
    });
    Value::Array(parts.collect())
}

fn assistant(parts: &[AssistantPart], provider: &str) -> Option<Value> {
    let mut text = String::new();
    let mut calls = Vec::new();
    let mut reasoning = Map::new();
    for part in parts {
        match part {
            AssistantPart::Text { text: more } => text.push_str(more),
            AssistantPart::Reasoning { .. } => {
                if let Some(Value::Object(raw)) = own_reasoning(part, provider) {
                    reasoning.extend(raw.clone());
                }
            }
            AssistantPart::Call(call) => {
                let arguments = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
                let mut out = json!({"id": call.id, "type": "function",
                    "function": {"name": call.name, "arguments": arguments}});
                if let Some(extra) = call.raw.as_ref().and_then(|raw| raw.get("extra_content")) {
                    out["extra_content"] = extra.clone();
                }
                calls.push(out);
            }
        }
    }
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    let content = if text.is_empty() { Value::Null } else { json!(text) };
    message.insert("content".to_owned(), content);
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::Array(calls));
        // Servers that think want their thoughts back beside the calls, and refuse or ignore them elsewhere.
        message.extend(reasoning);
    }
    Some(Value::Object(message))
}

/// One message for each result; pictures follow in a message of the user, where they may stand.
fn tool_results(results: &[ToolResult], images: bool, out: &mut Vec<Value>) {
    let mut pictures = Vec::new();
    for result in results {
        let text = host_vocab::blocks_text(&result.content);
        let text = if result.is_error && !text.to_lowercase().contains("error") {
            format!("Error: {text}")
        } else {
            text
        };
        out.push(json!({"role": "tool", "tool_call_id": result.call_id, "content": text}));
        for media in result.content.iter().filter_map(|block| picture(block, images)) {
            pictures.push(json!({"type": "text", "text": format!("The picture that {} gave:", result.name)}));
            pictures.push(json!({"type": "image_url", "image_url": {"url": data_url(media)}}));
        }
    }
    if !pictures.is_empty() {
        out.push(json!({"role": "user", "content": pictures}));
    }
}
