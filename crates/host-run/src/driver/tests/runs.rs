//! Runs that go well.

use super::kit::{Diary, Kit, Look, Name, Put, all, script};
use crate::{ChildSurfaces, DEFAULT_SOUL, EngineError, EngineParts, RunEvent, RunInput, channel};
use host_event::Fact;
use host_policy::ToolPolicy;
use host_surface::{Admitted, Belongs, Decl, Offer, Tool, ToolError, ToolOutput};
use host_testkit::Step;
use host_turn::{Ending, FailureKind};
use host_vocab::Effect;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Barrier;

// ENG-1, ENG-6, ENG-7
#[tokio::test]
async fn a_run_with_a_call_leaves_its_record_and_its_prompt() {
    let diary = Diary::default();
    let model = script(vec![
        Step::Call("Let me look.".into(), vec![("Look".into(), json!({"name": "a"}))]),
        Step::Say("It is a.".into()),
    ]);
    let kit = Kit::new(&[Arc::clone(&model)], vec![Offer::ready(Look(diary, None))]);
    let (outcome, events) = kit.say_and_listen("what is it?").await;
    assert_eq!((outcome.ending.clone(), outcome.reply.text.as_str()), (Ending::Succeeded, "It is a."));
    assert!(outcome.recorded && !outcome.partial && outcome.reply.notices.is_empty());
    assert_eq!(outcome.usage.input_tokens, 20);
    assert_eq!(
        kit.log.kinds(),
        [
            "run_started",
            "model_asked",
            "model_answered",
            "call_started",
            "call_settled",
            "model_asked",
            "model_answered",
            "run_settled"
        ]
    );
    let kinds: Vec<String> = events
        .iter()
        .map(|event| serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        kinds,
        ["run_started", "text_delta", "call_started", "call_settled", "text_delta", "run_settled"]
    );
    let requests = model.requests();
    assert!(requests[0].system.contains(DEFAULT_SOUL) && requests[0].system == requests[1].system);
    assert_eq!(requests[0].cache_key, requests[1].cache_key);
    let stored = kit.sessions.stored("terminal:t").unwrap();
    assert_eq!(stored.messages.len(), 4);
    crate::machine::assert_paired(&stored.messages);
}

// ENG-4
#[tokio::test]
async fn the_next_turn_goes_on_with_the_exact_prompt() {
    let model = script(vec![Step::Say("one".into()), Step::Say("two".into())]);
    let kit = Kit::new(&[Arc::clone(&model)], vec![]);
    kit.say("first").await;
    kit.say("second").await;
    let requests = model.requests();
    assert_eq!(requests[1].messages.len(), 3);
    assert_eq!(requests[0].messages[..], requests[1].messages[..1]);
}

// ENG-1
#[tokio::test]
async fn two_reads_overlap() {
    let diary = Diary::default();
    let model = script(vec![
        Step::Call(
            String::new(),
            vec![("Look".into(), json!({"name": "a"})), ("Look".into(), json!({"name": "b"}))],
        ),
        Step::Say("ok".into()),
    ]);
    // The barrier opens only when both are inside.
    let look = Look(diary, Some(Arc::new(Barrier::new(2))));
    let kit = Kit::new(&[Arc::clone(&model)], vec![Offer::ready(look)]);
    let outcome = tokio::time::timeout(Duration::from_secs(20), kit.say("look")).await.expect("they overlap");
    assert_eq!(outcome.ending, Ending::Succeeded);
}

// ENG-1
#[tokio::test]
async fn writes_keep_their_order() {
    let diary = Diary::default();
    let names = ["a", "b", "c"];
    let calls = names.map(|name| ("Put".to_owned(), json!({"name": name}))).to_vec();
    let model = script(vec![Step::Call(String::new(), calls), Step::Say("ok".into())]);
    let kit = Kit::new(&[model], vec![Offer::ready(Put(diary.clone()))]);
    kit.say("put").await;
    assert_eq!(diary.lines(), ["put a", "end a", "put b", "end b", "put c", "end c"]);
}

#[tokio::test]
async fn bad_arguments_and_unknown_tools_are_told_to_the_model_and_the_run_goes_on() {
    let diary = Diary::default();
    let calls = vec![
        ("Look".to_owned(), json!({"nom": "a"})),
        ("Luk".to_owned(), json!({})),
        ("Look".to_owned(), json!("not an object")),
        ("Look".to_owned(), json!({"name": "b"})),
    ];
    let model = script(vec![Step::Call(String::new(), calls), Step::Say("ok".into())]);
    let kit = Kit::new(&[Arc::clone(&model)], vec![Offer::ready(Look(diary.clone(), None))]);
    assert_eq!(kit.say("x").await.ending, Ending::Succeeded);
    assert_eq!(diary.lines(), ["look b"]);
    let told = super::kit::text(&model.requests()[1].messages);
    assert!(told.contains("there is no tool named Luk") && told.contains("one JSON object"), "{told}");
    let refused = kit.log.kinds().iter().filter(|kind| *kind == "call_refused").count();
    assert_eq!(refused, 3);
}

/// Starts a child run from inside a run.
struct Delegate {
    kit: Arc<std::sync::OnceLock<Kit>>,
}

impl Tool for Delegate {
    const DECL: Decl = Decl {
        name: "Delegate",
        about: "Delegates.",
        effects: &[Effect::Executes],
        belongs: Belongs::Lists,
        codes: &["failed"],
    };
    type Input = Name;

    async fn run(&self, call: Admitted<Name>) -> Result<ToolOutput, ToolError> {
        let kit = self.kit.get().ok_or_else(|| ToolError::new("failed", "no kit"))?;
        let surfaces = ChildSurfaces {
            parent: kit.surfaces.lent.clone(),
            policy: ToolPolicy::allow_all(),
            without: vec!["Delegate".into()],
        };
        let mut input = RunInput::new(kit.turn(&call.input.name), Arc::new(surfaces));
        input.nested = true;
        let outcome = kit.engine.run(input).await;
        Ok(ToolOutput::text(outcome.reply.text))
    }
}

// POL-15
#[tokio::test]
async fn a_child_run_has_its_parents_tools_and_no_more() {
    let kit_slot: Arc<std::sync::OnceLock<Kit>> = Arc::default();
    let diary = Diary::default();
    let model = script(vec![
        Step::Call(String::new(), vec![("Delegate".into(), json!({"name": "child task"}))]),
        // the child
        Step::Call(
            String::new(),
            vec![("Look".into(), json!({"name": "c"})), ("Delegate".into(), json!({"name": "again"}))],
        ),
        Step::Say("child done".into()),
        // the parent again
        Step::Say("parent done".into()),
    ]);
    let offers =
        vec![Offer::ready(Look(diary.clone(), None)), Offer::ready(Delegate { kit: Arc::clone(&kit_slot) })];
    let config = crate::SessionConfig { concurrent_max: 1, ..crate::SessionConfig::default() };
    let kit = kit_slot.get_or_init(|| Kit::with(&[Arc::clone(&model)], offers, config));
    let outcome = kit.say("go").await;
    assert_eq!(outcome.reply.text, "parent done");
    let names = |n: usize| model.requests()[n].tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    assert_eq!((names(0), names(1)), (vec!["Delegate".into(), "Look".into()], vec!["Look".to_owned()]));
    assert_eq!(diary.lines(), ["look c"]);
    // The child neither read nor wrote the session.
    assert_eq!(model.requests()[1].messages.len(), 1);
    assert_eq!(kit.sessions.stored("terminal:t").unwrap().messages.len(), 4);
    // The run is over: what it lent is gone.
    let orphan =
        ChildSurfaces { parent: kit.surfaces.lent.clone(), policy: ToolPolicy::allow_all(), without: vec![] };
    let late =
        kit.engine.run(RunInput { nested: true, ..RunInput::new(kit.turn("late"), Arc::new(orphan)) }).await;
    assert!(matches!(late.ending, Ending::Failed { kind: FailureKind::RuntimeError, .. }));
    assert_eq!(model.requests().len(), 4);
}

#[tokio::test]
async fn a_listener_that_never_reads_does_not_hold_the_run_up() {
    let calls = (0..50).map(|n| ("Look".to_owned(), json!({"name": n.to_string()}))).collect();
    let model = script(vec![Step::Call("x".into(), calls), Step::Say("ok".into())]);
    let kit = Kit::new(&[model], vec![Offer::ready(Look(Diary::default(), None))]);
    let (sink, stream) = channel(8);
    let mut input = kit.input("go");
    input.events = sink;
    let outcome =
        tokio::time::timeout(Duration::from_secs(20), kit.engine.run(input)).await.expect("no stall");
    assert_eq!(outcome.ending, Ending::Succeeded);
    let events = all(stream).await;
    assert!(events.len() <= 9 && events.iter().any(|event| matches!(event, RunEvent::Lagged { .. })));
    assert!(matches!(events.last(), Some(RunEvent::RunSettled { .. })));
}

#[tokio::test]
async fn an_engine_needs_a_route_and_a_turn_has_a_bound() {
    let kit = Kit::new(&[script(vec![])], vec![]);
    let parts = EngineParts {
        chain: vec![],
        hub: Arc::clone(kit.engine.hub()),
        config: crate::EngineConfig::default(),
        incarnation: "x".into(),
    };
    assert_eq!(crate::Engine::new(parts).err(), Some(EngineError::NoRoute));
    let huge = "x".repeat(host_vocab::limits::TURN_TEXT_BYTES_MAX + 1);
    let outcome = kit.say(&huge).await;
    assert!(matches!(outcome.ending, Ending::Failed { kind: FailureKind::InvalidRequest, .. }));
    assert!(kit.log.kinds().is_empty());
}

#[tokio::test]
async fn the_record_of_a_run_says_what_it_had() {
    let kit =
        Kit::new(&[script(vec![Step::Say("ok".into())])], vec![Offer::ready(Look(Diary::default(), None))]);
    kit.say("hello").await;
    let facts = kit.log.facts();
    let Fact::RunStarted { user_input, offered, model, isolated, .. } = &facts[0] else {
        panic!("{facts:?}")
    };
    assert_eq!((user_input.as_str(), model.as_str(), *isolated), ("hello", "a:m", false));
    assert_eq!(offered[0].name, "Look");
}

/// Says how far it is.
struct Counts;

impl Tool for Counts {
    const DECL: Decl = Decl {
        name: "Counts",
        about: "Counts.",
        effects: &[Effect::ReadsWorkspace],
        belongs: Belongs::Lists,
        codes: &[],
    };
    type Input = Name;

    async fn run(&self, call: Admitted<Name>) -> Result<ToolOutput, ToolError> {
        call.context.progress.tell(host_surface::Progress {
            message: "half\nway".into(),
            done: Some(1.0),
            total: Some(2.0),
        });
        Ok(ToolOutput::text("counted"))
    }
}

#[tokio::test]
async fn progress_reaches_the_listener() {
    let model = script(vec![
        Step::Call(String::new(), vec![("Counts".into(), json!({"name": "x"}))]),
        Step::Say("ok".into()),
    ]);
    let kit = Kit::new(&[model], vec![Offer::ready(Counts)]);
    let (_, events) = kit.say_and_listen("go").await;
    let progress = events.iter().find_map(|event| match event {
        RunEvent::CallProgress { id, message, done, total } => {
            Some((id.as_str(), message.as_str(), *done, *total))
        }
        _ => None,
    });
    assert_eq!(progress, Some(("c0_0", "half way", Some(1.0), Some(2.0))));
}

#[tokio::test]
async fn conversations_run_side_by_side() {
    let look = |name: &str| Step::Call(String::new(), vec![("Look".into(), json!({"name": name}))]);
    let model = script(vec![look("a"), look("b"), Step::Say("ok".into()), Step::Say("ok".into())]);
    let barrier = Some(Arc::new(Barrier::new(2)));
    let kit = Kit::new(&[model], vec![Offer::ready(Look(Diary::default(), barrier))]);
    let mut other = kit.input("other");
    other.turn.conversation = host_vocab::ConversationId::parse("terminal:other").unwrap();
    let both = async { tokio::join!(kit.engine.run(kit.input("one")), kit.engine.run(other)) };
    let (a, b) = tokio::time::timeout(Duration::from_secs(20), both).await.expect("they overlap");
    assert_eq!((a.ending, b.ending), (Ending::Succeeded, Ending::Succeeded));
}
