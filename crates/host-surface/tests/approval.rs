//! The gate's approval step: rules first, then a person where a rule asks (TOO-9).
//!
//! Every way in which no clear yes comes back must end with nothing run.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use host_event::Fact;
use host_policy::{ApprovalRules, KnownNames, ToolPolicy};
use host_ports::BoxFuture;
use host_ports::ask::{ApprovalAnswer, ApprovalRequest, Ask, NobodyToAsk};
use host_ports::kept::KeepNothing;
use host_ports::log::LogError;
use host_surface::{
    Admitted, Belongs, CallRequest, Decl, How, Offer, Settled, Tool, ToolError, ToolOutput, codes,
};
use host_testkit::{Answers, MemoryLog, TestSurface};
use host_vocab::Effect;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// Counts how often it ran.
#[derive(Clone, Default)]
struct Count(Arc<AtomicU32>);

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the rules and the asker look at the fields, the tool doesn't")]
struct CountInput {
    /// Where.
    file_path: String,
    /// What nobody but the tool may see.
    #[serde(default)]
    password: String,
}

impl Tool for Count {
    const DECL: Decl = Decl {
        name: "Write",
        about: "Counts.",
        effects: &[Effect::WritesWorkspace],
        belongs: Belongs::Lists,
        codes: &[],
    };
    type Input = CountInput;
    async fn run(&self, _call: Admitted<CountInput>) -> Result<ToolOutput, ToolError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(ToolOutput::text("counted"))
    }
}

impl Count {
    fn ran(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

fn rules(value: &Value) -> ApprovalRules {
    ApprovalRules::parse(value, "tools.approvals", &KnownNames::default()).unwrap()
}

fn ask_always() -> ApprovalRules {
    rules(&json!({"rules": [{"tool": "Write", "decision": "ask"}]}))
}

async fn sealed(approvals: ApprovalRules, ask: Arc<dyn Ask>) -> (Count, TestSurface) {
    let tool = Count::default();
    let offers = vec![Offer::ready(tool.clone())];
    let surface =
        TestSurface::seal_with(offers, ToolPolicy::allow_all(), approvals, ask, Arc::new(KeepNothing)).await;
    (tool, surface)
}

async fn write(it: &TestSurface, path: &str) -> Settled {
    it.call("Write", json!({"file_path": path})).await
}

/// The answers on record, in order.
fn answers(log: &MemoryLog) -> Vec<String> {
    log.facts()
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::ApprovalAnswered { answer, .. } => Some(answer),
            _ => None,
        })
        .collect()
}

fn assert_denied(settled: &Settled, part: &str) {
    assert_eq!((settled.how, settled.code.as_str()), (How::Refused, codes::APPROVAL_DENIED));
    assert!(settled.text().contains(part), "{}", settled.text());
}

// TOO-9
#[tokio::test]
async fn a_rule_that_allows_or_denies_asks_nobody() {
    let approvals = rules(&json!({"default": "deny", "rules": [
        {"tool": "Write", "match": {"file_path": "src/**"}, "decision": "allow"},
        {"tool": "Write", "match": {"file_path": "src/secret/**"}, "decision": "deny"},
    ]}));
    let asker = Arc::new(Answers::new(vec![ApprovalAnswer::Approved; 4]));
    let (tool, it) = sealed(approvals, asker.clone()).await;
    assert_eq!(write(&it, "src/a.rs").await.how, How::Done);
    assert_denied(&write(&it, "src/secret/a.rs").await, "tools.approvals.rules[1]");
    assert_denied(&write(&it, "docs/a.md").await, "tools.approvals.default");
    assert_eq!(tool.ran(), 1);
    assert!(asker.asked().is_empty());
    assert_eq!(it.log.kinds(), ["call_started", "call_settled", "call_refused", "call_refused"]);
}

// TOO-9: the answer holds for one call; the question, the answer and the rule are on record before it runs.
#[tokio::test]
async fn a_call_that_is_approved_runs_once_and_the_next_one_is_asked_again() {
    let asker = Arc::new(Answers::new(vec![ApprovalAnswer::Approved, ApprovalAnswer::Denied]));
    let (tool, it) = sealed(ask_always(), asker.clone()).await;
    assert_eq!(write(&it, "a").await.how, How::Done);
    assert_eq!(asker.asked(), ["Write"]);
    assert_eq!(it.log.kinds(), ["approval_asked", "approval_answered", "call_started", "call_settled"]);
    let facts = it.log.facts();
    let Fact::ApprovalAsked { tool: asked, rule } = &facts[0] else { panic!("a question") };
    assert_eq!((asked.as_str(), rule.as_str()), ("Write", "tools.approvals.rules[0]"));
    let Fact::CallStarted { rule, .. } = &facts[2] else { panic!("a start") };
    assert_eq!(rule, "approved by a person (tools.approvals.rules[0])");

    assert_denied(&write(&it, "a").await, "did not approve");
    assert_eq!((tool.ran(), asker.asked().len()), (1, 2));
    assert_eq!(answers(&it.log), ["approved", "denied"]);
    assert_eq!(it.log.kinds()[4..], ["approval_asked", "approval_answered", "call_refused"]);
}

// TOO-9: only the calls that the rule's pattern covers are asked for.
#[tokio::test]
async fn a_pattern_asks_for_its_own_calls_alone() {
    let approvals =
        rules(&json!({"rules": [{"tool": "Write", "match": {"file_path": "src/**"}, "decision": "ask"}]}));
    let asker = Arc::new(Answers::default());
    let (tool, it) = sealed(approvals, asker.clone()).await;
    assert_eq!(write(&it, "docs/a.md").await.how, How::Done);
    assert!(asker.asked().is_empty());
    assert_denied(&write(&it, "src/a.rs").await, "did not approve");
    assert_eq!((tool.ran(), asker.asked().len()), (1, 1));
}

// TOO-9: no answer in time, and nobody there, are a no.
#[tokio::test]
async fn silence_is_a_no() {
    let (tool, it) = sealed(ask_always(), Arc::new(Answers::new(vec![ApprovalAnswer::TimedOut]))).await;
    assert_denied(&write(&it, "a").await, "in time");
    assert_eq!(answers(&it.log), ["timed_out"]);
    assert_eq!(tool.ran(), 0);

    let (tool, it) = sealed(ask_always(), Arc::new(NobodyToAsk)).await;
    assert_denied(&write(&it, "a").await, "nobody can be asked");
    assert_eq!(answers(&it.log), ["no_asker"]);
    assert_eq!(tool.ran(), 0);
}

// TOO-9: the gate passes "always" on to the record; who keeps it decides about the next question.
#[tokio::test]
async fn always_is_a_yes_and_is_told_apart_on_record() {
    let asker = Arc::new(Answers::new(vec![ApprovalAnswer::ApprovedAlways]));
    let (tool, it) = sealed(ask_always(), asker).await;
    assert_eq!(write(&it, "a").await.how, How::Done);
    assert_eq!(answers(&it.log), ["approved_always"]);
    assert_eq!(tool.ran(), 1);
}

/// Breaks, at once or while somebody waits for it.
struct Broken {
    at_once: bool,
}

impl Ask for Broken {
    fn approve(&self, _request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        assert!(!self.at_once, "a fault of the asker, before it asks");
        Box::pin(async {
            tokio::task::yield_now().await;
            panic!("a fault of the asker, while it waits")
        })
    }
}

// TOO-9: there is no way from an error to permission.
#[tokio::test]
async fn a_broken_asker_is_a_no_and_takes_nothing_with_it() {
    for at_once in [false, true] {
        let (tool, it) = sealed(ask_always(), Arc::new(Broken { at_once })).await;
        assert_denied(&write(&it, "a").await, "did not approve");
        assert_eq!(answers(&it.log), ["denied"]);
        assert_eq!(tool.ran(), 0);
    }
}

/// Keeps what it was shown, and says yes.
#[derive(Default)]
struct Shown(Mutex<Vec<ApprovalRequest>>);

impl Ask for Shown {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        self.0.lock().unwrap().push(request);
        Box::pin(async { ApprovalAnswer::Approved })
    }
}

// TOO-9, QUA-5
#[tokio::test]
async fn the_person_sees_redacted_arguments_and_whose_call_it_is() {
    let asker = Arc::new(Shown::default());
    let (tool, it) = sealed(ask_always(), asker.clone()).await;
    let secret = "correct-horse-battery-staple";
    let request = CallRequest::new("Write", json!({"file_path": "notes.txt", "password": secret}));
    let call = request.id.clone();
    assert_eq!(it.surface.call(request).await.how, How::Done);
    assert_eq!(tool.ran(), 1);
    let shown = asker.0.lock().unwrap();
    let [question] = shown.as_slice() else { panic!("asked once") };
    let text = format!("{question:?}");
    assert!(!text.contains(secret), "{text}");
    assert!(text.contains("notes.txt"), "{text}");
    assert_eq!((question.tool.as_str(), question.rule.as_str()), ("Write", "tools.approvals.rules[0]"));
    assert_eq!((&question.call, &question.run), (&call, &it.surface.facts().run));
    assert_eq!(question.conversation, it.surface.facts().conversation);
    let log = format!("{:?}", it.log.events());
    assert!(!log.contains(secret), "{log}");
}

// TOO-9, ENG-7: a question that is not on record is not put to anybody.
#[tokio::test]
async fn nothing_is_asked_or_run_when_the_question_cannot_be_recorded() {
    let asker = Arc::new(Answers::new(vec![ApprovalAnswer::Approved]));
    let (tool, it) = sealed(ask_always(), asker.clone()).await;
    it.log.fail_with(Some(LogError::Full));
    let settled = write(&it, "a").await;
    assert_eq!(settled.how, How::Refused);
    assert!(settled.text().contains("could not be recorded"), "{}", settled.text());
    assert!(!settled.recorded);
    assert!(asker.asked().is_empty());
    assert_eq!(tool.ran(), 0);
}

/// Says yes after the log has gone.
#[derive(Default)]
struct LosesTheLog(OnceLock<Arc<MemoryLog>>);

impl Ask for LosesTheLog {
    fn approve(&self, _request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        if let Some(log) = self.0.get() {
            log.fail_with(Some(LogError::Full));
        }
        Box::pin(async { ApprovalAnswer::Approved })
    }
}

// TOO-9, ENG-7
#[tokio::test]
async fn a_yes_that_cannot_be_recorded_runs_nothing() {
    let asker = Arc::new(LosesTheLog::default());
    let (tool, it) = sealed(ask_always(), asker.clone()).await;
    asker.0.set(Arc::clone(&it.log)).ok().unwrap();
    assert_eq!(write(&it, "a").await.how, How::Refused);
    assert_eq!(tool.ran(), 0);
    assert_eq!(it.log.kinds(), ["approval_asked"]);
}

/// Never answers.
struct Silent;

impl Ask for Silent {
    fn approve(&self, _request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(std::future::pending())
    }
}

// TOO-9, ENG-1: Ctrl-C withdraws the question; it was nobody's no.
#[tokio::test(start_paused = true)]
async fn cancelling_the_turn_withdraws_the_question() {
    let (tool, it) = sealed(ask_always(), Arc::new(Silent)).await;
    let request = CallRequest::new("Write", json!({"file_path": "a"}));
    let cancel = request.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        cancel.cancel();
    });
    let settled = it.surface.call(request).await;
    assert_eq!((settled.how, settled.code.as_str()), (How::Refused, codes::ABORTED));
    assert_eq!(answers(&it.log), ["cancelled"]);
    assert_eq!(tool.ran(), 0);
}

// TOO-9: a tool that a rule denies whatever its arguments isn't offered at all.
#[tokio::test]
async fn a_standing_deny_takes_the_tool_off_the_surface() {
    let approvals = rules(&json!({"rules": [{"tool": "Write", "decision": "deny"}]}));
    let (tool, it) = sealed(approvals, Arc::new(Answers::new(vec![ApprovalAnswer::Approved]))).await;
    let settled = write(&it, "a").await;
    assert_eq!((settled.how, settled.code.as_str()), (How::Refused, codes::TOOL_DENIED));
    assert!(settled.text().contains("withheld by approval"), "{}", settled.text());
    assert_eq!(tool.ran(), 0);
}

// TOO-9: a rule that can never match must not be read as permission.
#[tokio::test]
async fn a_rule_for_an_argument_that_the_tool_lacks_takes_the_tool_away_unless_it_allows() {
    for decision in ["deny", "ask", "allow"] {
        let approvals =
            rules(&json!({"rules": [{"tool": "Write", "match": {"fil_path": "x"}, "decision": decision}]}));
        let (tool, it) = sealed(approvals, Arc::new(Answers::default())).await;
        let settled = write(&it, "x").await;
        if decision == "allow" {
            assert_eq!((settled.how, tool.ran()), (How::Done, 1));
        } else {
            assert_eq!((settled.how, tool.ran()), (How::Refused, 0));
            assert!(settled.text().contains("did you mean `file_path`?"), "{}", settled.text());
        }
    }
}
