//! The small process that keeps a host running: it starts it, waits, and starts it again when it was asked
//! to come back or died (ENG-9).

mod detached;
mod seat;

pub use detached::{Detached, start_detached};
pub use seat::{Holder, Seat, SeatError, Tell, last_note};

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
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
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SupervisedEnd {
    /// Told to, or with a host that ended by itself, with this code.
    Ended(u8),
    /// It crashed again and again.
    GaveUp {
        /// So often in a row.
        crashes: u32,
        /// How the last one ended, in words.
        last_exit: String,
    },
}

/// Why it could not be kept running.
#[derive(Debug, thiserror::Error)]
#[error("the host could not be started: {0}")]
pub struct SuperviseError(#[from] std::io::Error);

/// What a supervisor is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// A host was started and lives.
    Running,
    /// The host crashed; the next one is started after a while.
    Waiting,
    /// The host was told to end.
    Stopping,
    /// The host ended by itself, and is not started again.
    Ended,
    /// It crashed too often, and is not started again.
    GaveUp,
}

/// What a supervisor says of itself in the note of its seat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SupervisorNote {
    /// What it does.
    pub phase: Phase,
    /// When it starts the next host, in Unix milliseconds.
    pub next_start_ms: Option<u64>,
    /// How the last host ended by itself, in words.
    pub last_exit: Option<String>,
    /// How many crashes there were in a row.
    pub crashes: u32,
}

/// What the end of a host means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It ends for good: in order (0), or for a fault that starting again can't mend (1, 2).
    Ended(u8),
    /// It asked for the next start.
    Restart,
    /// A signal, a panic.
    Crashed,
}

impl Fate {
    fn of(status: ExitStatus) -> Fate {
        match status.code().and_then(|code| u8::try_from(code).ok()) {
            Some(code @ 0..=2) => Fate::Ended(code),
            Some(RESTART_EXIT_CODE) => Fate::Restart,
            _ => Fate::Crashed,
        }
    }
}

struct Signals {
    term: Signal,
    int: Signal,
    /// Start the next host at once.
    now: Signal,
}

/// Keeps a host running until it ends by itself, SIGTERM or SIGINT comes, or it crashed too often. SIGUSR1 ends a
/// wait. The child ends with this process, whatever ends it. What goes on stands in the note of the seat.
///
/// # Errors
/// Where the first start already fails.
pub async fn supervise(what: Supervised, seat: &Seat) -> Result<SupervisedEnd, SuperviseError> {
    let mut signals = Signals {
        term: signal(SignalKind::terminate())?,
        int: signal(SignalKind::interrupt())?,
        now: signal(SignalKind::user_defined1())?,
    };
    let mut backoff = BACKOFF_MIN;
    let mut note = SupervisorNote { phase: Phase::Running, next_start_ms: None, last_exit: None, crashes: 0 };
    for start in 0_u64.. {
        note.phase = Phase::Running;
        note.next_start_ms = None;
        seat.note(&note);
        let begun = Instant::now();
        let last_exit = match spawn(&what) {
            Ok(mut child) => {
                let (status, told) = wait(&mut child, &mut signals, seat, &note).await?;
                match Fate::of(status) {
                    Fate::Ended(code) => {
                        note.phase = Phase::Ended;
                        note.last_exit = Some(describe(status));
                        seat.note(&note);
                        if code != 0 && start > 0 {
                            say(&format!(
                                "the host ended with exit code {code}; starting it again would not mend that"
                            ));
                        }
                        return Ok(SupervisedEnd::Ended(code));
                    }
                    _ if told => return Ok(SupervisedEnd::Ended(0)),
                    Fate::Restart => {
                        note.crashes = 0;
                        backoff = BACKOFF_MIN;
                        continue;
                    }
                    Fate::Crashed => describe(status),
                }
            }
            Err(error) if start == 0 => return Err(error.into()),
            // A lack of memory or processes may pass.
            Err(error) => format!("it could not be started: {error}"),
        };
        let well = begun.elapsed() >= WELL_AFTER;
        note.crashes = if well { 1 } else { note.crashes + 1 };
        backoff = if well { BACKOFF_MIN } else { backoff };
        note.last_exit = Some(last_exit.clone());
        if note.crashes >= CRASHES_MAX {
            note.phase = Phase::GaveUp;
            seat.note(&note);
            return Ok(SupervisedEnd::GaveUp { crashes: note.crashes, last_exit });
        }
        say(&format!("the host ended unexpectedly ({last_exit}); starting it again in {backoff:?}"));
        note.phase = Phase::Waiting;
        note.next_start_ms = Some(unix_ms(SystemTime::now() + backoff));
        seat.note(&note);
        tokio::select! {
            () = tokio::time::sleep(backoff) => {}
            _ = signals.now.recv() => {}
            _ = signals.term.recv() => return Ok(SupervisedEnd::Ended(0)),
            _ = signals.int.recv() => return Ok(SupervisedEnd::Ended(0)),
        }
        backoff = (backoff * 2).min(BACKOFF_MAX);
    }
    Ok(SupervisedEnd::Ended(0))
}

/// Into the log, as far as it takes it: a full disk is no reason to leave the agent alone.
fn say(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn unix_ms(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX))
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
    signals: &mut Signals,
    seat: &Seat,
    note: &SupervisorNote,
) -> std::io::Result<(ExitStatus, bool)> {
    loop {
        tokio::select! {
            status = child.wait() => return Ok((status?, false)),
            _ = signals.term.recv() => break,
            _ = signals.int.recv() => break,
            // The host runs: the wait that this was to cut short is over.
            _ = signals.now.recv() => {}
        }
    }
    seat.note(&SupervisorNote { phase: Phase::Stopping, ..note.clone() });
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

#[cfg(test)]
mod tests {
    use super::*;

    // ENG-9: what can't get better by itself is not started again.
    #[test]
    fn a_fault_ends_it_and_a_crash_does_not() {
        let exit = |code: i32| Fate::of(ExitStatus::from_raw(code << 8));
        assert_eq!([exit(0), exit(1), exit(2)], [Fate::Ended(0), Fate::Ended(1), Fate::Ended(2)]);
        assert_eq!(exit(75), Fate::Restart);
        assert_eq!([exit(101), exit(3), exit(255)], [Fate::Crashed; 3]);
        assert_eq!([9, 6, 11].map(|signal| Fate::of(ExitStatus::from_raw(signal))), [Fate::Crashed; 3]);
    }

    async fn ends(script: &str) -> (SupervisedEnd, SupervisorNote) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("supervisor.lock");
        let seat = Seat::take(&path).unwrap();
        let script = script.replace("FOLDER", &folder.path().display().to_string());
        let what = Supervised { program: "/bin/sh".into(), args: vec!["-c".into(), script.into()] };
        let end = supervise(what, &seat).await.unwrap();
        (end, last_note(&path).unwrap())
    }

    // ENG-9: a config that broke between two starts ends it too, whatever was before.
    #[tokio::test]
    async fn a_fault_after_a_crash_is_not_repeated() {
        let script = "if [ -e FOLDER/again ]; then exit 1; fi; : > FOLDER/again; kill -9 $$";
        let (end, note) = ends(script).await;
        assert_eq!(end, SupervisedEnd::Ended(1));
        assert_eq!((note.phase, note.crashes), (Phase::Ended, 1));
        assert_eq!(note.last_exit.as_deref(), Some("exit code 1"));
    }
}
