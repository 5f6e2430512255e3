//! Files that are locked as long as a process lives.

use crate::folder;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a start waits for another one.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// A lock that the operating system lets go when this process ends, however it ends. Dropping it removes
/// the file.
#[derive(Debug)]
pub(crate) struct LockFile {
    path: PathBuf,
    fd: OwnedFd,
    keep: bool,
}

impl LockFile {
    /// Takes the lock at `path`, and waits for it, but not for ever.
    pub(crate) fn wait(path: &Path) -> std::io::Result<LockFile> {
        let began = Instant::now();
        loop {
            if let Some(lock) = Self::take(path)? {
                return Ok(lock);
            }
            if began.elapsed() > WAIT_MAX {
                let text = format!("another process has held it for {} seconds", WAIT_MAX.as_secs());
                return Err(std::io::Error::new(std::io::ErrorKind::TimedOut, text));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Takes the lock at `path`, creating the file; `None` where a living process holds it.
    pub(crate) fn take(path: &Path) -> std::io::Result<Option<LockFile>> {
        // Whoever finds a lock that nobody holds removes its file. So a lock counts only if the file
        // that it is on still has its name; else the next round makes a new one.
        for _ in 0..1000 {
            let fd = folder::open_or_create(path)?;
            match rustix::io::retry_on_intr(|| {
                rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive)
            }) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(errno) => return Err(errno.into()),
            }
            let held = rustix::fs::fstat(&fd)?;
            match rustix::fs::lstat(path) {
                Ok(named) if (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino) => {
                    return Ok(Some(LockFile { path: path.to_owned(), fd, keep: false }));
                }
                Ok(_) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(std::io::Error::other("the lock file is replaced again and again"))
    }

    /// Lets go of the lock and leaves the file where it is.
    pub(crate) fn abandon(mut self) {
        self.keep = true;
    }
}

/// Whether a living process holds the lock at `path`. It is asked by sharing it for a moment, so whoever takes it
/// at that very moment finds it taken.
pub(crate) fn is_held(path: &Path) -> bool {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => rustix::fs::flock(&fd, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK),
        Err(Errno::NOENT) => false,
        // One that can't be looked at may well be held.
        Err(_) => true,
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if !self.keep {
            // Removed while still held, so nobody can lock a file that is about to go.
            let _ = std::fs::remove_file(&self.path);
        }
        let _ = rustix::fs::flock(&self.fd, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_and_the_file_goes_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.lock");
        let held = LockFile::take(&path).unwrap().expect("free");
        assert!(LockFile::take(&path).unwrap().is_none());
        drop(held);
        assert!(!path.exists());
        LockFile::take(&path).unwrap().expect("free again").abandon();
        assert!(path.exists(), "an abandoned lock is what a dead process leaves");
        assert!(LockFile::take(&path).unwrap().is_some());
    }
}
