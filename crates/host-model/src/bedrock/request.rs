//! Writing a request.

use crate::anthropic::thinking::{self, Thinking};
use crate::content::{arguments_object, own_reasoning, picture, plain_id};
use crate::effort;
use crate::link::Link;
use crate::schema::Projection;
use host_ports::model::{AssistantPart, Message, ModelRequest};
use host_vocab::Block;
use serde_json::{Map, Value, json};

/// The whole body.
pub(super) fn body(
    link: &Link,
    request: &ModelRequest,
    tools: &Projection,
    notes: &mut Vec<String>,
) -> Value {
    let claude = link.model.contains("claude");
    let caches = claude || link.model.contains("nova");
    let mut body = Map::new();
    if !request.system.trim().is_empty() {
        let mut system = vec![json!({"text": request.system})];
        system.extend(caches.then(cache_point));
        body.insert("system".to_owned(), Value::Array(system));
    }
    body.insert("messages".to_owned(), messages(link, &request.messages, caches));
    if !tools.tools.is_empty() {
        let mut list: Vec<Value> = tools
            .tools
            .iter()
            .map(|tool| {
                // An empty description is refused.
                let description = if tool.description.trim().is_empty() { &tool.name } else { &tool.description };
                json!({"toolSpec": {"name": tool.name, "description": description, "inputSchema": {"json": tool.schema}}})
            })
            .collect();
        list.extend(claude.then(cache_point));
        body.insert("toolConfig".to_owned(), json!({ "tools": list }));
    }
    let plan = if claude {
        thinking::plan(&link.model, request.effort, &request.messages, &link.provider, notes)
    } else {
        if let Some(asked) = request.effort {
            effort::nearest(asked, &[], &link.model, notes);
        }
        Thinking::Unsaid
    };
    limits(&mut body, link, request, plan, claude);
    Value::Object(body)
}

fn limits(
    body: &mut Map<String, Value>,
    link: &Link,
    request: &ModelRequest,
    mut plan: Thinking,
    claude: bool,
) {
    if claude {
        let max_tokens = thinking::output_tokens(&link.model, request.output_tokens_max, plan);
        if let Thinking::Budget(budget) = plan {
            plan = thinking::fitting_budget(budget, max_tokens).map_or(Thinking::Off, Thinking::Budget);
        }
        body.insert("inferenceConfig".to_owned(), json!({ "maxTokens": max_tokens }));
    } else if let Some(max) = request.output_tokens_max {
        body.insert("inferenceConfig".to_owned(), json!({ "maxTokens": max }));
    }
    let fields = match plan {
        Thinking::Unsaid | Thinking::Off => return,
        Thinking::Budget(tokens) => json!({"thinking": {"type": "enabled", "budget_tokens": tokens}}),
        Thinking::Adaptive(level) => {
            json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": effort::name(level)}})
        }
    };
    body.insert("additionalModelRequestFields".to_owned(), fields);
}

fn cache_point() -> Value {
    json!({"cachePoint": {"type": "default"}})
}

fn messages(link: &Link, messages: &[Message], caches: bool) -> Value {
    let mut out: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            Message::User { content } => ("user", user(content, link.images)),
            Message::Assistant { parts } => ("assistant", assistant(parts, &link.provider)),
            Message::ToolResults { results } => {
                let blocks = results.iter().map(|result| {
                    let mut content = user(&result.content, link.images);
                    if content.is_empty() {
                        content.push(json!({"text": "(nothing)"}));
                    }
                    let status = if result.is_error { "error" } else { "success" };
                    json!({"toolResult": {"toolUseId": plain_id(&result.call_id), "content": content, "status": status}})
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
    if let Some(("user", blocks)) = out.last_mut().filter(|_| caches) {
        blocks.push(cache_point());
    }
    Value::Array(out.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect())
}

fn user(blocks: &[Block], images: bool) -> Vec<Value> {
    let mut out = Vec::new();
    for block in blocks {
        if let Some(media) = picture(block, images) {
            let format = media.mime_type.rsplit('/').next().unwrap_or("png");
            out.push(json!({"image": {"format": format, "source": {"bytes": media.data}}}));
            continue;
        }
        let text = block.describe();
        if !text.trim().is_empty() {
            out.push(json!({ "text": text }));
        }
    }
    out
}

fn assistant(parts: &[AssistantPart], provider: &str) -> Vec<Value> {
    let mut out = Vec::new();
    for part in parts {
        match part {
            AssistantPart::Text { text } if text.trim().is_empty() => {}
            AssistantPart::Text { text } => out.push(json!({ "text": text })),
            AssistantPart::Reasoning { .. } => {
                out.extend(own_reasoning(part, provider).map(|raw| json!({ "reasoningContent": raw })));
            }
            AssistantPart::Call(call) => out.push(json!({"toolUse": {
                "toolUseId": plain_id(&call.id),
                "name": call.name,
                "input": arguments_object(&call.arguments),
            }})),
        }
    }
    if out.iter().all(|block| block.get("reasoningContent").is_some()) {
        out.clear();
    }
    out
}
