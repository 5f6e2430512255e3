//! Agents that ask each other, as a program composes them (TOO-6).
#![allow(clippy::unwrap_used, reason = "what can't be set up fails the test")]

use host_app::{Agent, AgentResponder, People};
use host_policy::{PolicyInput, ToolPolicy, create_tool_policy};
use host_ports::CancellationToken;
use host_run::EventSink;
use host_surface::{Admitted, Belongs, Decl, Tool, ToolError, ToolOutput};
use host_testkit::{MemoryLog, MemorySessions, Script, Step};
use host_tools::{Collaborator, Collaborators};
use host_turn::Turn;
use host_vocab::{ConversationId, Effect, ToolName};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Writes; counts how often.
#[derive(Clone, Default)]
struct Stamp(Arc<AtomicU32>);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

impl Tool for Stamp {
    const DECL: Decl = Decl {
        name: "Stamp",
        about: "Stamps.",
        effects: &[Effect::WritesWorkspace],
        belongs: Belongs::Lists,
        codes: &[],
    };
    type Input = Nothing;

    async fn run(&self, _call: Admitted<Nothing>) -> Result<ToolOutput, ToolError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(ToolOutput::text("stamped"))
    }
}

fn stamps() -> ToolPolicy {
    let known = host_policy::KnownNames {
        plugin_tools: vec![ToolName::parse("Stamp").unwrap()],
        ..host_policy::KnownNames::default()
    };
    create_tool_policy(PolicyInput { allowed: Some(vec!["Stamp".into()]), known, ..PolicyInput::default() })
        .unwrap()
}

fn agent(
    model: &Arc<Script>,
    stamp: &Stamp,
    policy: ToolPolicy,
    others: Vec<Collaborator>,
) -> (Agent, Arc<MemoryLog>) {
    let log = Arc::new(MemoryLog::default());
    let agent = Agent::builder()
        .model(Arc::clone(model) as _)
        .tool(stamp.clone())
        .policy(policy)
        .log(Arc::clone(&log) as _)
        .sessions(Arc::new(MemorySessions::default()))
        .collaborators(Collaborators::new(others, 6).unwrap())
        .build()
        .unwrap();
    (agent, log)
}

fn ask(id: &str, prompt: &str) -> Step {
    Step::Call(String::new(), vec![("AskCollaborator".into(), json!({"collaborator": id, "prompt": prompt}))])
}

fn script(steps: Vec<Step>) -> Arc<Script> {
    Arc::new(Script::new("scripted:t", steps))
}

async fn say(agent: &Agent, cancel: CancellationToken) -> host_run::RunOutcome {
    let turn = Turn::terminal(ConversationId::parse("terminal:t").unwrap(), "May we print this?");
    agent.run(turn, People::nobody(), EventSink::default(), cancel).await
}

// TOO-6, T6-09: the collaborator works under its own policy and log, remembers what it was asked, and its runs say who
// asked; the asking agent gets no tool of it.
#[tokio::test]
async fn a_collaborator_is_an_agent_of_its_own() {
    let stamp = Stamp::default();
    let lawyers = script(vec![
        Step::Call(String::new(), vec![("Stamp".into(), json!({}))]),
        Step::Say("yes".into()),
        Step::Say("yes again".into()),
    ]);
    let (lawyer, lawyers_log) = agent(&lawyers, &stamp, stamps(), Vec::new());
    let editors = script(vec![
        Step::Call(String::new(), vec![("Stamp".into(), json!({}))]),
        ask("law", "Quote it?"),
        ask("law", "Really?"),
        Step::Say("printed".into()),
    ]);
    let law = Collaborator::new("law", Arc::new(AgentResponder::new(lawyer)));
    let (editor, _) = agent(&editors, &stamp, ToolPolicy::fail_closed(), vec![law]);
    let outcome = say(&editor, CancellationToken::new()).await;
    assert_eq!(outcome.reply.text, "printed");
    // The editor may not stamp; the lawyer may, and did once.
    assert_eq!(stamp.0.load(Ordering::SeqCst), 1);
    let names: Vec<String> = editors.requests()[0].tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, ["AskCollaborator"]);
    let asked = serde_json::to_string(&lawyers.requests()[0].messages).unwrap();
    assert!(asked.contains("May we print this?") && asked.contains("Quote it?"), "{asked}");
    let again = serde_json::to_string(&lawyers.requests()[2].messages).unwrap();
    assert!(
        again.contains("Quote it?") && again.contains("Really?"),
        "it goes on in one conversation: {again}"
    );
    let first = lawyers_log.events().remove(0);
    assert_eq!(first.scope.conversation.unwrap().as_str(), "terminal:t:law");
    assert!(format!("{:?}", lawyers_log.facts()[0]).contains(outcome.run.as_str()), "it says who asked");
}

// TOO-6: a failure there is a failed call here, and the run goes on.
#[tokio::test]
async fn a_collaborator_that_fails_is_told_to_the_model() {
    let (lawyer, _) = agent(&script(vec![]), &Stamp::default(), ToolPolicy::fail_closed(), Vec::new());
    let editors = script(vec![ask("law", "Quote it?"), Step::Say("without it".into())]);
    let law = Collaborator::new("law", Arc::new(AgentResponder::new(lawyer)));
    let (editor, _) = agent(&editors, &Stamp::default(), ToolPolicy::fail_closed(), vec![law]);
    assert_eq!(say(&editor, CancellationToken::new()).await.reply.text, "without it");
    let told = serde_json::to_string(&editors.requests()[1].messages).unwrap();
    assert!(told.contains("law did not answer") && told.contains("the script is over"), "{told}");
}

// TOO-6: cancelling the asking turn cancels the asked one.
#[tokio::test]
async fn a_cancelled_turn_stops_its_collaborator() {
    let lawyers = script(vec![Step::Hang]);
    let (lawyer, lawyers_log) = agent(&lawyers, &Stamp::default(), ToolPolicy::fail_closed(), Vec::new());
    let editors = script(vec![ask("law", "Quote it?"), Step::Say("late".into())]);
    let law = Collaborator::new("law", Arc::new(AgentResponder::new(lawyer)));
    let (editor, _) = agent(&editors, &Stamp::default(), ToolPolicy::fail_closed(), vec![law]);
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let asked = Arc::clone(&lawyers);
    tokio::spawn(async move {
        while asked.requests().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        stop.cancel();
    });
    let outcome = tokio::time::timeout(Duration::from_secs(20), say(&editor, cancel)).await.unwrap();
    assert_eq!(outcome.ending.status(), "cancelled");
    for _ in 0..200 {
        if lawyers_log.kinds().last().map(String::as_str) == Some("run_settled") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("the asked run did not settle: {:?}", lawyers_log.kinds());
}
