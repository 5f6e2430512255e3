//! The gate's approval step (TOO-9).

use super::{CallRequest, Refused, cancelled, codes};
use crate::surface::{Sealed, Surface};
use futures_util::FutureExt as _;
use host_event::{Fact, Scope};
use host_policy::Approval;
use host_ports::ask::{ApprovalAnswer, ApprovalRequest};
use host_vocab::Untrusted;
use serde_json::Value;
use std::panic::AssertUnwindSafe;

/// Rules first, then a person where a rule asks. Nobody there, no answer in time, or a broken asker: no.
pub(super) async fn approve(
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
        always: None,
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
