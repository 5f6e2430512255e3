//! Short commands: the `Commands` port.

use crate::capture::{Capture, Captured};
use crate::engine::EngineKind;
use crate::policy::{Mode, SandboxPolicy};
use crate::run::{Collected, Ended, collect};
use crate::sandbox::{ChildSpec, Inner, Sandbox, StartError};
use crate::status_line::Said;
use host_ports::commands::{CommandCode, CommandOutcome, CommandSpec, Commands};
use host_ports::{BoxFuture, CancellationToken};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

impl Commands for Sandbox {
    fn run(&self, spec: CommandSpec, cancel: CancellationToken) -> BoxFuture<'_, CommandOutcome> {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let stop = match Stop::new() {
                Ok(stop) => stop,
                Err(_) => return failed(CommandCode::SpawnError, "the host has no free descriptors"),
            };
            let seen = Arc::clone(&stop.0);
            let mut work = tokio::task::spawn_blocking(move || run(&inner, spec, &seen));
            let outcome = tokio::select! {
                outcome = &mut work => outcome,
                () = cancel.cancelled() => {
                    stop.now();
                    work.await
                }
            };
            outcome.unwrap_or_else(|_| {
                failed(CommandCode::SpawnError, "the command's keeper broke; this is a fault of the host")
            })
        })
    }

    fn blocked(&self) -> Option<String> {
        self.0.engine_for(&self.0.policy).err()
    }
}

/// Tells the thread that runs a command to stop; also when nobody waits for the command any more.
struct Stop(Arc<OwnedFd>);

impl Stop {
    fn new() -> rustix::io::Result<Self> {
        Ok(Stop(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    fn now(&self) {
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.now();
    }
}

fn failed(code: CommandCode, message: impl Into<String>) -> CommandOutcome {
    CommandOutcome {
        code,
        message: message.into(),
        exit_code: None,
        signal: None,
        duration: Duration::ZERO,
        stdout_bytes: 0,
        stderr_bytes: 0,
        stdout: String::new(),
        stderr: String::new(),
        truncated: false,
        fallback_inline: false,
        kept: Vec::new(),
    }
}

fn run(inner: &Inner, spec: CommandSpec, stop: &OwnedFd) -> CommandOutcome {
    let begun = Instant::now();
    if let Some(refused) = check_argv(&spec.argv) {
        return refused;
    }
    let cwd = match workdir(&inner.policy, spec.cwd.as_deref()) {
        Ok(cwd) => cwd,
        Err(refused) => return *refused,
    };
    let (quarantine, program) = (
        inner.quarantine(spec.run.as_str(), spec.call.as_str()),
        spec.argv.first().cloned().unwrap_or_default(),
    );
    let run_id = spec.run.as_str().to_owned();
    let child = ChildSpec {
        argv: spec.argv,
        env: spec.env,
        cwd,
        policy: &inner.policy,
        confined: true,
        run: Some(run_id),
        own: Vec::new(),
    };
    let mut started = match inner.start(child) {
        Ok(started) => started,
        Err(StartError::Sandbox(why)) => return failed(CommandCode::SandboxPrepareFailed, why),
        Err(StartError::Os(error)) => {
            return failed(
                CommandCode::SpawnError,
                format!("the operating system started no process: {error}"),
            );
        }
    };
    let keep = Some((Arc::clone(&inner.keep), spec.run, spec.call));
    let mut capture = Capture::new(spec.output, keep);
    let deadline = begun + spec.timeout;
    let collected = collect(&mut started.tree, &spec.stdin, deadline, stop, &mut capture);
    started.after.tree_is_over(collected.clean);
    let guarded = std::mem::take(&mut started.after.guarded);
    let violations = started.after.protected.finish(&quarantine);
    let captured = capture.finish();
    let mut outcome = judge(&collected, captured, &program, spec.timeout, started.engine);
    if outcome.code == CommandCode::NonzeroExit && outcome.stderr.contains("Permission denied") {
        outcome.message.push_str(&guarded_note(&guarded));
    }
    if !violations.is_empty() {
        let list: Vec<String> = violations
            .iter()
            .map(|violation| format!("{} {}", violation.name.display(), violation.fate))
            .collect();
        let note = format!("sandbox.denyWrite protects a name that was written: {}", list.join("; "));
        if !matches!(outcome.code, CommandCode::Timeout | CommandCode::Aborted) {
            outcome.code = CommandCode::DeniedWrite;
            outcome.message.clear();
        }
        outcome.message =
            if outcome.message.is_empty() { note } else { format!("{}; {note}", outcome.message) };
    }
    outcome.duration = begun.elapsed();
    outcome
}

/// Why something may have been refused that the roots allow; nothing where nothing is guarded.
fn guarded_note(guarded: &[PathBuf]) -> String {
    let Some(first) = guarded.first() else { return String::new() };
    let more = if guarded.len() > 1 { " and other folders" } else { "" };
    format!(
        "; sandbox.denyWrite: under Landlock nothing can be made, renamed or removed directly in {}{more}, \
         where a protected name is or could be; use a subfolder that exists, or install bubblewrap",
        first.display()
    )
}

/// The last check before the kernel's own; tools have better words for their users.
fn check_argv(argv: &[String]) -> Option<CommandOutcome> {
    match argv.split_first() {
        None => Some(failed(CommandCode::InvalidExecutable, "no program is named")),
        Some((program, _)) if program.is_empty() || program.contains(['\0', '\r', '\n']) => Some(failed(
            CommandCode::InvalidExecutable,
            "the program's name is empty or holds a NUL or a line break",
        )),
        Some((_, arguments)) if arguments.iter().any(|argument| argument.contains('\0')) => {
            Some(failed(CommandCode::InvalidArgs, "an argument holds a NUL"))
        }
        Some(_) => None,
    }
}

/// Where a command starts: a folder that exists, inside a root, with its links resolved.
fn workdir(policy: &SandboxPolicy, wanted: Option<&str>) -> Result<PathBuf, Box<CommandOutcome>> {
    let path = match wanted {
        None | Some("") => policy.workspace.clone(),
        Some(wanted) => policy.workspace.join(wanted),
    };
    let shown = path.display();
    let refuse = |code, message: String| Err(Box::new(failed(code, message)));
    let real = match std::fs::canonicalize(&path) {
        Ok(real) if real.is_dir() => real,
        Ok(_) => {
            return refuse(
                CommandCode::WorkdirNotFound,
                format!("the working directory {shown} is not a folder"),
            );
        }
        Err(_) => return refuse(CommandCode::WorkdirNotFound, not_there(policy, wanted, &path)),
    };
    if policy.mode == Mode::Native && !policy.reaches(&real) {
        return refuse(
            CommandCode::WorkdirDenied,
            format!(
                "the working directory {shown} is outside every sandbox root; start inside {}",
                policy.workspace.display()
            ),
        );
    }
    Ok(real)
}

fn not_there(policy: &SandboxPolicy, wanted: Option<&str>, path: &Path) -> String {
    let workspace = policy.workspace.display();
    if !policy.workspace.is_dir() {
        return format!(
            "the workspace {workspace} does not exist (any more), so no command can start in it; make it again"
        );
    }
    match wanted {
        Some(wanted) if !wanted.is_empty() => format!(
            "the working directory {} does not exist (any more); without workdir, commands start in {workspace}",
            path.display()
        ),
        _ => format!("the workspace {workspace} can't be entered"),
    }
}

fn judge(
    collected: &Collected,
    captured: Captured,
    program: &str,
    timeout: Duration,
    engine: EngineKind,
) -> CommandOutcome {
    let (mut exit_code, mut signal) = (None, None);
    match collected.over() {
        Some(Said::Exit(code)) => exit_code = Some(*code),
        Some(Said::Signal(number)) => signal = Some(*number),
        _ => {}
    }
    let (code, message) = verdict(collected, (exit_code, signal), program, timeout, engine);
    if code == CommandCode::Signal && signal.is_none() {
        signal = Some(libc::SIGKILL);
    }
    let code =
        if !collected.clean && matches!(code, CommandCode::Ok) { CommandCode::CleanupFailed } else { code };
    let message = if code == CommandCode::CleanupFailed {
        "the command ended, but something that it started may still run".to_owned()
    } else {
        message
    };
    CommandOutcome {
        code,
        message,
        exit_code,
        signal,
        duration: Duration::ZERO,
        stdout_bytes: captured.stdout_bytes,
        stderr_bytes: captured.stderr_bytes,
        stdout: captured.stdout,
        stderr: captured.stderr,
        truncated: captured.truncated,
        fallback_inline: captured.fallback_inline,
        kept: captured.kept,
    }
}

/// The code and its sentence, in the order of the seed: timeout, aborted, output limit, not started, exit.
fn verdict(
    collected: &Collected,
    over: (Option<i32>, Option<i32>),
    program: &str,
    timeout: Duration,
    engine: EngineKind,
) -> (CommandCode, String) {
    match collected.ended {
        Some(Ended::Timeout) => {
            let held = match collected.was_over {
                false => "it and everything that it started was ended",
                true => {
                    "the program itself had ended, but something that it started still held its output; all of it was ended"
                }
            };
            return (CommandCode::Timeout, format!("it took longer than {} ms; {held}", timeout.as_millis()));
        }
        Some(Ended::Aborted) => {
            return (
                CommandCode::Aborted,
                "the turn was cancelled; the command and all of its processes were ended".to_owned(),
            );
        }
        Some(Ended::OutputLimit) => {
            return (CommandCode::OutputLimit, "it printed more than it may and was ended".to_owned());
        }
        None => {}
    }
    if let Some(why) = &collected.complaint {
        return (
            CommandCode::SandboxPrepareFailed,
            format!("the sandbox ({}) failed: {why}", engine.as_str()),
        );
    }
    for said in &collected.said {
        match said {
            Said::Spawn(errno) => return (CommandCode::SpawnError, not_started(program, *errno)),
            Said::Workdir(errno) => {
                let error = std::io::Error::from_raw_os_error(*errno);
                return (
                    CommandCode::WorkdirNotFound,
                    format!("the working directory can't be entered: {error}"),
                );
            }
            Said::Refused(why) => return (CommandCode::SandboxPrepareFailed, why.clone()),
            Said::Memory(bytes) => {
                return (
                    CommandCode::Signal,
                    format!("it used {bytes} bytes of memory, more than the sandbox lets it, and was ended"),
                );
            }
            Said::Pids(count) => {
                return (
                    CommandCode::Signal,
                    format!("it had {count} processes, more than the sandbox lets it, and was ended"),
                );
            }
            Said::Started | Said::Exit(_) | Said::Signal(_) => {}
        }
    }
    match over {
        (Some(0), _) => (CommandCode::Ok, String::new()),
        (Some(code), _) => (CommandCode::NonzeroExit, format!("it ended with exit code {code}")),
        (_, Some(number)) => {
            (CommandCode::Signal, format!("signal {number} ({}) ended it", signal_name(number)))
        }
        (None, None) => (CommandCode::Signal, "it was ended from outside".to_owned()),
    }
}

fn not_started(program: &str, errno: i32) -> String {
    let shown = host_vocab::text::one_line(program, 200);
    match errno {
        libc::ENOENT if program.contains('/') => {
            format!(
                "{shown} was not started: there is no such file inside the sandbox, or its interpreter is missing"
            )
        }
        libc::ENOENT => format!("{shown} was not started: no such program in the sandbox's PATH"),
        libc::EACCES => format!("{shown} was not started: it may not be executed"),
        libc::ENOEXEC => format!("{shown} was not started: it is no program (a script must begin with #!)"),
        libc::E2BIG => format!("{shown} was not started: its arguments and environment are too long"),
        other => format!("{shown} was not started: {}", std::io::Error::from_raw_os_error(other)),
    }
}

fn signal_name(number: i32) -> &'static str {
    match number {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => "another signal",
    }
}
