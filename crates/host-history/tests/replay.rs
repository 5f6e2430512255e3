//! SRC-1: a recorded turn again through the real engine, with no side effect.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests stand outside the rules of the host's own code")]

use host_event::StoredEvent;
use host_history::diff::{diff, normalised};
use host_history::replay::{KnownTool, QuickClock, Recording, ReplayError};
use host_policy::{ApprovalRules, ToolPolicy};
use host_ports::BoxFuture;
use host_ports::ask::Ask;
use host_ports::clock::Clock;
use host_ports::kept::KeepNothing;
use host_ports::log::{Log, Recorder};
use host_ports::model::{Model, ModelError};
use host_redact::Redactor;
use host_run::{
    Engine, EngineConfig, EngineParts, RouteParts, RunInput, SessionConfig, SessionHub, SurfaceError,
    Surfaces,
};
use host_surface::{
    Admitted, Belongs, Decl, GatePorts, Offer, RunFacts, Surface, Tool, ToolError, ToolOutput, ToolSource,
    seal,
};
use host_testkit::{Answers, MemoryLog, MemorySessions, OneSource, Script, Step, TestClock};
use host_turn::{FailureKind, Turn};
use host_vocab::{ConversationId, Effect};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wait {
    /// How long.
    ms: u64,
}

/// Counts its runs in the world, and takes as long as it is told.
struct Look(Arc<AtomicUsize>);

impl Tool for Look {
    const DECL: Decl = Decl {
        name: "Look",
        about: "Looks.",
        effects: &[Effect::ReadsWorkspace],
        belongs: Belongs::Lists,
        codes: &["lost"],
    };
    type Input = Wait;

    async fn run(&self, call: Admitted<Wait>) -> Result<ToolOutput, ToolError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(call.input.ms)).await;
        match call.input.ms {
            13 => Err(ToolError::new("lost", "it is lost")),
            ms => Ok(ToolOutput::text(format!("after {ms}")).with_structured(json!({"ms": ms}))),
        }
    }
}

struct Sealing {
    sources: Vec<Arc<dyn ToolSource>>,
    recorder: Recorder,
    ask: Arc<dyn Ask>,
}

impl Surfaces for Sealing {
    fn seal(&self, facts: RunFacts) -> BoxFuture<'_, Result<Surface, SurfaceError>> {
        Box::pin(async move {
            let ports = GatePorts {
                recorder: Some(self.recorder.clone()),
                ask: Arc::clone(&self.ask),
                keep: Arc::new(KeepNothing),
                deadline: Duration::from_secs(60),
            };
            let rules = Arc::new(ApprovalRules::default());
            Ok(seal(&self.sources, &ToolPolicy::allow_all(), rules, facts, ports).await?)
        })
    }
}

async fn play(
    log: Arc<dyn Log>,
    clock: Arc<dyn Clock>,
    models: Vec<Arc<dyn Model>>,
    sources: Vec<Arc<dyn ToolSource>>,
    ask: Arc<dyn Ask>,
) {
    let recorder = Recorder::new(log, Arc::new(Redactor::default()), clock);
    let hub =
        SessionHub::new(SessionConfig::default(), Arc::new(MemorySessions::default()), recorder.clone());
    let chain = models.into_iter().map(|model| RouteParts { model, attempts: 2, effort: None }).collect();
    let parts =
        EngineParts { chain, hub: Arc::new(hub), config: EngineConfig::default(), incarnation: "i".into() };
    let turn = Turn::terminal(ConversationId::parse("terminal:t").unwrap(), "go");
    let surfaces = Arc::new(Sealing { sources, recorder, ask });
    Engine::new(parts).unwrap().run(RunInput::new(turn, surfaces)).await;
}

fn steps() -> Vec<Step> {
    let look = |ms: u64| ("Look".to_owned(), json!({"ms": ms}));
    vec![
        Step::Fail(ModelError::new(FailureKind::Overloaded, "busy")),
        Step::Call("looking".into(), vec![look(40), look(5), look(13)]),
        Step::Call(String::new(), vec![("Nope".into(), json!({})), ("Look".into(), json!({"bad": 1}))]),
        Step::Say("done".into()),
    ]
}

async fn recorded(count: &Arc<AtomicUsize>) -> (Arc<MemoryLog>, Vec<StoredEvent>) {
    let log = Arc::new(MemoryLog::default());
    let model: Arc<dyn Model> = Arc::new(Script::new("a:m", steps()));
    let tools: Vec<Arc<dyn ToolSource>> =
        vec![Arc::new(OneSource::new("builtin", vec![Offer::ready(Look(Arc::clone(count)))]))];
    play(
        Arc::clone(&log) as _,
        Arc::new(TestClock::default()),
        vec![model],
        tools,
        Arc::new(Answers::default()),
    )
    .await;
    let events = log.events();
    (log, events)
}

async fn replayed(log: Arc<MemoryLog>, events: &[StoredEvent], known: &[KnownTool]) -> Vec<StoredEvent> {
    let recording = Recording::of(events).unwrap();
    let scratch = Arc::new(recording.log(log));
    let info = Script::new(&recording.model, vec![]).info();
    let (models, sources) = (recording.models(vec![info]), recording.sources(known));
    play(Arc::clone(&scratch) as _, Arc::new(QuickClock { now_ms: 7 }), models, sources, recording.ask())
        .await;
    scratch.events()
}

fn known() -> Vec<KnownTool> {
    let Offer::Ready(tool) = Offer::ready(Look(Arc::default())) else { unreachable!() };
    vec![KnownTool { source: "builtin".into(), info: tool.info().clone() }]
}

// SRC-1: byte-identical but for ids and times; calls that ran side by side settle in the recorded order; no
// tool runs.
#[tokio::test]
async fn a_replay_leaves_the_recorded_events_and_runs_nothing() {
    let count = Arc::new(AtomicUsize::new(0));
    let (log, events) = recorded(&count).await;
    assert_eq!(count.load(Ordering::SeqCst), 3);
    let again = replayed(log, &events, &known()).await;
    assert_eq!(normalised(&again), normalised(&events));
    assert!(diff(&events, &again).same);
    assert_eq!(count.load(Ordering::SeqCst), 3);
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    for kind in ["model_failed", "call_refused", "call_settled", "run_settled"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
}

#[tokio::test]
async fn a_changed_recording_shows_as_a_difference() {
    let (log, events) = recorded(&Arc::default()).await;
    let mut other = events.clone();
    let answer = other.iter_mut().rev().find(|event| event.kind == "model_answered").unwrap();
    *answer = StoredEvent::from_row(answer.seq, answer.at, answer.scope.clone(), answer.kind.clone(), {
        let mut body = answer.body.clone();
        body["text"] = "otherwise".into();
        body
    });
    let again = replayed(log, &other, &known()).await;
    let found = diff(&events, &again);
    let kinds: Vec<&str> = found.changes.iter().map(|change| change.kind.as_str()).collect();
    assert_eq!(kinds, ["model_answered", "run_settled"]);
}

#[tokio::test]
async fn a_broken_off_run_replays_up_to_there() {
    let (log, events) = recorded(&Arc::default()).await;
    let cut = events.iter().position(|event| event.kind == "call_settled").unwrap();
    let recording = Recording::of(&events[..cut]).unwrap();
    assert!(!recording.settled);
    let again = replayed(log, &events[..cut], &known()).await;
    assert_eq!(normalised(&again)[..2], normalised(&events)[..2]);
    assert_eq!(Recording::of(&events[1..]).unwrap_err(), ReplayError::NoBeginning);
}
