//! The agent's files. `host-files` opens them; the file tools use this port and nothing else (SBX-6).
//!
//! Every method blocks: call it on a blocking thread (`tokio::task::spawn_blocking`). A path is what a model
//! wrote: relative to the workspace, or absolute below one of the agent's folders. Paths that are given back
//! are *shown* paths: relative to the workspace where they lie in it.

use crate::CancellationToken;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::SystemTime;

/// The one sentence for every path that the agent may not touch, whether or not something is there.
pub const OUTSIDE: &str = "the path is outside the agent's folders";

/// Why a file could not be opened, read, listed or written. No message holds a host path that the caller
/// did not write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// Outside every root, or in a folder of the host's own. The text never says what is there.
    #[error("{shown}: {OUTSIDE}")]
    Outside {
        /// The path as it was given.
        shown: String,
    },
    /// Within a readable root, but not within a writable one.
    #[error("{shown}: the agent may read this folder but not write in it")]
    ReadOnly {
        /// The path.
        shown: String,
    },
    /// A `denyWrite` pattern protects the name (SBX-1).
    #[error("{shown}: writing is denied by the pattern `{pattern}` of sandbox.denyWrite")]
    Denied {
        /// The path.
        shown: String,
        /// The pattern.
        pattern: String,
    },
    /// The path can't name a file at all.
    #[error("{shown}: {why}")]
    BadPath {
        /// The path.
        shown: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Nothing is there.
    #[error("{shown}: no such file or folder")]
    NotFound {
        /// The path.
        shown: String,
    },
    /// It is a folder.
    #[error("{shown} is a folder")]
    Folder {
        /// The path.
        shown: String,
    },
    /// It, or a part of its path, is no folder.
    #[error("{shown} is not a folder")]
    NotFolder {
        /// The path.
        shown: String,
    },
    /// A FIFO, socket or device: never opened.
    #[error("{shown} is a {kind}, not a regular file; it is not opened")]
    Special {
        /// The path.
        shown: String,
        /// What it is.
        kind: &'static str,
    },
    /// Something is there already.
    #[error("{shown} exists already")]
    Exists {
        /// The path.
        shown: String,
    },
    /// It is no longer what the caller had read, so nothing was written.
    #[error("{shown} was changed by something else in the meantime; nothing was written")]
    Changed {
        /// The path.
        shown: String,
    },
    /// More than the caller's bound.
    #[error("{shown} has {bytes} bytes, over the limit of {bytes_max}")]
    TooLarge {
        /// The path.
        shown: String,
        /// Its size.
        bytes: u64,
        /// The bound.
        bytes_max: u64,
    },
    /// The host's user may not.
    #[error("{shown}: permission denied")]
    Permission {
        /// The path.
        shown: String,
    },
    /// The disk is full or a quota is used up.
    #[error("{shown}: no space left on the device")]
    NoSpace {
        /// The path.
        shown: String,
    },
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
    /// Any other fault of the system.
    #[error("{shown}: {kind}")]
    Io {
        /// The path.
        shown: String,
        /// What kind of fault.
        kind: io::ErrorKind,
    },
}

/// A regular file that was opened within the roots. What was decided was decided on this very object.
#[derive(Debug)]
pub struct OpenedFile {
    /// The file, at its start.
    pub file: File,
    /// The path to show.
    pub shown: String,
    /// Where it really lies, links resolved; compared, never shown.
    pub place: PathBuf,
    /// Its size in bytes when it was opened.
    pub bytes: u64,
    /// Its last change.
    pub modified: SystemTime,
}

impl OpenedFile {
    /// The whole content, at most `bytes_max` bytes; the bound holds while reading.
    ///
    /// # Errors
    /// [`FileError::TooLarge`] with the size, [`FileError::Io`].
    pub fn read_whole(&mut self, bytes_max: u64) -> Result<Vec<u8>, FileError> {
        let too_large = |bytes| FileError::TooLarge { shown: self.shown.clone(), bytes, bytes_max };
        if self.bytes > bytes_max {
            return Err(too_large(self.bytes));
        }
        let mut content = Vec::with_capacity(usize::try_from(self.bytes).unwrap_or(0) + 1);
        let mut bounded = (&mut self.file).take(bytes_max.saturating_add(1));
        bounded
            .read_to_end(&mut content)
            .map_err(|err| FileError::Io { shown: self.shown.clone(), kind: err.kind() })?;
        if content.len() as u64 > bytes_max {
            return Err(too_large(content.len() as u64));
        }
        Ok(content)
    }

    /// Back to the start.
    ///
    /// # Errors
    /// [`FileError::Io`].
    pub fn rewind(&mut self) -> Result<(), FileError> {
        self.file.rewind().map_err(|err| FileError::Io { shown: self.shown.clone(), kind: err.kind() })
    }
}

/// What a write expects to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect<'a> {
    /// Anything.
    Any,
    /// Nothing.
    Absent,
    /// The file that was read: the same place, the same bytes.
    Content {
        /// [`OpenedFile::place`].
        place: &'a std::path::Path,
        /// All its bytes.
        content: &'a [u8],
    },
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The path to show.
    pub shown: String,
    /// Whether there was nothing before.
    pub created: bool,
}

/// What an entry of a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A regular file.
    File,
    /// A symbolic link, wherever it leads.
    Link,
    /// A FIFO, socket or device.
    Special,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name; what is no UTF-8 is replaced.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
    /// Its size, for a file.
    pub bytes: Option<u64>,
}

/// A folder's entries by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The path to show.
    pub shown: String,
    /// The entries in order.
    pub entries: Vec<Entry>,
    /// Whether there are more than the bound.
    pub more: bool,
}

/// Which files a walk visits.
#[derive(Debug, Clone)]
pub struct WalkSpec {
    /// Where it starts: a folder, or one file.
    pub path: String,
    /// Whether names with a leading dot are visited.
    pub hidden: bool,
    /// Whether `.gitignore` and `.ignore` files are obeyed, those above the start as well.
    pub ignore_files: bool,
    /// Names of folders that are never entered (`.git`, `node_modules` …).
    pub exclude_folders: Vec<String>,
    /// How many folders deep it goes.
    pub depth_max: usize,
    /// After how many entries it stops.
    pub entries_max: u64,
    /// On how many threads it visits.
    pub threads: usize,
}

/// One file on a walk. Links are never followed and folders are not told of.
pub struct Found<'a> {
    /// Its path below the walk's start, with `/`; for a walk over one file, the file's name.
    pub path: &'a [u8],
    /// Opens and looks at it.
    pub file: &'a dyn FoundFile,
}

/// The file behind a [`Found`].
pub trait FoundFile {
    /// Opens it: the name in its folder's descriptor, no link followed, regular files alone.
    ///
    /// # Errors
    /// Where it is gone, something else, or not readable. A walk goes on to the next.
    fn open(&self) -> io::Result<File>;

    /// Its last change.
    ///
    /// # Errors
    /// Where it is gone.
    fn modified(&self) -> io::Result<SystemTime>;
}

/// What one thread does with each file.
pub type Visit<'a> = Box<dyn FnMut(&Found<'_>) -> ControlFlow<()> + 'a>;

/// How a walk ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Walked {
    /// The path of the start, to show; empty for the workspace itself.
    pub shown: String,
    /// Whether the start is one file.
    pub one_file: bool,
    /// How many entries it met.
    pub entries: u64,
    /// How many folders could not be read.
    pub unreadable: u64,
    /// Whether a bound (entries, depth) left something out.
    pub bounded: bool,
    /// Whether a visitor stopped it.
    pub stopped: bool,
}

/// The agent's files.
pub trait Files: Send + Sync {
    /// Opens a regular file for reading. FIFOs, sockets and devices are refused without opening them.
    ///
    /// # Errors
    /// See [`FileError`].
    fn open(&self, path: &str) -> Result<OpenedFile, FileError>;

    /// Replaces or creates a file in one step: another reader sees the old or the new content, a crash
    /// leaves one of them (FIL-6). Missing folders are made. Mode bits are kept; a file with several hard
    /// links is replaced under this name alone.
    ///
    /// # Errors
    /// See [`FileError`]; then the file is as it was.
    fn write(&self, path: &str, content: &[u8], expect: Expect<'_>) -> Result<Written, FileError>;

    /// The entries of a folder, at most `entries_max`.
    ///
    /// # Errors
    /// See [`FileError`].
    fn list(&self, path: &str, entries_max: usize) -> Result<Listing, FileError>;

    /// Visits files in no fixed order, on several threads; `visitor` makes what each of them does.
    ///
    /// # Errors
    /// Where the start can't be opened, or the caller cancelled.
    fn walk<'v>(
        &self,
        spec: &WalkSpec,
        cancel: &CancellationToken,
        visitor: &'v (dyn Fn() -> Visit<'v> + Sync),
    ) -> Result<Walked, FileError>;
}
