//! From a plan to a running tree: pipes, the helper's order, the fork.

use crate::engine::Wrap;
use crate::forker;
use crate::helper::{FileGrants, Filter, Forward, HELPER_WORD, Helper, Order, Role};
use crate::identity::Become;
use crate::policy::Limits;
use rustix::fd::{AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use rustix::fs::MemfdFlags;
use rustix::io::FdFlags;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{PidfdFlags, Signal};
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
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
    pub(crate) filter: Option<Filter>,
    pub(crate) files: Option<FileGrants>,
    /// Folders in which the engine lets nothing be made, for the sake of a protected name.
    pub(crate) guarded: Vec<PathBuf>,
    pub(crate) scoped: bool,
    pub(crate) forward: Option<Forward>,
}

/// A tree that was started. Dropping it ends it.
pub(crate) struct Tree {
    /// The outermost process of it.
    pub(crate) child: Option<Child>,
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
        let Some(mut child) = self.child.take() else { return true };
        if wait_over(&self.pidfd, END_GRACE) {
            return child.wait().is_ok();
        }
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, Signal::KILL);
        if wait_over(&self.pidfd, END_GRACE) {
            let _ = child.wait();
        }
        false
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.control = None;
        if let Some(child) = self.child.take() {
            let mut rest = Tree {
                child: Some(child),
                pid: self.pid,
                pidfd: match self.pidfd.try_clone() {
                    Ok(pidfd) => pidfd,
                    Err(_) => return,
                },
                control: None,
                status: None,
                stdin: None,
                stdout: None,
                stderr: None,
                complaints: None,
            };
            // Somebody must wait for it, but nobody who drops a handle should have to.
            let _ = std::thread::Builder::new().name("reaper".to_owned()).spawn(move || rest.end());
        }
    }
}

/// Waits for a process to be over.
pub(crate) fn wait_over(pidfd: &OwnedFd, most: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let deadline = std::time::Instant::now() + most;
    loop {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let mut fds = [PollFd::new(pidfd, PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Starts a plan.
pub(crate) fn launch(plan: Plan, helper: &Helper) -> io::Result<Tree> {
    let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from);
    let (stdin_in, stdin) = pipe()?;
    let (stdout, stdout_in) = pipe()?;
    let (stderr, stderr_in) = pipe()?;
    let (control_in, control) = pipe()?;
    let (status, status_in) = pipe()?;
    let (complaints, complaints_in) = pipe()?;
    for roomy in [&stdout, &stderr] {
        // Fewer turns for much output; where the kernel refuses, the usual size does.
        let _ = rustix::pipe::fcntl_setpipe_size(roomy, 1 << 18);
    }
    let order = Order {
        argv: plan.argv,
        env: plan.env,
        cwd: plan.cwd,
        role: plan.wrap.role(),
        identity: plan.identity,
        powerless: plan.powerless,
        stdin: stdin_in.as_raw_fd(),
        stdout: stdout_in.as_raw_fd(),
        stderr: stderr_in.as_raw_fd(),
        control: control_in.as_raw_fd(),
        status: status_in.as_raw_fd(),
        limits: plan.limits,
        filter: plan.filter,
        files: plan.files,
        scoped: plan.scoped,
        forward: plan.forward,
    };
    let order = memory_file("order", &serde_json::to_vec(&order).map_err(io::Error::other)?)?;
    let mut inherited = vec![stdin_in, stdout_in, stderr_in, control_in, status_in];
    let mut command = match plan.wrap {
        Wrap::Bare => Command::new(helper.program()),
        Wrap::Bubblewrap { program, options, helper: inside, keep } => {
            let options = memory_file("options", &nul_separated(&options))?;
            let mut command = Command::new(program);
            command.arg("--args").arg(options.as_raw_fd().to_string()).arg("--").arg(inside);
            inherited.push(options);
            inherited.extend(keep);
            command
        }
    };
    command.arg(HELPER_WORD).arg(order.as_raw_fd().to_string());
    inherited.push(order);
    command.env_clear().current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::from(complaints_in));
    hand_down(&mut command, inherited);
    let child = forker::fork(command)?;
    let pid = child.id();
    let raw = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let raw = raw.ok_or_else(|| io::Error::other("a child without a process id"))?;
    let pidfd = rustix::process::pidfd_open(raw, PidfdFlags::empty())?;
    Ok(Tree {
        child: Some(child),
        pid,
        pidfd,
        control: Some(control),
        status: Some(status),
        stdin: Some(stdin),
        stdout: Some(stdout),
        stderr: Some(stderr),
        complaints: Some(complaints),
    })
}

/// Lets exactly these descriptors through to the child, detaches it from our terminal and our signals, and
/// ends the outermost process with the thread that forked it.
fn hand_down(command: &mut Command, inherited: Vec<OwnedFd>) {
    let tie = matches!(command.get_program().to_str(), Some(program) if program.ends_with("bwrap"));
    // SAFETY: between fork and exec only system calls are made, on descriptors that the closure owns.
    unsafe {
        command.pre_exec(move || {
            close_on_exec()?;
            for fd in &inherited {
                let number: RawFd = fd.as_raw_fd();
                rustix::io::fcntl_setfd(BorrowedFd::borrow_raw(number), FdFlags::empty())?;
            }
            rustix::process::setsid()?;
            if tie {
                // The helper without a namespace must outlive us long enough to end its tree.
                rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            }
            Ok(())
        });
    }
}

/// Marks every descriptor but the three streams to be closed on exec, whoever opened it and however.
pub(crate) fn close_on_exec() -> io::Result<()> {
    // SAFETY: a system call on numbers; nothing is closed before exec.
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn nul_separated(options: &[std::ffi::OsString]) -> Vec<u8> {
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

/// What the role of a helper is under a wrapping.
impl Wrap {
    pub(crate) fn role(&self) -> Role {
        match self {
            Wrap::Bare => Role::Subreaper,
            Wrap::Bubblewrap { .. } => Role::Init,
        }
    }
}
