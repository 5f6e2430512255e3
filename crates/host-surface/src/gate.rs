//! The gate: every call of every tool, in named steps.
//!
//! lookup → parse and check against the schema → approve → record the start → run under deadline and
//! cancellation → bound → record the end. A step that can't decide refuses; there is no way from an error
//! to permission, and nothing but [`record`] records calls.

mod admission;
mod approval;
mod record;

use crate::admitted::{Admitted, CallContext, ProgressSink};
use crate::bound::bound;
use crate::settled::{How, Settled};
use crate::surface::{Sealed, Surface};
use crate::tool::{EffectState, ToolError, ToolOutput};
use admission::admit;
use approval::approve;
use futures_util::FutureExt as _;
use host_ports::CancellationToken;
use host_ports::ask::Ask;
use host_ports::kept::KeptOutput;
use host_ports::log::Recorder;
use host_vocab::{Block, CallId, Code};
use record::{record_end, record_start, refuse};
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The gate's own codes. A tool's declared codes come on top.
pub mod codes {
    /// It did what it was asked.
    pub const OK: &str = "ok";
    /// No tool of that name exists for this run.
    pub const UNKNOWN_TOOL: &str = "unknown_tool";
    /// The tool exists, but this run doesn't have it.
    pub const TOOL_DENIED: &str = "tool_denied";
    /// The arguments are no JSON object or break the schema.
    pub const INVALID_ARGUMENTS: &str = "invalid_arguments";
    /// A rule denies this call.
    pub const APPROVAL_DENIED: &str = "approval_denied";
    /// The start could not be recorded, so nothing ran.
    pub const NOT_RECORDED: &str = "not_recorded";
    /// The turn was cancelled.
    pub const ABORTED: &str = "aborted";
    /// The gate's deadline passed.
    pub const DEADLINE_EXCEEDED: &str = "deadline_exceeded";
    /// The tool broke: a fault of the host.
    pub const INTERNAL_ERROR: &str = "internal_error";

    /// All of them.
    pub const ALL: &[&str] = &[
        OK,
        UNKNOWN_TOOL,
        TOOL_DENIED,
        INVALID_ARGUMENTS,
        APPROVAL_DENIED,
        NOT_RECORDED,
        ABORTED,
        DEADLINE_EXCEEDED,
        INTERNAL_ERROR,
    ];
}

/// How long a tool that was told to stop may take to answer before it is dropped.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// What the gate itself needs of the world.
#[derive(Clone)]
pub struct GatePorts {
    /// Where calls are recorded. Without one (measurements alone) nothing is.
    pub recorder: Option<Recorder>,
    /// Who is asked.
    pub ask: Arc<dyn Ask>,
    /// Where large results are kept.
    pub keep: Arc<dyn KeptOutput>,
    /// The longest that any call may take; tools have shorter bounds of their own.
    pub deadline: Duration,
}

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// As a model wrote them; may be no JSON.
    Raw(String),
    /// As a value.
    Value(Value),
}

/// One request to one tool.
#[derive(Clone)]
pub struct CallRequest {
    /// The call's id, as the provider named it.
    pub id: CallId,
    /// The name as the model wrote it.
    pub name: String,
    /// The arguments.
    pub arguments: Arguments,
    /// Fires when the turn is cancelled.
    pub cancel: CancellationToken,
    /// Where progress goes.
    pub progress: ProgressSink,
}

impl CallRequest {
    /// A request that nobody cancels.
    pub fn new(name: impl Into<String>, arguments: Value) -> Self {
        CallRequest {
            id: CallId::fresh(),
            name: name.into(),
            arguments: Arguments::Value(arguments),
            cancel: CancellationToken::new(),
            progress: ProgressSink::default(),
        }
    }
}

/// A call that was refused before it started.
struct Refused {
    code: &'static str,
    by: &'static str,
    why: String,
}

fn cancelled() -> Refused {
    let why = "the turn was cancelled before the call began".to_owned();
    Refused { code: codes::ABORTED, by: "cancelled", why }
}

/// Takes one call through all steps.
pub(crate) async fn pass(surface: &Surface, request: CallRequest) -> Settled {
    let scope = surface.scope().call(&request.id);
    let (sealed, arguments) = match admit(surface, &request) {
        Ok(admitted) => admitted,
        Err(refused) => return refuse(surface, &scope, &request, refused).await,
    };
    let rule = match approve(surface, &scope, sealed, &request, &arguments).await {
        Ok(rule) => rule,
        Err(refused) => return refuse(surface, &scope, &request, refused).await,
    };
    if request.cancel.is_cancelled() {
        return refuse(surface, &scope, &request, cancelled()).await;
    }
    if let Err(refused) = record_start(surface, &scope, sealed, &request, &arguments, rule.clone()).await {
        return refuse(surface, &scope, &request, refused).await;
    }
    let begun = Instant::now();
    let result = run(surface, sealed, &request, arguments).await;
    let mut settled = settle(surface, &request, result, begun.elapsed());
    settled.rule = Some(rule);
    record_end(surface, &scope, sealed, settled).await
}

/// Runs the tool under the deadline and the turn's cancellation. A tool that was told to stop has a short
/// grace to answer; after that it is dropped, and what it did is only known if it can do nothing.
async fn run(
    surface: &Surface,
    sealed: &Sealed,
    request: &CallRequest,
    arguments: Value,
) -> Result<ToolOutput, ToolError> {
    let info = sealed.tool.info();
    let stop = request.cancel.child_token();
    let context = CallContext {
        conversation: surface.facts.conversation.clone(),
        run: surface.facts.run.clone(),
        call: request.id.clone(),
        cancel: stop.clone(),
        progress: request.progress.clone(),
    };
    // As with askers: a tool of another crate may break before it gives its future.
    let call = AssertUnwindSafe(async { sealed.tool.call(Admitted::new(arguments, context)).await });
    let call = call.catch_unwind();
    tokio::pin!(call);
    let deadline = async {
        if info.no_deadline {
            std::future::pending().await
        } else {
            tokio::time::sleep(surface.ports.deadline).await
        }
    };
    let (code, what) = tokio::select! {
        biased;
        answer = &mut call => return answer.unwrap_or_else(|_| Err(broke(info.harmless()))),
        () = request.cancel.cancelled() => (codes::ABORTED, "the turn was cancelled".to_owned()),
        () = deadline => (codes::DEADLINE_EXCEEDED, format!("the call took longer than {:?}", surface.ports.deadline)),
    };
    stop.cancel();
    if let Ok(answer) = tokio::time::timeout(STOP_GRACE, &mut call).await {
        return answer.unwrap_or_else(|_| Err(broke(info.harmless())));
    }
    let error = ToolError::new(code, what);
    Err(if info.harmless() { error } else { error.effect_unknown() })
}

fn broke(harmless: bool) -> ToolError {
    let error = ToolError::new(codes::INTERNAL_ERROR, "the tool broke; this is a fault of the host");
    if harmless { error } else { error.effect_unknown() }
}

/// From a result to one of the ends, bounded.
fn settle(
    surface: &Surface,
    request: &CallRequest,
    result: Result<ToolOutput, ToolError>,
    took: Duration,
) -> Settled {
    let (how, code, output) = match result {
        Ok(output) => (How::Done, Code::new(codes::OK), output),
        Err(error) => {
            let how = match error.effect {
                EffectState::Known => How::Failed,
                EffectState::Unknown => How::Unknown,
            };
            let mut output = error.partial.map(|it| *it).unwrap_or_default();
            let note = match how {
                How::Unknown => " (the outcome is unknown: it may have happened; check before you try again)",
                _ => "",
            };
            if !error.message.is_empty() {
                output.content.insert(0, Block::text(format!("{}{note}", error.message)));
            }
            (how, error.code, output)
        }
    };
    let outcome = output.outcome.clone();
    let bounded = bound(output, &surface.facts.run, &request.id, surface.ports.keep.as_ref());
    Settled {
        how,
        code,
        content: bounded.content,
        structured: bounded.structured,
        outcome,
        duration: took,
        original_bytes: bounded.original_bytes,
        truncated: bounded.truncated,
        kept: bounded.kept,
        recorded: true,
        rule: None,
    }
}
