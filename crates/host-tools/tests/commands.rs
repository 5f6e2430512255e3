//! Exec, Bash and NodeRepl through the gate, in the real sandbox.
#![allow(clippy::disallowed_methods, reason = "tests touch the world")]

use host_ports::kept::KeepNothing;
use host_ports::spawn::Spawn;
use host_sandbox::{Broker, HostEnvironment, Sandbox, SandboxPolicy, SandboxSetup, TraceEgress};
use host_surface::How;
use host_testkit::TestSurface;
use host_tools::{BashTool, CommandSettings, ExecTool, NodeReplTool};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

struct Agent {
    folder: tempfile::TempDir,
    sandbox: Arc<Sandbox>,
}

impl Agent {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let sandbox = Sandbox::new(SandboxSetup {
            policy: SandboxPolicy::native(folder.path()),
            environment: HostEnvironment {
                path: "/usr/local/bin:/usr/bin:/bin".to_owned(),
                ..HostEnvironment::default()
            },
            state: None,
            hidden: Vec::new(),
            keep: Arc::new(KeepNothing),
            egress: Arc::new(TraceEgress),
            broker: Broker::default(),
        });
        Agent { folder, sandbox: Arc::new(sandbox.expect("a sandbox")) }
    }

    async fn exec(&self, settings: CommandSettings) -> TestSurface {
        TestSurface::of(ExecTool::new(Arc::clone(&self.sandbox) as _, settings)).await
    }

    async fn bash(&self, settings: CommandSettings) -> TestSurface {
        TestSurface::of(BashTool::new(Arc::clone(&self.sandbox) as _, settings)).await
    }

    async fn node(&self, timeout_ms_max: u64) -> TestSurface {
        let spawn = Arc::clone(&self.sandbox) as Arc<dyn Spawn>;
        let settings = CommandSettings { timeout_ms_max, ..CommandSettings::default() };
        TestSurface::of(NodeReplTool::new(spawn, self.folder.path().to_owned(), settings)).await
    }
}

// TOO-2, TOO-3
#[tokio::test]
async fn exec_passes_arguments_exactly_and_tells_the_outcome() {
    let agent = Agent::new();
    let surface = agent.exec(CommandSettings::default()).await;
    let odd = ["a b", "$HOME", "*", "`id`", "", "é\n", "--"];
    let call = json!({"executable": "printf", "args": ["<%s>", odd[0], odd[1], odd[2], odd[3], odd[4], odd[5], odd[6]]});
    let settled = surface.call("Exec", call).await;
    assert_eq!(
        (settled.how, settled.text().as_str()),
        (How::Done, "ok: exit code 0\n\nSTDOUT:\n<a b><$HOME><*><`id`><><é\n><-->")
    );
    assert_eq!(settled.for_model().len(), 1, "the text carries the structured result");
    let outcome = settled.outcome.expect("a record");
    assert_eq!(
        (&outcome["status"], &outcome["code"], &outcome["exitCode"]),
        (&json!("ok"), &json!("ok"), &json!(0))
    );
    assert_eq!(
        (&outcome["timedOut"], &outcome["truncated"], &outcome["retryable"]),
        (&json!(false), &json!(false), &json!(false))
    );
    let settled = surface
        .call("Exec", json!({"executable": "sh", "args": ["-c", "echo out; echo err >&2; exit 3"]}))
        .await;
    assert_eq!((settled.how, settled.code.as_str()), (How::Failed, "nonzero_exit"));
    assert_eq!(
        settled.text(),
        "nonzero_exit: it ended with exit code 3\nPartial output:\n\nSTDOUT:\nout\n\nSTDERR:\nerr"
    );
    assert_eq!(settled.structured.as_ref().expect("structured")["exitCode"], 3);
    assert_eq!(
        settled
            .for_model()
            .iter()
            .filter_map(|block| block.as_text())
            .filter(|text| text.starts_with('{'))
            .count(),
        0
    );
}

// TOO-2, TOO-3: each way to fail has its own code.
#[tokio::test]
async fn failures_have_codes_of_their_own() {
    let agent = Agent::new();
    let surface = agent.exec(CommandSettings::default()).await;
    let many: Vec<String> = (0..257).map(|n| n.to_string()).collect();
    for (arguments, code) in [
        (json!({"executable": ""}), "invalid_executable"),
        (json!({"executable": "a\nb"}), "invalid_executable"),
        (json!({"executable": "a\u{0}"}), "invalid_executable"),
        (json!({"executable": "echo", "args": many}), "invalid_args"),
        (json!({"executable": "echo", "args": ["a\u{0}"]}), "invalid_args"),
        (json!({"executable": "no-such-program"}), "spawn_error"),
        (json!({"executable": "pwd", "workdir": "/"}), "workdir_denied"),
        (json!({"executable": "pwd", "workdir": "nowhere"}), "workdir_not_found"),
        (json!({"executable": "sleep", "args": ["30"], "timeout_ms": 200}), "timeout"),
        (json!({"executable": "sh", "args": ["-c", "kill -SEGV $$"]}), "signal"),
        (json!({"executable": "true", "timeout_ms": 0}), "invalid_arguments"),
        (json!({"executable": "true", "timeout_ms": 120_001}), "invalid_arguments"),
        (json!({"executable": "true", "max_output_chars": 20_001}), "invalid_arguments"),
        (json!({"executable": "true", "unknown": 1}), "invalid_arguments"),
        (json!({"executable": "sh", "args": ["-c", "echo A > .env.x"]}), "denied_write"),
    ] {
        let settled = surface.call("Exec", arguments.clone()).await;
        assert_eq!(settled.code.as_str(), code, "{arguments}: {}", settled.text());
        assert!(matches!(settled.how, How::Failed | How::Refused) && !settled.text().is_empty());
    }
    let surface = agent.bash(CommandSettings::default()).await;
    for command in ["", "  \n", "echo a\u{0}b"] {
        assert_eq!(surface.call("Bash", json!({"command": command})).await.code.as_str(), "invalid_command");
    }
}

// TOO-2, EXE-7, T7-11
#[tokio::test]
async fn bash_reads_no_profile_and_inherits_only_what_is_passed_on() {
    let agent = Agent::new();
    std::fs::write(agent.folder.path().join("evil.sh"), "echo evil").expect("written");
    let names = ["MINE", "PS4", "BASH_FUNC_ls%%", "SHELLOPTS"];
    let environment: BTreeMap<String, String> =
        names.map(|name| (name.to_owned(), "() { echo evil; }".to_owned())).into();
    let surface = agent.bash(CommandSettings { environment, ..CommandSettings::default() }).await;
    let settled = surface
        .call(
            "Bash",
            json!({"command": "env | cut -d= -f1 | sort | tr '\\n' ' '; ls; echo a | tr a b > f && cat f"}),
        )
        .await;
    let text = settled.text();
    assert_eq!(settled.how, How::Done, "{text}");
    assert!(text.contains("BASH_ENV ENV HOME LANG MINE PATH PWD SHLVL TERM TMPDIR _"), "{text}");
    assert!(text.ends_with("evil.sh\nb") && !text.contains("evil\n"), "{text}");
    let settled = surface.call("Bash", json!({"command": "true", "timeout": 5})).await;
    assert!(settled.text().contains("timeout_ms"));
}

// T7-03, TOO-7: much output is shortened in the middle and counted.
#[tokio::test]
async fn much_output_is_shortened_and_counted() {
    let agent = Agent::new();
    let surface = agent.bash(CommandSettings::default()).await;
    let settled = surface.call("Bash", json!({"command": "seq 100000; echo end"})).await;
    assert!(settled.truncated && settled.text().chars().count() < 20_400);
    assert!(
        settled.text().contains("STDOUT:\n1\n2\n") && settled.text().contains("100000\nend"),
        "{}",
        &settled.text()[..200]
    );
    assert_eq!(settled.original_bytes, 588_899);
    let settled = surface.call("Bash", json!({"command": "seq 1000", "max_output_chars": 200})).await;
    assert!(settled.text().chars().count() < 500, "{}", settled.text());
}

async fn eval(surface: &TestSurface, code: &str) -> (String, String) {
    let settled = surface.call("NodeRepl", json!({"code": code})).await;
    (settled.code.as_str().to_owned(), settled.text())
}

// TOO-2
#[tokio::test]
async fn the_javascript_session_keeps_its_state() {
    let agent = Agent::new();
    let surface = agent.node(60_000).await;
    let ok = |text: &str| ("ok".to_owned(), text.to_owned());
    assert_eq!(
        eval(&surface, "const a = 20; let b = 1\nfunction twice(x) { return 2 * x }").await,
        ok("undefined")
    );
    assert_eq!(eval(&surface, "twice(a) + b + 1").await, ok("42"));
    assert_eq!(eval(&surface, "_ + 1").await, ok("43"));
    assert_eq!(
        eval(&surface, "const v = await Promise.resolve({x: [1, 'zwei']}); v").await,
        ok("{ x: [ 1, 'zwei' ] }")
    );
    assert_eq!(
        eval(&surface, "console.log('out'); console.error('err'); v.x.length").await,
        ok("STDOUT:\nout\n\nSTDERR:\nerr\n\nVALUE:\n2")
    );
    assert_eq!(
        eval(&surface, "require('fs').writeFileSync('made', 'x'); require('path').sep").await,
        ok("'/'")
    );
    assert!(agent.folder.path().join("made").exists());
    let (code, text) = eval(&surface, "throw new TypeError('no')").await;
    assert!(
        code == "evaluation_error" && text.contains("TypeError: no") && text.contains("keeps its variables"),
        "{text}"
    );
    let (code, text) = eval(&surface, "let (").await;
    assert!(code == "evaluation_error" && text.contains("SyntaxError"), "{text}");
    assert_eq!(eval(&surface, "a").await, ok("20"));
    assert_eq!(eval(&surface, "  ").await.0, "invalid_code");
    let (code, text) = eval(&surface, "require('fs').readFileSync('/etc/shadow')").await;
    assert!(code == "evaluation_error" && text.contains("ENOENT"), "{text}");
}

// TOO-2: what resets the session says so, and the next call has a new one.
#[tokio::test]
async fn a_reset_of_the_session_is_said() {
    let agent = Agent::new();
    let surface = agent.node(1_500).await;
    for (bad, code) in [
        ("while (true) {}", "timeout"),
        ("process.exit(3)", "process_exit"),
        ("require('fs').writeSync(1, 'x'.repeat(200)); 1", "protocol_error"),
        ("for (;;) console.log('x'.repeat(100000))", "output_limit"),
    ] {
        assert_eq!(eval(&surface, "globalThis.kept = 1").await.0, "ok");
        let (got, text) = eval(&surface, bad).await;
        assert_eq!(got, code, "{bad}: {text}");
        assert!(text.contains("was reset"), "{text}");
        assert_eq!(eval(&surface, "typeof kept").await.1, "'undefined'");
    }
}

// TOO-2: one evaluation at a time; the child goes with the surface.
#[tokio::test]
async fn one_evaluation_at_a_time_and_none_after_the_run() {
    let agent = Agent::new();
    let surface = agent.node(60_000).await;
    let pid = eval(&surface, "const m = 'node-marker-' + Math.random(); m").await.1;
    assert!(pid.starts_with("'node-marker"));
    let (first, second) =
        tokio::join!(eval(&surface, "await new Promise(done => setTimeout(done, 500)); 1"), async {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            eval(&surface, "2").await
        });
    assert_eq!((first.1.as_str(), second.0.as_str()), ("1", "busy"));
    let before = node_children();
    assert!(before >= 1);
    drop(surface);
    for _ in 0..100 {
        if node_children() < before {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("the child is still there");
}

/// Children of this process that run the session's program, at any depth.
fn node_children() -> usize {
    let mut parents = BTreeMap::new();
    let mut nodes = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("listed").flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((head, rest)) = stat.rsplit_once(") ") else { continue };
        let parent: u32 = rest.split(' ').nth(1).and_then(|p| p.parse().ok()).unwrap_or(0);
        parents.insert(pid, parent);
        if head.ends_with("(node") || head.ends_with("(MainThread") {
            nodes.push(pid);
        }
    }
    let ours = |mut pid: u32| {
        while let Some(&parent) = parents.get(&pid) {
            if parent == std::process::id() {
                return true;
            }
            pid = parent;
        }
        false
    };
    nodes.into_iter().filter(|&pid| ours(pid)).count()
}
