//! What the gate leaves in the log: a start and an end, or a refusal.

use super::{Arguments, CallRequest, Refused, codes};
use crate::settled::{How, Settled};
use crate::surface::{Sealed, Surface};
use host_event::{Fact, Scope};
use host_ports::log::Recorder;
use host_vocab::{Block, Code, text};
use serde_json::Value;
use std::time::Duration;

/// How much of a made-up name is looked at, in bytes.
const NAME_BYTES_MAX: usize = 4096;

/// An effect is on record before it can be seen (ENG-7): no record, no run.
pub(super) async fn record_start(
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
        arguments: host_redact::recorded(arguments),
        arguments_digest: digest(recorder, arguments),
        rule,
    };
    recorder.record(scope.clone(), fact).await.map(|_| ()).map_err(|error| Refused {
        code: codes::NOT_RECORDED,
        by: "record",
        why: format!("nothing was run, because the call could not be recorded: {error}"),
    })
}

pub(super) async fn record_end(
    surface: &Surface,
    scope: &Scope,
    sealed: &Sealed,
    mut settled: Settled,
) -> Settled {
    let Some(recorder) = &surface.ports.recorder else { return settled };
    let fact = settled.to_fact(sealed.tool.info().name.as_str());
    // What ran can't be taken back: the result stands, and whoever sees it is told that the record lacks it.
    settled.recorded = recorder.record(scope.clone(), fact).await.is_ok();
    settled
}

/// A refused call leaves one event, so that an attempt is seen in the audit.
pub(super) async fn refuse(
    surface: &Surface,
    scope: &Scope,
    request: &CallRequest,
    refused: Refused,
) -> Settled {
    let mut recorded = true;
    if let Some(recorder) = &surface.ports.recorder {
        let (arguments, digest) = match &request.arguments {
            Arguments::Value(value) => (host_redact::recorded(value), digest(recorder, value)),
            Arguments::Raw(raw) => {
                (host_redact::recorded_text(raw), recorder.log().keyed_digest(raw.as_bytes()))
            }
        };
        let fact = Fact::CallRefused {
            tool: shown_name(surface, &request.name, 200),
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
        rule: None,
    }
}

/// A name that the model made up, for people: without secrets, which go before it is cut.
pub(super) fn shown_name(surface: &Surface, name: &str, chars_max: usize) -> String {
    let name = text::prefix(name, NAME_BYTES_MAX);
    match &surface.ports.recorder {
        Some(recorder) => text::one_line(&recorder.redactor().text(name).into_inner(), chars_max),
        None => text::one_line(name, chars_max),
    }
}

fn digest(recorder: &Recorder, arguments: &Value) -> String {
    recorder.log().keyed_digest(arguments.to_string().as_bytes())
}
