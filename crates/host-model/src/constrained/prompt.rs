//! Writing a request in schema mode.

use super::SchemaMode;
use super::examples::{self, Example};
use super::relevance::choose;
use super::shape::{self, RESPOND};
use crate::link::Link;
use host_ports::model::{AssistantPart, Message, ModelRequest, ToolSpec};
use host_vocab::blocks_text;
use host_vocab::text::{head_tail, one_line};
use serde_json::{Value, json};
use std::collections::HashSet;

/// After so many answered calls in one turn a small model may only answer.
const SMALL_CALLS_MAX: usize = 6;
/// The most tools with examples in the large form.
const EXAMPLES_MAX: usize = 3;

/// A tool that is offered.
struct Offered<'a> {
    tool: &'a ToolSpec,
    arguments: Value,
}

/// The body, and what there is to say about it.
pub(crate) fn write(
    link: &Link,
    request: &ModelRequest,
    mode: &SchemaMode,
    notes: &mut Vec<String>,
) -> Value {
    let (past, turn) = split(&request.messages);
    let question = question(turn);
    let offered = offer(request, turn, &question, mode, notes);
    if mode.system_chars_max < request.system.chars().count() {
        notes.push(format!(
            "{}:{} is a small model: the system prompt is cut to {} characters and earlier turns to {}",
            link.provider, link.model, mode.system_chars_max, mode.history_chars_max
        ));
    }
    let mut messages = Vec::new();
    let say = |messages: &mut Vec<Value>, role: &str, text: String| {
        messages.push(json!({"role": role, "content": text}))
    };
    let system = cut(&request.system, mode.system_chars_max);
    if offered.is_empty() {
        if !system.is_empty() {
            say(&mut messages, "system", system);
        }
    } else {
        say(&mut messages, "system", system_text(&system, &offered, mode));
        for (tool, example) in worked(&offered, mode) {
            let Some(arguments) = example.arguments(&tool.arguments) else { continue };
            let name = &tool.tool.name;
            say(&mut messages, "user", example.ask.to_owned());
            say(&mut messages, "assistant", object(name, &arguments));
            say(&mut messages, "user", result_text(name, example.result, example.ask, mode));
            say(&mut messages, "assistant", object(RESPOND, &json!({"text": example.answer})));
        }
    }
    let plain = offered.is_empty();
    for (role, text) in earlier(past, mode.history_chars_max, plain) {
        say(&mut messages, role, text);
    }
    for (role, text) in transcript(turn, &question, mode, plain) {
        say(&mut messages, role, text);
    }
    let tokens = request.output_tokens_max.unwrap_or(u32::MAX).min(mode.output_tokens_max);
    let mut body = json!({"model": link.model, "messages": messages, "stream": true,
        "stream_options": {"include_usage": true}, "temperature": 0, "max_tokens": tokens});
    if !plain {
        let forms: Vec<(&str, Value)> = if only_answer(turn, mode) {
            Vec::new()
        } else {
            offered.iter().map(|tool| (tool.tool.name.as_str(), tool.arguments.clone())).collect()
        };
        body["response_format"] = json!({"type": "json_schema",
            "json_schema": {"name": "turn", "strict": true, "schema": shape::turn(&forms, mode)}});
    }
    body
}

/// Earlier turns, and the newest: from the newest message of the person on.
fn split(messages: &[Message]) -> (&[Message], &[Message]) {
    let at = messages.iter().rposition(|message| matches!(message, Message::User { .. })).unwrap_or(0);
    messages.split_at(at)
}

fn question(turn: &[Message]) -> String {
    match turn.first() {
        Some(Message::User { content }) => blocks_text(content),
        _ => String::new(),
    }
}

fn offer<'a>(
    request: &'a ModelRequest,
    turn: &[Message],
    question: &str,
    mode: &SchemaMode,
    notes: &mut Vec<String>,
) -> Vec<Offered<'a>> {
    let in_use: HashSet<&str> = calls(turn).map(|call| call.name.as_str()).collect();
    let (chosen, left) = choose(&request.tools, question, &in_use, mode.tools_max, mode.relevant_only);
    if !left.is_empty() {
        let names: Vec<&str> = left.iter().take(20).map(|tool| tool.name.as_str()).collect();
        let more = left.len().saturating_sub(names.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        notes.push(format!(
            "{} of {} tools go to this model, by the words of the message; left out: {}{more}",
            chosen.len(),
            request.tools.len(),
            names.join(", ")
        ));
    }
    let mut out = Vec::new();
    for tool in chosen {
        match shape::arguments(tool, mode) {
            Ok(arguments) => out.push(Offered { tool, arguments }),
            Err(why) => notes.push(format!(
                "{} can't be offered to this model: its schema {why}",
                one_line(&tool.name, 64)
            )),
        }
    }
    out
}

fn system_text(system: &str, offered: &[Offered<'_>], mode: &SchemaMode) -> String {
    let mut out = String::new();
    if !system.is_empty() {
        out.push_str(system);
        out.push_str("\n\n");
    }
    out.push_str("You answer with one JSON object: a tool call, or respond.\nTools:\n");
    for tool in offered {
        let names: Vec<&str> = tool.arguments["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
            .collect();
        let text = description(&tool.tool.description, mode);
        out.push_str(&format!("{}({}): {text}\n", tool.tool.name, names.join(", ")));
    }
    out.push_str("respond(text): Answer the user.\n");
    out
}

/// The examples, those of the most relevant tool last, where a model minds them most.
fn worked<'t, 'a>(offered: &'t [Offered<'a>], mode: &SchemaMode) -> Vec<(&'t Offered<'a>, &'static Example)> {
    let with_examples: Vec<&Offered<'_>> =
        offered.iter().filter(|tool| !examples::of(&tool.tool.name).is_empty()).take(EXAMPLES_MAX).collect();
    let each = if mode.is_small() { 2 } else { 1 };
    with_examples
        .into_iter()
        .rev()
        .flat_map(|tool| examples::of(&tool.tool.name).iter().take(each).map(move |example| (tool, example)))
        .collect()
}

fn object(tool: &str, arguments: &Value) -> String {
    // Written with spaces, as models are used to it.
    let arguments = spaced(arguments);
    format!("{{\"tool\": {}, \"arguments\": {arguments}}}", json!(tool))
}

fn spaced(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let fields: Vec<String> =
                map.iter().map(|(key, value)| format!("{}: {}", json!(key), spaced(value))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn result_text(name: &str, result: &str, question: &str, mode: &SchemaMode) -> String {
    if mode.is_small() {
        format!("Result of {name}:\n{result}\n\nAnswer this now: {}", one_line(question, 300))
    } else {
        format!("Result of {name}:\n{result}")
    }
}

/// The newest turn: calls and their results one by one, since an answer is one object.
fn transcript(
    turn: &[Message],
    question: &str,
    mode: &SchemaMode,
    plain: bool,
) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    let mut open: Vec<(String, String)> = Vec::new();
    for message in turn {
        match message {
            Message::User { content } => out.push(("user", blocks_text(content))),
            Message::Assistant { parts } => {
                open.clear();
                for part in parts {
                    match part {
                        AssistantPart::Call(call) => {
                            let arguments = crate::content::arguments_object(&call.arguments);
                            open.push((call.id.clone(), object(&call.name, &arguments)));
                        }
                        AssistantPart::Text { text } if !text.is_empty() => {
                            out.push(("assistant", answer(text, plain)))
                        }
                        _ => {}
                    }
                }
            }
            Message::ToolResults { results } => {
                for result in results {
                    if let Some((_, call)) = open.iter().find(|(id, _)| *id == result.call_id) {
                        out.push(("assistant", call.clone()));
                    }
                    let mut text = blocks_text(&result.content);
                    if result.is_error {
                        text = format!("Error: {text}");
                    }
                    let text = head_tail(&text, mode.result_bytes_max, "").text;
                    out.push(("user", result_text(&result.name, &text, question, mode)));
                }
            }
        }
    }
    out
}

/// Earlier turns: what was said, newest first until the room is used up.
fn earlier(past: &[Message], chars_max: usize, plain: bool) -> Vec<(&'static str, String)> {
    let mut room = chars_max;
    let mut out = Vec::new();
    for message in past.iter().rev() {
        let (role, text) = match message {
            Message::User { content } => ("user", blocks_text(content)),
            Message::Assistant { parts } => {
                let text: String = parts
                    .iter()
                    .filter_map(|part| {
                        if let AssistantPart::Text { text } = part { Some(text.as_str()) } else { None }
                    })
                    .collect();
                if text.is_empty() {
                    continue;
                }
                ("assistant", answer(&text, plain))
            }
            Message::ToolResults { .. } => continue,
        };
        let size = text.chars().count();
        if size > room {
            break;
        }
        room -= size;
        out.push((role, text));
    }
    out.reverse();
    out
}

fn answer(text: &str, plain: bool) -> String {
    if plain { text.to_owned() } else { object(RESPOND, &json!({ "text": text })) }
}

fn calls(turn: &[Message]) -> impl Iterator<Item = &host_ports::model::ToolCall> {
    turn.iter()
        .filter_map(|message| if let Message::Assistant { parts } = message { Some(parts) } else { None })
        .flatten()
        .filter_map(|part| if let AssistantPart::Call(call) = part { Some(call) } else { None })
}

/// Whether a small model goes round in circles, so that all it may do is answer.
fn only_answer(turn: &[Message], mode: &SchemaMode) -> bool {
    if !mode.is_small() {
        return false;
    }
    let made: Vec<_> = calls(turn).map(|call| (&call.name, &call.arguments)).collect();
    made.len() >= SMALL_CALLS_MAX || made.windows(2).last().is_some_and(|pair| pair[0] == pair[1])
}

fn cut(text: &str, chars_max: usize) -> String {
    text.chars().take(chars_max).collect::<String>().trim().to_owned()
}

/// A description on one line within the bound; a small model gets its first sentence.
fn description(text: &str, mode: &SchemaMode) -> String {
    let text = if mode.is_small() { text.split_inclusive(". ").next().unwrap_or("") } else { text };
    one_line(text, mode.description_chars_max)
}
