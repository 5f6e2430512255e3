//! One tool of a server, as a surface holds it.

use crate::connection::Request;
use crate::definition::{Definitions, ToolDefinition};
use crate::fault::{CallFault, ConnectError, HttpFault, line_of};
use crate::result::{self, CallResult};
use crate::round::{ROUNDS_MAX, Round, Unfinished};
use crate::server::{CallEnd, Server};
use host_ports::BoxFuture;
use host_surface::{Admitted, AnyTool, InputSchema, ToolError, ToolInfo, ToolOutput};
use host_vocab::{Effect, ToolName, text};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

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

/// How long a server that only wants to be asked again is left in peace, times the round.
const STATE_ROUND_PAUSE: Duration = Duration::from_millis(200);

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
        let schema = self.info.schema.value();
        let mut request = Request {
            remote: self.remote.clone(),
            arguments,
            round: Round::default(),
            asker: self.server.asker(&context),
            cancel: context.cancel,
            progress: context.progress,
        };
        for round in 0..=ROUNDS_MAX {
            let raw = self.server.call(&request, schema).await.map_err(|end| self.error(end))?;
            let result = result::read(&raw);
            if result.result_type != "input_required" {
                return self.finish(result);
            }
            if round < ROUNDS_MAX {
                request.round = self.next_round(&raw, &request, round).await?;
            }
        }
        let message = format!("it still wants more after {ROUNDS_MAX} rounds");
        Err(self.wants(&message))
    }

    /// What goes back to a server that wants something first.
    async fn next_round(&self, raw: &RawValue, request: &Request, round: usize) -> Result<Round, ToolError> {
        let Some(wanted) = Unfinished::read(raw) else {
            return Err(self.wants("it wants something first and does not say what"));
        };
        let Unfinished { requests, state } = wanted;
        if requests.is_empty() {
            // It only wants to be asked again: not at once, and not without end.
            let pause = STATE_ROUND_PAUSE * u32::try_from(round + 1).unwrap_or(1);
            tokio::select! {
                () = tokio::time::sleep(pause) => return Ok(Round { responses: None, state }),
                () = request.cancel.cancelled() => {}
            }
        } else {
            let responses = request.asker.round(&requests).await.map_err(|why| self.wants(&why))?;
            if !request.cancel.is_cancelled() {
                return Ok(Round { responses: Some(responses), state });
            }
        }
        let message = "the call was cancelled while the server waited for an answer";
        Err(ToolError::new(host_surface::codes::ABORTED, message))
    }

    fn wants(&self, why: &str) -> ToolError {
        let server = self.server.config.title();
        let message = format!("{server} did not finish the call: {why}");
        ToolError::new(codes::INPUT_REQUIRED, message)
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

    fn error(&self, end: CallEnd) -> ToolError {
        let server = self.server.config.title();
        let remote = text::one_line(&self.remote, 100);
        match end {
            CallEnd::Unavailable(ConnectError::Stopped) => {
                ToolError::new(host_surface::codes::ABORTED, "the call was cancelled before it was sent")
            }
            CallEnd::Unavailable(error) => {
                let refused = matches!(
                    root(&error),
                    ConnectError::Http(HttpFault::Unauthorized { .. } | HttpFault::Login(_))
                );
                let code = if refused { codes::UNAUTHORIZED } else { codes::SERVER_UNAVAILABLE };
                let message = format!("{server} is not available: {error}; nothing was sent");
                ToolError::new(code, message).retry_later()
            }
            CallEnd::Gone => ToolError::new(
                codes::TOOL_CHANGED,
                format!(
                    "{server} no longer has a tool {remote}; nothing was sent, and the next run shows its new list"
                ),
            ),
            CallEnd::Changed => ToolError::new(
                codes::TOOL_CHANGED,
                format!(
                    "{server} changed the arguments of {remote} since this run began; nothing was sent, and the next run shows the new ones"
                ),
            ),
            CallEnd::Lost(how) => self.lost(&how),
            CallEnd::Fault(fault) => self.fault(fault),
        }
    }

    fn lost(&self, how: &ConnectError) -> ToolError {
        let server = self.server.config.title();
        let message = format!("the connection to {server} was lost during the call: {how}");
        ToolError::new(codes::CONNECTION_LOST, message).effect_unknown()
    }

    fn fault(&self, fault: CallFault) -> ToolError {
        let server = self.server.config.title();
        match fault {
            CallFault::Cancelled => {
                let message = format!("the call was cancelled, and {server} was told");
                ToolError::new(host_surface::codes::ABORTED, message).effect_unknown()
            }
            CallFault::Timeout(after) => {
                let message = format!("{server} did not answer within {} ms", after.as_millis());
                ToolError::new(codes::TIMEOUT, message).effect_unknown()
            }
            CallFault::Lost | CallFault::NotSent => self.lost(&ConnectError::Http(HttpFault::Closed)),
            CallFault::Rpc { code, message } => ToolError::new(
                codes::PROTOCOL_ERROR,
                format!("{server} answered with JSON-RPC error {code}: {}", line_of(&message)),
            ),
            CallFault::Http(fault) => {
                let refused = matches!(fault, HttpFault::Unauthorized { .. } | HttpFault::Login(_));
                let message = format!("{server} could not be called: {fault}");
                match (refused, fault.nothing_happened()) {
                    (true, _) => ToolError::new(codes::UNAUTHORIZED, message),
                    (false, true) => ToolError::new(codes::SERVER_UNAVAILABLE, message).retry_later(),
                    (false, false) => ToolError::new(codes::CONNECTION_LOST, message).effect_unknown(),
                }
            }
            CallFault::TooLarge(bytes) => {
                let message = format!(
                    "the result of {server} has {bytes} bytes, over the bound of 16 MiB, and was not read; ask for less"
                );
                ToolError::new(codes::RESULT_TOO_LARGE, message).effect_unknown()
            }
            CallFault::Protocol(why) => {
                ToolError::new(codes::PROTOCOL_ERROR, format!("{server}: {why}")).effect_unknown()
            }
        }
    }
}

/// The cause under a pause.
fn root(error: &ConnectError) -> &ConnectError {
    match error {
        ConnectError::BackOff { cause, .. } | ConnectError::Quarantined { cause, .. } => root(cause),
        other => other,
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
