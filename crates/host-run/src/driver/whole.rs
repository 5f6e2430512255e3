//! A run from its admission to its outcome.

use super::carry::Carrier;
use super::settle::{Settling, settle};
use super::{EngineParts, RunInput, not_begun, settled_event};
use crate::context::{system_prompt, user_message};
use crate::event::RunEvent;
use crate::machine::{Finished, Machine, RunSpec};
use crate::outcome::RunOutcome;
use crate::retry::Route;
use crate::sessions::{Busy, Opened, Place};
use futures_util::FutureExt as _;
use host_event::{Fact, Scope};
use host_ports::CancellationToken;
use host_ports::model::Message;
use host_surface::{RunFacts, Surface};
use host_turn::{Ending, FailureKind, Trigger, Turn, Usage};
use host_vocab::RunId;
use host_vocab::limits::TURN_TEXT_BYTES_MAX;
use host_vocab::text::one_line;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

/// A run that has its place.
struct Begun {
    facts: RunFacts,
    opened: Opened,
    began: Instant,
}

pub(super) async fn run(
    parts: Arc<EngineParts>,
    input: RunInput,
    run: RunId,
    cancel: CancellationToken,
) -> RunOutcome {
    let began = parts.hub.recorder.clock().instant();
    let events = input.events.clone();
    let conversation = input.turn.conversation.clone();
    let alone = input.nested || isolated(&parts, &input.turn);
    let completed = input.completed.clone().filter(|_| !alone).map(|it| (it, input.turn.clone()));
    let mut outcome = match admitted(&parts, &input, &cancel).await {
        Ok(place) => in_place(&parts, input, run, cancel, place, began).await,
        Err(ending) => {
            let duration_ms = elapsed_ms(&parts, began);
            not_begun(run, conversation, ending, duration_ms)
        }
    };
    if let Some((completed, turn)) = completed.filter(|_| outcome.ending == Ending::Succeeded)
        && let Some((code, message)) = completed.completed(&turn, &outcome).await
    {
        let scope = Scope::of_run(&outcome.conversation, &outcome.run);
        parts.hub.backlog.later(scope, Fact::Warning { code: code.into(), message: message.clone() });
        outcome.reply.notices.push(message);
    }
    events.send(settled_event(&outcome));
    outcome
}

async fn admitted(
    parts: &EngineParts,
    input: &RunInput,
    cancel: &CancellationToken,
) -> Result<Place, Ending> {
    let failed = |kind, error| Ending::Failed { kind, error };
    let bytes = input.turn.text.len();
    if bytes > TURN_TEXT_BYTES_MAX {
        let error = format!("the message has {bytes} bytes; at most {TURN_TEXT_BYTES_MAX} are taken");
        return Err(failed(FailureKind::InvalidRequest, error));
    }
    if input.nested {
        return Ok(Place::nested());
    }
    let queue = (!isolated(parts, &input.turn)).then_some(&input.turn.conversation);
    parts.hub.admit(queue, cancel).await.map_err(|busy| match busy {
        Busy::Cancelled => Ending::Cancelled,
        Busy::Full(_) => failed(FailureKind::SessionBusy, busy.to_string()),
    })
}

fn isolated(parts: &EngineParts, turn: &Turn) -> bool {
    turn.isolated || (parts.hub.config.isolate_proactive && turn.trigger == Trigger::Proactive)
}

async fn in_place(
    parts: &Arc<EngineParts>,
    input: RunInput,
    run: RunId,
    cancel: CancellationToken,
    mut place: Place,
    began: Instant,
) -> RunOutcome {
    let facts = RunFacts {
        run,
        conversation: if input.nested {
            input.turn.conversation.clone()
        } else {
            parts.hub.exact(&input.turn)
        },
        channel: input.turn.channel.clone(),
        trigger: input.turn.trigger,
        isolated: input.nested || isolated(parts, &input.turn),
    };
    let model = parts.chain[0].model.info().reference;
    let opened = parts.hub.open(place.warm.as_deref_mut(), &facts.conversation, &model).await;
    let begun = Begun { facts: facts.clone(), opened, began };
    let sealing = AssertUnwindSafe(input.surfaces.seal(facts)).catch_unwind();
    let sealed = tokio::select! {
        sealed = sealing => sealed,
        () = cancel.cancelled() => {
            let duration_ms = elapsed_ms(parts, began);
            return not_begun(begun.facts.run, begun.facts.conversation, Ending::Cancelled, duration_ms);
        }
    };
    let sealed = sealed
        .unwrap_or_else(|_| Err(crate::SurfaceError::Refused("sealing broke; a fault of the host".into())));
    let surface = match sealed {
        Ok(surface) => Arc::new(surface),
        Err(error) => {
            let ending =
                Ending::Failed { kind: FailureKind::RuntimeError, error: one_line(&error.to_string(), 500) };
            return without_surface(parts, &input.turn, begun, model, ending).await;
        }
    };
    if let Some(lent) = input.surfaces.lent() {
        lent.fill(&surface);
    }
    if let Err(error) = record_start(parts, &input.turn, &begun, &model, Some(&surface)).await {
        let kind = FailureKind::RecordFailed;
        let error = format!("the run was not begun, because it could not be recorded: {error}");
        let ending = Ending::Failed { kind, error };
        let duration_ms = elapsed_ms(parts, began);
        return not_begun(begun.facts.run, begun.facts.conversation, ending, duration_ms);
    }
    sealed_run(parts, input, cancel, place, begun, surface, model).await
}

/// The run proper: it is on record, and its surface stands.
async fn sealed_run(
    parts: &Arc<EngineParts>,
    mut input: RunInput,
    cancel: CancellationToken,
    mut place: Place,
    begun: Begun,
    surface: Arc<Surface>,
    model: String,
) -> RunOutcome {
    let Begun { facts, mut opened, began } = begun;
    input.events.send(RunEvent::RunStarted {
        run: facts.run.clone(),
        conversation: facts.conversation.clone(),
        model,
        tools: surface.names().map(ToString::to_string).collect(),
    });
    for text in &opened.notices {
        input.events.send(RunEvent::Notice { text: text.clone() });
    }
    let history = std::mem::take(&mut opened.history);
    let spec = spec(parts, &input, &facts, &surface, history);
    let mut carrier = Carrier {
        parts: Arc::clone(parts),
        surface,
        scope: Scope::of_run(&facts.conversation, &facts.run),
        events: input.events.clone(),
        cancel,
        recorded: true,
        steering: input.steering.take().and_then(|it| it.0.into_inner().ok()),
    };
    let left = (spec.history.clone(), spec.user.stored.clone());
    let carried = AssertUnwindSafe(carrier.carry(Machine::new(spec))).catch_unwind().await;
    let finished = carried.unwrap_or_else(|_| broke(parts, left));
    let settling = Settling {
        facts,
        notices: opened.notices,
        recorded: carrier.recorded,
        duration_ms: elapsed_ms(parts, began),
        logical: input.turn.conversation.clone(),
        proactive: input.turn.trigger == Trigger::Proactive,
    };
    // The surface goes before the session is stored: what it lent is revoked with the run.
    drop(carrier);
    settle(parts, place.warm.as_deref_mut(), finished, settling).await
}

fn spec(
    parts: &EngineParts,
    input: &RunInput,
    facts: &RunFacts,
    surface: &Surface,
    history: Vec<Message>,
) -> RunSpec {
    let together = surface
        .names()
        .filter(|name| surface.info(name.as_str()).is_some_and(|info| info.may_run_together()))
        .map(ToString::to_string)
        .collect();
    let key = parts.hub.recorder.log().keyed_digest(format!("session {}", facts.conversation).as_bytes());
    RunSpec {
        system: system_prompt(&input.context.prompt),
        tools: surface.specs(),
        together,
        chain: routes(parts),
        config: parts.config.clone(),
        history,
        user: user_message(&input.turn, &input.context),
        cache_key: Some(key.chars().take(32).collect()),
        empty_is_silence: input.turn.trigger == Trigger::Proactive,
    }
}

fn routes(parts: &EngineParts) -> Vec<Route> {
    parts
        .chain
        .iter()
        .map(|route| {
            let info = route.model.info();
            Route {
                context_window: parts.hub.window(&info.reference, info.context_window),
                reference: info.reference,
                provider: info.provider,
                images: info.images,
                operator: info.operator,
                effort: route.effort,
                attempts_max: route.attempts.max(1),
            }
        })
        .collect()
}

/// The run's beginning and its session's boundaries, as one transaction, before the model is asked.
async fn record_start(
    parts: &EngineParts,
    turn: &Turn,
    begun: &Begun,
    model: &str,
    surface: Option<&Surface>,
) -> Result<(), host_ports::log::LogError> {
    let (offered, withheld) = surface.map(Surface::record).unwrap_or_default();
    let started = Fact::RunStarted {
        incarnation: parts.incarnation.clone(),
        source: turn.channel.to_string(),
        source_detail: turn.source_detail.clone(),
        user_input: turn.text.clone(),
        attachments: turn
            .attachments
            .iter()
            .take(100)
            .map(|file| format!("{} ({} bytes)", one_line(&file.name, 200), file.size_bytes))
            .collect(),
        model: model.to_owned(),
        effort: parts.chain[0].effort.and_then(|effort| {
            serde_json::to_value(effort).ok().and_then(|value| value.as_str().map(str::to_owned))
        }),
        isolated: begun.facts.isolated,
        offered,
        withheld,
    };
    let boundaries = begun.opened.boundaries.iter().map(|(boundary, reason)| Fact::SessionBoundary {
        boundary: (*boundary).to_owned(),
        reason: reason.clone(),
    });
    let scope = Scope::of_run(&begun.facts.conversation, &begun.facts.run);
    let facts = std::iter::once(started).chain(boundaries).map(|fact| (scope.clone(), fact)).collect();
    parts.hub.recorder.record_all(facts).await.map(|_| ())
}

/// A run that has no surface fails before any provider is asked; it leaves its beginning and its end.
async fn without_surface(
    parts: &EngineParts,
    turn: &Turn,
    begun: Begun,
    model: String,
    ending: Ending,
) -> RunOutcome {
    let mut outcome = not_begun(
        begun.facts.run.clone(),
        begun.facts.conversation.clone(),
        ending,
        elapsed_ms(parts, begun.began),
    );
    if record_start(parts, turn, &begun, &model, None).await.is_ok() {
        let scope = Scope::of_run(&begun.facts.conversation, &begun.facts.run);
        outcome.recorded = super::settle::record_end(parts, scope, &outcome).await;
    }
    outcome
}

/// A panic below us ends the run, not the host.
fn broke(parts: &EngineParts, (history, user): (Vec<Message>, Message)) -> Finished {
    let error = "the run broke; this is a fault of the host".to_owned();
    Finished {
        ending: Ending::Failed { kind: FailureKind::RuntimeError, error },
        text: String::new(),
        partial: false,
        usage: Usage::default(),
        notices: Vec::new(),
        failover_history: Vec::new(),
        model: parts.chain[0].model.info().reference,
        history,
        turn: vec![user],
        learned_windows: Vec::new(),
    }
}

fn elapsed_ms(parts: &EngineParts, began: Instant) -> u64 {
    let took = parts.hub.recorder.clock().instant().saturating_duration_since(began);
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}
