//! The host as a library: an agent of a program's own parts (LIB-1).
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use host_app::{Agent, AgentBuilder, BuildError, People, SystemClock};
use host_event::Fact;
use host_policy::{
    ApprovalRules, KnownNames, PolicyInput, RuntimeCapabilities, ToolPolicy, create_tool_policy,
};
use host_ports::ask::ApprovalAnswer;
use host_ports::log::{Log, Recorder};
use host_ports::{BoxFuture, CancellationToken};
use host_run::{
    ChildSurfaces, Engine, EngineConfig, EngineParts, EventSink, LentSurface, RouteParts, RunInput,
    RunOutcome, SessionConfig, SessionHub, SurfaceError, Surfaces as _,
};
use host_store::{Durability, EventLog, OpenOptions, PromptVault};
use host_surface::{
    Admitted, Arguments, Belongs, Decl, How, Offer, RunFacts, Tool, ToolError, ToolOutput, ToolSource,
    WithheldBy,
};
use host_testkit::{Answers, MemoryLog, MemorySessions, Script, Step, TestSurface, facts};
use host_turn::{Channel, Trigger, Turn};
use host_vocab::{ConversationId, Effect, ToolName};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A custom tool that counts how often it ran.
#[derive(Clone, Default)]
struct Add(Arc<AtomicU32>);

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddInput {
    /// One number.
    a: i64,
    /// Another number.
    b: i64,
}

impl Tool for Add {
    const DECL: Decl = Decl {
        name: "Add",
        about: "Adds two numbers.",
        effects: &[Effect::Presents],
        belongs: Belongs::Lists,
        codes: &["too_large"],
    };
    type Input = AddInput;
    async fn run(&self, call: Admitted<AddInput>) -> Result<ToolOutput, ToolError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let sum = call.input.a.checked_add(call.input.b);
        let sum = sum.ok_or_else(|| ToolError::new("too_large", "the sum is too large"))?;
        Ok(ToolOutput::text(format!("sum={sum}")).with_structured(json!({"sum": sum})))
    }
}

impl Add {
    fn ran(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

fn call_add() -> Step {
    Step::Call("I add.".into(), vec![("Add".into(), json!({"a": 20, "b": 22}))])
}

fn script(steps: Vec<Step>) -> Arc<Script> {
    Arc::new(Script::new("test:model", steps))
}

fn allow(names: &[&str]) -> ToolPolicy {
    create_tool_policy(PolicyInput {
        allowed: Some(names.iter().map(|&name| name.to_owned()).collect()),
        known: KnownNames { plugin_tools: vec![ToolName::parse("Add").unwrap()], ..KnownNames::default() },
        ..PolicyInput::default()
    })
    .unwrap()
}

/// A builder with everything but a policy.
fn builder(tool: &Add, model: &Arc<Script>, log: &Arc<MemoryLog>) -> AgentBuilder {
    Agent::builder()
        .name("abacus")
        .identity("You add.")
        .model(Arc::clone(model) as _)
        .tool(tool.clone())
        .log(Arc::clone(log) as _)
        .sessions(Arc::new(MemorySessions::default()))
}

fn turn(text: &str) -> Turn {
    Turn::terminal(ConversationId::parse("terminal:library").unwrap(), text)
}

async fn run(agent: &Agent, turn: Turn, people: People) -> RunOutcome {
    agent.run(turn, people, EventSink::default(), CancellationToken::new()).await
}

// LIB-1, ENG-6
#[tokio::test]
async fn a_custom_tool_runs_through_the_gate_and_leaves_its_record() {
    let (tool, log) = (Add::default(), Arc::new(MemoryLog::default()));
    let model = script(vec![call_add(), Step::Say("It is 42.".into())]);
    let agent = builder(&tool, &model, &log).policy(allow(&["Add"])).build().unwrap();
    let outcome = run(&agent, turn("20 + 22?"), People::nobody()).await;
    assert_eq!(outcome.ending.status(), "succeeded", "{outcome:?}");
    assert_eq!((outcome.reply.text.as_str(), tool.ran()), ("It is 42.", 1));
    assert!(outcome.recorded);

    let requests = model.requests();
    assert!(requests[0].system.contains("You add."));
    assert_eq!(requests[0].tools.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["Add"]);
    assert!(format!("{:?}", requests[1].messages).contains("sum=42"));

    let kinds = log.kinds();
    let place = |kind: &str| kinds.iter().position(|it| it == kind).unwrap_or_else(|| panic!("{kinds:?}"));
    assert_eq!(place("run_started"), 0);
    assert!(place("call_started") < place("call_settled"));
    assert_eq!(place("run_settled"), kinds.len() - 1);
    agent.close().await;
}

// LIB-1: the gate checks a custom tool's arguments, and its failures settle like any other's.
#[tokio::test]
async fn a_custom_tool_is_called_without_a_model_through_the_same_gate() {
    let (tool, log) = (Add::default(), Arc::new(MemoryLog::default()));
    let agent = builder(&tool, &script(vec![]), &log).policy(allow(&["Add"])).build().unwrap();
    let call = async |name: &str, arguments| {
        let arguments = Arguments::Value(arguments);
        agent.call("terminal", name, arguments, People::nobody(), CancellationToken::new()).await.unwrap()
    };
    assert_eq!(call("Add", json!({"a": 1, "b": 2})).await.structured, Some(json!({"sum": 3})));
    assert_eq!(call("Add", json!({"a": 1})).await.code.as_str(), "invalid_arguments");
    assert_eq!(call("Add", json!({"a": 1, "b": 2, "c": 3})).await.code.as_str(), "invalid_arguments");
    assert_eq!(call("add", json!({"a": 1, "b": 2})).await.code.as_str(), "unknown_tool");
    let failed = call("Add", json!({"a": i64::MAX, "b": 1})).await;
    assert_eq!((failed.how, failed.code.as_str()), (How::Failed, "too_large"));
    assert_eq!(tool.ran(), 2);
}

// POL-14: nothing is given, so nothing is allowed; the model is told of no tool, and a call reaches none.
#[tokio::test]
async fn without_a_policy_the_builder_fails_closed() {
    let (tool, log) = (Add::default(), Arc::new(MemoryLog::default()));
    let model = script(vec![call_add(), Step::Say("I can't.".into())]);
    let agent = builder(&tool, &model, &log).build().unwrap();
    let rows = agent.explain("terminal").await.unwrap().tools;
    assert_eq!(
        (rows[0].name.as_str(), rows[0].offered, rows[0].by.as_deref()),
        ("Add", false, Some("policy"))
    );

    let outcome = run(&agent, turn("20 + 22?"), People::nobody()).await;
    assert_eq!(outcome.ending.status(), "succeeded", "{outcome:?}");
    assert!(model.requests()[0].tools.is_empty());
    assert_eq!(tool.ran(), 0);
    let refused = log.facts().into_iter().find_map(|fact| match fact {
        Fact::CallRefused { tool, code, by, .. } => Some((tool, code, by)),
        _ => None,
    });
    assert_eq!(refused, Some(("Add".into(), "tool_denied".into(), "surface".into())));
}

// POL-14: lists that allow other names leave a custom tool out as well.
#[tokio::test]
async fn a_custom_tool_is_gated_by_the_lists_like_ours() {
    let (tool, log) = (Add::default(), Arc::new(MemoryLog::default()));
    for (policy, offered) in [(allow(&["Read"]), false), (allow(&[]), false), (allow(&["*"]), true)] {
        let agent = builder(&tool, &script(vec![]), &log).policy(policy).build().unwrap();
        assert_eq!(agent.explain("terminal").await.unwrap().tools[0].offered, offered);
    }
}

// POL-13: a runtime that doesn't say that it enforces the lists is refused before it is asked anything.
#[test]
fn a_runtime_that_may_not_enforce_the_policy_is_refused() {
    let (tool, log) = (Add::default(), Arc::new(MemoryLog::default()));
    let unknown = RuntimeCapabilities::default();
    let other = RuntimeCapabilities { tool_policy: Some("best-effort".into()) };
    for capabilities in [unknown, other] {
        for policy in [Some(allow(&["Add"])), None] {
            let model = script(vec![Step::Say("never".into())]);
            let mut builder =
                builder(&tool, &model, &log).runtime(Arc::clone(&model) as _, capabilities.clone());
            if let Some(policy) = policy {
                builder = builder.policy(policy);
            }
            let error = builder.build().err().unwrap();
            assert!(matches!(error, BuildError::Policy(_)), "{error}");
            assert!(error.to_string().contains("tools.allowedTools"), "{error}");
            assert!(model.requests().is_empty());
        }
        let model = script(vec![]);
        let open = builder(&tool, &model, &log).runtime(Arc::clone(&model) as _, capabilities);
        assert!(open.policy(ToolPolicy::allow_all()).build().is_ok(), "nothing is to be enforced");
    }
    let model = script(vec![]);
    let projected = RuntimeCapabilities { tool_policy: Some("projected".into()) };
    assert!(builder(&tool, &model, &log).runtime(model, projected).policy(allow(&[])).build().is_ok());
}

// LIB-1: a record and a store for prompts are no options.
#[test]
fn what_an_agent_cannot_be_without_is_named() {
    let model = script(vec![]);
    let log = Arc::new(MemoryLog::default());
    let error = Agent::builder().model(Arc::clone(&model) as _).build().err().unwrap();
    assert!(matches!(error, BuildError::NoLog), "{error}");
    let error = Agent::builder().model(model).log(Arc::clone(&log) as _).build().err().unwrap();
    assert!(matches!(error, BuildError::NoSessions), "{error}");
    let error =
        Agent::builder().log(log).sessions(Arc::new(MemorySessions::default())).build().err().unwrap();
    assert!(matches!(error, BuildError::Engine(_)), "{error}");
}

// LIB-1: any log and any store for prompts; the second turn goes on where the first ended.
#[tokio::test]
async fn custom_stores_hold_the_log_and_the_prompt() {
    let (tool, log) = (Add::default(), Arc::new(MemoryLog::default()));
    let sessions = Arc::new(MemorySessions::default());
    let model = script(vec![Step::Say("first".into()), Step::Say("second".into())]);
    let agent =
        builder(&tool, &model, &log).sessions(Arc::clone(&sessions) as _).policy(allow(&[])).build().unwrap();
    run(&agent, turn("one"), People::nobody()).await;
    run(&agent, turn("two"), People::nobody()).await;
    let state = sessions.stored("terminal:library").unwrap();
    assert_eq!((state.messages.len(), state.model.as_str()), (4, "test:model"));
    assert_eq!(model.requests()[1].messages.len(), 3);
    assert_eq!(log.kinds().iter().filter(|kind| *kind == "run_settled").count(), 2);
    assert_eq!(agent.clear_sessions().await.unwrap().0, 1);
    assert!(sessions.stored("terminal:library").is_none());
}

// LIB-1, ENG-7: the host's own stores, in a folder of the program's choice.
#[tokio::test]
async fn the_hosts_own_stores_work_without_an_agents_folder() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("store");
    let log = Arc::new(EventLog::open(OpenOptions::new(&dir)).unwrap());
    let vault = Arc::new(PromptVault::open(&dir, Durability::Process).unwrap());
    let tool = Add::default();
    let agent = Agent::builder()
        .model(script(vec![call_add(), Step::Say("done".into())]))
        .tool(tool.clone())
        .policy(allow(&["Add"]))
        .log(Arc::clone(&log) as _)
        .sessions(vault)
        .build()
        .unwrap();
    let outcome = run(&agent, turn("20 + 22?"), People::nobody()).await;
    assert!(outcome.recorded, "{outcome:?}");
    let events = log.run_events(&outcome.run, 0, 100).await.unwrap();
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds.first(), Some(&"run_started"));
    assert_eq!(kinds.last(), Some(&"run_settled"));
    assert!(kinds.contains(&"call_started") && kinds.contains(&"call_settled"), "{kinds:?}");
    assert_eq!(tool.ran(), 1);
    agent.close().await;
}

/// A source that has a tool for one channel alone.
struct ForLines(Add);

impl ToolSource for ForLines {
    fn name(&self) -> String {
        "lines".into()
    }

    fn offers<'a>(&'a self, run: &'a RunFacts) -> BoxFuture<'a, Vec<Offer>> {
        let offer = if run.channel.as_str() == "lines" {
            Offer::ready(self.0.clone())
        } else {
            Offer::withheld("Add", WithheldBy::Channel, "only turns from lines have it")
        };
        Box::pin(async { vec![offer] })
    }
}

// LIB-1: a channel is whoever makes turns; what it is called decides what its runs have.
#[tokio::test]
async fn a_custom_channel_and_a_custom_source_meet_in_the_facts_of_a_run() {
    let (tool, log) = (Add::default(), Arc::new(MemoryLog::default()));
    let model = script(vec![call_add(), Step::Say("42".into()), call_add(), Step::Say("no".into())]);
    let agent = Agent::builder()
        .model(Arc::clone(&model) as _)
        .source(Arc::new(ForLines(tool.clone())))
        .policy(allow(&["Add"]))
        .log(Arc::clone(&log) as _)
        .sessions(Arc::new(MemorySessions::default()))
        .build()
        .unwrap();
    let from_lines = Turn {
        channel: Channel::new("lines"),
        trigger: Trigger::Request,
        ..Turn::terminal(ConversationId::parse("lines:1").unwrap(), "20 + 22?")
    };
    assert_eq!(run(&agent, from_lines, People::nobody()).await.reply.text, "42");
    assert_eq!(tool.ran(), 1);
    run(&agent, turn("20 + 22?"), People::nobody()).await;
    assert_eq!(tool.ran(), 1);
    let row = &agent.explain("terminal").await.unwrap().tools[0];
    assert_eq!((row.by.as_deref(), row.source.as_str()), (Some("channel"), "lines"));
    assert!(agent.explain("lines").await.unwrap().tools[0].offered);
}

// LIB-1, TOO-9: a program's own person is asked; nobody is a no.
#[tokio::test]
async fn approvals_go_to_the_people_of_the_turn() {
    let known = KnownNames { plugin_tools: vec![ToolName::parse("Add").unwrap()], ..KnownNames::default() };
    let rules = json!({"rules": [{"tool": "Add", "decision": "ask"}]});
    let rules = ApprovalRules::parse(&rules, "approvals", &known).unwrap();
    let (tool, log) = (Add::default(), Arc::new(MemoryLog::default()));
    let model = script(vec![call_add(), Step::Say("a".into()), call_add(), Step::Say("b".into())]);
    let agent = builder(&tool, &model, &log).policy(allow(&["Add"])).approvals(rules).build().unwrap();
    run(&agent, turn("20 + 22?"), People::nobody()).await;
    assert_eq!(tool.ran(), 0);
    let person = Arc::new(Answers::new(vec![ApprovalAnswer::Approved]));
    let people = People { ask: Arc::clone(&person) as _, desk: None, elicit: None };
    run(&agent, turn("again"), people).await;
    assert_eq!((tool.ran(), person.asked()), (1, vec!["Add".to_owned()]));
}

fn engine(model: Arc<Script>, log: &Arc<MemoryLog>) -> Engine {
    let recorder = Recorder::new(Arc::clone(log) as _, Arc::default(), Arc::new(SystemClock));
    let sessions = Arc::new(MemorySessions::default());
    Engine::new(EngineParts {
        chain: vec![RouteParts { model, attempts: 1, effort: None }],
        hub: Arc::new(SessionHub::new(SessionConfig::default(), sessions, recorder)),
        config: EngineConfig::default(),
        incarnation: "test".into(),
    })
    .unwrap()
}

/// Runs a child that calls `Add` whether or not it has it; gives the tools that its model was told of.
async fn child(log: &Arc<MemoryLog>, lent: LentSurface, policy: ToolPolicy, without: &[&str]) -> Vec<String> {
    let model = script(vec![call_add(), Step::Say("done".into())]);
    let without = without.iter().map(|&name| name.to_owned()).collect();
    let surfaces = Arc::new(ChildSurfaces { parent: lent, policy, without });
    let input = RunInput { nested: true, ..RunInput::new(turn("child"), surfaces) };
    let outcome = engine(Arc::clone(&model), log).run(input).await;
    assert_eq!(outcome.ending.status(), "succeeded", "{outcome:?}");
    model.requests()[0].tools.iter().map(|tool| tool.name.clone()).collect()
}

// POL-15: whatever a child's own lists say, it has what its parent has, or less.
#[tokio::test]
async fn a_child_run_never_widens_what_its_parent_has() {
    for (parents, childs, without, told) in [
        (allow(&["Add"]), ToolPolicy::allow_all(), &[][..], 1),
        (allow(&["Add"]), allow(&["Read"]), &[], 0),
        (allow(&["Add"]), ToolPolicy::fail_closed(), &[], 0),
        (allow(&["Add"]), ToolPolicy::allow_all(), &["Add"], 0),
        (ToolPolicy::fail_closed(), ToolPolicy::allow_all(), &[], 0),
        (allow(&["Read"]), allow(&["Add"]), &[], 0),
    ] {
        let tool = Add::default();
        let parent =
            TestSurface::seal(vec![Offer::ready(tool.clone())], parents, ApprovalRules::default()).await;
        let TestSurface { surface, log } = parent;
        let surface = Arc::new(surface);
        let lent = LentSurface::default();
        lent.fill(&surface);
        let names = child(&log, lent, childs, without).await;
        assert_eq!((names.len(), tool.ran()), (told, told as u32), "{names:?}");
        drop(surface);
    }
}

// POL-15: what a run lends ends with the run.
#[tokio::test]
async fn a_child_has_nothing_once_its_parent_is_over() {
    let parent = TestSurface::of(Add::default()).await;
    let surface = Arc::new(parent.surface);
    let lent = LentSurface::default();
    let surfaces =
        ChildSurfaces { parent: lent.clone(), policy: ToolPolicy::allow_all(), without: Vec::new() };
    assert_eq!(surfaces.seal(facts()).await.err(), Some(SurfaceError::ParentGone), "not begun");
    lent.fill(&surface);
    assert_eq!(surfaces.seal(facts()).await.unwrap().names().count(), 1);
    drop(surface);
    assert_eq!(surfaces.seal(facts()).await.err(), Some(SurfaceError::ParentGone), "over");
}
