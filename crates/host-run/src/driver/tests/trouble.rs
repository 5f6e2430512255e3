//! Runs in trouble: broken streams, a full disk, cancellation, panics.

use super::kit::{Diary, Kit, Look, Put, Stuck, script, text};
use crate::{RunEvent, SessionConfig};
use futures_util::stream::BoxStream;
use host_event::Fact;
use host_ports::CancellationToken;
use host_ports::log::LogError;
use host_ports::model::{
    AssistantPart, FinishReason, Model, ModelError, ModelEvent, ModelInfo, ModelRequest, ToolCall,
};
use host_surface::Offer;
use host_testkit::{MemoryLog, MemorySessions, Script, Step, TestClock};
use host_turn::{Ending, FailureKind, Usage};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

type Events = Vec<Result<ModelEvent, ModelError>>;

fn put() -> ModelEvent {
    ModelEvent::Part(AssistantPart::Call(ToolCall {
        id: "c".into(),
        name: "Put".into(),
        arguments: "{\"name\":\"x\"}".into(),
        raw: None,
    }))
}

fn cut() -> ModelError {
    ModelError::new(FailureKind::StreamTerminated, "the connection closed")
}

// T12-07
#[tokio::test(start_paused = true)]
async fn a_cut_stream_is_never_a_success_and_runs_no_call() {
    let half = || ModelEvent::CallStarted { name: "Put".into() };
    let cases: Vec<(&str, Events, bool)> = vec![
        ("(a) nothing", vec![], true),
        ("(a) nothing, named", vec![Err(cut())], true),
        ("(b) half a text", vec![Ok(ModelEvent::Text("Half".into()))], false),
        ("(b) half a text, named", vec![Ok(ModelEvent::Text("Half".into())), Err(cut())], false),
        ("(c) half a call", vec![Ok(half()), Err(cut())], true),
        ("(e) an error", vec![Err(ModelError::new(FailureKind::ServerError, "boom"))], true),
        ("(f) a whole call without a finish", vec![Ok(half()), Ok(put())], true),
        ("(f) with text", vec![Ok(ModelEvent::Text("I put".into())), Ok(put()), Err(cut())], false),
    ];
    for (name, events, again) in cases {
        let diary = Diary::default();
        let model = script(vec![Step::Events(events.clone()), Step::Events(events)]);
        let kit = Kit::new(&[Arc::clone(&model)], vec![Offer::ready(Put(diary.clone()))]);
        let outcome = kit.say("go").await;
        assert!(matches!(outcome.ending, Ending::Failed { .. }), "{name}: {outcome:?}");
        assert!(diary.lines().is_empty(), "{name}");
        assert_eq!(model.requests().len() == 2, again, "{name}");
        assert_eq!(outcome.partial, !outcome.reply.text.is_empty(), "{name}");
        if outcome.partial {
            assert!(outcome.reply.notices.iter().any(|notice| notice.contains("only a part")), "{name}");
        }
        let stored = kit.sessions.stored("terminal:t").unwrap().messages;
        assert!(!text(&stored).contains("Call("), "{name}: {stored:?}");
        crate::machine::assert_paired(&stored);
    }
    // (d) finished, and then the end mark is missing.
    let finish = ModelEvent::Finished { reason: FinishReason::Stop, usage: Usage::default() };
    let events = vec![Ok(ModelEvent::Text("Whole".into())), Ok(finish), Err(cut())];
    let kit = Kit::new(&[script(vec![Step::Events(events)])], vec![]);
    let outcome = kit.say("go").await;
    assert_eq!((outcome.ending, outcome.reply.text.as_str()), (Ending::Succeeded, "Whole"));
}

// ENG-3
#[tokio::test(start_paused = true)]
async fn another_route_answers() {
    let overloaded = || Step::Fail(ModelError::new(FailureKind::Overloaded, "busy"));
    let first = script(vec![overloaded(), overloaded()]);
    let second = Arc::new(Script::new("b:m", vec![Step::Say("from b".into())]));
    let kit = Kit::new(&[Arc::clone(&first), second], vec![]);
    let (outcome, events) = kit.say_and_listen("x").await;
    assert_eq!((outcome.reply.text.as_str(), outcome.model.as_str()), ("from b", "b:m"));
    assert_eq!(outcome.failover_history.len(), 2);
    assert!(outcome.reply.notices[0].contains("Answered by b:m"));
    assert!(events.iter().any(|event| matches!(event, RunEvent::Retry { attempt: 1, .. })));
    assert!(events.iter().any(|event| matches!(event, RunEvent::Failover { .. })));
}

// ENG-3
#[tokio::test(start_paused = true)]
async fn no_other_attempt_after_a_tool_ran() {
    let first = script(vec![
        Step::Call(String::new(), vec![("Put".into(), json!({"name": "x"}))]),
        Step::Fail(ModelError::new(FailureKind::Overloaded, "busy")),
    ]);
    let second = Arc::new(Script::new("b:m", vec![Step::Say("never".into())]));
    let kit = Kit::new(&[Arc::clone(&first), Arc::clone(&second)], vec![Offer::ready(Put(Diary::default()))]);
    let outcome = kit.say("x").await;
    assert!(matches!(outcome.ending, Ending::Failed { kind: FailureKind::Overloaded, .. }));
    assert!(first.requests().len() == 2 && second.requests().is_empty());
    let warned = kit.log.facts().into_iter().any(|fact| {
        matches!(fact, Fact::Warning { code, message }
            if code == "provider_failover_blocked" && message.contains("tool_already_executed"))
    });
    assert!(warned);
}

// ENG-7, T9-05
#[tokio::test]
async fn nothing_is_asked_of_a_provider_when_the_run_cannot_be_recorded() {
    let model = script(vec![Step::Say("one".into()), Step::Say("two".into())]);
    let kit = Kit::new(&[Arc::clone(&model)], vec![]);
    kit.log.fail_with(Some(LogError::Full));
    let outcome = kit.say("x").await;
    let Ending::Failed { kind: FailureKind::RecordFailed, error } = outcome.ending else {
        panic!("{outcome:?}")
    };
    assert!(error.contains("full") && model.requests().is_empty() && !outcome.recorded);
    kit.log.fail_with(None);
    assert!(kit.say("y").await.recorded);
    assert_eq!(model.requests().len(), 1);
}

/// A tool that fills the disk while it runs.
struct Fills(Arc<MemoryLog>);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

impl host_surface::Tool for Fills {
    const DECL: host_surface::Decl = host_surface::Decl {
        name: "Fills",
        about: "Fills the disk.",
        effects: &[host_vocab::Effect::WritesWorkspace],
        belongs: host_surface::Belongs::Lists,
        codes: &[],
    };
    type Input = Nothing;

    async fn run(
        &self,
        _call: host_surface::Admitted<Nothing>,
    ) -> Result<host_surface::ToolOutput, host_surface::ToolError> {
        self.0.fail_with(Some(LogError::Full));
        Ok(host_surface::ToolOutput::text("full now"))
    }
}

// T9-05
#[tokio::test(start_paused = true)]
async fn what_a_full_disk_did_not_take_is_said_and_recorded_later() {
    let log = Arc::new(MemoryLog::default());
    let (sessions, clock) = (Arc::new(MemorySessions::default()), Arc::new(TestClock::default()));
    let hub = super::kit::hub_of(SessionConfig::default(), &sessions, &log, &clock);
    let model =
        script(vec![Step::Call(String::new(), vec![("Fills".into(), json!({}))]), Step::Say("never".into())]);
    let offers = vec![Offer::ready(Fills(Arc::clone(&log)))];
    let kit = Kit::over(vec![Arc::clone(&model) as _], offers, hub, Arc::clone(&log), sessions, clock);
    let (outcome, events) = kit.say_and_listen("go").await;
    assert!(matches!(outcome.ending, Ending::Failed { kind: FailureKind::RecordFailed, .. }), "{outcome:?}");
    assert!(!outcome.recorded && model.requests().len() == 1);
    assert!(outcome.reply.notices.iter().any(|notice| notice.contains("not durably recorded")));
    let told =
        events.iter().any(|event| matches!(event, RunEvent::Notice { text } if text.contains("not durably")));
    assert!(told, "{events:?}");
    assert_eq!(kit.engine.hub().backlog().waiting(), 2);
    log.fail_with(None);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(kit.engine.hub().backlog().waiting(), 0);
    let kinds = log.kinds();
    assert_eq!(kinds[kinds.len() - 2..], ["call_settled", "run_settled"]);
    assert_eq!(kinds.iter().filter(|kind| *kind == "call_settled").count(), 1);
}

async fn cancelled_in_a_call(obeys: bool) -> (Kit, Diary) {
    let diary = Diary::default();
    let calls = vec![("Stuck".to_owned(), json!({"name": "x"})), ("Put".to_owned(), json!({"name": "y"}))];
    let model = script(vec![Step::Call("Working.".into(), calls), Step::Say("next".into())]);
    let offers = vec![Offer::ready(Stuck { diary: diary.clone(), obeys }), Offer::ready(Put(diary.clone()))];
    let kit = Kit::new(&[Arc::clone(&model)], offers);
    let cancel = CancellationToken::new();
    let mut input = kit.input("go");
    input.cancel = cancel.clone();
    let engine = kit.engine.clone();
    let run = tokio::spawn(async move { engine.run(input).await });
    while diary.lines().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    cancel.cancel();
    let outcome = tokio::time::timeout(Duration::from_secs(30), run).await.expect("bounded").unwrap();
    assert_eq!(outcome.ending, Ending::Cancelled);
    assert!(outcome.partial && outcome.reply.text == "Working.");
    assert_eq!(kit.log.kinds().last().map(String::as_str), Some("run_settled"));
    (kit, diary)
}

// ENG-1
#[tokio::test(start_paused = true)]
async fn cancelled_in_the_middle_of_a_call() {
    for obeys in [true, false] {
        let (kit, diary) = cancelled_in_a_call(obeys).await;
        // The tool is gone, and the next one never began.
        assert_eq!(diary.lines(), ["stuck", "dropped"]);
        let stored = kit.sessions.stored("terminal:t").unwrap().messages;
        crate::machine::assert_paired(&stored);
        let kept = text(&stored);
        assert!(
            kept.contains("aborted") && kept.contains("was cancelled before it came to its end"),
            "{kept}"
        );
        // The conversation goes on.
        assert_eq!(kit.say("again").await.reply.text, "next");
    }
}

// ENG-1
#[tokio::test(start_paused = true)]
async fn a_run_whose_caller_is_gone_settles_as_cancelled() {
    let model = script(vec![Step::Hang]);
    let kit = Kit::new(&[Arc::clone(&model)], vec![]);
    {
        let run = kit.engine.run(kit.input("go"));
        tokio::pin!(run);
        let waited = tokio::time::timeout(Duration::from_millis(50), &mut run).await;
        assert!(waited.is_err() && model.requests().len() == 1);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let facts = kit.log.facts();
    assert!(matches!(facts.last(), Some(Fact::RunSettled { ending: Ending::Cancelled, .. })), "{facts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_falls_silent_is_given_up() {
    let model = script(vec![Step::Hang, Step::Hang]);
    let kit = Kit::new(&[Arc::clone(&model)], vec![]);
    let outcome = kit.say("go").await;
    assert!(matches!(outcome.ending, Ending::Failed { kind: FailureKind::ProviderUnavailableExhausted, .. }));
    assert_eq!(model.requests().len(), 2);
}

/// Breaks when it is asked.
struct Broken;

impl Model for Broken {
    fn info(&self) -> ModelInfo {
        Script::new("x:broken", vec![]).info()
    }

    fn stream(&self, _request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        panic!("a fault of an adapter")
    }
}

#[tokio::test]
async fn a_panic_below_ends_the_run_and_not_the_host() {
    let log = Arc::new(MemoryLog::default());
    let (sessions, clock) = (Arc::new(MemorySessions::default()), Arc::new(TestClock::default()));
    let hub = super::kit::hub_of(SessionConfig::default(), &sessions, &log, &clock);
    let offers = vec![Offer::ready(Look(Diary::default(), None))];
    let kit = Kit::over(vec![Arc::new(Broken) as _], offers, hub, Arc::clone(&log), sessions, clock);
    let outcome = kit.say("go").await;
    assert!(matches!(outcome.ending, Ending::Failed { kind: FailureKind::RuntimeError, .. }));
    assert!(matches!(log.facts().last(), Some(Fact::RunSettled { .. })));
}

// ENG-1
#[tokio::test]
async fn a_run_that_was_stopped_before_it_began_asks_nobody() {
    let model = script(vec![Step::Say("never".into())]);
    let kit = Kit::new(&[Arc::clone(&model)], vec![]);
    let input = kit.input("go");
    input.cancel.cancel();
    assert_eq!(kit.engine.run(input).await.ending, Ending::Cancelled);
    assert!(model.requests().is_empty());
}

// T9-05
#[tokio::test(start_paused = true)]
async fn waiting_facts_keep_their_order_and_have_a_bound() {
    let kit = Kit::new(&[script(vec![])], vec![]);
    let backlog = kit.engine.hub().backlog().clone();
    kit.log.fail_with(Some(LogError::Full));
    let fact = |n: usize| Fact::Warning { code: "n".into(), message: n.to_string() };
    (0..1_030).for_each(|n| backlog.later(host_event::Scope::default(), fact(n)));
    assert_eq!((backlog.waiting(), backlog.lost()), (1_024, 6));
    assert_eq!(backlog.flush().await, 1_024);
    tokio::time::sleep(Duration::from_secs(300)).await;
    kit.log.fail_with(None);
    let (left, ()) = tokio::join!(backlog.flush(), tokio::time::sleep(Duration::from_secs(120)));
    assert_eq!((left, backlog.waiting()), (0, 0));
    let expected: Vec<Fact> = (0..1_024).map(fact).collect();
    assert_eq!(kit.log.facts(), expected);
}

/// The disk is full from its first request on.
struct FillsTheDisk(Arc<Script>, Arc<MemoryLog>);

impl Model for FillsTheDisk {
    fn info(&self) -> ModelInfo {
        self.0.info()
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        self.1.fail_with(Some(LogError::Full));
        self.0.stream(request)
    }
}

// T9-05
#[tokio::test(start_paused = true)]
async fn an_answer_that_the_log_did_not_take_is_given_and_said_to_be_unrecorded() {
    let log = Arc::new(MemoryLog::default());
    let (sessions, clock) = (Arc::new(MemorySessions::default()), Arc::new(TestClock::default()));
    let hub = super::kit::hub_of(SessionConfig::default(), &sessions, &log, &clock);
    let model = FillsTheDisk(script(vec![Step::Say("42".into())]), Arc::clone(&log));
    let kit = Kit::over(vec![Arc::new(model) as _], vec![], hub, Arc::clone(&log), sessions, clock);
    let outcome = kit.say("go").await;
    assert_eq!((outcome.ending, outcome.reply.text.as_str()), (Ending::Succeeded, "42"));
    assert!(!outcome.recorded && outcome.reply.notices.iter().any(|it| it.contains("not durably recorded")));
    assert_eq!(log.kinds(), ["run_started", "model_asked"]);
    log.fail_with(None);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(log.kinds(), ["run_started", "model_asked", "model_answered", "run_settled"]);
}
