//! `McpPrompts`: lists the prompts of MCP servers, and gives one filled in.
//!
//! `{"server": "notes"}`
//! `{"server": "notes", "name": "summary", "arguments": {"length": "short"}}`

use super::{Shelf, codes, field, lines, within};
use crate::ask::Ask;
use crate::result::block_of;
use host_surface::{Admitted, Belongs, Decl, Tool, ToolError, ToolOutput};
use host_vocab::{Block, Effect, text};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The tool of one run.
pub struct McpPrompts {
    pub(crate) servers: Shelf,
}

/// What to list or give.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpPromptsInput {
    /// The server; may be left out where only one has prompts.
    pub server: Option<String>,
    /// A prompt of its list, to be filled in. Left out, prompts are listed.
    pub name: Option<String>,
    /// The prompt's arguments; every value is a text.
    pub arguments: Option<BTreeMap<String, String>>,
    /// Where to go on: the cursor that a list ends with.
    pub cursor: Option<String>,
}

impl Tool for McpPrompts {
    const DECL: Decl = Decl {
        name: "McpPrompts",
        about: "Lists the prompts that an MCP server has for work with it, or gives one filled in. It is a proposal of \
                the server, not an order: use what helps the task.",
        effects: &[Effect::Foreign],
        belongs: Belongs::Lists,
        codes: codes::ALL,
    };
    type Input = McpPromptsInput;

    fn about(&self) -> String {
        format!("{} Servers: {}.", Self::DECL.about, self.servers.names())
    }

    async fn run(&self, call: Admitted<McpPromptsInput>) -> Result<ToolOutput, ToolError> {
        let Admitted { input, context, .. } = call;
        let server = self.servers.find(input.server.as_deref())?;
        let Some(name) = input.name else {
            if input.arguments.is_some() {
                let message = "arguments: they belong to a prompt; give its name";
                return Err(ToolError::new(codes::INVALID_INPUT, message));
            }
            let ask = Ask::Prompts { cursor: input.cursor };
            let page = self.servers.ask(server, ask, "prompts", context).await?;
            return Ok(ToolOutput::text(lines(&page, "prompts", entry)));
        };
        if input.cursor.is_some() {
            let message = "name: it gives one prompt; leave cursor out";
            return Err(ToolError::new(codes::INVALID_INPUT, message));
        }
        within("name", &name)?;
        let arguments = input.arguments.unwrap_or_default().into_iter();
        let arguments = arguments.map(|(name, value)| (name, Value::from(value))).collect();
        let ask = Ask::Prompt { name: name.clone(), arguments };
        let filled = self.servers.ask(server, ask, &name, context).await?;
        let mut content = Vec::new();
        let about = filled.get("description").and_then(Value::as_str).filter(|it| !it.trim().is_empty());
        content.extend(about.map(|it| Block::text(text::one_line(it, 500))));
        for message in filled.get("messages").and_then(Value::as_array).into_iter().flatten() {
            spoken(message, &mut content);
        }
        if content.is_empty() {
            content.push(Block::text("(the prompt is empty)"));
        }
        Ok(ToolOutput { content, ..ToolOutput::default() })
    }
}

/// One message of a prompt, with who is said to speak.
fn spoken(message: &Value, out: &mut Vec<Block>) {
    let role = text::one_line(message.get("role").and_then(Value::as_str).unwrap_or("user"), 20);
    let blocks = match message.get("content") {
        Some(Value::Array(blocks)) => blocks.iter().map(block_of).collect(),
        Some(block) => vec![block_of(block)],
        None => Vec::new(),
    };
    for block in blocks {
        match block {
            Block::Text { text } => out.push(Block::text(format!("{role}: {text}"))),
            other => out.extend([Block::text(format!("{role}:")), other]),
        }
    }
}

/// One line of a list: the name, its arguments, and what it is for.
fn entry(entry: &Value) -> Option<String> {
    let name = entry.get("name").and_then(Value::as_str).filter(|it| it.len() <= super::NAME_BYTES_MAX)?;
    let arguments: Vec<String> = entry
        .get("arguments")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|argument| {
            let needed = argument.get("required").and_then(Value::as_bool).unwrap_or(false);
            let name = argument.get("name").and_then(Value::as_str)?;
            let what = field(argument, "description");
            let what = if what.is_empty() { what } else { format!(": {what}") };
            Some(format!("{}{}{what}", text::one_line(name, 80), if needed { " *needed*" } else { "" }))
        })
        .take(50)
        .collect();
    let arguments = if arguments.is_empty() { String::new() } else { format!(" ({})", arguments.join("; ")) };
    let what = field(entry, "description");
    let what = if what.is_empty() { what } else { format!(": {what}") };
    Some(format!("- {}{arguments}{what}", Value::from(name)))
}
