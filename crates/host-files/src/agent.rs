//! The agent's files: the [`Files`] port over the resolver.

use crate::config::{FilesConfig, FilesError};
use crate::replace;
use crate::resolve::{At, Resolver, Spot, io_error};
use crate::walk;
use host_ports::CancellationToken;
use host_ports::files::{
    Entry, EntryKind, Expect, FileError, Files, Listing, OpenedFile, Visit, WalkSpec, Walked, Written,
};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

/// One agent's folders, opened once. Shared by every tool, attachment and send (SBX-6).
#[derive(Debug)]
pub struct AgentFiles {
    resolver: Resolver,
}

impl AgentFiles {
    /// Opens the roots.
    ///
    /// # Errors
    /// A root that can't be opened, a pattern that is broken.
    pub fn new(config: &FilesConfig) -> Result<Self, FilesError> {
        Ok(AgentFiles { resolver: Resolver::new(config)? })
    }

    fn existing(&self, path: &str) -> Result<(Spot, OwnedFd, rustix::fs::Stat), FileError> {
        let spot = self.resolver.resolve(path)?;
        let Spot { shown, lexical, real, at } = spot;
        match at {
            At::Missing { .. } => Err(FileError::NotFound { shown }),
            At::Top(_) => Err(FileError::Folder { shown }),
            At::Entry { parent, name, handle, stat } => {
                regular(&shown, stat.st_mode)?;
                let opened = reopen(handle.as_fd(), parent.as_fd(), &name)
                    .map_err(|err| io_error(&shown, &err.into()))?;
                let stat = rustix::fs::fstat(&opened).map_err(|err| io_error(&shown, &err.into()))?;
                regular(&shown, stat.st_mode)?;
                let at = At::Entry { parent, name, handle, stat: Box::new(stat) };
                Ok((Spot { shown, lexical, real, at }, opened, stat))
            }
        }
    }
}

impl Files for AgentFiles {
    fn open(&self, path: &str) -> Result<OpenedFile, FileError> {
        let (spot, opened, stat) = self.existing(path)?;
        if stat.st_nlink > 1 && !self.resolver.private.is_empty() {
            let private = self.resolver.private.inodes();
            if private.is_none_or(|inodes| inodes.contains(&(stat.st_dev, stat.st_ino))) {
                return Err(FileError::Outside { shown: host_vocab::text::one_line(path, 200) });
            }
        }
        let file = File::from(opened);
        let metadata = file.metadata().map_err(|err| io_error(&spot.shown, &err))?;
        let modified = metadata.modified().map_err(|err| io_error(&spot.shown, &err))?;
        Ok(OpenedFile { file, shown: spot.shown, place: spot.real, bytes: metadata.len(), modified })
    }

    fn write(&self, path: &str, content: &[u8], expect: Expect<'_>) -> Result<Written, FileError> {
        let spot = self.resolver.resolve(path)?;
        self.resolver.check_write(&spot)?;
        replace::write(spot, content, expect)
    }

    fn list(&self, path: &str, entries_max: usize) -> Result<Listing, FileError> {
        let spot = self.resolver.resolve(path)?;
        let failed = |err: Errno| io_error(&spot.shown, &err.into());
        let folder = folder_of(&spot)?;
        let mut entries = Vec::new();
        let mut more = false;
        for entry in Dir::read_from(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let text = name.to_string_lossy().into_owned();
            if self.resolver.private.holds(&spot.real.join(OsStr::from_bytes(name.to_bytes()))) {
                continue;
            }
            if entries.len() == entries_max {
                more = true;
                break;
            }
            let Ok(stat) = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let kind = match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => EntryKind::Folder,
                FileType::RegularFile => EntryKind::File,
                FileType::Symlink => EntryKind::Link,
                _ => EntryKind::Special,
            };
            let bytes = (kind == EntryKind::File).then(|| u64::try_from(stat.st_size).unwrap_or(0));
            entries.push(Entry { name: text, kind, bytes });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Listing { shown: spot.shown, entries, more })
    }

    fn walk<'v>(
        &self,
        spec: &WalkSpec,
        cancel: &CancellationToken,
        visitor: &'v (dyn Fn() -> Visit<'v> + Sync),
    ) -> Result<Walked, FileError> {
        let spot = self.resolver.resolve(&spec.path)?;
        if let At::Entry { parent, name, stat, .. } = &spot.at
            && !FileType::from_raw_mode(stat.st_mode).is_dir()
        {
            regular(&spot.shown, stat.st_mode)?;
            walk::one_file(&self.resolver, parent, name, visitor);
            let shown = spot.shown;
            return Ok(Walked { shown, one_file: true, entries: 1, ..Walked::default() });
        }
        let folder = folder_of(&spot)?;
        walk::folder(&self.resolver, &spot, folder, spec, cancel, visitor)
    }
}

/// The folder of a spot, open for reading.
fn folder_of(spot: &Spot) -> Result<OwnedFd, FileError> {
    let failed = |err: Errno| io_error(&spot.shown, &err.into());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match &spot.at {
        At::Missing { .. } => Err(FileError::NotFound { shown: spot.shown.clone() }),
        At::Top(handle) => rustix::fs::openat(handle, ".", flags, Mode::empty()).map_err(failed),
        At::Entry { handle, stat, .. } => {
            if !FileType::from_raw_mode(stat.st_mode).is_dir() {
                return Err(FileError::NotFolder { shown: spot.shown.clone() });
            }
            rustix::fs::openat(handle, ".", flags, Mode::empty()).map_err(failed)
        }
    }
}

/// Refuses everything but a regular file.
pub(crate) fn regular(shown: &str, mode: u32) -> Result<(), FileError> {
    let kind = match FileType::from_raw_mode(mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => return Err(FileError::Folder { shown: shown.to_owned() }),
        FileType::Fifo => "FIFO",
        FileType::Socket => "socket",
        FileType::CharacterDevice | FileType::BlockDevice => "device",
        _ => "special file",
    };
    Err(FileError::Special { shown: shown.to_owned(), kind })
}

/// Opens the very object of a handle for reading. Without `/proc` the name is opened again and must be the
/// same object.
pub(crate) fn reopen(handle: BorrowedFd<'_>, parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let own = format!("/proc/self/fd/{}", handle.as_raw_fd());
    match rustix::fs::open(own, flags, Mode::empty()) {
        Err(Errno::NOENT) => {}
        other => return other,
    }
    let opened = rustix::fs::openat(parent, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
    let (a, b) = (rustix::fs::fstat(handle)?, rustix::fs::fstat(&opened)?);
    if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino) { Ok(opened) } else { Err(Errno::NOENT) }
}
