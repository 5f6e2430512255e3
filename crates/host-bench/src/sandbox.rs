//! A command in its sandbox beside the raw operation, and what much output costs the host.

use crate::process::own_memory;
use crate::row::{Row, median};
use host_ports::CancellationToken;
use host_ports::commands::{CommandCode, CommandSpec, Commands, OutputRule};
use host_ports::kept::KeepNothing;
use host_sandbox::{Broker, EngineKind, HostEnvironment, Sandbox, SandboxPolicy, SandboxSetup, TraceEgress};
use host_vocab::{CallId, RunId};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROUNDS: usize = 200;
const OUTPUT_BYTES: u64 = 2_000_000_000;

fn sandbox(engine: EngineKind, folder: &Path) -> Sandbox {
    let workspace = folder.join("workspace");
    std::fs::create_dir_all(&workspace).expect("room");
    let setup = SandboxSetup {
        policy: SandboxPolicy::native(workspace),
        environment: HostEnvironment { path: "/usr/bin:/bin".to_owned(), ..HostEnvironment::default() },
        state: Some(folder.join("state")),
        hidden: Vec::new(),
        keep: Arc::new(KeepNothing),
        egress: Arc::new(TraceEgress),
        broker: Broker::default(),
    };
    Sandbox::with_engines(setup, &[engine]).expect("a policy of defaults")
}

fn spec(argv: &[&str]) -> CommandSpec {
    CommandSpec {
        run: RunId::fresh(),
        call: CallId::fresh(),
        argv: argv.iter().map(|&word| word.to_owned()).collect(),
        env: BTreeMap::new(),
        cwd: None,
        stdin: Vec::new(),
        timeout: Duration::from_secs(120),
        output: OutputRule::default(),
    }
}

async fn ours(sandbox: &Sandbox, argv: &[&str]) -> f64 {
    let begun = Instant::now();
    let outcome = sandbox.run(spec(argv), CancellationToken::new()).await;
    assert_eq!(outcome.code, CommandCode::Ok, "{}", outcome.message);
    begun.elapsed().as_secs_f64() * 1e3
}

fn raw(mut command: Command) -> f64 {
    let begun = Instant::now();
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    begun.elapsed().as_secs_f64() * 1e3
}

/// Both in turns, so that what else the machine does falls on both alike.
async fn beside(sandbox: &Sandbox, peer: impl Fn() -> Command) -> (f64, f64) {
    let (mut us, mut them) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS + 5 {
        let (a, b) = (ours(sandbox, &["/usr/bin/true"]).await, raw(peer()));
        if round >= 5 {
            us.push(a);
            them.push(b);
        }
    }
    (median(us), median(them))
}

async fn growth(sandbox: &Sandbox) -> f64 {
    ours(sandbox, &["/usr/bin/true"]).await;
    // 5 = forget the peak so far.
    std::fs::write("/proc/self/clear_refs", "5").expect("our own memory");
    let before = own_memory("VmRSS:");
    ours(sandbox, &["/usr/bin/head", "-c", &OUTPUT_BYTES.to_string(), "/dev/zero"]).await;
    own_memory("VmHWM:") - before
}

pub fn run() -> Vec<Row> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    let folder = tempfile::tempdir().expect("a folder");
    let bubblewrap = sandbox(EngineKind::Bubblewrap, &folder.path().join("b"));
    let landlock = sandbox(EngineKind::Landlock, &folder.path().join("l"));
    let same = || bubblewrap.bare_command(&["/usr/bin/true"]).expect("bubblewrap is installed");
    let (ours_b, raw_b) = runtime.block_on(beside(&bubblewrap, same));
    let (ours_l, raw_l) = runtime.block_on(beside(&landlock, || Command::new("/usr/bin/true")));
    let grown = runtime.block_on(growth(&bubblewrap));
    vec![
        Row::beside(
            "sandbox",
            "Exec true, bubblewrap, p50",
            ours_b,
            "ms",
            "bwrap … true, same options",
            raw_b,
        )
        .bound("≤ 1.25×"),
        Row::beside("sandbox", "Exec true, Landlock, p50", ours_l, "ms", "plain spawn of true", raw_l)
            .bound("≤ 1.5×"),
        Row::beside("sandbox", "peak memory that 2 GB of output adds", grown, "MB", "the bound", 32.0)
            .bound("≤ 32 MB"),
    ]
}
