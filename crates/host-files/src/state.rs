//! The host's own files: the few calls that other crates need and may not make themselves.

use crate::replace::{sync_folder, temp_name};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

/// Why a file of the host's own could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The system said no.
    #[error("{path}: {}", in_words(source))]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// More than the bound.
    #[error("{path} is larger than {bytes_max} bytes")]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// The bound.
        bytes_max: u64,
    },
    /// A folder, FIFO, socket or device where a regular file must be.
    #[error("{path} is not a regular file")]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// Something else stands where a private folder must be.
    #[error("{path} is not a folder of this user's own; remove it or choose another place")]
    NotPrivate {
        /// The path.
        path: PathBuf,
    },
}

impl StateError {
    /// Whether nothing is there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, StateError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// What the system said, with the way out where there is one.
pub fn in_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => "the disk is full; free some space and try again".to_owned(),
        io::ErrorKind::QuotaExceeded => "the disk quota is used up; free some space and try again".to_owned(),
        _ => error.to_string(),
    }
}

/// Reads a regular file of at most `bytes_max` bytes, links followed. Never blocks on a FIFO.
///
/// # Errors
/// See [`StateError`].
pub fn read_bounded(path: &Path, bytes_max: u64) -> Result<Vec<u8>, StateError> {
    let failed = |source: io::Error| StateError::Io { path: path.to_owned(), source };
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let handle = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .map_err(|err| failed(err.into()))?;
    let stat = rustix::fs::fstat(&handle).map_err(|err| failed(err.into()))?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(StateError::NotAFile { path: path.to_owned() });
    }
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(|err| failed(err.into()))?);
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(StateError::NotAFile { path: path.to_owned() });
    }
    let too_large = || StateError::TooLarge { path: path.to_owned(), bytes_max };
    if metadata.len() > bytes_max {
        return Err(too_large());
    }
    let mut content = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut content).map_err(failed)?;
    if content.len() as u64 > bytes_max { Err(too_large()) } else { Ok(content) }
}

/// Whether a file is one of the sandbox's empty stand-ins for a protected name that doesn't exist: while a
/// command runs, nothing can be made there, and whoever looks for the file must not take it for one.
pub fn is_stand_in(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::symlink_metadata(path).is_ok_and(|about| {
        about.is_file() && about.len() == 0 && about.mode() & 0o7777 == host_ports::commands::STAND_IN_MODE
    })
}

/// The user that this process works as.
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Where a path really leads, links and `..` resolved; the path itself where that can't be found out.
pub fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Whether a folder is there, links followed.
pub fn is_folder(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.is_dir())
}

/// Whether a regular file is there, links followed; a stand-in is none.
pub fn is_file(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.is_file()) && !is_stand_in(path)
}

/// The names of the folders in a folder, in order, links to folders too: at most `names_max` of them, and none where it
/// can't be read. A name that is no Unicode is left out.
pub fn folders_in(path: &Path, names_max: usize) -> Vec<String> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| is_folder(&entry.path()));
    let mut names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names.truncate(names_max);
    names
}

/// Takes a file away; one that isn't there is no error.
///
/// # Errors
/// See [`StateError`].
pub fn remove_file(path: &Path) -> Result<(), StateError> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(StateError::Io { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// The user that owns what is there, links followed; none = nothing is there.
pub fn owner_of(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|about| about.uid())
}

/// The mode bits of what is there, links followed; none = nothing is there.
pub fn mode_of(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).ok().map(|about| about.permissions().mode() & 0o7777)
}

/// Writes a file in one step with the given mode bits (`0o600` for what others may not see).
///
/// # Errors
/// See [`StateError`]; then the old file is as it was.
pub fn write_atomic(path: &Path, content: &[u8], mode: u32) -> Result<(), StateError> {
    let failed = |source: io::Error| StateError::Io { path: path.to_owned(), source };
    let name = path.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
    let above = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(above, flags, Mode::empty()).map_err(|err| failed(err.into()))?;
    let temp = temp_name().map_err(|err| failed(err.into()))?;
    let write = || -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&folder, &temp, flags, Mode::from_raw_mode(0o600))?;
        let mut file = File::from(opened);
        file.write_all(content)?;
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode & 0o7777))?;
        rustix::fs::fsync(&file)?;
        rustix::fs::renameat(&folder, &temp, &folder, name)?;
        Ok(())
    };
    write().map_err(|err| {
        let _ = rustix::fs::unlinkat(&folder, &temp, AtFlags::empty());
        failed(err)
    })?;
    sync_folder(folder.as_fd()).map_err(|err| failed(err.into()))
}

/// Writes a file that must be a new one, and waits for the disk.
///
/// # Errors
/// See [`StateError`]; `AlreadyExists` where there is anything of this name.
pub fn write_new(path: &Path, content: &[u8], mode: u32) -> Result<(), StateError> {
    let failed = |source: io::Error| StateError::Io { path: path.to_owned(), source };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened =
        rustix::fs::open(path, flags, Mode::from_raw_mode(mode)).map_err(|err| failed(err.into()))?;
    let mut file = File::from(opened);
    let written = file.write_all(content).and_then(|()| file.sync_all());
    written.map_err(|err| {
        let _ = rustix::fs::unlink(path);
        failed(err)
    })
}

/// Makes a folder (and those above it) that its owner alone may enter; an existing one of this user's is
/// closed to others.
///
/// # Errors
/// See [`StateError`].
pub fn ensure_private_dir(path: &Path) -> Result<(), StateError> {
    use std::os::unix::fs::DirBuilderExt as _;
    let failed = |source: io::Error| StateError::Io { path: path.to_owned(), source };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| {
        let other = [io::ErrorKind::AlreadyExists, io::ErrorKind::NotADirectory].contains(&error.kind());
        // The first thing on the way that is there stands in it.
        let there = path.ancestors().find(|it| std::fs::symlink_metadata(it).is_ok());
        match there {
            Some(there) if other => StateError::NotPrivate { path: there.to_owned() },
            _ => failed(error),
        }
    })?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(folder) = rustix::fs::open(path, flags, Mode::empty()) else {
        return Err(StateError::NotPrivate { path: path.to_owned() });
    };
    let stat = rustix::fs::fstat(&folder).map_err(|err| failed(err.into()))?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(StateError::NotPrivate { path: path.to_owned() });
    }
    if stat.st_mode & 0o077 != 0 {
        rustix::fs::fchmod(&folder, Mode::from_raw_mode(0o700)).map_err(|err| failed(err.into()))?;
    }
    Ok(())
}

/// A lock between processes, held until this goes or its process ends.
#[derive(Debug)]
pub struct ProcessLock {
    file: File,
}

impl ProcessLock {
    /// Waits for the lock of a file, which is made where it is missing, 0600. Blocks its thread.
    ///
    /// # Errors
    /// See [`StateError`].
    pub fn wait(path: &Path) -> Result<Self, StateError> {
        use std::os::unix::fs::OpenOptionsExt as _;
        let failed = |source: io::Error| StateError::Io { path: path.to_owned(), source };
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path).map_err(failed)?;
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)
            .map_err(|err| failed(err.into()))?;
        Ok(ProcessLock { file })
    }

    /// What the last holder left in the file, at most 64 bytes.
    pub fn note(&mut self) -> String {
        use std::io::Seek as _;
        let mut text = String::new();
        let read = self.file.rewind().and_then(|()| (&mut self.file).take(64).read_to_string(&mut text));
        // A note that can't be read is like none: the next holder reads everything anew.
        read.map(|_| text).unwrap_or_default()
    }

    /// Leaves a note for the next holder. One that can't be written makes that one read everything anew.
    pub fn leave(&mut self, note: &str) {
        use std::io::Seek as _;
        let _ = self
            .file
            .set_len(0)
            .and_then(|()| self.file.rewind())
            .and_then(|()| self.file.write_all(note.as_bytes()));
    }
}

/// A text file that grows, read from its end on; it is followed when it moves aside for a new one.
pub struct Follow {
    path: PathBuf,
    file: File,
    rest: Vec<u8>,
}

impl Follow {
    /// Opens a file at most `bytes_max` bytes before its end, at the start of a line.
    ///
    /// # Errors
    /// See [`StateError`].
    pub fn open(path: &Path, bytes_max: u64) -> Result<Self, StateError> {
        use std::io::{Seek as _, SeekFrom};
        let failed = |source: io::Error| StateError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let mut follow = Follow { path: path.to_owned(), file, rest: Vec::new() };
        if length > bytes_max {
            follow.file.seek(SeekFrom::Start(length - bytes_max)).map_err(failed)?;
            // The first line is cut, most likely.
            let mut byte = [0];
            while follow.file.read(&mut byte).map_err(failed)? == 1 && byte[0] != b'\n' {}
        }
        Ok(follow)
    }

    /// The whole lines that came since the last time.
    ///
    /// # Errors
    /// See [`StateError`].
    pub fn lines(&mut self) -> Result<Vec<String>, StateError> {
        let failed = |source: io::Error| StateError::Io { path: self.path.clone(), source };
        self.file.read_to_end(&mut self.rest).map_err(failed)?;
        if let (Ok(now), Ok(mine)) = (std::fs::metadata(&self.path), self.file.metadata()) {
            use std::os::unix::fs::MetadataExt as _;
            if now.ino() != mine.ino() {
                self.file = File::open(&self.path).map_err(failed)?;
                self.file.read_to_end(&mut self.rest).map_err(failed)?;
            }
        }
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return Ok(Vec::new()) };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        Ok(String::from_utf8_lossy(&whole).lines().map(str::to_owned).collect())
    }
}
