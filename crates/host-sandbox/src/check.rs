//! What `sandbox check` proves, by small runs under the policy in effect (SBX-4).

use crate::deny_write::Patterns;
use crate::engine::{Engine, EngineKind, PROXY_PORT};
use crate::identity::Become;
use crate::network::Network;
use crate::policy::{Mode, SandboxPolicy};
use crate::run::collect_text;
use crate::sandbox::{ChildSpec, Inner, Sandbox, StartError};
use crate::scratch::Scratch;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long one small run may take.
const RUN_MAX: Duration = Duration::from_secs(20);

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckRow {
    /// What should be so.
    pub claim: String,
    /// Whether it is.
    pub passed: bool,
    /// What was seen, where it isn't.
    pub seen: Option<String>,
}

/// What `sandbox check` found; the JSON form is a contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// The engine that was tried.
    pub engine: Option<EngineKind>,
    /// Whether everything is as it should be.
    pub passed: bool,
    /// Each thing that was tried.
    pub rows: Vec<CheckRow>,
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "engine  {}", self.engine.map_or("none", EngineKind::as_str))?;
        for row in &self.rows {
            let mark = if row.passed { "ok  " } else { "FAIL" };
            let seen = row.seen.as_ref().map(|seen| format!(" ({seen})")).unwrap_or_default();
            writeln!(f, "{mark}    {}{seen}", row.claim)?;
        }
        Ok(())
    }
}

impl Sandbox {
    /// Tries the policy in effect on a temporary workspace: reading and writing inside, a secret beside it, a
    /// denied `.env`, the host's loopback, another host.
    pub async fn check(&self) -> CheckReport {
        let inner = Arc::clone(&self.0);
        let report = tokio::task::spawn_blocking(move || check(&inner)).await;
        report.unwrap_or_else(|_| broken("the check broke off; this is a fault of the host".to_owned()))
    }
}

fn broken(why: String) -> CheckReport {
    let row = CheckRow { claim: "an engine enforces the policy".to_owned(), passed: false, seen: Some(why) };
    CheckReport { engine: None, passed: false, rows: vec![row] }
}

fn check(inner: &Inner) -> CheckReport {
    let engine = match inner.engine_for(&inner.policy) {
        Ok(engine) => engine,
        Err(why) => return broken(why),
    };
    if matches!(engine.kind(), EngineKind::Off | EngineKind::UnsafeHostProcess) {
        let why = "commands run unconfined here, so there is nothing to prove".to_owned();
        let mut report = broken(why);
        report.engine = Some(engine.kind());
        // Where that is what the policy says, it is no failure.
        report.passed = inner.policy.mode == Mode::Off;
        report.rows[0].passed = report.passed;
        return report;
    }
    let mut trial = match Trial::new(inner, engine.as_ref()) {
        Ok(trial) => trial,
        Err(why) => return broken(why),
    };
    trial.files();
    trial.network();
    let rows = trial.rows;
    CheckReport { engine: Some(engine.kind()), passed: rows.iter().all(|row| row.passed), rows }
}

struct Trial<'a> {
    inner: &'a Inner,
    engine: &'a dyn Engine,
    policy: SandboxPolicy,
    folder: PathBuf,
    rows: Vec<CheckRow>,
    _scratch: Scratch,
}

impl<'a> Trial<'a> {
    fn new(inner: &'a Inner, engine: &'a dyn Engine) -> Result<Self, String> {
        let unusable = |error: std::io::Error| format!("the temporary folder can't be used: {error}");
        let scratch = Scratch::make(&inner.environment.tmpdir).map_err(unusable)?;
        let folder = std::fs::canonicalize(scratch.path()).map_err(unusable)?;
        let workspace = folder.join("workspace");
        std::fs::create_dir_all(workspace.join("sub"))
            .and_then(|()| std::fs::write(workspace.join("inside"), "inside"))
            .and_then(|()| std::fs::write(workspace.join(".env"), "A=1"))
            .and_then(|()| std::fs::write(folder.join("secret"), "secret"))
            .and_then(|()| match Become::owner_of(&inner.policy.workspace) {
                Some(user) => user.given_all(&[&folder, &workspace, &workspace.join("sub")]),
                None => Ok(()),
            })
            .map_err(unusable)?;
        let mut policy = inner.policy.clone();
        policy.readable = vec![workspace.clone()];
        policy.writable = vec![workspace.clone()];
        policy.deny_write.retain(|pattern| !pattern.starts_with('/'));
        policy.workspace = workspace;
        Ok(Trial { inner, engine, policy, folder, rows: Vec::new(), _scratch: scratch })
    }

    fn run(&self, script: &str) -> Result<String, String> {
        let spec = ChildSpec {
            argv: ["/bin/bash", "--noprofile", "--norc", "-c", script].map(str::to_owned).to_vec(),
            env: BTreeMap::new(),
            cwd: self.policy.workspace.clone(),
            policy: &self.policy,
            confined: true,
            run: None,
            own: Vec::new(),
        };
        let mut started = self.inner.start_with(self.engine, spec).map_err(|error| match error {
            StartError::Sandbox(why) => why,
            StartError::Os(error) => error.to_string(),
        })?;
        collect_text(&mut started.tree, RUN_MAX)
    }

    fn row(&mut self, claim: &str, result: Result<String, String>, right: impl Fn(&str) -> bool) {
        let (passed, seen) = match result {
            Ok(text) if right(text.trim()) => (true, None),
            Ok(text) => (false, Some(host_vocab::text::one_line(&text, 200))),
            Err(why) => (false, Some(why)),
        };
        self.rows.push(CheckRow { claim: claim.to_owned(), passed, seen });
    }

    fn files(&mut self) {
        let result = self.run("cat inside");
        self.row("a file inside a root can be read", result, |text| text == "inside");
        let result = self.run("echo made > sub/made; cat sub/made");
        let there = self.policy.workspace.join("sub/made").exists();
        self.row("a file inside a writable root can be written", result, |text| text == "made" && there);
        let result = self.run("cat ../secret 2>/dev/null; echo end");
        self.row("a secret beside the workspace can't be read", result, |text| text == "end");
        let result = self.run("(echo x > ../outside) 2>/dev/null; echo end");
        let outside = self.folder.join("outside").exists();
        self.row("nothing outside the roots can be written", result, |text| text == "end" && !outside);
        let env = self.policy.workspace.join(".env");
        if denies(&self.policy, &env) {
            let result = self.run("(echo B=2 >> .env) 2>/dev/null; (rm -f .env) 2>/dev/null; echo end");
            let same = std::fs::read_to_string(&env).is_ok_and(|text| text == "A=1");
            self.row("denyWrite keeps .env as it is", result, |text| text == "end" && same);
        }
    }

    fn network(&mut self) {
        let Ok(listener) = TcpListener::bind(("127.0.0.1", 0)) else { return };
        let Ok(port) = listener.local_addr().map(|address| address.port()) else { return };
        let direct =
            self.run(&format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo open; echo end"));
        let network = self.policy.network.clone();
        if network == Network::All {
            self.row("the host's network is open, as the policy says", direct, |text| text == "open\nend");
            return;
        }
        self.row("nothing leaves directly", direct, |text| text == "end");
        if network == Network::None {
            return;
        }
        let ask = |host: &str| {
            format!(
                "exec 3<>/dev/tcp/127.0.0.1/{PROXY_PORT} && printf 'CONNECT {host}:{port} HTTP/1.1\\r\\n\\r\\n' >&3 \
                 && IFS=' ' read -r version code rest <&3 && echo \"$code\""
            )
        };
        for host in ["localhost", "sandbox-check.invalid"] {
            let allowed = network.admits_name(host);
            let result = self.run(&ask(host));
            if allowed {
                // An allowed name that nobody has is unreachable, not refused.
                self.row(&format!("{host} is reached through the proxy"), result, |code| {
                    matches!(code, "200" | "502")
                });
            } else {
                self.row(&format!("{host} is refused by the proxy"), result, |code| code == "403");
            }
        }
    }
}

/// Whether the policy protects a name.
fn denies(policy: &SandboxPolicy, name: &Path) -> bool {
    let patterns = Patterns::parse(&policy.workspace, &policy.deny_write);
    patterns.is_ok_and(|patterns| patterns.protects(name, &policy.writable))
}
