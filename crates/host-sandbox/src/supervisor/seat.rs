//! The seat of the one process that does a thing for an agent: a lock that the kernel frees when the process
//! ends, however it ends (ENG-9).
//!
//! It is a record lock, because the kernel names its holder to whoever asks, and asking takes nothing. So a
//! number in a file is never believed, and a holder is signalled only through a handle that can't come to mean
//! another process. Such a lock goes when its process closes the file anywhere: a holder must not look at its
//! own seat by [`Holder::of`].

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use rustix::process::{Flock, FlockType, Pid, PidfdFlags, Signal};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The length of a note, in bytes: it is written in one piece, so that a reader finds an old or a new one.
const NOTE_BYTES: usize = 512;

/// Why a seat can't be taken or looked at.
#[derive(Debug, thiserror::Error)]
pub enum SeatError {
    /// A living process has it.
    #[error("another process{} holds {path}", pid.map(|it| format!(" ({it})")).unwrap_or_default())]
    Held {
        /// The process, where it can be seen from here.
        pid: Option<u32>,
        /// The lock file.
        path: PathBuf,
    },
    /// The system said no.
    #[error("{path}: {source}")]
    Io {
        /// The lock file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// A seat that this process has.
#[derive(Debug)]
pub struct Seat {
    file: File,
}

impl Seat {
    /// Takes the seat at `path`; the file is made where it is missing, 0600, and stays. Its folder must be there.
    ///
    /// # Errors
    /// See [`SeatError`].
    pub fn take(path: &Path) -> Result<Seat, SeatError> {
        let failed = |source: std::io::Error| SeatError::Io { path: path.to_owned(), source };
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.custom_flags(nofollow()).open(path).map_err(failed)?;
        match rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Seat { file }),
            Err(Errno::AGAIN | Errno::ACCESS) => {
                let pid = holder_of(&file).ok().flatten().and_then(number);
                Err(SeatError::Held { pid, path: path.to_owned() })
            }
            Err(errno) => Err(failed(errno.into())),
        }
    }

    /// Keeps the seat until this process has ended, so that a free seat means that nothing of it is left.
    pub fn keep_to_the_end(self) {
        std::mem::forget(self);
    }

    /// Leaves a note that others can read. One that can't be written (a full disk) is left out: the lock counts.
    pub fn note<T: Serialize>(&self, note: &T) {
        let mut text = serde_json::to_vec(note).unwrap_or_default();
        text.resize(NOTE_BYTES, b' ');
        let _ = self.file.write_all_at(&text, 0);
    }
}

/// What a holder is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tell {
    /// End in order (SIGTERM).
    End,
    /// Don't wait with the next start (SIGUSR1); for a supervisor that waits.
    StartNow,
    /// End at once (SIGKILL).
    Kill,
}

/// Another process that has a seat.
#[derive(Debug)]
pub struct Holder {
    file: File,
    path: PathBuf,
    pid: Option<Pid>,
    /// Names the process for good; none where the kernel has no such handles or the process is not to be seen.
    handle: Option<OwnedFd>,
}

impl Holder {
    /// Who has the seat at `path`; nobody where there is no file or no lock on it.
    ///
    /// # Errors
    /// Where the system does not say.
    pub fn of(path: &Path) -> Result<Option<Holder>, SeatError> {
        let failed = |source: std::io::Error| SeatError::Io { path: path.to_owned(), source };
        let file = match std::fs::OpenOptions::new().read(true).custom_flags(nofollow()).open(path) {
            Ok(file) => file,
            Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {
                return Ok(None);
            }
            Err(error) => return Err(failed(error)),
        };
        for _ in 0..100 {
            let Some(pid) = holder_of(&file).map_err(|errno| failed(errno.into()))? else { return Ok(None) };
            let handle = pid.and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
            // Between the two questions the number may have gone to another process; then this is asked anew.
            if holder_of(&file) == Ok(Some(pid)) {
                return Ok(Some(Holder { file, path: path.to_owned(), pid, handle }));
            }
        }
        Err(failed(std::io::Error::other("its holder changes again and again")))
    }

    /// The process, where it can be seen from here.
    pub fn pid(&self) -> Option<u32> {
        number(self.pid)
    }

    /// What it says of itself, if anything.
    pub fn note<T: DeserializeOwned>(&self) -> Option<T> {
        note_in(&self.file)
    }

    /// Signals it. One that is gone already is no error.
    ///
    /// # Errors
    /// Where the system refuses, or the process can't be seen from here.
    pub fn tell(&self, what: Tell) -> Result<(), SeatError> {
        let failed = |source: std::io::Error| SeatError::Io { path: self.path.clone(), source };
        let signal = match what {
            Tell::End => Signal::TERM,
            Tell::StartNow => Signal::USR1,
            Tell::Kill => Signal::KILL,
        };
        let sent = match (&self.handle, self.pid) {
            (Some(handle), _) => rustix::process::pidfd_send_signal(handle, signal),
            (None, Some(pid)) if holder_of(&self.file) == Ok(Some(Some(pid))) => {
                rustix::process::kill_process(pid, signal)
            }
            (None, Some(_)) => Ok(()),
            (None, None) => {
                let text =
                    "it is held by a process that can't be seen from here, such as one in another container";
                return Err(failed(std::io::Error::other(text)));
            }
        };
        match sent {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(errno) => Err(failed(errno.into())),
        }
    }

    /// Whether it has ended.
    pub fn is_gone(&self) -> bool {
        let Some(handle) = &self.handle else { return holder_of(&self.file) != Ok(Some(self.pid)) };
        let mut ended = [PollFd::new(handle, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut ended, Some(&at_once)).is_ok_and(|ready| ready > 0)
    }
}

/// The note that the last holder of a seat left, whether or not it lives.
pub fn last_note<T: DeserializeOwned>(path: &Path) -> Option<T> {
    note_in(&std::fs::OpenOptions::new().read(true).custom_flags(nofollow()).open(path).ok()?)
}

fn note_in<T: DeserializeOwned>(file: &File) -> Option<T> {
    let mut bytes = [0; NOTE_BYTES];
    let n = file.read_at(&mut bytes, 0).ok()?;
    serde_json::from_slice(&bytes[..n]).ok()
}

/// `Some` = locked, by this process where it can be seen.
fn holder_of(file: &File) -> Result<Option<Option<Pid>>, Errno> {
    let found = rustix::process::fcntl_getlk(file, &Flock::from(FlockType::WriteLock))?;
    Ok(found.map(|lock| lock.pid.filter(|pid| pid.as_raw_nonzero().get() > 0)))
}

fn number(pid: Option<Pid>) -> Option<u32> {
    pid.and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok())
}

fn nofollow() -> i32 {
    // A FIFO in its place must not hold the opening up either.
    i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    // ENG-9: who died has no seat, whatever a file says.
    #[test]
    fn a_seat_belongs_to_a_living_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        assert!(Holder::of(&path).unwrap().is_none());
        std::fs::write(&path, "{\"pid\": 1}").unwrap();
        assert!(Holder::of(&path).unwrap().is_none());
        let mut child = std::process::Command::new("python3")
            .args(["-c", "import fcntl,sys,time\nf=open(sys.argv[1],'r+')\nfcntl.lockf(f,fcntl.LOCK_EX)\nprint(1,flush=True)\ntime.sleep(60)"])
            .arg(&path)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = [0];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
        let holder = Holder::of(&path).unwrap().expect("it is held");
        assert_eq!(holder.pid(), Some(child.id()));
        assert!(matches!(Seat::take(&path), Err(SeatError::Held { pid, .. }) if pid == Some(child.id())));
        assert!(!holder.is_gone());
        holder.tell(Tell::Kill).unwrap();
        child.wait().unwrap();
        assert!(holder.is_gone());
        holder.tell(Tell::End).unwrap();
        assert!(Holder::of(&path).unwrap().is_none());
        let seat = Seat::take(&path).unwrap();
        seat.note(&serde_json::json!({"phase": "running"}));
        let note: serde_json::Value = last_note(&path).unwrap();
        assert_eq!(note["phase"], "running");
    }
}
