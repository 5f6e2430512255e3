//! One call of a server, whatever it asks: its rounds, and what its failure means to a model.

use crate::ask::{Ask, Request};
use crate::fault::{CallFault, ConnectError, HttpFault, line_of};
use crate::round::{ROUNDS_MAX, Round, Unfinished};
use crate::server::{CallEnd, Server};
use crate::tool::codes;
use host_surface::{CallContext, ToolError};
use host_vocab::text;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;

/// How long a server that only wants to be asked again is left in peace, times the round.
const STATE_ROUND_PAUSE: Duration = Duration::from_millis(200);

/// A server that is called.
pub(crate) struct Caller<'a> {
    pub(crate) server: &'a Arc<Server>,
    /// The server's own name of what is called, for messages.
    pub(crate) remote: &'a str,
}

impl Caller<'_> {
    /// Asks, and answers what the server wants first, up to ten rounds (MCP-14). `schema` is the one that a tool's
    /// arguments were checked against.
    ///
    /// # Errors
    /// For the model.
    pub(crate) async fn complete(
        &self,
        ask: Ask,
        schema: Option<&Value>,
        context: CallContext,
    ) -> Result<Box<RawValue>, ToolError> {
        let mut request = Request {
            ask,
            round: Round::default(),
            asker: self.server.asker(&context),
            cancel: context.cancel,
            progress: context.progress,
        };
        for round in 0..=ROUNDS_MAX {
            let raw = self.server.call(&request, schema).await.map_err(|end| self.error(end))?;
            if !is_unfinished(&raw) {
                return Ok(raw);
            }
            if round < ROUNDS_MAX {
                request.round = self.next_round(&raw, &request, round).await?;
            }
        }
        Err(self.wants(&format!("it still wants more after {ROUNDS_MAX} rounds")))
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

    fn error(&self, end: CallEnd) -> ToolError {
        let server = self.server.config.title();
        let remote = text::one_line(self.remote, 100);
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

/// Whether a result is one of the newest revision that wants something first.
fn is_unfinished(raw: &RawValue) -> bool {
    #[derive(serde::Deserialize)]
    struct Kind {
        #[serde(rename = "resultType", default)]
        result_type: Option<Value>,
    }
    // Hardly any result has the word in it, and then there is nothing to parse.
    memchr::memmem::find(raw.get().as_bytes(), b"input_required").is_some()
        && serde_json::from_str::<Kind>(raw.get())
            .is_ok_and(|kind| kind.result_type.as_ref().and_then(Value::as_str) == Some("input_required"))
}

/// The cause under a pause.
fn root(error: &ConnectError) -> &ConnectError {
    match error {
        ConnectError::BackOff { cause, .. } | ConnectError::Quarantined { cause, .. } => root(cause),
        other => other,
    }
}
