use super::*;
use host_ports::BoxFuture;
use host_ports::kept::KeepNothing;
use host_testkit::TestSurface;
use host_turn::Usage;
use host_vocab::RunId;
use serde_json::Value;
use std::sync::Mutex;

/// Answers with one report, and keeps what it was asked.
struct Desk {
    report: Result<HelperReport, HelperRefusal>,
    asked: Mutex<Vec<HelperTask>>,
}

impl Helpers for Desk {
    fn start(&self, task: HelperTask, parent: Parent) -> BoxFuture<'_, Result<HelperReport, HelperRefusal>> {
        (parent.tell)("scout: Read".to_owned());
        self.asked.lock().unwrap().push(task);
        let report = self.report.clone();
        Box::pin(async move { report })
    }
}

fn report(end: HelperEnd, text: &str) -> HelperReport {
    HelperReport {
        run: RunId::parse("run-h").unwrap(),
        end,
        text: text.to_owned(),
        calls: vec![HelperCall {
            tool: "Read".into(),
            settled: "done".into(),
            code: "ok".into(),
            duration_ms: 3,
        }],
        calls_total: 1,
        dropped: vec![("Write".into(), "no helper may have it".into())],
        usage: Usage::default(),
        duration_ms: 7,
    }
}

fn menu(read_only: bool) -> HelperMenu {
    HelperMenu {
        named: vec![("scout".into(), "looks around".into())],
        inline: true,
        models: Vec::new(),
        read_only,
        per_turn_max: 20,
    }
}

async fn ask(
    report: Result<HelperReport, HelperRefusal>,
    input: Value,
) -> (host_surface::Settled, Vec<HelperTask>) {
    let desk = Arc::new(Desk { report, asked: Mutex::default() });
    let tool = AgentTool::new(Arc::clone(&desk) as _, Arc::new(KeepNothing), menu(true));
    let settled = TestSurface::of(tool).await.call("Agent", input).await;
    let asked = desk.asked.lock().unwrap().clone();
    (settled, asked)
}

// TOO-6
#[tokio::test]
async fn the_answer_comes_with_the_calls_and_what_was_not_given() {
    let (settled, asked) = ask(
        Ok(report(HelperEnd::Succeeded, "It is in a.txt.")),
        json!({"prompt": "find it", "name": "scout", "tools": ["Read", "Write"], "effort": "LOW"}),
    )
    .await;
    assert_eq!(asked[0].effort, Some(Effort::Low));
    assert_eq!(asked[0].tools.as_deref(), Some(&["Read".to_owned(), "Write".to_owned()][..]));
    insta::assert_snapshot!(settled.text(), @r"
    The helper scout (run run-h) answered after 7 ms.
    It was not given Write: no helper may have it.

    It is in a.txt.

    Its calls:
    - Read: done (3 ms)
    ");
    assert_eq!(settled.outcome.unwrap()["helperRun"], "run-h");
}

// TOO-6
#[tokio::test]
async fn a_helper_that_failed_is_a_failed_call_that_says_so() {
    for (end, code) in [
        (HelperEnd::Failed("provider_auth: no key".into()), "helper_failed"),
        (HelperEnd::TimedOut(1_000), "helper_timed_out"),
        (HelperEnd::Cancelled, "aborted"),
    ] {
        let (settled, _) = ask(Ok(report(end, "half")), json!({"prompt": "x"})).await;
        assert_eq!((settled.how, settled.code.as_str()), (host_surface::How::Failed, code));
        assert!(
            settled.text().contains("half") && settled.text().contains("Read: done"),
            "{}",
            settled.text()
        );
    }
    let mut unsure = report(HelperEnd::TimedOut(1_000), "");
    unsure.calls[0].settled = "unknown".into();
    let (settled, _) = ask(Ok(unsure), json!({"prompt": "x"})).await;
    assert_eq!(settled.how, host_surface::How::Unknown);
    let refusal = HelperRefusal { code: "too_many_helpers", message: "20 were started".into() };
    let (settled, _) = ask(Err(refusal), json!({"prompt": "x"})).await;
    assert_eq!((settled.code.as_str(), settled.text().as_str()), ("too_many_helpers", "20 were started"));
}

// TOO-6
#[tokio::test]
async fn a_task_that_cannot_be_meant_starts_nothing() {
    for (input, code) in [
        (json!({"prompt": " "}), "invalid_task"),
        (json!({"prompt": "x", "name": "scout", "systemPrompt": "be kind"}), "invalid_task"),
        (json!({"prompt": "x", "effort": "lots"}), "invalid_task"),
        (json!({"prompt": "x".repeat(PROMPT_BYTES_MAX + 1)}), "invalid_task"),
        (json!({"name": "scout"}), "invalid_arguments"),
        (json!({"prompt": "x", "persist": true}), "invalid_arguments"),
    ] {
        let (settled, asked) = ask(Ok(report(HelperEnd::Succeeded, "")), input).await;
        assert_eq!((settled.code.as_str(), asked.len()), (code, 0));
    }
}

// TOO-6, TOO-7
#[tokio::test]
async fn a_long_answer_is_cut_between_characters_and_says_how_long_it_was() {
    let long = "ü".repeat(ANSWER_CHARS_MAX + 5);
    let (settled, _) = ask(Ok(report(HelperEnd::Succeeded, &long)), json!({"prompt": "x"})).await;
    let told = settled.text();
    assert_eq!(told.matches('ü').count(), ANSWER_CHARS_MAX);
    assert!(told.contains("24010 bytes") && told.len() < 25_000, "{}", told.len());
    let mut many = report(HelperEnd::Succeeded, "");
    many.calls = vec![many.calls[0].clone(); CALLS_MAX + 3];
    many.calls_total = 500;
    let (settled, _) = ask(Ok(many), json!({"prompt": "x"})).await;
    assert!(settled.text().ends_with("- and 400 more"), "{}", settled.text());
}

// ENG-1, TOO-6: helpers that only read may run side by side; others take turns.
#[tokio::test]
async fn what_helpers_can_do_decides_whether_they_run_together() {
    for read_only in [true, false] {
        let desk = Arc::new(Desk { report: Ok(report(HelperEnd::Succeeded, "")), asked: Mutex::default() });
        let tool = AgentTool::new(desk, Arc::new(KeepNothing), menu(read_only));
        let surface = TestSurface::of(tool).await.surface;
        let info = surface.info("Agent").unwrap();
        assert_eq!(info.may_run_together(), read_only);
        assert!(
            info.no_deadline && info.description.contains("scout (looks around)"),
            "{}",
            info.description
        );
    }
}
