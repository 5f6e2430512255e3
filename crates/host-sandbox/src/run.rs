//! One command from start to end: one deadline over everything, pipes always drained, nothing left (EXE-3, EXE-5).

use crate::capture::{Capture, Captured, Which};
use crate::launch::Tree;
use crate::spawner::{complaint, timespec};
use crate::status_line::{Lines, Said};
use host_ports::commands::OutputRule;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::io::Errno;
use std::time::{Duration, Instant};

/// How long a tree that was asked to end may take before it is ended.
const END_GRACE: Duration = Duration::from_secs(1);
/// How long what is left in the pipes of a dead tree may take to be read.
const REST_MAX: Duration = Duration::from_millis(500);
/// The most that is read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// Why a command was ended by us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Timeout,
    Aborted,
    OutputLimit,
}

/// How a command came out.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) ended: Option<Ended>,
    /// Whether the program itself was over before that.
    pub(crate) was_over: bool,
    pub(crate) said: Vec<Said>,
    /// What the engine complained of, where the command never began.
    pub(crate) complaint: Option<String>,
    /// Whether everything of it is gone for sure.
    pub(crate) clean: bool,
}

impl Collected {
    /// The exit code or signal, where it ended by itself.
    pub(crate) fn over(&self) -> Option<&Said> {
        self.said.iter().find(|said| matches!(said, Said::Exit(_) | Said::Signal(_)))
    }
}

/// One command that is being collected.
struct Collector<'a> {
    tree: &'a mut Tree,
    capture: &'a mut Capture,
    stdin: &'a [u8],
    cancel: &'a OwnedFd,
    lines: Lines,
    result: Collected,
    chunk: Vec<u8>,
    /// When the tree is to be ended for good.
    last_moment: Option<Instant>,
}

/// Collects a command until it and its pipes are done, the deadline passes, or `cancel` becomes readable.
pub(crate) fn collect(
    tree: &mut Tree,
    stdin: &[u8],
    deadline: Instant,
    cancel: &OwnedFd,
    capture: &mut Capture,
) -> Collected {
    if let Some(pipe) = &tree.stdin {
        let _ = rustix::io::ioctl_fionbio(pipe, true);
    }
    let mut collector = Collector {
        tree,
        capture,
        stdin,
        cancel,
        lines: Lines::default(),
        result: Collected::default(),
        chunk: vec![0; CHUNK_BYTES],
        last_moment: None,
    };
    while !collector.done() {
        let now = Instant::now();
        let until = match collector.last_moment {
            Some(last) if now >= last => break,
            Some(last) => last,
            None if now >= deadline => {
                collector.ask_to_end(Ended::Timeout);
                continue;
            }
            None => deadline,
        };
        collector.turn(until.saturating_duration_since(now));
    }
    collector.finish()
}

impl Collector<'_> {
    /// Whether the command is over and nobody holds its pipes any more; or the helper itself is gone.
    fn done(&self) -> bool {
        let streams = self.tree.stdout.is_none() && self.tree.stderr.is_none();
        streams && (self.result.over().is_some() || self.tree.status.is_none())
    }

    fn ask_to_end(&mut self, why: Ended) {
        self.result.was_over = self.result.over().is_some();
        self.result.ended = Some(why);
        self.last_moment = Some(Instant::now() + END_GRACE);
        self.tree.stdin = None;
        self.tree.ask_to_end();
    }

    /// Waits for something to do, and does it.
    fn turn(&mut self, most: Duration) {
        if self.stdin.is_empty() {
            self.tree.stdin = None;
        }
        let timeout = timespec(most);
        let [status, out, err, input, cancelled] = self.wait(&timeout);
        if status {
            self.hear();
        }
        let mut within = !out || self.drain(Which::Out);
        within &= !err || self.drain(Which::Err);
        if !within && self.result.ended.is_none() {
            self.ask_to_end(Ended::OutputLimit);
        }
        if input {
            self.feed();
        }
        if cancelled {
            self.ask_to_end(Ended::Aborted);
        }
    }

    /// Which of status, stdout, stderr, stdin and cancellation want something.
    fn wait(&self, timeout: &rustix::event::Timespec) -> [bool; 5] {
        // Once we end it anyway, a cancellation changes nothing.
        let cancel = self.result.ended.is_none().then_some(self.cancel);
        let wanted = [
            (self.tree.status.as_ref(), PollFlags::IN),
            (self.tree.stdout.as_ref(), PollFlags::IN),
            (self.tree.stderr.as_ref(), PollFlags::IN),
            (self.tree.stdin.as_ref(), PollFlags::OUT),
            (cancel, PollFlags::IN),
        ];
        let mut places = Vec::with_capacity(wanted.len());
        let mut fds = Vec::with_capacity(wanted.len());
        for (place, (fd, flags)) in wanted.into_iter().enumerate() {
            if let Some(fd) = fd {
                places.push(place);
                fds.push(PollFd::from_borrowed_fd(fd.as_fd(), flags));
            }
        }
        let mut ready = [false; 5];
        if poll(&mut fds, Some(timeout)).is_ok() {
            for (place, fd) in places.into_iter().zip(&fds) {
                ready[place] = !fd.revents().is_empty();
            }
        }
        ready
    }

    fn hear(&mut self) {
        let Some(status) = &self.tree.status else { return };
        match self.lines.read(status) {
            Some(said) => self.result.said.extend(said),
            None => self.tree.status = None,
        }
    }

    /// Reads one chunk. `false` = the command printed more than it may.
    fn drain(&mut self, which: Which) -> bool {
        let slot = match which {
            Which::Out => &mut self.tree.stdout,
            Which::Err => &mut self.tree.stderr,
        };
        let Some(pipe) = slot else { return true };
        match rustix::io::read(&*pipe, &mut self.chunk) {
            Ok(0) => *slot = None,
            Ok(n) => return self.capture.push(which, &self.chunk[..n]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => *slot = None,
        }
        true
    }

    fn feed(&mut self) {
        let Some(pipe) = &self.tree.stdin else { return };
        match rustix::io::write(pipe, self.stdin) {
            Ok(n) => self.stdin = &self.stdin[n..],
            Err(Errno::INTR | Errno::AGAIN) => {}
            // It doesn't read: that is its own affair.
            Err(_) => self.tree.stdin = None,
        }
    }

    /// Ends what is left and reads what the dead left in the pipes.
    fn finish(mut self) -> Collected {
        self.result.clean = self.tree.end();
        let until = Instant::now() + REST_MAX;
        for pipe in [&self.tree.stdout, &self.tree.stderr, &self.tree.status].into_iter().flatten() {
            let _ = rustix::io::ioctl_fionbio(pipe, true);
        }
        while (self.tree.stdout.is_some() || self.tree.stderr.is_some() || self.tree.status.is_some())
            && Instant::now() < until
        {
            self.turn(Duration::from_millis(20));
        }
        if self.result.said.is_empty() {
            self.result.complaint = Some(complaint(self.tree));
        }
        self.result
    }
}

/// Collects a short text: what the host's own checks need.
pub(crate) fn collect_text(tree: &mut Tree, most: Duration) -> Result<String, String> {
    let never = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC);
    let never = never.map_err(|error| format!("no descriptor: {error}"))?;
    let mut capture =
        Capture::new(OutputRule { total_bytes_max: Some(1 << 20), ..OutputRule::default() }, None);
    let collected = collect(tree, &[], Instant::now() + most, &never, &mut capture);
    let Captured { stdout, .. } = capture.finish();
    match (collected.ended, collected.complaint) {
        (Some(_), _) => Err("it did not end in time".to_owned()),
        (None, Some(why)) => Err(why),
        (None, None) => match collected.said.iter().find_map(|said| match said {
            Said::Refused(why) => Some(why.clone()),
            Said::Spawn(errno) | Said::Workdir(errno) => {
                Some(std::io::Error::from_raw_os_error(*errno).to_string())
            }
            _ => None,
        }) {
            Some(why) => Err(why),
            None => Ok(stdout),
        },
    }
}
