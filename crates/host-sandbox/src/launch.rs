//! From a plan to a running tree: pipes, the order, the fork.

use crate::engine::Wrap;
use crate::filter::{self, SocketRule};
use crate::forker::{self, Forked};
use crate::identity::Become;
use crate::policy::Limits;
use crate::ruleset::{self, FileGrants};
use crate::slot::Slot;
use crate::wire::{self, Order, Role};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::MemfdFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Signal};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::time::Duration;

/// A child to be started, with all that confines it.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) argv: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) cwd: PathBuf,
    pub(crate) identity: Option<Become>,
    pub(crate) powerless: bool,
    pub(crate) limits: Limits,
    pub(crate) wrap: Wrap,
    pub(crate) filter: Option<SocketRule>,
    pub(crate) files: Option<FileGrants>,
    /// Folders in which the engine lets nothing be made, for the sake of a protected name.
    pub(crate) guarded: Vec<PathBuf>,
    /// Refuse abstract sockets and signals that leave the tree, where the kernel can.
    pub(crate) scoped: bool,
    /// A loopback port inside whose connections come to the host.
    pub(crate) forward: Option<u16>,
}

/// Why a plan was not started.
#[derive(Debug)]
pub(crate) enum LaunchError {
    /// What confines it can't be built; a sentence.
    Confine(String),
    /// The operating system refused.
    Os(io::Error),
}

impl<E: Into<io::Error>> From<E> for LaunchError {
    fn from(error: E) -> Self {
        LaunchError::Os(error.into())
    }
}

/// A tree that was started. Dropping it ends it.
pub(crate) struct Tree {
    pub(crate) pid: u32,
    /// Readable when the outermost process is over.
    pub(crate) pidfd: OwnedFd,
    /// Closing it ends the tree; a byte asks everyone in it to end.
    pub(crate) control: Option<OwnedFd>,
    /// What the helper says.
    pub(crate) status: Option<OwnedFd>,
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: Option<OwnedFd>,
    pub(crate) stderr: Option<OwnedFd>,
    /// What the engine itself complains of.
    pub(crate) complaints: Option<OwnedFd>,
    /// Where the port inside comes from, where there is one.
    pub(crate) forward: Option<OwnedFd>,
    /// Whether it is known to be over.
    over: bool,
}

/// How long an outermost process may take to be over once its tree was told to end, before it is killed itself.
const END_GRACE: Duration = Duration::from_secs(2);

impl Tree {
    /// Asks everyone in the tree to end.
    pub(crate) fn ask_to_end(&self) {
        if let Some(control) = &self.control {
            let _ = rustix::io::write(control, b"t");
        }
    }

    /// Ends the tree and waits until it is over. `false` = something of it may be left.
    pub(crate) fn end(&mut self) -> bool {
        self.control = None;
        if self.over {
            return true;
        }
        self.over = true;
        wait_or_kill(&self.pidfd)
    }
}

fn wait_or_kill(pidfd: &OwnedFd) -> bool {
    if wait_over(pidfd, END_GRACE) {
        return true;
    }
    let _ = rustix::process::pidfd_send_signal(pidfd, Signal::KILL);
    wait_over(pidfd, END_GRACE);
    false
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.control = None;
        if !self.over
            && let Ok(pidfd) = self.pidfd.try_clone()
        {
            // Somebody must see that it ends, but nobody who drops a handle should have to wait for it.
            let _ = std::thread::Builder::new().name("reaper".to_owned()).spawn(move || wait_or_kill(&pidfd));
        }
    }
}

/// Waits for a process to be over.
pub(crate) fn wait_over(pidfd: &OwnedFd, most: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, poll};
    let deadline = std::time::Instant::now() + most;
    loop {
        let timeout = crate::spawner::timespec(deadline.saturating_duration_since(std::time::Instant::now()));
        let mut fds = [PollFd::new(pidfd, PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// What the child finds, by the number at which it finds it.
#[derive(Default)]
struct Handed(Vec<(i32, OwnedFd)>);

impl Handed {
    fn give(&mut self, number: i32, fd: OwnedFd) {
        self.0.push((number, fd));
    }

    /// Gives away one end of a pipe and keeps the other.
    fn pipe(&mut self, number: i32, theirs: End) -> io::Result<OwnedFd> {
        let (reading, writing) = pipe_with(PipeFlags::CLOEXEC)?;
        let (given, kept) = match theirs {
            End::Reading => (reading, writing),
            End::Writing => (writing, reading),
        };
        self.give(number, given);
        Ok(kept)
    }
}

#[derive(Clone, Copy)]
enum End {
    Reading,
    Writing,
}

/// Starts a plan.
pub(crate) fn launch(plan: Plan, slot: Option<&mut Slot>) -> Result<Tree, LaunchError> {
    let mut handed = Handed::default();
    let stdin = handed.pipe(wire::STDIN, End::Reading)?;
    let stdout = handed.pipe(wire::STDOUT, End::Writing)?;
    let stderr = handed.pipe(wire::STDERR, End::Writing)?;
    let control = handed.pipe(wire::CONTROL, End::Reading)?;
    let status = handed.pipe(wire::STATUS, End::Writing)?;
    let complaints = handed.pipe(wire::COMPLAINTS, End::Writing)?;
    for roomy in [&stdout, &stderr] {
        // Fewer turns for much output; where the kernel refuses, the usual size does.
        let _ = rustix::pipe::fcntl_setpipe_size(roomy, 1 << 18);
    }
    let ruleset = match (&plan.files, slot) {
        (Some(grants), Some(slot)) => Some(slot.ruleset(grants).map_err(LaunchError::Confine)?),
        (Some(grants), None) => Some(grants.ruleset().map_err(LaunchError::Confine)?),
        (None, _) if plan.scoped => ruleset::scopes_only().map_err(LaunchError::Confine)?,
        (None, _) => None,
    };
    let forward = match plan.forward {
        Some(_) => {
            let kind = SocketType::STREAM;
            let (ours, theirs) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
            handed.give(wire::FORWARD, theirs);
            Some(ours)
        }
        None => None,
    };
    let order = order(&plan, ruleset.is_some());
    handed.0.extend(ruleset.map(|ruleset| (wire::RULESET, ruleset)));
    handed.give(wire::ORDER, memory_file("order", &order.encode())?);
    let mut all: Vec<(i32, BorrowedFd<'_>)> = Vec::new();
    if let Wrap::Bubblewrap { options, keep, .. } = &plan.wrap {
        handed.give(wire::OPTIONS, memory_file("options", &nul_separated(options))?);
        all.push((wire::PROGRAM, forker::program()?));
        all.extend((wire::BOUND..).zip(keep.iter().map(OwnedFd::as_fd)));
    }
    all.extend(handed.0.iter().map(|(number, fd)| (*number, fd.as_fd())));
    let Forked { pid, pidfd } = forker::fork(&all)?;
    Ok(Tree {
        pid,
        pidfd,
        control: Some(control),
        status: Some(status),
        stdin: Some(stdin),
        stdout: Some(stdout),
        stderr: Some(stderr),
        complaints: Some(complaints),
        forward,
        over: false,
    })
}

/// What the helper is told.
fn order(plan: &Plan, ruleset: bool) -> Order {
    let bytes = |text: &String| text.as_bytes().to_vec();
    let (role, wrap) = match &plan.wrap {
        Wrap::Bare => (Role::Subreaper, Vec::new()),
        Wrap::Bubblewrap { program, .. } => {
            let inside = format!("/proc/self/fd/{}", wire::PROGRAM);
            let options = wire::OPTIONS.to_string();
            let rest = ["--args", &options, "--", &inside, wire::INIT_WORD];
            let program = program.clone().into_os_string().into_vec();
            (Role::Init, [program].into_iter().chain(rest.map(|word| word.as_bytes().to_vec())).collect())
        }
    };
    Order {
        role,
        wrap,
        user: plan.identity.map(|user| (user.uid, user.gid)),
        powerless: plan.powerless,
        cwd: plan.cwd.clone().into_os_string().into_vec(),
        places: places(plan),
        argv: plan.argv.iter().map(bytes).collect(),
        env: plan.env.iter().map(|(name, value)| format!("{name}={value}").into_bytes()).collect(),
        rlimits: rlimits(&plan.limits),
        memory_bytes_max: plan.limits.memory_bytes_max,
        pids_max: plan.limits.pids_max.map(u64::from),
        filter: plan.filter.map(filter::program).unwrap_or_default(),
        ruleset,
        forward: plan.forward.map(u64::from),
    }
}

/// Where the program may be: a path as it is, a bare name in the folders of the child's own `PATH`.
fn places(plan: &Plan) -> Vec<Vec<u8>> {
    let Some(name) = plan.argv.first() else { return Vec::new() };
    if name.contains('/') {
        return vec![name.as_bytes().to_vec()];
    }
    let path = plan.env.get("PATH").map_or("/usr/bin:/bin", String::as_str);
    let folders = path.split(':').filter(|folder| folder.starts_with('/'));
    folders.map(|folder| format!("{folder}/{name}").into_bytes()).collect()
}

fn rlimits(limits: &Limits) -> Vec<(u64, u64)> {
    let mut list = Vec::new();
    if *limits != Limits::NONE {
        list.push((Resource::Core, 0));
    }
    // Not the address space: JavaScript and WebAssembly reserve far more of it than they use.
    list.extend(limits.memory_bytes_max.map(|most| (Resource::Data, most)));
    list.extend(limits.cpu_seconds_max.map(|most| (Resource::Cpu, most)));
    list.extend(limits.file_bytes_max.map(|most| (Resource::Fsize, most)));
    list.extend(limits.open_files_max.map(|most| (Resource::Nofile, most)));
    list.into_iter().map(|(resource, most)| (resource as u64, most)).collect()
}

fn nul_separated(options: &[OsString]) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut out = Vec::new();
    for option in options {
        out.extend_from_slice(option.as_bytes());
        out.push(0);
    }
    out
}

/// A file in memory, at its start, closed on exec.
pub(crate) fn memory_file(name: &str, content: &[u8]) -> io::Result<OwnedFd> {
    let fd = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(fd);
    file.write_all(content)?;
    io::Seek::rewind(&mut file)?;
    Ok(OwnedFd::from(file))
}
