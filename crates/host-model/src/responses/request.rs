//! Writing a request.

use crate::chat::request::{is_reasoning, openai_levels};
use crate::content::{data_url, own_reasoning, picture};
use crate::effort::{name, nearest};
use crate::link::Link;
use crate::schema::Projection;
use host_ports::model::{AssistantPart, Effort, Message, ModelRequest, ToolResult};
use host_vocab::Block;
use serde_json::{Map, Value, json};

/// The whole body.
pub(super) fn body(
    link: &Link,
    request: &ModelRequest,
    tools: &Projection,
    notes: &mut Vec<String>,
) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(link.model));
    if !request.system.trim().is_empty() {
        body.insert("instructions".to_owned(), json!(request.system));
    }
    body.insert("input".to_owned(), input(link, &request.messages));
    if !tools.tools.is_empty() {
        let list: Vec<Value> = tools
            .tools
            .iter()
            .map(|tool| {
                json!({"type": "function", "name": tool.name, "description": tool.description,
                    "parameters": tool.schema, "strict": false})
            })
            .collect();
        body.insert("tools".to_owned(), Value::Array(list));
    }
    body.insert("stream".to_owned(), json!(true));
    body.insert("store".to_owned(), json!(false));
    if is_reasoning(&link.model) {
        // Models that don't think refuse to be asked for encrypted reasoning.
        body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
        let level =
            request.effort.and_then(|effort| nearest(effort, openai_levels(&link.model), &link.model, notes));
        let mut reasoning = json!({"summary": "auto"});
        if let Some(level) = level {
            reasoning["effort"] = json!(name(level));
        }
        body.insert("reasoning".to_owned(), reasoning);
    } else if let Some(effort) = request.effort.filter(|effort| *effort != Effort::None) {
        nearest(effort, &[], &link.model, notes);
    }
    if let Some(max) = request.output_tokens_max {
        body.insert("max_output_tokens".to_owned(), json!(max.max(16)));
    }
    if let Some(key) = &request.cache_key {
        body.insert("prompt_cache_key".to_owned(), json!(key));
    }
    Value::Object(body)
}

fn input(link: &Link, messages: &[Message]) -> Value {
    let mut out = Vec::new();
    for message in messages {
        match message {
            Message::User { content } => {
                out.push(json!({"role": "user", "content": content_of(content, link.images)}));
            }
            Message::Assistant { parts } => out.extend(assistant(parts, &link.provider)),
            Message::ToolResults { results } => {
                out.extend(results.iter().map(|result| answer(result, link.images)))
            }
        }
    }
    Value::Array(out)
}

fn content_of(blocks: &[Block], images: bool) -> Vec<Value> {
    blocks
        .iter()
        .map(|block| match picture(block, images) {
            Some(media) => json!({"type": "input_image", "image_url": data_url(media)}),
            None => json!({"type": "input_text", "text": block.describe()}),
        })
        .collect()
}

fn assistant(parts: &[AssistantPart], provider: &str) -> Vec<Value> {
    let mut out = Vec::new();
    for part in parts {
        match part {
            AssistantPart::Text { text } if text.is_empty() => {}
            AssistantPart::Text { text } => out.push(json!({"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": text}]})),
            AssistantPart::Reasoning { .. } => out.extend(own_reasoning(part, provider).cloned()),
            AssistantPart::Call(call) => {
                let arguments = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
                out.push(json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}));
            }
        }
    }
    // The API refuses reasoning that nothing follows.
    while out.last().is_some_and(|item| item["type"] == "reasoning") {
        out.pop();
    }
    out
}

fn answer(result: &ToolResult, images: bool) -> Value {
    let pictures = result.content.iter().any(|block| picture(block, images).is_some());
    let output = if pictures {
        Value::Array(content_of(&result.content, images))
    } else {
        let text = host_vocab::blocks_text(&result.content);
        let said = text.to_lowercase().contains("error");
        json!(if result.is_error && !said { format!("Error: {text}") } else { text })
    };
    json!({"type": "function_call_output", "call_id": result.call_id, "output": output})
}
