//! Replacing a file in one step (FIL-6).

use crate::agent::{regular, reopen};
use crate::resolve::{At, Spot, io_error};
use host_ports::files::{Expect, FileError, Written};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

const HANDLE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FOLDER: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::DIRECTORY);

/// Taken around every change of a name, so that two calls of this host (and two agents on one folder) never
/// meet in the moment in which a swap is looked at and may be put back.
static NAMES: Mutex<()> = Mutex::new(());

fn names_locked() -> MutexGuard<'static, ()> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a spot that may be written.
pub(crate) fn write(spot: Spot, content: &[u8], expect: Expect<'_>) -> Result<Written, FileError> {
    let shown = spot.shown;
    let failed = |err: Errno| io_error(&shown, &err.into());
    let changed = || FileError::Changed { shown: shown.clone() };
    match spot.at {
        At::Top(_) => Err(FileError::Folder { shown }),
        At::Missing { parent, names } => {
            if let Expect::Content { .. } = expect {
                return Err(changed());
            }
            match create(parent, names, content) {
                Ok(()) => Ok(Written { shown, created: true }),
                Err(Errno::EXIST) if expect == Expect::Absent => Err(FileError::Exists { shown }),
                Err(Errno::EXIST) => Err(changed()),
                Err(err) => Err(failed(err)),
            }
        }
        At::Entry { parent, name, handle, stat } => {
            regular(&shown, stat.st_mode)?;
            match expect {
                Expect::Absent => return Err(FileError::Exists { shown }),
                Expect::Content { place, .. } if place != spot.real => return Err(changed()),
                Expect::Any | Expect::Content { .. } => {}
            }
            let old = Old { parent: &parent, name: &name, handle: &handle, stat: &stat };
            let done = match expect {
                Expect::Content { content: expected, .. } => old.swap(content, expected),
                _ => old.replace(content).map(|()| true),
            };
            match done {
                Ok(true) => Ok(Written { shown, created: false }),
                Ok(false) => Err(changed()),
                Err(err) => Err(failed(err)),
            }
        }
    }
}

/// Makes missing folders, each one in the opened folder before it, and the file in the last.
fn create(mut parent: OwnedFd, mut names: Vec<OsString>, content: &[u8]) -> Result<(), Errno> {
    let Some(name) = names.pop() else { return Err(Errno::INVAL) };
    for folder in names {
        let above = rustix::fs::fstat(&parent)?;
        let made = match rustix::fs::mkdirat(&parent, &folder, Mode::from_raw_mode(0o777)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(err) => return Err(err),
        };
        let next = rustix::fs::openat(&parent, &folder, FOLDER, Mode::empty())?;
        if made {
            let readable = rustix::fs::openat(&next, ".", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
            give_to_owner(readable.as_fd(), &above)?;
            sync_folder(parent.as_fd())?;
        }
        parent = next;
    }
    let above = rustix::fs::fstat(&parent)?;
    let temp = Temp::write(parent.as_fd(), content, &NewFile { owner: &above, mode: None })?;
    let locked = names_locked();
    rustix::fs::renameat_with(&parent, &temp.name, &parent, &name, RenameFlags::NOREPLACE)?;
    drop(locked);
    temp.was_renamed();
    sync_folder(parent.as_fd())
}

/// A file that is there and is going to be replaced.
struct Old<'a> {
    parent: &'a OwnedFd,
    name: &'a OsStr,
    handle: &'a OwnedFd,
    stat: &'a Stat,
}

impl Old<'_> {
    fn replace(&self, content: &[u8]) -> Result<(), Errno> {
        let temp = Temp::write(self.parent.as_fd(), content, &self.like())?;
        let locked = names_locked();
        rustix::fs::renameat(self.parent, &temp.name, self.parent, self.name)?;
        drop(locked);
        temp.was_renamed();
        sync_folder(self.parent.as_fd())
    }

    /// Replaces the file only if it holds what was expected. The last look is at the object that the swap
    /// took out, so that a change right before it is seen and put back; `false` = it was changed.
    fn swap(&self, content: &[u8], expected: &[u8]) -> Result<bool, Errno> {
        if !holds(reopen(self.handle.as_fd(), self.parent.as_fd(), self.name)?, expected) {
            return Ok(false);
        }
        let temp = Temp::write(self.parent.as_fd(), content, &self.like())?;
        let _locked = names_locked();
        let swapped =
            rustix::fs::renameat_with(self.parent, &temp.name, self.parent, self.name, RenameFlags::EXCHANGE);
        match swapped {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(false),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                return self.replace_unchanged(temp, expected);
            }
            Err(err) => return Err(err),
        }
        if self.took_out(&temp.name, expected) {
            drop(temp);
            sync_folder(self.parent.as_fd())?;
            return Ok(true);
        }
        rustix::fs::renameat_with(self.parent, &temp.name, self.parent, self.name, RenameFlags::EXCHANGE)?;
        Ok(false)
    }

    fn took_out(&self, name: &OsStr, expected: &[u8]) -> bool {
        let Ok(handle) = rustix::fs::openat(self.parent, name, HANDLE, Mode::empty()) else { return false };
        let Ok(stat) = rustix::fs::fstat(&handle) else { return false };
        (stat.st_dev, stat.st_ino) == (self.stat.st_dev, self.stat.st_ino)
            && reopen(handle.as_fd(), self.parent.as_fd(), name).is_ok_and(|file| holds(file, expected))
    }

    /// Where the file system can't exchange names: a look right before the rename.
    fn replace_unchanged(&self, temp: Temp<'_>, expected: &[u8]) -> Result<bool, Errno> {
        if !self.took_out(self.name, expected) {
            return Ok(false);
        }
        rustix::fs::renameat(self.parent, &temp.name, self.parent, self.name)?;
        temp.was_renamed();
        sync_folder(self.parent.as_fd())?;
        Ok(true)
    }

    fn like(&self) -> NewFile<'_> {
        NewFile { owner: self.stat, mode: Some(Mode::from_raw_mode(self.stat.st_mode & 0o7777)) }
    }
}

/// Whose a new file is and what mode it gets; `None` = what the umask gives.
struct NewFile<'a> {
    owner: &'a Stat,
    mode: Option<Mode>,
}

/// A file under a name of its own until it is renamed; removed when that doesn't happen.
struct Temp<'a> {
    parent: BorrowedFd<'a>,
    name: OsString,
    there: bool,
}

impl<'a> Temp<'a> {
    fn write(parent: BorrowedFd<'a>, content: &[u8], like: &NewFile<'_>) -> Result<Self, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = if like.mode.is_some() { 0o600 } else { 0o666 };
        let name = temp_name()?;
        let opened = rustix::fs::openat(parent, &name, flags, Mode::from_raw_mode(mode))?;
        let temp = Temp { parent, name, there: true };
        let mut file = File::from(opened);
        file.write_all(content).map_err(|err| Errno::from_io_error(&err).unwrap_or(Errno::IO))?;
        give_to_owner(file.as_fd(), like.owner)?;
        if let Some(mode) = like.mode {
            rustix::fs::fchmod(&file, mode)?;
        }
        rustix::fs::fsync(&file)?;
        Ok(temp)
    }

    fn was_renamed(mut self) {
        self.there = false;
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if self.there {
            let _ = rustix::fs::unlinkat(self.parent, &self.name, AtFlags::empty());
        }
    }
}

/// A name that nobody guesses; the prefix tells what a crash left behind.
pub(crate) fn temp_name() -> Result<OsString, Errno> {
    let mut random = [0_u8; 12];
    getrandom::fill(&mut random).map_err(|_| Errno::IO)?;
    let hex = host_vocab::text::hex(&random);
    Ok(format!(".mono-agent-{hex}.tmp").into())
}

/// A host that runs as root leaves no files of root's in other people's folders.
fn give_to_owner(file: BorrowedFd<'_>, like: &Stat) -> Result<(), Errno> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let own = rustix::fs::fstat(file)?;
    if (own.st_uid, own.st_gid) == (like.st_uid, like.st_gid) {
        return Ok(());
    }
    rustix::fs::fchown(file, Some(Uid::from_raw(like.st_uid)), Some(Gid::from_raw(like.st_gid)))
}

/// Makes the names in a folder last; a file system that can't is not an error.
pub(crate) fn sync_folder(folder: BorrowedFd<'_>) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = rustix::fs::openat(folder, ".", flags, Mode::empty())?;
    match rustix::fs::fsync(&readable) {
        Ok(()) | Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(()),
        Err(err) => Err(err),
    }
}

/// Whether an opened file holds exactly some bytes, read no further than needed.
fn holds(file: OwnedFd, expected: &[u8]) -> bool {
    let mut content = Vec::with_capacity(expected.len() + 1);
    let read = File::from(file).take(expected.len() as u64 + 1).read_to_end(&mut content);
    read.is_ok() && content == expected
}
