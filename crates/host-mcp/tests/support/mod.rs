//! What the tests of this crate share: children without a sandbox, pools, sealed surfaces.
#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests start real servers and read real files")]

pub mod fake;
pub mod guarded;
pub mod published;

use host_mcp::{McpPool, McpServerConfig, McpTransport, PoolOptions, StdioConfig};
use host_net::{NetHttp, NetSettings};
use host_policy::{ApprovalRules, ToolPolicy};
use host_ports::BoxFuture;
use host_ports::kept::KeepNothing;
use host_ports::spawn::{ChildExit, ChildHandle, Spawn, SpawnError, SpawnSpec, Spawned};
use host_surface::{CallRequest, GatePorts, Settled, Surface, seal};
use host_testkit::{Answers, facts};
use host_vocab::ServerName;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Starts children as they are, each in a process group of its own.
pub struct LocalSpawn;

struct Group {
    pid: Pid,
    exit: watch::Receiver<Option<ChildExit>>,
}

impl Group {
    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.pid, signal);
    }
}

impl ChildHandle for Group {
    fn wait(&self) -> BoxFuture<'_, ChildExit> {
        let mut exit = self.exit.clone();
        Box::pin(async move {
            match exit.wait_for(Option::is_some).await {
                Ok(exit) => exit.unwrap_or(ChildExit::Code(-1)),
                Err(_) => ChildExit::Code(-1),
            }
        })
    }

    fn kill(&self, grace: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.signal(Signal::TERM);
            let _ = tokio::time::timeout(grace, self.wait()).await;
            self.signal(Signal::KILL);
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

impl Spawn for LocalSpawn {
    fn spawn(&self, spec: SpawnSpec) -> BoxFuture<'_, Result<Spawned, SpawnError>> {
        Box::pin(async move {
            let mut command = tokio::process::Command::new(&spec.program);
            command.args(&spec.args).env_clear();
            // What a sandbox would set itself.
            command.envs(
                std::env::vars().filter(|(name, _)| matches!(name.as_str(), "PATH" | "HOME" | "TMPDIR")),
            );
            command.envs(&spec.env).current_dir(&spec.cwd).process_group(0);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => SpawnError::NotFound(spec.program.clone()),
                _ => SpawnError::Failed(error.to_string()),
            })?;
            let pid = child.id().ok_or(SpawnError::Failed("it ended at once".into()))?;
            let (tell, exit) = watch::channel(None);
            let (stdin, stdout, stderr) =
                (child.stdin.take().unwrap(), child.stdout.take().unwrap(), child.stderr.take().unwrap());
            tokio::spawn(async move {
                let end = match child.wait().await {
                    Ok(status) => match (status.code(), status.signal()) {
                        (Some(code), _) => ChildExit::Code(code),
                        (None, signal) => ChildExit::Signal(signal.unwrap_or(0)),
                    },
                    Err(_) => ChildExit::Code(-1),
                };
                let _ = tell.send(Some(end));
            });
            let group = Group { pid: Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), exit };
            Ok(Spawned {
                pid,
                stdin: Box::new(stdin),
                stdout: Box::new(stdout),
                stderr: Box::new(stderr),
                handle: Box::new(group),
            })
        })
    }
}

/// The repository.
pub fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A stdio server of ours that misbehaves in one way.
pub fn hostile(name: &str, mode: &[&str]) -> McpServerConfig {
    let script = repository().join("tests/servers/hostile.py");
    let mut args = vec!["-u", script.to_str().unwrap()];
    args.extend(mode);
    let mut config = McpServerConfig::stdio(server_name(name), "python3", &args, std::env::temp_dir());
    config.timeout = Duration::from_secs(20);
    config
}

/// The same with a bound.
pub fn hostile_within(name: &str, mode: &[&str], timeout: Duration) -> McpServerConfig {
    McpServerConfig { timeout, ..hostile(name, mode) }
}

pub fn server_name(name: &str) -> ServerName {
    ServerName::parse(name).unwrap()
}

pub fn stdio_of(config: &mut McpServerConfig) -> &mut StdioConfig {
    match &mut config.transport {
        McpTransport::Stdio(stdio) => stdio,
        McpTransport::Http(_) => panic!("not a stdio server"),
    }
}

/// The variables of this process, as the edge reads them.
pub fn host_env() -> BTreeMap<String, String> {
    std::env::vars().collect()
}

pub fn options() -> PoolOptions {
    PoolOptions { host_env: host_env(), ..PoolOptions::default() }
}

/// A pool over real children and real sockets.
pub fn pool(servers: Vec<McpServerConfig>) -> McpPool {
    pool_with(servers, options())
}

pub fn pool_with(servers: Vec<McpServerConfig>, options: PoolOptions) -> McpPool {
    McpPool::new(servers, Arc::new(LocalSpawn), Arc::new(NetHttp::new(NetSettings::default())), options)
}

/// The surface of one run with everything allowed.
pub async fn surface(pool: &McpPool) -> Surface {
    surface_under(pool, ToolPolicy::allow_all()).await
}

pub async fn surface_under(pool: &McpPool, policy: ToolPolicy) -> Surface {
    let ports = GatePorts {
        recorder: None,
        ask: Arc::new(Answers::default()),
        keep: Arc::new(KeepNothing),
        deadline: Duration::from_secs(600),
    };
    seal(&pool.sources(), &policy, Arc::new(ApprovalRules::default()), facts(), ports).await.unwrap()
}

/// Calls a tool of a surface.
pub async fn call(surface: &Surface, name: &str, arguments: Value) -> Settled {
    surface.call(CallRequest::new(name, arguments)).await
}

/// Why a tool is withheld.
pub fn withheld(surface: &Surface, name: &str) -> Option<(String, String)> {
    let explanation = surface.explain();
    let row = explanation.tools.iter().find(|row| row.name == name && !row.offered)?;
    Some((row.by.as_ref()?.to_string(), row.why.clone()))
}

/// The names that a surface offers.
pub fn names(surface: &Surface) -> Vec<String> {
    surface.names().map(ToString::to_string).collect()
}

/// Whether a process is there and no zombie.
pub fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'))
}
