//! What `sandbox status` shows.

use crate::broker::BrokeredSecret;
use crate::engine::EngineKind;
use crate::identity::Become;
use crate::network::Network;
use crate::policy::{Fallback, Limits, Mode};
use crate::sandbox::{Inner, Sandbox};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// How children really run here (7.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effective {
    /// Confined by an engine that was proved to work.
    Native,
    /// Not at all: no engine can enforce the policy, and it is fail-closed.
    Blocked,
    /// Unconfined, though the policy asks for more: the fallback with its two keys.
    UnsafeHostProcess,
    /// Unconfined, as the policy says.
    Off,
}

/// One engine of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineStatus {
    /// Which.
    pub engine: EngineKind,
    /// Whether it is there, works, and enforces every rule of the policy.
    pub eligible: bool,
    /// Why not, and what to do.
    pub why: Option<String>,
}

/// What `sandbox status` shows; the JSON form is a contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxStatus {
    /// What the policy asks for.
    pub mode: Mode,
    /// What really happens.
    pub effective: Effective,
    /// The engine in use.
    pub engine: Option<EngineKind>,
    /// Why commands can't run, where they can't.
    pub blocked: Option<String>,
    /// Every engine, best first.
    pub engines: Vec<EngineStatus>,
    /// What happens where none is eligible.
    pub fallback: Fallback,
    /// The workspace.
    pub workspace: PathBuf,
    /// What may be read.
    pub readable: Vec<PathBuf>,
    /// What may be written.
    pub writable: Vec<PathBuf>,
    /// What of it may not.
    pub deny_write: Vec<String>,
    /// Where children may connect.
    pub network: Network,
    /// How that is done.
    pub network_how: &'static str,
    /// The secrets that children use and never see (SBX-7): which variable, to which hosts, in which headers.
    pub credentials: Vec<String>,
    /// Who children are.
    pub identity: String,
    /// Bounds on resources.
    pub limits: Limits,
}

impl Sandbox {
    /// Looks at every engine and says what is in effect. Takes the time of a small run where an engine wasn't
    /// proved since this machine started.
    pub async fn status(&self) -> SandboxStatus {
        let inner = Arc::clone(&self.0);
        match tokio::task::spawn_blocking(move || look(&inner)).await {
            Ok(status) => status,
            Err(_) => look(&self.0),
        }
    }
}

fn look(inner: &Inner) -> SandboxStatus {
    let policy = &inner.policy;
    let engines = [EngineKind::Bubblewrap, EngineKind::Landlock]
        .into_iter()
        .zip(inner.candidates())
        .map(|(engine, candidate)| {
            let verdict = candidate.and_then(|engine| inner.eligible(engine, policy).map(|_| ()));
            EngineStatus { engine, eligible: verdict.is_ok(), why: verdict.err() }
        })
        .collect();
    let chosen = inner.engine_for(policy);
    let (effective, engine, blocked) = match &chosen {
        Ok(engine) => match engine.kind() {
            EngineKind::Off => (Effective::Off, None, None),
            EngineKind::UnsafeHostProcess => (Effective::UnsafeHostProcess, None, None),
            kind => (Effective::Native, Some(kind), None),
        },
        Err(why) => (Effective::Blocked, None, Some(why.clone())),
    };
    SandboxStatus {
        mode: policy.mode,
        effective,
        engine,
        blocked,
        engines,
        fallback: policy.fallback,
        workspace: policy.workspace.clone(),
        readable: policy.readable.clone(),
        writable: policy.writable.clone(),
        deny_write: policy.deny_write.clone(),
        network_how: network_how(effective, &policy.network),
        network: policy.network.clone(),
        credentials: credentials(inner, effective),
        identity: identity(engine, Become::owner_of(&policy.workspace)),
        limits: policy.limits,
    }
}

/// What is lent, where something is: without the proxy nobody could put it in.
fn credentials(inner: &Inner, effective: Effective) -> Vec<String> {
    let proxied = matches!(inner.policy.network, Network::Localhost | Network::Allowlist(_));
    if effective != Effective::Native || !proxied {
        return Vec::new();
    }
    let line = |secret: &BrokeredSecret| {
        let hosts: Vec<String> = secret.hosts.entries().collect();
        format!("{} to {} in {}", secret.env, hosts.join(", "), secret.headers.join(", "))
    };
    inner.broking.secrets().iter().map(line).collect()
}

fn network_how(effective: Effective, network: &Network) -> &'static str {
    match (effective, network) {
        (Effective::Blocked, _) => "no command runs",
        (Effective::Off | Effective::UnsafeHostProcess, _) => "the host's own network",
        (Effective::Native, Network::None) => "no way out",
        (Effective::Native, Network::All) => "the host's own network",
        (Effective::Native, Network::Localhost) => {
            "through the host's proxy, by the proxy variables (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY); nothing else \
             leaves the network namespace"
        }
        (Effective::Native, Network::Allowlist(_)) => {
            "through the host's proxy, which checks names and addresses; nothing else leaves the network namespace"
        }
    }
}

fn identity(engine: Option<EngineKind>, owner: Option<Become>) -> String {
    let uid = rustix::process::geteuid();
    if let (Some(engine), Some(owner)) = (engine, owner) {
        let how = match engine {
            EngineKind::Bubblewrap => "the view of its files is made by root before that",
            _ => "Landlock and the system-call filter hold it",
        };
        return format!(
            "user {} (group {}), who owns the workspace, without any capability; the host is root, {how}",
            owner.uid, owner.gid
        );
    }
    match (engine, uid.is_root()) {
        (Some(EngineKind::Bubblewrap), true) => {
            "root, mapped alone into a user namespace, without any capability; /proc/sys is read-only"
                .to_owned()
        }
        (Some(EngineKind::Bubblewrap), false) => {
            format!(
                "user {uid}, mapped alone into a user namespace, without any capability",
                uid = uid.as_raw()
            )
        }
        (Some(EngineKind::Landlock), true) => {
            "root, without any capability, less what Landlock and the system-call filter refuse".to_owned()
        }
        (_, true) => "root".to_owned(),
        (_, false) => format!("user {}", uid.as_raw()),
    }
}

impl fmt::Display for SandboxStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths = |list: &[PathBuf]| -> String {
            let list: Vec<String> = list.iter().map(|path| path.display().to_string()).collect();
            if list.is_empty() { "nothing".to_owned() } else { list.join(", ") }
        };
        let effective = match (self.effective, self.engine) {
            (Effective::Native, Some(engine)) => format!("native, by {}", engine.as_str()),
            (Effective::Native, None) => "native".to_owned(),
            (Effective::Blocked, _) => "blocked: no command can run".to_owned(),
            (Effective::Off, _) => "off: commands run unconfined".to_owned(),
            (Effective::UnsafeHostProcess, _) => {
                "UNSAFE: no engine works, commands run UNCONFINED; roots and deny rules are inert".to_owned()
            }
        };
        writeln!(f, "sandbox     {effective}")?;
        if let Some(why) = &self.blocked {
            writeln!(f, "why         {why}")?;
        }
        for engine in &self.engines {
            let state = engine.why.as_deref().unwrap_or("eligible");
            writeln!(f, "engine      {}: {state}", engine.engine.as_str())?;
        }
        writeln!(f, "workspace   {}", self.workspace.display())?;
        writeln!(f, "readable    {}", paths(&self.readable))?;
        writeln!(f, "writable    {}", paths(&self.writable))?;
        writeln!(f, "deny write  {}", self.deny_write.join(", "))?;
        writeln!(f, "network     {}: {}", self.network.as_str(), self.network_how)?;
        for line in &self.credentials {
            writeln!(f, "lends       {line}")?;
        }
        writeln!(f, "runs as     {}", self.identity)
    }
}
