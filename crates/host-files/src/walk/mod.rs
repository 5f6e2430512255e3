//! An own walk over descriptors: no link is followed, no name outside of an opened folder is touched.

mod ignored;
mod queue;

use crate::resolve::{Resolver, Spot};
use host_ports::CancellationToken;
use host_ports::files::{FileError, Found, FoundFile, Visit, WalkSpec, Walked};
use ignored::Ignored;
use queue::{Folder, Job, Queue};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir};
use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

/// Files of one folder are visited in parts of this size, so that another thread can take some.
const FILES_PER_JOB: usize = 128;
/// The most threads of one walk.
const THREADS_MAX: usize = 8;

/// What all threads of a walk share.
struct Walk<'a> {
    resolver: &'a Resolver,
    spec: &'a WalkSpec,
    cancel: &'a CancellationToken,
    /// Private paths below the start, as bytes.
    hidden_from_agent: HashSet<Vec<u8>>,
    private_inodes: PrivateInodes,
    queue: Queue,
    entries: AtomicU64,
    unreadable: AtomicU64,
    bounded: AtomicBool,
    stopped: AtomicBool,
}

/// Inodes of private files, collected when the first file with several links is met.
#[derive(Default)]
struct PrivateInodes(OnceLock<Option<HashSet<(u64, u64)>>>);

/// Visits one file.
pub(crate) fn one_file<'v>(
    resolver: &Resolver,
    parent: &OwnedFd,
    name: &OsStr,
    visitor: &'v (dyn Fn() -> Visit<'v> + Sync),
) {
    let Ok(name) = CString::new(name.as_bytes()) else { return };
    let private = PrivateInodes::default();
    let file = NamedFile { folder: parent.as_fd(), name: &name, resolver, private: &private };
    let _ = visitor()(&Found { path: name.as_bytes(), file: &file });
}

/// Visits everything below a folder.
pub(crate) fn folder<'v>(
    resolver: &Resolver,
    spot: &Spot,
    start: OwnedFd,
    spec: &WalkSpec,
    cancel: &CancellationToken,
    visitor: &'v (dyn Fn() -> Visit<'v> + Sync),
) -> Result<Walked, FileError> {
    let ignored = if spec.ignore_files {
        Ignored::above(resolver.ancestors_in_root(&spot.real), &spot.real)
    } else {
        None
    };
    let below = |path: &std::path::Path| path.as_os_str().as_bytes().to_vec();
    let walk = Walk {
        resolver,
        spec,
        cancel,
        hidden_from_agent: resolver.private.below(&spot.real).map(below).collect(),
        private_inodes: PrivateInodes::default(),
        queue: Queue::default(),
        entries: AtomicU64::new(0),
        unreadable: AtomicU64::new(0),
        bounded: AtomicBool::new(false),
        stopped: AtomicBool::new(false),
    };
    let first =
        Folder { parent: Arc::new(start), name: c".".to_owned(), path: Vec::new(), depth: 0, ignored };
    walk.queue.push(vec![Job::Folder(first)]);
    std::thread::scope(|scope| {
        for _ in 1..spec.threads.clamp(1, THREADS_MAX) {
            scope.spawn(|| walk.work(visitor()));
        }
        walk.work(visitor());
    });
    if cancel.is_cancelled() {
        return Err(FileError::Cancelled);
    }
    Ok(Walked {
        shown: spot.shown.clone(),
        one_file: false,
        entries: walk.entries.into_inner(),
        unreadable: walk.unreadable.into_inner(),
        bounded: walk.bounded.into_inner(),
        stopped: walk.stopped.into_inner(),
    })
}

/// One folder's entries that are to be visited.
#[derive(Default)]
struct Entries {
    files: Vec<CString>,
    folders: Vec<CString>,
}

impl Walk<'_> {
    fn work(&self, mut visit: Visit<'_>) {
        // A panic in a visitor must not leave the other threads waiting for work of this one.
        let _closing = CloseOnPanic(&self.queue);
        let mut buffer = vec![MaybeUninit::uninit(); 32 * 1024];
        while let Some(job) = self.queue.next() {
            match job {
                Job::Folder(folder) => self.folder(folder, &mut buffer, &mut visit),
                Job::Files { folder, path, names } => self.files(folder.as_fd(), path, &names, &mut visit),
            }
            self.queue.done();
        }
    }

    fn folder(&self, folder: Folder, buffer: &mut [MaybeUninit<u8>], visit: &mut Visit<'_>) {
        if self.cancel.is_cancelled() {
            self.queue.close();
            return;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&folder.parent, &folder.name, flags, Mode::empty());
        let Ok(opened) = opened else {
            self.unreadable.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let opened = Arc::new(opened);
        let Some((entries, ignored)) = self.read(&folder, &opened, buffer) else { return };
        let mut jobs = Vec::new();
        if folder.depth + 1 < self.spec.depth_max {
            // The last pushed is taken first; reversed, the order of the folder is kept.
            for name in entries.folders.into_iter().rev() {
                let mut path = folder.path.clone();
                path.extend_from_slice(name.as_bytes());
                path.push(b'/');
                let parent = Arc::clone(&opened);
                let ignored = ignored.clone();
                jobs.push(Job::Folder(Folder { parent, name, path, depth: folder.depth + 1, ignored }));
            }
        } else if !entries.folders.is_empty() {
            self.bounded.store(true, Ordering::Relaxed);
        }
        let mut files = entries.files;
        while files.len() > FILES_PER_JOB * 2 {
            let names = files.split_off(files.len() - FILES_PER_JOB);
            jobs.push(Job::Files { folder: Arc::clone(&opened), path: folder.path.clone(), names });
        }
        self.queue.push(jobs);
        self.files(opened.as_fd(), folder.path, &files, visit);
    }

    /// Reads a folder's names and sorts out what isn't visited.
    fn read(
        &self,
        folder: &Folder,
        opened: &OwnedFd,
        buffer: &mut [MaybeUninit<u8>],
    ) -> Option<(Entries, Option<Arc<Ignored>>)> {
        let mut all: Vec<(CString, FileType)> = Vec::new();
        let mut has_rules = false;
        let mut raw = RawDir::new(opened, buffer);
        while let Some(entry) = raw.next() {
            let Ok(entry) = entry else {
                self.unreadable.fetch_add(1, Ordering::Relaxed);
                break;
            };
            let name = entry.file_name();
            match name.to_bytes() {
                b"." | b".." => continue,
                b".gitignore" | b".ignore" => has_rules = true,
                _ => {}
            }
            all.push((name.to_owned(), entry.file_type()));
        }
        let count = self.entries.fetch_add(all.len() as u64, Ordering::Relaxed) + all.len() as u64;
        if count > self.spec.entries_max {
            self.bounded.store(true, Ordering::Relaxed);
            self.queue.close();
            return None;
        }
        let ignored = if has_rules && self.spec.ignore_files {
            Ignored::below(folder.ignored.clone(), opened.as_fd(), &folder.path)
        } else {
            folder.ignored.clone()
        };
        let mut entries = Entries::default();
        let mut path = folder.path.clone();
        for (name, kind) in all {
            let kind = if kind == FileType::Unknown { kind_of(opened.as_fd(), &name) } else { kind };
            path.truncate(folder.path.len());
            path.extend_from_slice(name.as_bytes());
            if !self.visits(&name, kind, &path, ignored.as_deref()) {
                continue;
            }
            if kind == FileType::Directory { entries.folders.push(name) } else { entries.files.push(name) }
        }
        Some((entries, ignored))
    }

    fn visits(&self, name: &CStr, kind: FileType, path: &[u8], ignored: Option<&Ignored>) -> bool {
        let is_folder = kind == FileType::Directory;
        if !is_folder && kind != FileType::RegularFile {
            return false;
        }
        if !self.spec.hidden && name.to_bytes().starts_with(b".") {
            return false;
        }
        if is_folder && self.spec.exclude_folders.iter().any(|skip| skip.as_bytes() == name.to_bytes()) {
            return false;
        }
        if !self.hidden_from_agent.is_empty() && self.hidden_from_agent.contains(path) {
            return false;
        }
        !ignored.is_some_and(|ignored| ignored.ignores(path, is_folder))
    }

    fn files(&self, folder: BorrowedFd<'_>, mut path: Vec<u8>, names: &[CString], visit: &mut Visit<'_>) {
        let base = path.len();
        for (index, name) in names.iter().enumerate() {
            if index % 32 == 0 && (self.cancel.is_cancelled() || self.queue.is_closed()) {
                self.queue.close();
                return;
            }
            path.truncate(base);
            path.extend_from_slice(name.as_bytes());
            let private = &self.private_inodes;
            let file = NamedFile { folder, name, resolver: self.resolver, private };
            if visit(&Found { path: &path, file: &file }) == ControlFlow::Break(()) {
                self.stopped.store(true, Ordering::Relaxed);
                self.queue.close();
                return;
            }
        }
    }
}

struct CloseOnPanic<'a>(&'a Queue);

impl Drop for CloseOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
    }
}

fn kind_of(folder: BorrowedFd<'_>, name: &CStr) -> FileType {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}

/// A name in an opened folder.
struct NamedFile<'a> {
    folder: BorrowedFd<'a>,
    name: &'a CStr,
    resolver: &'a Resolver,
    private: &'a PrivateInodes,
}

impl FoundFile for NamedFile<'_> {
    fn open(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(self.folder, self.name, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&opened)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if stat.st_nlink > 1 && !self.resolver.private.is_empty() {
            let private = self.private.0.get_or_init(|| self.resolver.private.inodes());
            if private.as_ref().is_none_or(|inodes| inodes.contains(&(stat.st_dev, stat.st_ino))) {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
        }
        Ok(File::from(opened))
    }

    fn modified(&self) -> io::Result<SystemTime> {
        let stat = rustix::fs::statat(self.folder, self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        let nanos = u32::try_from(stat.st_mtime_nsec).unwrap_or(0);
        Ok(match u64::try_from(stat.st_mtime) {
            Ok(seconds) => SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos),
            Err(_) => SystemTime::UNIX_EPOCH,
        })
    }
}

/// A path below a folder, from bytes.
fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
