//! One tool of a server, as a surface holds it.

use crate::ask::Ask;
use crate::call::Caller;
use crate::definition::{Definitions, ToolDefinition};
use crate::result::{self, CallResult};
use crate::server::Server;
use host_ports::BoxFuture;
use host_surface::{Admitted, AnyTool, InputSchema, ToolError, ToolInfo, ToolOutput};
use host_vocab::{Effect, ToolName, text};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The codes that a server's tool can fail with, besides the gate's own.
pub mod codes {
    /// The server says that the tool failed (`isError`).
    pub const TOOL_ERROR: &str = "tool_error";
    /// There is no connection; nothing was sent.
    pub const SERVER_UNAVAILABLE: &str = "mcp_server_unavailable";
    /// The server refuses the credential; nothing ran.
    pub const UNAUTHORIZED: &str = "mcp_unauthorized";
    /// No answer within the bound; the outcome is unknown.
    pub const TIMEOUT: &str = "mcp_timeout";
    /// The connection broke with the call in flight; the outcome is unknown.
    pub const CONNECTION_LOST: &str = "mcp_connection_lost";
    /// A JSON-RPC error, or an answer that is not of the protocol.
    pub const PROTOCOL_ERROR: &str = "mcp_protocol_error";
    /// The result is over the bound; the call ran.
    pub const RESULT_TOO_LARGE: &str = "mcp_result_too_large";
    /// The tool is gone or takes other arguments than when the run began; nothing was sent.
    pub const TOOL_CHANGED: &str = "mcp_tool_changed";
    /// The server wants something of a person first, and nobody can be asked.
    pub const INPUT_REQUIRED: &str = "mcp_input_required";

    /// All of them.
    pub const ALL: &[&str] = &[
        TOOL_ERROR,
        SERVER_UNAVAILABLE,
        UNAUTHORIZED,
        TIMEOUT,
        CONNECTION_LOST,
        PROTOCOL_ERROR,
        RESULT_TOO_LARGE,
        TOOL_CHANGED,
        INPUT_REQUIRED,
    ];
}

/// The longest description that is passed on, in bytes.
const DESCRIPTION_BYTES_MAX: usize = 8 * 1024;
/// How much of a server's usage instructions each of its tools carries, in bytes.
const INSTRUCTION_BYTES_MAX: usize = 600;
/// How much of them the first one carries.
const FIRST_INSTRUCTION_BYTES_MAX: usize = 4 * 1024;

/// A server's tool.
pub(crate) struct McpTool {
    info: ToolInfo,
    remote: String,
    server: Arc<Server>,
}

impl McpTool {
    pub(crate) fn new(
        server: &Arc<Server>,
        definitions: &Definitions,
        tool: &ToolDefinition,
        name: ToolName,
        first: bool,
    ) -> Self {
        let plugin = server.config.own_names.is_some();
        let info = ToolInfo {
            name,
            description: description(server, definitions, tool, first),
            schema: InputSchema::shared(Arc::clone(&tool.input_schema)),
            effects: vec![Effect::Foreign],
            // A plugin's tool answers to the lists by its own name, like ours (LIB-2).
            server: (!plugin).then(|| server.config.name.clone()),
            listed: plugin,
            no_deadline: false,
        };
        McpTool { info, remote: tool.name.clone(), server: Arc::clone(server) }
    }

    async fn run(&self, call: Admitted<Value>) -> Result<ToolOutput, ToolError> {
        let Admitted { input, context, .. } = call;
        let arguments = match input {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        let ask = Ask::Tool { remote: self.remote.clone(), arguments };
        let caller = Caller { server: &self.server, remote: &self.remote };
        let raw = caller.complete(ask, Some(self.info.schema.value()), context).await?;
        self.finish(result::read(&raw))
    }

    fn finish(&self, result: CallResult) -> Result<ToolOutput, ToolError> {
        let server = self.server.config.title();
        match result.result_type.as_str() {
            "complete" if result.is_error => {
                let empty = result.output.content.is_empty() && result.output.structured.is_none();
                let message =
                    if empty { format!("the tool of {server} failed without a word") } else { String::new() };
                Err(ToolError::new(codes::TOOL_ERROR, message).with_partial(result.output))
            }
            "complete" => Ok(result.output),
            other => Err(ToolError::new(
                codes::PROTOCOL_ERROR,
                format!(
                    "{server} answered with a result of the unknown kind {:?}",
                    text::one_line(other, 60)
                ),
            )
            .effect_unknown()
            .with_partial(result.output)),
        }
    }
}

impl AnyTool for McpTool {
    fn info(&self) -> &ToolInfo {
        &self.info
    }

    fn call(&self, call: Admitted<Value>) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(call))
    }
}

/// What the model is told: the server's words, bounded and said to be the server's.
fn description(server: &Server, definitions: &Definitions, tool: &ToolDefinition, first: bool) -> String {
    let name = server.config.title();
    let title = || tool.rest.get("title").and_then(Value::as_str).unwrap_or_default();
    let own = if tool.description.trim().is_empty() { title() } else { &tool.description };
    let mut out = text::printable(text::prefix(own.trim(), DESCRIPTION_BYTES_MAX));
    if out.is_empty() {
        out = format!("The tool {} of {name}.", text::one_line(&tool.name, 100));
    }
    let instructions = definitions.instructions.trim();
    if !instructions.is_empty() {
        let bytes_max = if first { FIRST_INSTRUCTION_BYTES_MAX } else { INSTRUCTION_BYTES_MAX };
        let kept = text::printable(text::prefix(instructions, bytes_max));
        let cut = if instructions.len() > bytes_max { " […]" } else { "" };
        out.push_str(&format!("\n\nUsage notes of {name}: {kept}{cut}"));
    }
    out
}
