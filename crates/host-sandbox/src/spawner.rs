//! Long-lived children: the `Spawn` port.

use crate::network::{HostList, Network};
use crate::policy::SandboxPolicy;
use crate::sandbox::{ChildSpec, Sandbox, StartError, Started};
use crate::status_line::{Lines, Said};
use host_ports::BoxFuture;
use host_ports::spawn::{ChildExit, ChildHandle, Confine, OwnFolder, Spawn, SpawnError, SpawnSpec, Spawned};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::unix::pipe;
use tokio::sync::watch;

/// How long a child may take from the fork to its own program.
const START_MAX: Duration = Duration::from_secs(20);

impl Spawn for Sandbox {
    fn spawn(&self, spec: SpawnSpec) -> BoxFuture<'_, Result<Spawned, SpawnError>> {
        let sandbox = self.clone();
        Box::pin(async move {
            let label = spec.label.clone();
            let begun = tokio::task::spawn_blocking(move || begin(&sandbox, spec)).await;
            let begun = begun.map_err(|_| SpawnError::Failed("the start broke off".to_owned()))??;
            hand_over(label, begun).map_err(|error| SpawnError::Failed(error.to_string()))
        })
    }
}

struct Begun {
    started: Started,
    lines: Lines,
    quarantine: PathBuf,
    over: Option<ChildExit>,
}

/// Starts the child and waits until its own program runs.
fn begin(sandbox: &Sandbox, spec: SpawnSpec) -> Result<Begun, SpawnError> {
    if let Some(bad) = std::iter::once(&spec.program).chain(&spec.args).find(|text| text.contains('\0')) {
        return Err(SpawnError::Failed(format!("an argument holds a NUL: {bad:?}")));
    }
    let (policy, confined) = effective(&sandbox.0.policy, &spec.confine).map_err(SpawnError::Sandbox)?;
    let own = match &spec.confine {
        Confine::Sandbox { own, .. } => {
            own.iter().map(|own| OwnFolder { path: real_or(&own.path), writable: own.writable }).collect()
        }
        Confine::Off => Vec::new(),
    };
    let mut argv = vec![spec.program.clone()];
    argv.extend(spec.args);
    let cwd = spec.cwd.clone();
    let child = ChildSpec { argv, env: spec.env, cwd, policy: &policy, confined, run: None, own };
    let mut started = sandbox.0.start(child).map_err(|error| match error {
        StartError::Sandbox(why) => SpawnError::Sandbox(why),
        StartError::Os(error) => SpawnError::Failed(error.to_string()),
    })?;
    let mut lines = Lines::default();
    let deadline = Instant::now() + START_MAX;
    let mut running = false;
    let mut over = None;
    while !running {
        let said = match wait_said(&started, &mut lines, deadline) {
            Some(said) => said,
            None => {
                let why = complaint(&mut started.tree);
                return Err(SpawnError::Sandbox(why));
            }
        };
        for said in said {
            match said {
                Said::Started => running = true,
                Said::Exit(code) => over = Some(ChildExit::Code(code)),
                Said::Signal(signal) => over = Some(ChildExit::Signal(signal)),
                other => return Err(not_started(&other, &spec.program, &spec.cwd)),
            }
        }
    }
    let quarantine = sandbox.0.quarantine("spawned", &spec.label);
    Ok(Begun { started, lines, quarantine, over })
}

fn not_started(said: &Said, program: &str, cwd: &std::path::Path) -> SpawnError {
    match said {
        Said::Spawn(errno) if *errno == rustix::io::Errno::NOENT.raw_os_error() => {
            match std::path::Path::new(program).symlink_metadata() {
                Ok(_) => SpawnError::Failed(format!(
                    "{program} is there, but the sandbox doesn't show it, or the interpreter that its first line names \
                     is missing there; add the folder to readablePaths"
                )),
                Err(_) => SpawnError::NotFound(program.to_owned()),
            }
        }
        Said::Spawn(errno) => SpawnError::Failed(std::io::Error::from_raw_os_error(*errno).to_string()),
        Said::Workdir(errno) => {
            let error = std::io::Error::from_raw_os_error(*errno);
            SpawnError::Failed(format!("its working directory {} can't be entered: {error}", cwd.display()))
        }
        Said::Refused(why) => SpawnError::Sandbox(why.clone()),
        other => SpawnError::Failed(format!("it ended at once: {other:?}")),
    }
}

/// The agent's policy with the additions of one child.
fn effective(policy: &SandboxPolicy, confine: &Confine) -> Result<(SandboxPolicy, bool), String> {
    let Confine::Sandbox { read, write, own, network } = confine else { return Ok((policy.clone(), false)) };
    let mut policy = policy.clone();
    for (roots, more) in [(&mut policy.readable, read), (&mut policy.writable, write)] {
        roots.extend(more.iter().map(|path| real_or(path)));
    }
    for own in own {
        let roots = if own.writable { &mut policy.writable } else { &mut policy.readable };
        roots.push(real_or(&own.path));
    }
    policy.network = match network.as_deref() {
        None => policy.network,
        Some("none") => Network::None,
        Some("localhost") => Network::Localhost,
        Some("all") => Network::All,
        Some("allowlist") => {
            Network::Allowlist(policy.allowlist().cloned().unwrap_or_else(HostList::default))
        }
        Some(other) => {
            return Err(format!(
                "network {other:?} is none of \"none\", \"localhost\", \"allowlist\", \"all\""
            ));
        }
    };
    Ok((policy, true))
}

fn real_or(path: &std::path::Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// What the helper says next; `None` = it is gone or silent.
fn wait_said(started: &Started, lines: &mut Lines, deadline: Instant) -> Option<Vec<Said>> {
    let status = started.tree.status.as_ref()?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = timespec(left);
        let mut fds = [PollFd::new(status, PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) => return None,
            Ok(_) => return lines.read(status),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// What the engine complained of, as a sentence.
pub(crate) fn complaint(tree: &mut crate::launch::Tree) -> String {
    tree.end();
    let mut text = Vec::new();
    if let Some(complaints) = tree.complaints.take() {
        let _ = rustix::io::ioctl_fionbio(&complaints, true);
        let mut chunk = [0; 2048];
        if let Ok(n) = rustix::io::read(&complaints, &mut chunk) {
            text.extend_from_slice(&chunk[..n]);
        }
    }
    let text = host_vocab::text::one_line(&String::from_utf8_lossy(&text), 300);
    if text.is_empty() { "the sandbox ended before the program began".to_owned() } else { text }
}

pub(crate) fn timespec(left: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX / 2),
        tv_nsec: i64::from(left.subsec_nanos()),
    }
}

/// Gives the pipes away and lets a thread watch over the rest.
fn hand_over(label: String, mut begun: Begun) -> std::io::Result<Spawned> {
    let tree = &mut begun.started.tree;
    let gone = || std::io::Error::other("a pipe of the child is missing");
    let stdin = pipe::Sender::from_owned_fd(tree.stdin.take().ok_or_else(gone)?)?;
    let stdout = pipe::Receiver::from_owned_fd(tree.stdout.take().ok_or_else(gone)?)?;
    let stderr = pipe::Receiver::from_owned_fd(tree.stderr.take().ok_or_else(gone)?)?;
    let pid = tree.pid;
    let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let grace = Arc::new(Mutex::new(Duration::ZERO));
    let (tell, exit) = watch::channel(None);
    let watcher = Watcher { begun, wake: Arc::clone(&wake), grace: Arc::clone(&grace), label };
    std::thread::Builder::new().name("child".to_owned()).spawn(move || {
        let exit = watcher.watch();
        let _ = tell.send(Some(exit));
    })?;
    Ok(Spawned {
        pid,
        stdin: Box::new(stdin),
        stdout: Box::new(stdout),
        stderr: Box::new(stderr),
        handle: Box::new(Handle { wake, grace, exit }),
    })
}

struct Watcher {
    begun: Begun,
    wake: Arc<OwnedFd>,
    grace: Arc<Mutex<Duration>>,
    label: String,
}

impl Watcher {
    /// Waits for the child's end or for the word to end it, and cleans up.
    fn watch(mut self) -> ChildExit {
        let exit = self.until_over();
        let mut after = self.begun.started.after;
        let clean = self.begun.started.tree.end();
        after.tree_is_over(clean);
        if !clean {
            tracing::warn!(label = %self.label, "some process of a child could not be ended");
        }
        for violation in after.protected.finish(&self.begun.quarantine) {
            tracing::warn!(label = %self.label, name = %violation.name.display(), "a protected name {}", violation.fate);
        }
        exit
    }

    fn until_over(&mut self) -> ChildExit {
        let mut ending: Option<Instant> = None;
        loop {
            if let Some(over) = self.begun.over {
                return over;
            }
            let Some(status) = &self.begun.started.tree.status else { return ChildExit::Signal(9) };
            let timeout = ending.map(|at| timespec(at.saturating_duration_since(Instant::now())));
            let mut fds = [PollFd::new(status, PollFlags::IN), PollFd::new(&*self.wake, PollFlags::IN)];
            let ready = poll(&mut fds, timeout.as_ref());
            if ready == Ok(0) {
                return ChildExit::Signal(9);
            }
            let (status_ready, woken) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
            if status_ready {
                match self.begun.lines.read(status) {
                    None => return ChildExit::Signal(9),
                    Some(said) => self.note(&said),
                }
            }
            if woken {
                let mut count = [0; 8];
                let _ = rustix::io::read(&*self.wake, &mut count);
                let grace = *self.grace.lock().unwrap_or_else(PoisonError::into_inner);
                if grace.is_zero() {
                    return self.begun.over.unwrap_or(ChildExit::Signal(9));
                }
                self.begun.started.tree.ask_to_end();
                ending.get_or_insert(Instant::now() + grace);
            }
        }
    }

    fn note(&mut self, said: &[Said]) {
        for said in said {
            match said {
                Said::Exit(code) => self.begun.over = Some(ChildExit::Code(*code)),
                Said::Signal(signal) => self.begun.over = Some(ChildExit::Signal(*signal)),
                Said::Memory(bytes) => {
                    tracing::warn!(label = %self.label, bytes, "a child used too much memory")
                }
                Said::Pids(count) => {
                    tracing::warn!(label = %self.label, count, "a child had too many processes")
                }
                _ => {}
            }
        }
    }
}

/// A hold on a child. Dropping it ends the tree at once.
struct Handle {
    wake: Arc<OwnedFd>,
    grace: Arc<Mutex<Duration>>,
    exit: watch::Receiver<Option<ChildExit>>,
}

impl Handle {
    fn tell(&self, grace: Duration) {
        *self.grace.lock().unwrap_or_else(PoisonError::into_inner) = grace;
        let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
    }
}

impl ChildHandle for Handle {
    fn wait(&self) -> BoxFuture<'_, ChildExit> {
        let mut exit = self.exit.clone();
        Box::pin(async move {
            match exit.wait_for(Option::is_some).await {
                Ok(exit) => exit.unwrap_or(ChildExit::Signal(9)),
                Err(_) => ChildExit::Signal(9),
            }
        })
    }

    fn kill(&self, grace: Duration) -> BoxFuture<'_, ()> {
        self.tell(grace);
        Box::pin(async move {
            self.wait().await;
        })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.tell(Duration::ZERO);
    }
}
