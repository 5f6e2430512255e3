//! The folder with the notes of long-term memory ([`host_memory::NoteFiles`]).
//!
//! Everything is opened below the descriptor of the root, without links; what is not a plain file of this
//! user's own is no source. Writers take turns by a lock on a file, so that threads and processes never
//! write at once (T10-01).

mod records;
mod writer;

use crate::state::{StateError, ensure_private_dir};
use host_memory::{FENCE, Fingerprint, Listed, NoteError, NoteFiles, NoteWriter, SourceName};
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use writer::Writer;

/// The largest source.
const SOURCE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The lock of writers.
const LOCK: &str = ".writer.lock";
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Why the folder can't be used.
#[derive(Debug, thiserror::Error)]
pub enum MemoryFolderError {
    /// It could not be made, or is not this user's own.
    #[error("the memory folder can't be used: {0}")]
    Folder(#[from] StateError),
    /// It could not be opened.
    #[error("the memory folder {path} can't be opened: {kind}")]
    Open {
        /// The path.
        path: PathBuf,
        /// Why.
        kind: std::io::ErrorKind,
    },
}

/// The folder, open.
pub struct MemoryFolder {
    path: PathBuf,
    root: OwnedFd,
}

impl MemoryFolder {
    /// Opens the folder, which is made where it isn't there, for its owner alone.
    ///
    /// # Errors
    /// See [`MemoryFolderError`].
    pub fn open(path: &Path) -> Result<Self, MemoryFolderError> {
        ensure_private_dir(path)?;
        let failed = |err: Errno| MemoryFolderError::Open {
            path: path.to_owned(),
            kind: std::io::Error::from(err).kind(),
        };
        let root = rustix::fs::open(path, FOLDER, Mode::empty()).map_err(failed)?;
        Ok(MemoryFolder { path: path.to_owned(), root })
    }

    /// Where the index of this folder belongs.
    pub fn index_path(&self) -> PathBuf {
        self.path.join(".index/memory.sqlite")
    }

    /// Whether this user may write to it: a file system that is read-only makes a memory that is.
    pub fn is_writable(&self) -> bool {
        let access = rustix::fs::Access::WRITE_OK;
        rustix::fs::accessat(&self.root, ".", access, AtFlags::EACCESS).is_ok()
    }

    /// The folder of daily files; `None` = not there yet.
    fn daily(&self) -> Result<Option<OwnedFd>, NoteError> {
        match rustix::fs::openat(&self.root, "daily", FOLDER, Mode::empty()) {
            Ok(folder) => Ok(Some(folder)),
            Err(Errno::NOENT) => Ok(None),
            Err(err) => Err(failed("daily", err)),
        }
    }

    /// The plain files of this user's own in a folder whose names `name` understands.
    fn sources(
        folder: &OwnedFd,
        name: impl Fn(&str) -> Option<SourceName>,
        found: &mut BTreeMap<String, Listed>,
    ) -> Result<(), NoteError> {
        let entries = Dir::read_from(folder).map_err(|err| failed("daily", err))?;
        for entry in entries {
            let entry = entry.map_err(|err| failed("daily", err))?;
            let Ok(text) = entry.file_name().to_str() else { continue };
            let Some(name) = name(text) else { continue };
            match rustix::fs::statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if is_ours(&stat) => {
                    // A day's own file hides the one of the old layout.
                    let listed = Listed { fingerprint: fingerprint(&stat), name };
                    found.entry(listed.name.date().to_owned()).or_insert(listed);
                }
                Ok(_) | Err(Errno::NOENT) => {}
                Err(err) => return Err(failed(text, err)),
            }
        }
        Ok(())
    }

    /// Opens a source for reading.
    fn open_source(&self, name: &SourceName) -> Result<File, NoteError> {
        let shown = name.to_string();
        let missing = || NoteError::Missing { name: shown.clone() };
        let file_name = format!("{}.md", name.date());
        let flags = FILE | OFlags::RDONLY;
        let opened = if name.is_legacy() {
            rustix::fs::openat(&self.root, &file_name, flags, Mode::empty())
        } else {
            let daily = self.daily()?.ok_or_else(missing)?;
            rustix::fs::openat(daily, &file_name, flags, Mode::empty())
        };
        opened.map(File::from).map_err(|err| failed(&shown, err))
    }
}

impl NoteFiles for MemoryFolder {
    fn list(&self) -> Result<Vec<Listed>, NoteError> {
        let mut found = BTreeMap::new();
        let day = |name: &str| name.strip_suffix(".md").map(str::to_owned);
        if let Some(daily) = self.daily()? {
            Self::sources(&daily, |name| SourceName::daily(&day(name)?), &mut found)?;
        }
        Self::sources(&self.root, |name| SourceName::legacy(&day(name)?), &mut found)?;
        Ok(found.into_values().collect())
    }

    fn read(&self, name: &SourceName) -> Result<(String, Fingerprint), NoteError> {
        let shown = name.to_string();
        let mut file = self.open_source(name)?;
        let stat = rustix::fs::fstat(&file).map_err(|err| failed(&shown, err))?;
        if !is_ours(&stat) {
            return Err(NoteError::Unsafe { name: shown });
        }
        let bytes = read_whole(&mut file, &shown, SOURCE_BYTES_MAX)?;
        let text = String::from_utf8(bytes).map_err(|_| NoteError::NotText { name: shown })?;
        let fingerprint = Fingerprint { bytes: text.len() as u64, ..fingerprint(&stat) };
        Ok((text, fingerprint))
    }

    fn lock(&self, wait: Duration, mend: bool) -> Result<Box<dyn NoteWriter + '_>, NoteError> {
        let flags = FILE | OFlags::RDWR | OFlags::CREATE;
        let lock = rustix::fs::openat(&self.root, LOCK, flags, Mode::from_raw_mode(0o600))
            .map_err(|err| failed(LOCK, err))?;
        let until = Instant::now() + wait;
        let mut pause = Duration::from_micros(200);
        loop {
            match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) if Instant::now() < until => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(5));
                }
                Err(Errno::WOULDBLOCK) => return Err(NoteError::Busy),
                Err(err) => return Err(failed(LOCK, err)),
            }
        }
        if !mend && rustix::fs::statat(&self.root, FENCE, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Err(NoteError::Fenced);
        }
        Ok(Box::new(Writer { folder: self, _lock: lock }))
    }

    fn duty(&self, name: &str) -> Result<Option<Box<dyn std::any::Any + Send>>, NoteError> {
        let flags = FILE | OFlags::RDWR | OFlags::CREATE;
        let lock = rustix::fs::openat(&self.root, name, flags, Mode::from_raw_mode(0o600))
            .map_err(|err| failed(name, err))?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Box::new(lock))),
            Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(None),
            Err(err) => Err(failed(name, err)),
        }
    }

    fn record(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, NoteError> {
        records::read(self.root.as_fd(), name, bytes_max)
    }

    fn records(&self, folder: &str) -> Result<Vec<String>, NoteError> {
        records::list(self.root.as_fd(), folder)
    }

    fn put_record(&self, name: &str, content: &[u8]) -> Result<(), NoteError> {
        records::write(self.root.as_fd(), name, content)
    }

    fn append_record(&self, name: &str, content: &[u8], bytes_max: u64) -> Result<(), NoteError> {
        records::append(self.root.as_fd(), name, content, bytes_max)
    }

    fn remove_record(&self, name: &str) -> Result<(), NoteError> {
        records::remove(self.root.as_fd(), name)
    }
}

fn read_whole(file: &mut File, name: &str, bytes_max: u64) -> Result<Vec<u8>, NoteError> {
    let mut bytes = Vec::new();
    file.take(bytes_max + 1)
        .read_to_end(&mut bytes)
        .map_err(|err| NoteError::Io { name: name.to_owned(), kind: err.kind() })?;
    if bytes.len() as u64 > bytes_max {
        return Err(NoteError::TooLarge { name: name.to_owned(), bytes_max });
    }
    Ok(bytes)
}

fn is_ours(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode).is_file() && stat.st_uid == rustix::process::geteuid().as_raw()
}

fn fingerprint(stat: &Stat) -> Fingerprint {
    #[allow(
        clippy::unnecessary_cast,
        clippy::cast_possible_wrap,
        reason = "the widths differ between systems"
    )]
    Fingerprint {
        bytes: u64::try_from(stat.st_size).unwrap_or(0),
        modified_ns: (stat.st_mtime as i64)
            .saturating_mul(1_000_000_000)
            .saturating_add(stat.st_mtime_nsec as i64),
        inode: stat.st_ino,
    }
}

fn failed(name: &str, err: Errno) -> NoteError {
    let name = name.to_owned();
    match err {
        Errno::NOENT => NoteError::Missing { name },
        Errno::LOOP | Errno::NOTDIR | Errno::ISDIR | Errno::NXIO => NoteError::Unsafe { name },
        Errno::NOSPC | Errno::DQUOT => NoteError::NoSpace,
        err => NoteError::Io { name, kind: std::io::Error::from(err).kind() },
    }
}
