//! Writing a request.

use super::thinking::{self, Thinking};
use crate::content::{arguments_object, own_reasoning, picture, plain_id};
use crate::link::Link;
use crate::schema::Projection;
use host_ports::model::{AssistantPart, Message, ModelRequest};
use host_vocab::Block;
use serde_json::{Map, Value, json};

/// The whole body. Tools, system prompt and newest message each end with a cache mark.
pub(super) fn body(
    link: &Link,
    request: &ModelRequest,
    tools: &Projection,
    notes: &mut Vec<String>,
) -> Value {
    let mut plan = thinking::plan(&link.model, request.effort, &request.messages, &link.provider, notes);
    let max_tokens = thinking::output_tokens(&link.model, request.output_tokens_max, plan);
    if let Thinking::Budget(budget) = plan {
        plan = thinking::fitting_budget(budget, max_tokens).map_or(Thinking::Off, Thinking::Budget);
    }
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(link.model));
    body.insert("max_tokens".to_owned(), json!(max_tokens));
    body.insert("stream".to_owned(), json!(true));
    if !request.system.trim().is_empty() {
        body.insert("system".to_owned(), json!([marked(json!({"type": "text", "text": request.system}))]));
    }
    if !tools.tools.is_empty() {
        let mut list: Vec<Value> = tools
            .tools
            .iter()
            .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema}))
            .collect();
        if let Some(last) = list.last_mut() {
            *last = marked(last.take());
        }
        body.insert("tools".to_owned(), Value::Array(list));
    }
    match plan {
        Thinking::Unsaid => {}
        Thinking::Off => {
            body.insert("thinking".to_owned(), json!({"type": "disabled"}));
        }
        Thinking::Budget(tokens) => {
            body.insert("thinking".to_owned(), json!({"type": "enabled", "budget_tokens": tokens}));
        }
        Thinking::Adaptive(effort) => {
            body.insert("thinking".to_owned(), json!({"type": "adaptive"}));
            body.insert("output_config".to_owned(), json!({"effort": crate::effort::name(effort)}));
        }
    }
    body.insert("messages".to_owned(), messages(link, &request.messages));
    Value::Object(body)
}

fn marked(mut block: Value) -> Value {
    if let Value::Object(object) = &mut block {
        object.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
    block
}

/// The conversation: neighbours of one role become one message, results come first in theirs.
fn messages(link: &Link, messages: &[Message]) -> Value {
    let mut out: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            Message::User { content } => ("user", user(content, link.images)),
            Message::Assistant { parts } => ("assistant", assistant(parts, &link.provider)),
            Message::ToolResults { results } => {
                let blocks = results.iter().map(|result| {
                    json!({
                        "type": "tool_result",
                        "tool_use_id": plain_id(&result.call_id),
                        "content": user(&result.content, link.images),
                        "is_error": result.is_error,
                    })
                });
                ("user", blocks.collect())
            }
        };
        match out.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, known)) if *last == role => known.extend(blocks),
            _ => out.push((role, blocks)),
        }
    }
    if let Some(("user", blocks)) = out.last_mut()
        && let Some(last) = blocks.last_mut()
    {
        *last = marked(last.take());
    }
    Value::Array(out.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect())
}

/// Empty text blocks are refused by the API, so they are left out.
fn user(blocks: &[Block], images: bool) -> Vec<Value> {
    let mut out = Vec::new();
    for block in blocks {
        if let Some(media) = picture(block, images) {
            let source = json!({"type": "base64", "media_type": media.mime_type, "data": media.data});
            out.push(json!({"type": "image", "source": source}));
            continue;
        }
        let text = block.describe();
        if !text.trim().is_empty() {
            out.push(json!({"type": "text", "text": text}));
        }
    }
    out
}

fn assistant(parts: &[AssistantPart], provider: &str) -> Vec<Value> {
    let mut out = Vec::new();
    for part in parts {
        match part {
            AssistantPart::Text { text } if text.trim().is_empty() => {}
            AssistantPart::Text { text } => out.push(json!({"type": "text", "text": text})),
            AssistantPart::Reasoning { .. } => out.extend(own_reasoning(part, provider).cloned()),
            AssistantPart::Call(call) => out.push(json!({
                "type": "tool_use",
                "id": plain_id(&call.id),
                "name": call.name,
                "input": arguments_object(&call.arguments),
            })),
        }
    }
    // A message that would hold nothing but thinking is refused.
    if out.iter().all(|block| matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))) {
        out.clear();
    }
    out
}
