//! The gate, step by step, on a surface of test tools.

use host_event::Fact;
use host_policy::{ApprovalRules, ToolPolicy};
use host_ports::kept::{Kept, KeptFile, KeptOutput};
use host_ports::log::LogError;
use host_surface::{
    Admitted, Arguments, Belongs, CallRequest, Decl, How, Offer, Tool, ToolError, ToolOutput, WithheldBy,
    codes,
};
use host_testkit::TestSurface;
use host_vocab::{CallId, Effect, RunId, limits};
use serde_json::json;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Counts how often it ran.
#[derive(Clone, Default)]
struct Count(Arc<AtomicU32>);

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct CountInput {
    /// How many.
    n: u32,
    /// What to do: `ok`, `fail`, `unknown`, `panic`, `hang`, `big`.
    #[serde(default)]
    mode: String,
}

impl Tool for Count {
    const DECL: Decl = Decl {
        name: "Write",
        about: "Counts.",
        effects: &[Effect::WritesWorkspace],
        belongs: Belongs::Lists,
        codes: &["no_luck"],
    };
    type Input = CountInput;
    async fn run(&self, call: Admitted<CountInput>) -> Result<ToolOutput, ToolError> {
        self.0.fetch_add(call.input.n, Ordering::SeqCst);
        match call.input.mode.as_str() {
            "fail" => Err(ToolError::new("no_luck", "it failed").with_partial(ToolOutput::text("so far"))),
            "unknown" => Err(ToolError::new("no_luck", "it broke off").effect_unknown()),
            "panic" => panic!("a fault of the tool"),
            "hang" => std::future::pending().await,
            "big" => Ok(ToolOutput::text(format!("HEAD{}TAIL", "é".repeat(300_000)))),
            _ => Ok(ToolOutput::text("counted").with_structured(json!({"n": call.input.n}))),
        }
    }
}

async fn surface() -> (Count, TestSurface) {
    let tool = Count::default();
    let surface = TestSurface::of(tool.clone()).await;
    (tool, surface)
}

// ENG-6
#[tokio::test]
async fn a_call_leaves_a_start_and_an_end() {
    let (tool, it) = surface().await;
    let settled = it.call("Write", json!({"n": 2})).await;
    assert_eq!((settled.how, settled.code.as_str()), (How::Done, codes::OK));
    assert_eq!(tool.0.load(Ordering::SeqCst), 2);
    assert_eq!(it.log.kinds(), ["call_started", "call_settled"]);
    let Fact::CallStarted { arguments, arguments_digest, .. } = &it.log.facts()[0] else { panic!("a start") };
    assert_eq!(arguments, &json!({"n": 2}));
    assert!(!arguments_digest.is_empty());
}

// T6-07, TOO-8
#[tokio::test]
async fn a_tool_that_is_not_on_the_surface_cannot_be_called_by_any_name() {
    let tool = Count::default();
    let hidden = TestSurface::seal(
        vec![Offer::ready(tool.clone())],
        ToolPolicy::fail_closed(),
        ApprovalRules::default(),
    )
    .await;
    for name in
        ["Write", "write", "WRITE", " Write", "mcp__builtin__Write", "mcp__mono-agent__Write", "fs.write", ""]
    {
        let settled = hidden.call(name, json!({"n": 1})).await;
        assert_eq!(settled.how, How::Refused, "{name}");
        let expected = if name == "Write" { codes::TOOL_DENIED } else { codes::UNKNOWN_TOOL };
        assert_eq!(settled.code.as_str(), expected, "{name}");
    }
    assert_eq!(tool.0.load(Ordering::SeqCst), 0);
    // each attempt is in the log
    assert_eq!(hidden.log.kinds().len(), 8);
    assert!(hidden.log.kinds().iter().all(|kind| kind == "call_refused"));
}

#[tokio::test]
async fn a_near_miss_is_named_but_never_run() {
    let (tool, it) = surface().await;
    let settled = it.call("Writ", json!({"n": 1})).await;
    assert!(settled.text().contains("did you mean Write?"), "{}", settled.text());
    assert_eq!(tool.0.load(Ordering::SeqCst), 0);
}

// TOO-8
#[tokio::test]
async fn arguments_are_checked_before_anything_runs() {
    let (tool, it) = surface().await;
    let raw = |text: &str| {
        let mut request = CallRequest::new("Write", json!({}));
        request.arguments = Arguments::Raw(text.to_owned());
        request
    };
    for (text, part) in [
        ("{\"n\": 1", "not valid JSON"),
        ("{\"n\": 1}}", "not valid JSON"),
        ("[1]", "an array"),
        ("\"n\"", "a string"),
        ("null", "null"),
        ("{}", "\"n\" is a required property"),
        ("", "\"n\" is a required property"),
        ("{\"n\": \"1\"}", "at n"),
        ("{\"n\": 1, \"m\": 2}", "'m'"),
        ("{\"n\": -1}", "at n"),
    ] {
        let settled = it.surface.call(raw(text)).await;
        assert_eq!(settled.code.as_str(), codes::INVALID_ARGUMENTS, "{text}");
        assert!(settled.text().contains(part), "{text}: {}", settled.text());
    }
    assert_eq!(tool.0.load(Ordering::SeqCst), 0);
}

// ENG-7, T9-05
#[tokio::test]
async fn what_cannot_be_recorded_does_not_run() {
    let (tool, it) = surface().await;
    it.log.fail_with(Some(LogError::Full));
    let settled = it.call("Write", json!({"n": 1})).await;
    assert_eq!((settled.how, settled.code.as_str()), (How::Refused, codes::NOT_RECORDED));
    assert!(settled.text().contains("disk"), "{}", settled.text());
    assert!(!settled.recorded);
    assert_eq!(tool.0.load(Ordering::SeqCst), 0);
    it.log.fail_with(None);
    assert_eq!(it.call("Write", json!({"n": 1})).await.how, How::Done);
}

#[tokio::test]
async fn failures_keep_what_was_captured() {
    let (_, it) = surface().await;
    let settled = it.call("Write", json!({"n": 1, "mode": "fail"})).await;
    assert_eq!((settled.how, settled.code.as_str()), (How::Failed, "no_luck"));
    assert_eq!(settled.text(), "it failed\nso far");
    let settled = it.call("Write", json!({"n": 1, "mode": "unknown"})).await;
    assert_eq!(settled.how, How::Unknown);
    assert!(settled.text().contains("outcome is unknown"));
}

#[tokio::test]
async fn a_tool_that_panics_takes_nothing_with_it() {
    let (_, it) = surface().await;
    let settled = it.call("Write", json!({"n": 1, "mode": "panic"})).await;
    assert_eq!((settled.how, settled.code.as_str()), (How::Unknown, codes::INTERNAL_ERROR));
    assert_eq!(it.call("Write", json!({"n": 1})).await.how, How::Done);
}

#[tokio::test(start_paused = true)]
async fn cancelling_the_turn_ends_a_call_that_does_not_listen() {
    let (_, it) = surface().await;
    let request = CallRequest::new("Write", json!({"n": 1, "mode": "hang"}));
    let cancel = request.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        cancel.cancel();
    });
    let settled = it.surface.call(request).await;
    assert_eq!((settled.how, settled.code.as_str()), (How::Unknown, codes::ABORTED));
    // the call is in the log with its end
    assert_eq!(it.log.kinds(), ["call_started", "call_settled"]);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_call() {
    let (_, it) = surface().await;
    let settled = it.call("Write", json!({"n": 1, "mode": "hang"})).await;
    assert_eq!((settled.how, settled.code.as_str()), (How::Unknown, codes::DEADLINE_EXCEEDED));
}

#[derive(Clone, Default)]
struct KeepInMemory(Arc<Mutex<Vec<u8>>>);
struct MemoryFile(Arc<Mutex<Vec<u8>>>);
impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no test panics while it holds this").extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
impl KeptFile for MemoryFile {
    fn finish(self: Box<Self>) -> io::Result<Kept> {
        let bytes = self.0.lock().expect("no test panics while it holds this").len() as u64;
        Ok(Kept { id: "kept1".into(), path: "/nowhere".into(), bytes, dropped_bytes: 0 })
    }
}
impl KeptOutput for KeepInMemory {
    fn create(&self, _run: &RunId, _call: &CallId, _stream: &str) -> io::Result<Box<dyn KeptFile>> {
        Ok(Box::new(MemoryFile(Arc::clone(&self.0))))
    }
}

// TOO-7, T5-09
#[tokio::test]
async fn a_large_result_is_cut_once_and_its_whole_is_kept() {
    let keep = KeepInMemory::default();
    let it = TestSurface::seal_with(
        vec![Offer::ready(Count::default())],
        ToolPolicy::allow_all(),
        ApprovalRules::default(),
        Arc::new(host_testkit::Answers::default()),
        Arc::new(keep.clone()),
    )
    .await;
    let settled = it.call("Write", json!({"n": 1, "mode": "big"})).await;
    let text = settled.text();
    assert!(text.len() <= limits::RESULT_BYTES_MAX);
    assert!(text.starts_with("HEAD") && text.ends_with("TAIL"));
    assert!(text.contains("of 600008 bytes omitted") && text.contains("kept1"), "the marker says how");
    assert!(settled.truncated);
    assert_eq!(settled.original_bytes, 600_008);
    assert_eq!(keep.0.lock().unwrap().len(), 600_008);
}

// ENG-6
#[tokio::test]
async fn two_tools_of_ours_with_one_name_are_a_fault() {
    use host_surface::{GatePorts, SealError, ToolSource, seal};
    let sources: Vec<Arc<dyn ToolSource>> = vec![
        Arc::new(host_testkit::OneSource::new("builtin", vec![Offer::ready(Count::default())])),
        Arc::new(host_testkit::OneSource::new("app", vec![Offer::ready(Count::default())])),
    ];
    let ports = GatePorts {
        recorder: None,
        ask: Arc::new(host_testkit::Answers::default()),
        keep: Arc::new(KeepInMemory::default()),
        deadline: Duration::from_secs(1),
    };
    let sealed = seal(&sources, &ToolPolicy::allow_all(), Arc::default(), host_testkit::facts(), ports).await;
    assert!(matches!(sealed.err(), Some(SealError::TwoOfOurs { .. })));
}

#[tokio::test]
async fn explain_names_every_tool_and_its_gatekeeper() {
    let offers = vec![
        Offer::ready(Count::default()),
        Offer::withheld("Remember", WithheldBy::Capability, "no memory is configured (memory)"),
    ];
    let it = TestSurface::seal(offers, ToolPolicy::allow_all(), ApprovalRules::default()).await;
    let explained = serde_json::to_value(it.surface.explain()).unwrap();
    let rows = explained["tools"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0]["name"].as_str(), rows[0]["by"].as_str()), (Some("Remember"), Some("capability")));
    assert_eq!((rows[1]["name"].as_str(), rows[1]["by"].as_str()), (Some("Write"), None));
    assert_eq!(rows[1]["offered"], json!(true));
}

// TOO-8: what a server that is down would offer isn't known; a call of it gets the server's cause.
#[tokio::test]
async fn a_tool_of_a_server_that_is_down_is_refused_with_the_cause() {
    let down = Offer::withheld("mcp__metrics__*", WithheldBy::Source, "the server ended with exit code 3");
    let offers = vec![Offer::ready(Count::default()), down];
    let it = TestSurface::seal(offers, ToolPolicy::allow_all(), ApprovalRules::default()).await;
    let settled = it.call("mcp__metrics__put", json!({})).await;
    assert_eq!(settled.code.as_str(), "tool_denied");
    assert!(settled.text().contains("exit code 3"), "{}", settled.text());
    assert_eq!(it.call("mcp__metricsput", json!({})).await.code.as_str(), "unknown_tool");
}

// POL-15
#[tokio::test]
async fn a_child_surface_is_never_wider_than_its_parent() {
    let parent = TestSurface::seal(
        vec![Offer::ready(Count::default())],
        ToolPolicy::fail_closed(),
        ApprovalRules::default(),
    )
    .await;
    let child = parent.surface.inherit(host_testkit::facts(), &ToolPolicy::allow_all(), &[]);
    assert_eq!(child.names().count(), 0);
    let wide = TestSurface::of(Count::default()).await;
    assert_eq!(
        wide.surface.inherit(host_testkit::facts(), &ToolPolicy::fail_closed(), &[]).names().count(),
        0
    );
    assert_eq!(
        wide.surface.inherit(host_testkit::facts(), &ToolPolicy::allow_all(), &["Write"]).names().count(),
        0
    );
    assert_eq!(wide.surface.inherit(host_testkit::facts(), &ToolPolicy::allow_all(), &[]).names().count(), 1);
}
