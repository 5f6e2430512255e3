//! The gate: every call of every tool, in named steps.
//!
//! lookup → parse and check against the schema → approve → record the start → run under deadline and
//! cancellation → bound → record the end. A step that can't decide refuses; there is no way from an error
//! to permission, and nothing but this file records calls.

use crate::admitted::{Admitted, CallContext, ProgressSink};
use crate::bound::bound;
use crate::settled::{How, Settled};
use crate::source::WithheldBy;
use crate::surface::{Sealed, Surface};
use crate::tool::{EffectState, ToolError, ToolOutput};
use futures_util::FutureExt as _;
use host_event::{Fact, Scope};
use host_policy::Approval;
use host_ports::CancellationToken;
use host_ports::ask::{ApprovalAnswer, ApprovalRequest, Ask};
use host_ports::kept::KeptOutput;
use host_ports::log::Recorder;
use host_vocab::limits::ARGUMENT_BYTES_MAX;
use host_vocab::{Block, CallId, Code, Untrusted, text};
use serde_json::{Value, json};
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
/// How much of the arguments the log keeps, in bytes.
const RECORDED_ARGUMENT_BYTES_MAX: usize = 64 * 1024;

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
    if let Err(refused) = record_start(surface, &scope, sealed, &request, &arguments, rule).await {
        return refuse(surface, &scope, &request, refused).await;
    }
    let begun = Instant::now();
    let result = run(surface, sealed, &request, arguments).await;
    let settled = settle(surface, &request, result, begun.elapsed());
    record_end(surface, &scope, sealed, settled).await
}

/// Lookup and schema: the tool, and arguments that fit it.
fn admit<'a>(surface: &'a Surface, request: &CallRequest) -> Result<(&'a Sealed, Value), Refused> {
    let sealed = look_up(surface, &request.name)?;
    let arguments = parse(&request.arguments)?;
    sealed.tool.info().schema.check(&arguments).map_err(|problems| {
        let list: Vec<String> = problems
            .iter()
            .map(|p| {
                let place = if p.path.is_empty() { String::new() } else { format!(" at {}", p.path) };
                format!("arguments{place}: {}", p.expected)
            })
            .collect();
        Refused { code: codes::INVALID_ARGUMENTS, by: "schema", why: list.join("; ") }
    })?;
    Ok((sealed, arguments))
}

/// A name is exact: an alias, another case or a server's own name reaches nothing (TOO-8).
fn look_up<'a>(surface: &'a Surface, name: &str) -> Result<&'a Sealed, Refused> {
    if let Some(sealed) = surface.tools.get(name) {
        return Ok(sealed);
    }
    let shown = text::one_line(name, 80);
    if let Some((_, withheld)) = surface.withheld.iter().find(|(_, it)| it.name == name) {
        let by = match withheld.by {
            WithheldBy::Policy => "policy",
            other => other.as_str(),
        };
        let why = format!("{shown} is not available in this run (withheld by {by}): {}", withheld.why);
        return Err(Refused { code: codes::TOOL_DENIED, by: "surface", why });
    }
    let near = surface
        .tools
        .keys()
        .map(|known| (strsim::jaro_winkler(&known.as_str().to_lowercase(), &name.to_lowercase()), known))
        .filter(|(score, _)| *score > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let hint = near.map(|(_, known)| format!("; did you mean {known}?")).unwrap_or_default();
    let why = format!("there is no tool named {shown} in this run{hint}");
    Err(Refused { code: codes::UNKNOWN_TOOL, by: "surface", why })
}

/// Arguments are an object. What is no JSON is refused with its place, never taken for `{}`.
fn parse(arguments: &Arguments) -> Result<Value, Refused> {
    let refused = |why: String| Refused { code: codes::INVALID_ARGUMENTS, by: "schema", why };
    let value = match arguments {
        Arguments::Value(value) => value.clone(),
        Arguments::Raw(raw) if raw.len() > ARGUMENT_BYTES_MAX => {
            return Err(refused(format!(
                "the arguments have {} bytes; at most {ARGUMENT_BYTES_MAX} are taken",
                raw.len()
            )));
        }
        Arguments::Raw(raw) if raw.trim().is_empty() => json!({}),
        Arguments::Raw(raw) => serde_json::from_str(raw).map_err(|error| {
            refused(format!("the arguments are not valid JSON: {error}; send one JSON object"))
        })?,
    };
    match value {
        Value::Object(_) => Ok(value),
        other => {
            let kind = match other {
                Value::Array(_) => "an array",
                Value::String(_) => "a string",
                Value::Null => "null",
                _ => "a scalar",
            };
            Err(refused(format!("the arguments are {kind}; send one JSON object")))
        }
    }
}

/// Rules first, then a person where a rule asks. Nobody there, no answer in time, or a broken asker: no.
async fn approve(
    surface: &Surface,
    scope: &Scope,
    sealed: &Sealed,
    request: &CallRequest,
    arguments: &Value,
) -> Result<String, Refused> {
    let name = &sealed.tool.info().name;
    let decision = surface.approvals.decide(name, arguments);
    let denied = |why: String| Refused { code: codes::APPROVAL_DENIED, by: "approval", why };
    match decision.approval {
        Approval::Allow => Ok(decision.rule),
        Approval::Deny => Err(denied(format!("{name} with these arguments is denied: {}", decision.rule))),
        Approval::Ask => {
            let asked = Fact::ApprovalAsked { tool: name.to_string(), rule: decision.rule.clone() };
            note(surface, scope, asked).await.map_err(denied)?;
            let answer = ask(surface, request, name, arguments, &decision.rule).await;
            let (word, approved) = match answer {
                Some(ApprovalAnswer::Approved) => ("approved", true),
                Some(ApprovalAnswer::ApprovedAlways) => ("approved_always", true),
                Some(ApprovalAnswer::Denied) => ("denied", false),
                Some(ApprovalAnswer::TimedOut) => ("timed_out", false),
                Some(ApprovalAnswer::NoAsker) => ("no_asker", false),
                None => ("cancelled", false),
            };
            let answered =
                Fact::ApprovalAnswered { tool: name.to_string(), answer: word.to_owned(), channel: None };
            note(surface, scope, answered).await.map_err(denied)?;
            if approved {
                return Ok(format!("{word} by a person ({})", decision.rule));
            }
            Err(match answer {
                None => cancelled(),
                Some(ApprovalAnswer::TimedOut) => denied("nobody approved the call in time".to_owned()),
                Some(ApprovalAnswer::NoAsker) => {
                    denied(format!("{} wants a person's word, and nobody can be asked here", decision.rule))
                }
                Some(_) => denied("the person did not approve this call".to_owned()),
            })
        }
    }
}

/// The person's answer; `None` where the turn was cancelled first.
async fn ask(
    surface: &Surface,
    request: &CallRequest,
    name: &host_vocab::ToolName,
    arguments: &Value,
    rule: &str,
) -> Option<ApprovalAnswer> {
    let shown = match &surface.ports.recorder {
        Some(recorder) => recorder.redactor().value(arguments.clone()).into_inner(),
        None => arguments.clone(),
    };
    let question = ApprovalRequest {
        conversation: surface.facts.conversation.clone(),
        run: surface.facts.run.clone(),
        call: request.id.clone(),
        tool: name.clone(),
        arguments: Untrusted::new(shown),
        rule: rule.to_owned(),
    };
    // Asking begins inside the guarded future, so that an asker that breaks at once is caught as well.
    let asked = AssertUnwindSafe(async { surface.ports.ask.approve(question).await }).catch_unwind();
    tokio::select! {
        answer = asked => Some(answer.unwrap_or(ApprovalAnswer::Denied)),
        () = request.cancel.cancelled() => None,
    }
}

async fn note(surface: &Surface, scope: &Scope, fact: Fact) -> Result<(), String> {
    match &surface.ports.recorder {
        None => Ok(()),
        Some(recorder) => recorder
            .record(scope.clone(), fact)
            .await
            .map(|_| ())
            .map_err(|error| format!("the question could not be recorded: {error}")),
    }
}

/// An effect is on record before it can be seen (ENG-7): no record, no run.
async fn record_start(
    surface: &Surface,
    scope: &Scope,
    sealed: &Sealed,
    request: &CallRequest,
    arguments: &Value,
    rule: String,
) -> Result<(), Refused> {
    let Some(recorder) = &surface.ports.recorder else { return Ok(()) };
    let fact = Fact::CallStarted {
        tool: request.name.clone(),
        source: sealed.source.clone(),
        arguments: bounded_arguments(arguments),
        arguments_digest: digest(recorder, arguments),
        rule,
    };
    recorder.record(scope.clone(), fact).await.map(|_| ()).map_err(|error| Refused {
        code: codes::NOT_RECORDED,
        by: "record",
        why: format!("nothing was run, because the call could not be recorded: {error}"),
    })
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
    }
}

async fn record_end(surface: &Surface, scope: &Scope, sealed: &Sealed, mut settled: Settled) -> Settled {
    let Some(recorder) = &surface.ports.recorder else { return settled };
    let fact = settled.to_fact(sealed.tool.info().name.as_str());
    // What ran can't be taken back: the result stands, and whoever sees it is told that the record lacks it.
    settled.recorded = recorder.record(scope.clone(), fact).await.is_ok();
    settled
}

/// A refused call leaves one event, so that an attempt is seen in the audit.
async fn refuse(surface: &Surface, scope: &Scope, request: &CallRequest, refused: Refused) -> Settled {
    let mut recorded = true;
    if let Some(recorder) = &surface.ports.recorder {
        let (arguments, digest) = match &request.arguments {
            Arguments::Value(value) => (bounded_arguments(value), digest(recorder, value)),
            Arguments::Raw(raw) => (
                Value::String(text::prefix(raw, RECORDED_ARGUMENT_BYTES_MAX).to_owned()),
                recorder.log().keyed_digest(raw.as_bytes()),
            ),
        };
        let fact = Fact::CallRefused {
            tool: text::one_line(&request.name, 200),
            code: refused.code.to_owned(),
            by: refused.by.to_owned(),
            why: refused.why.clone(),
            arguments,
            arguments_digest: digest,
            asked_at: recorder.clock().now_ms(),
        };
        recorded = recorder.record(scope.clone(), fact).await.is_ok();
    }
    Settled {
        how: How::Refused,
        code: Code::new(refused.code),
        original_bytes: refused.why.len() as u64,
        content: vec![Block::text(refused.why)],
        structured: None,
        outcome: None,
        duration: Duration::ZERO,
        truncated: false,
        kept: Vec::new(),
        recorded,
    }
}

fn digest(recorder: &Recorder, arguments: &Value) -> String {
    recorder.log().keyed_digest(arguments.to_string().as_bytes())
}

fn bounded_arguments(arguments: &Value) -> Value {
    let whole = arguments.to_string();
    if whole.len() <= RECORDED_ARGUMENT_BYTES_MAX {
        return arguments.clone();
    }
    json!({
        "preview": text::prefix(&whole, RECORDED_ARGUMENT_BYTES_MAX / 4),
        "truncated": true,
        "originalBytes": whole.len(),
    })
}
