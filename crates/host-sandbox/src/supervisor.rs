//! The small process that keeps a host running: it starts it, waits, and starts it again when it was asked
//! to come back or died (ENG-9).

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The exit code with which a host asks to be started again.
pub const RESTART_EXIT_CODE: u8 = 75;

/// A host that lived this long was well: the back-off begins anew.
const WELL_AFTER: Duration = Duration::from_secs(60);
/// The first wait after a crash; it doubles up to [`BACKOFF_MAX`].
const BACKOFF_MIN: Duration = Duration::from_millis(500);
const BACKOFF_MAX: Duration = Duration::from_secs(60);
/// So many crashes in a row, none of them well in between, end it.
const CRASHES_MAX: u32 = 8;
/// How long a host may take to end in order; then it is killed.
const STOP_GRACE: Duration = Duration::from_secs(30);

/// What to keep running.
#[derive(Debug, Clone)]
pub struct Supervised {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Told before each start, with the number of the start from 0.
    pub before_start: fn(u32),
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SupervisedEnd {
    /// In order, with this code.
    Ended(u8),
    /// It crashed again and again.
    GaveUp,
}

/// Why it could not be kept running.
#[derive(Debug, thiserror::Error)]
#[error("the host could not be started: {0}")]
pub struct SuperviseError(#[from] std::io::Error);

/// Keeps a host running until it ends in order, SIGTERM or SIGINT comes, or it crashed too often. The child
/// ends with this process, whatever ends it.
///
/// # Errors
/// Where the first start already fails.
pub async fn supervise(what: Supervised) -> Result<SupervisedEnd, SuperviseError> {
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;
    let mut backoff = BACKOFF_MIN;
    let mut crashes = 0;
    for start in 0.. {
        (what.before_start)(start);
        let begun = Instant::now();
        let mut child = spawn(&what)?;
        let (status, told) = wait(&mut child, &mut term, &mut int).await?;
        if told {
            return Ok(SupervisedEnd::Ended(
                status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(0),
            ));
        }
        match status.code() {
            Some(code) if code == i32::from(RESTART_EXIT_CODE) => {
                crashes = 0;
                backoff = BACKOFF_MIN;
                continue;
            }
            // 0 = ended in order; 1 and 2 at the first start = a fault that starting again can't mend. Later it
            // may be a config that is just being written, so it is tried again.
            Some(code @ 0..=2) if code == 0 || start == 0 => {
                return Ok(SupervisedEnd::Ended(u8::try_from(code).unwrap_or(1)));
            }
            _ => {}
        }
        let well = begun.elapsed() >= WELL_AFTER;
        crashes = if well { 1 } else { crashes + 1 };
        backoff = if well { BACKOFF_MIN } else { backoff };
        eprintln!("the host ended unexpectedly ({}); starting it again in {backoff:?}", describe(status));
        if crashes >= CRASHES_MAX {
            return Ok(SupervisedEnd::GaveUp);
        }
        tokio::select! {
            () = tokio::time::sleep(backoff) => {}
            _ = term.recv() => return Ok(SupervisedEnd::Ended(0)),
            _ = int.recv() => return Ok(SupervisedEnd::Ended(0)),
        }
        backoff = (backoff * 2).min(BACKOFF_MAX);
    }
    Ok(SupervisedEnd::GaveUp)
}

fn spawn(what: &Supervised) -> std::io::Result<tokio::process::Child> {
    let parent = rustix::process::getpid();
    let mut command = tokio::process::Command::new(&what.program);
    command.args(&what.args).stdin(Stdio::null()).kill_on_drop(true);
    // SAFETY: the closure runs between fork and exec and only makes system calls.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))?;
            // The parent may have died before the line above; then the signal would never come.
            if rustix::process::getppid() != Some(parent) {
                return Err(std::io::Error::other("the supervisor is gone"));
            }
            // A group of its own: Ctrl-C at the terminal goes to the supervisor, which passes it on once.
            rustix::process::setpgid(None, None)?;
            Ok(())
        });
    }
    command.spawn()
}

/// Waits for the child; on a signal tells it to end and waits for a bounded time. The flag says whether a
/// signal came.
async fn wait(
    child: &mut tokio::process::Child,
    term: &mut Signal,
    int: &mut Signal,
) -> std::io::Result<(ExitStatus, bool)> {
    tokio::select! {
        status = child.wait() => return Ok((status?, false)),
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    if let Some(pid) =
        child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw)
    {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
    match tokio::time::timeout(STOP_GRACE, child.wait()).await {
        Ok(status) => Ok((status?, true)),
        Err(_) => {
            child.start_kill()?;
            Ok((child.wait().await?, true))
        }
    }
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no exit status".to_owned(),
    }
}

/// Starts a program detached from this terminal and session, with its output appended to a file.
///
/// # Errors
/// Where it can't be started.
pub fn start_detached(
    program: &std::path::Path,
    args: &[OsString],
    output: std::fs::File,
) -> std::io::Result<u32> {
    use std::os::unix::process::CommandExt as _;
    let errors = output.try_clone()?;
    let mut command = std::process::Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(output).stderr(errors);
    // SAFETY: the closure runs between fork and exec and only makes one system call.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            Ok(())
        });
    }
    // It is meant to outlive us: nobody waits for it here.
    Ok(command.spawn()?.id())
}

/// Ends a host that does not answer: its supervisor, if it has one, is told to end, so that it doesn't bring
/// it back; the host itself is killed.
///
/// # Errors
/// Where the operating system refuses.
pub fn end_silent(pid: u32) -> std::io::Result<()> {
    let number = i32::try_from(pid).map_err(|_| std::io::ErrorKind::InvalidInput)?;
    let host = rustix::process::Pid::from_raw(number).ok_or(std::io::ErrorKind::InvalidInput)?;
    let program = |pid: i32| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    if let Some(parent) = parent_of(number)
        && parent > 1
        && program(parent).is_some_and(|theirs| Some(theirs) == program(number))
        && let Some(supervisor) = rustix::process::Pid::from_raw(parent)
    {
        rustix::process::kill_process(supervisor, rustix::process::Signal::TERM)?;
    }
    Ok(rustix::process::kill_process(host, rustix::process::Signal::KILL)?)
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Whether a process that this user started is still there.
pub fn is_alive(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    rustix::process::test_kill_process(pid).is_ok() && !is_zombie(pid.as_raw_nonzero().get())
}

fn is_zombie(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
}
