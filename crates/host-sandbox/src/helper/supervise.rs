//! The helper's life: start the command, watch, end the tree.
//!
//! It tells the host in lines: `started PID`, then one of `exit CODE` and `signal N`; or `workdir ERRNO`,
//! `spawn ERRNO`, `refused TEXT` where nothing was started; and `memory BYTES` or `pids N` where it ended the
//! tree for going over a bound. The host tells it `t` (ask everyone to end) or closes the pipe (end it).

use super::confine::{self, Confinement};
use super::order::{Order, Role};
use super::program::Program;
use super::{forward, tree};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, FromRawFd as _, OwnedFd};
use rustix::io::FdFlags;
use rustix::process::{Pid, Signal, WaitOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// Exit code of a helper that was started wrongly.
pub(super) const USAGE: u8 = 2;
/// How often the tree's use is looked at: quickly at first, then at leisure.
const WATCH_FIRST_MS: i64 = 10;
const WATCH_LAST_MS: i64 = 100;

struct Status(Mutex<std::fs::File>);

impl Status {
    fn say(&self, line: std::fmt::Arguments<'_>) {
        if let Ok(mut file) = self.0.lock() {
            let _ = writeln!(file, "{line}");
        }
    }
}

/// Does everything; the code is only seen where the order can't be read.
pub(super) fn main(order_fd: i32) -> u8 {
    let Some(order) = read_order(order_fd) else { return USAGE };
    let Some([stdin, stdout, stderr, control, status]) = take_descriptors(&order) else { return USAGE };
    let status = Status(Mutex::new(std::fs::File::from(status)));
    if let Some(user) = order.identity
        && let Err(error) = confine::become_user(user, order.role)
    {
        status.say(format_args!("refused user {} can't be taken on: {error}", user.uid));
        return 0;
    }
    match start(&order, [stdin, stdout, stderr]) {
        Err(line) => {
            status.say(format_args!("{line}"));
            0
        }
        Ok(main) => {
            status.say(format_args!("started {}", main.as_raw_nonzero()));
            let status: &'static Status = Box::leak(Box::new(status));
            std::thread::spawn(move || reap(main, status));
            watch(&order, &control, status)
        }
    }
}

fn read_order(fd: i32) -> Option<Order> {
    // SAFETY: the host made this descriptor for us and nothing else here knows of it.
    let mut file = unsafe { std::fs::File::from_raw_fd(fd) };
    let mut text = Vec::new();
    file.rewind().ok()?;
    file.read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

fn take_descriptors(order: &Order) -> Option<[OwnedFd; 5]> {
    let numbers = [order.stdin, order.stdout, order.stderr, order.control, order.status];
    let mut sorted = numbers;
    sorted.sort_unstable();
    if sorted[0] < 3 || sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return None;
    }
    let fds = numbers.map(|number| {
        // SAFETY: the host made these descriptors for us; they are all different and none is one of ours.
        unsafe { OwnedFd::from_raw_fd(number) }
    });
    fds.iter().all(|fd| rustix::io::fcntl_setfd(fd, FdFlags::CLOEXEC).is_ok()).then_some(fds)
}

/// Starts the command. The error is the line that says why not.
fn start(order: &Order, streams: [OwnedFd; 3]) -> Result<Pid, String> {
    let [stdin, stdout, stderr] = streams;
    let errno = |error: &std::io::Error| error.raw_os_error().unwrap_or(0);
    if order.role == Role::Subreaper {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(|error| format!("refused orphans can't be collected: {error}"))?;
    }
    let listener = match &order.forward {
        Some(forward) => Some(
            forward::listen(forward)
                .map_err(|error| format!("refused the way out can't be opened: {error}"))?,
        ),
        None => None,
    };
    let mut confinement = Confinement::build(order).map_err(|why| format!("refused {why}"))?;
    std::env::set_current_dir(&order.cwd).map_err(|error| format!("workdir {}", errno(&error)))?;
    // The library's own way of starting a program would hand what is no program to a shell.
    let mut command = Command::new(&order.argv[0]);
    command.env_clear();
    command.stdin(Stdio::from(stdin)).stdout(Stdio::from(stdout)).stderr(Stdio::from(stderr));
    let tied = order.role == Role::Subreaper;
    let program = Program::prepare(order).ok_or_else(|| "refused an argument holds a NUL".to_owned())?;
    // SAFETY: this process has one thread, so nothing is half-done in the child; it only makes system calls.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            if tied {
                rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            }
            confinement.apply()?;
            crate::launch::close_on_exec()?;
            Err(program.become_it())
        });
    }
    let child = command.spawn().map_err(|error| format!("spawn {}", errno(&error)))?;
    drop(command);
    if let Some(listener) = listener {
        forward::serve(listener);
    }
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| "refused the child has no process id".to_owned())
}

/// Collects every child and orphan; ends this process when there is none left.
fn reap(main: Pid, status: &Status) {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, how))) if pid == main => match (how.exit_status(), how.terminating_signal()) {
                (Some(code), _) => status.say(format_args!("exit {code}")),
                (_, Some(signal)) => status.say(format_args!("signal {signal}")),
                _ => {}
            },
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => std::process::exit(0),
        }
    }
}

/// Waits for the host's word, and looks at the tree's use in between.
fn watch(order: &Order, control: &OwnedFd, status: &Status) -> u8 {
    let bounded = order.limits.memory_bytes_max.is_some() || order.limits.pids_max.is_some();
    let mut wait_ms = WATCH_FIRST_MS;
    loop {
        let timeout = Timespec { tv_sec: 0, tv_nsec: wait_ms * 1_000_000 };
        let mut fds = [PollFd::from_borrowed_fd(control.as_fd(), PollFlags::IN)];
        match poll(&mut fds, bounded.then_some(&timeout)) {
            Ok(0) => {
                wait_ms = (wait_ms * 3 / 2).min(WATCH_LAST_MS);
                if let Some(line) = confine::over_limit(&order.limits, order.role) {
                    status.say(format_args!("{line}"));
                    end_all(order.role);
                }
            }
            Ok(_) => {
                let mut byte = [0; 1];
                match rustix::io::read(control, &mut byte) {
                    Ok(1) => tree::signal_all(order.role, Signal::TERM),
                    Err(rustix::io::Errno::INTR) => {}
                    _ => end_all(order.role),
                }
            }
            Err(_) => {}
        }
    }
}

/// Ends the tree for good. In a namespace our own end does it; elsewhere we go on until the collector finds
/// nobody left and ends this process.
fn end_all(role: Role) -> ! {
    if role == Role::Init {
        std::process::exit(0);
    }
    loop {
        tree::signal_all(role, Signal::KILL);
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
