//! One agent with a workspace, for the tests.
#![allow(dead_code, reason = "each test program uses a part")]
#![allow(missing_docs, reason = "test support")]

use host_ports::CancellationToken;
use host_ports::commands::{CommandOutcome, CommandSpec, Commands as _, OutputRule};
use host_ports::kept::{KeepNothing, KeptOutput};
use host_sandbox::{Broker, EngineKind, HostEnvironment, Sandbox, SandboxPolicy, SandboxSetup, TraceEgress};
use host_vocab::{CallId, RunId};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub struct Agent {
    folder: tempfile::TempDir,
    sandbox: Option<Sandbox>,
}

impl Agent {
    /// With the defaults of SBX-1.
    pub fn native() -> Self {
        Self::with(|_| {})
    }

    pub fn off() -> Self {
        Self::with(|policy| *policy = SandboxPolicy::off(policy.workspace.clone()))
    }

    pub fn with(change: impl FnOnce(&mut SandboxPolicy)) -> Self {
        Self::with_keep(change, Arc::new(KeepNothing))
    }

    pub fn with_keep(change: impl FnOnce(&mut SandboxPolicy), keep: Arc<dyn KeptOutput>) -> Self {
        Self::build(change, |setup| setup.keep = keep)
    }

    pub fn build(change: impl FnOnce(&mut SandboxPolicy), setup: impl FnOnce(&mut SandboxSetup)) -> Self {
        Self::on(&[EngineKind::Bubblewrap, EngineKind::Landlock], change, setup)
    }

    pub fn on(
        engines: &[EngineKind],
        change: impl FnOnce(&mut SandboxPolicy),
        setup: impl FnOnce(&mut SandboxSetup),
    ) -> Self {
        let mut agent = Self::folder_only();
        let mut policy = SandboxPolicy::native(agent.workspace());
        change(&mut policy);
        let mut made = SandboxSetup {
            policy,
            environment: HostEnvironment {
                path: "/usr/local/bin:/usr/bin:/bin".to_owned(),
                home: agent.folder.path().display().to_string(),
                lang: "C.UTF-8".to_owned(),
                tmpdir: String::new(),
            },
            state: Some(agent.folder.path().join("state")),
            hidden: Vec::new(),
            keep: Arc::new(KeepNothing),
            egress: Arc::new(TraceEgress),
            broker: Broker::default(),
        };
        setup(&mut made);
        agent.sandbox = Some(Sandbox::with_engines(made, engines).expect("a sandbox"));
        agent
    }

    pub fn folder_only() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("workspace")).expect("made");
        std::fs::write(folder.path().join("secret"), "the-secret\n").expect("written");
        Agent { folder, sandbox: None }
    }

    pub fn sandbox(&self) -> &Sandbox {
        self.sandbox.as_ref().expect("made")
    }

    pub fn folder(&self) -> PathBuf {
        std::fs::canonicalize(self.folder.path()).expect("real")
    }

    pub fn workspace(&self) -> PathBuf {
        self.folder().join("workspace")
    }

    /// A number of seconds that no other test sleeps for, to find processes by.
    pub fn marker(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        format!("{}.{:06}", 3000 + NEXT.fetch_add(1, Ordering::SeqCst), std::process::id() % 1_000_000)
    }

    pub fn spec(&self, argv: &[&str]) -> CommandSpec {
        CommandSpec {
            run: RunId::fresh(),
            call: CallId::fresh(),
            argv: argv.iter().map(|&s| s.to_owned()).collect(),
            env: BTreeMap::new(),
            cwd: None,
            stdin: Vec::new(),
            timeout: Duration::from_secs(30),
            output: OutputRule::default(),
        }
    }

    pub async fn run(&self, spec: CommandSpec) -> CommandOutcome {
        self.sandbox().run(spec, CancellationToken::new()).await
    }

    pub async fn sh(&self, script: &str) -> CommandOutcome {
        self.run(self.spec(&["/bin/sh", "-c", script])).await
    }

    pub async fn bash(&self, script: &str) -> CommandOutcome {
        self.run(self.spec(&["/bin/bash", "-c", script])).await
    }
}

/// How many processes of this machine have a marker in their command line.
pub fn alive(marker: &str) -> usize {
    let mut found = 0;
    for entry in std::fs::read_dir("/proc").expect("listed").flatten() {
        if entry.file_name().to_string_lossy().parse::<u32>().is_err() {
            continue;
        }
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(&format!("sleep {marker}")) {
            found += 1;
        }
    }
    found
}

pub async fn wait_gone(marker: &str) {
    for _ in 0..200 {
        if alive(marker) == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{} processes are left", alive(marker));
}
