//! Files of replies: published by descriptor, kept under an opaque id, read back only whole (REP-2, OUT-5).
//!
//! A source is opened beneath one of its roots without following a link, and judged by what was opened. Its bytes go
//! from that descriptor into a staging folder, are counted and summed on the way, and the whole folder is renamed into
//! the live ones. So a page never offers half a file, and a path that changes meanwhile changes nothing.

use crate::attachment::{clean_name, media_type};
use crate::state::{StateError, ensure_private_dir, read_bounded};
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// The largest file of a reply (REP-3).
pub const REPLY_FILE_BYTES_MAX: u64 = 20 * 1024 * 1024;
/// Staging that is older belongs to nobody any more.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);
/// The largest manifest that is read, in bytes.
const MANIFEST_BYTES_MAX: u64 = 16 * 1024;
/// How much of a file its type is told by.
const SNIFF_BYTES: usize = 4_096;
/// The name of a copy in its folder.
const COPY: &str = "file";

/// Why a file was not published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// It isn't there.
    #[error("there is no such file")]
    Missing,
    /// It is outside of the folders that may be published from, or in one of the host's own.
    #[error("only files of the workspace can be published")]
    Outside,
    /// A link is on the way to it.
    #[error("the way to it goes through a symbolic link; name the file itself")]
    Link,
    /// It is a folder, a pipe, a socket or a device.
    #[error("only a regular file can be published")]
    NotAFile,
    /// It has another name elsewhere.
    #[error(
        "the file has a second hard link, so it may be something else than it seems; copy it and publish the copy"
    )]
    HardLinked,
    /// It is over the bound.
    #[error("the file is over {0} bytes")]
    TooLarge(u64),
    /// It changed while it was copied.
    #[error("the file changed while it was copied; publish it when nothing writes to it")]
    Changed,
    /// All files together take what they may.
    #[error("the files of replies take all the room that they may (artifacts.replyFiles.maxStorageBytes)")]
    NoBudget,
    /// The disk is full.
    #[error("the disk is full")]
    DiskFull,
    /// The operating system refused.
    #[error("the file could not be copied")]
    Failed,
}

/// Why a published file is not given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// It isn't there (any more).
    #[error("the file is not kept any more")]
    Missing,
    /// It was kept long enough.
    #[error("the file was kept long enough and has expired")]
    Expired,
    /// Its bytes are not what was published.
    #[error("the file's bytes are not what was published")]
    Damaged,
}

/// A published file, as its manifest has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplyFile {
    /// Names it; opaque.
    pub id: String,
    /// The conversation that it belongs to, without its day.
    pub conversation: String,
    /// Its name, cleaned.
    pub name: String,
    /// Its media type.
    pub media_type: String,
    /// Its size.
    pub size_bytes: u64,
    /// The sum of its bytes.
    pub sha256: String,
    /// Until when it is kept, in Unix milliseconds.
    pub expires_ms: i64,
}

/// What is to be published.
#[derive(Debug, Clone, Copy)]
pub struct Publication<'a> {
    /// The file, absolute or below the first root.
    pub path: &'a Path,
    /// Where it may be.
    pub roots: &'a [PathBuf],
    /// The name to give it.
    pub name: &'a str,
    /// The media type that is claimed.
    pub media_type: &'a str,
    /// The conversation.
    pub conversation: &'a str,
    /// The time, in Unix milliseconds.
    pub now_ms: i64,
}

/// The bounds on files of replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyFileBounds {
    /// The largest file.
    pub file_bytes_max: u64,
    /// All of them; none = no bound.
    pub storage_bytes_max: Option<u64>,
    /// How long one is kept.
    pub age_max: Duration,
}

/// The files of an agent's replies.
pub struct ReplyFiles {
    live: PathBuf,
    staging: PathBuf,
    private: Vec<PathBuf>,
    bounds: ReplyFileBounds,
    /// Staging that is at work, and the gate of the budget.
    active: Mutex<BTreeSet<String>>,
}

impl ReplyFiles {
    /// Below a folder that is made for its owner alone. Nothing at or below a `private` folder is ever published.
    ///
    /// # Errors
    /// The folder can't be used.
    pub fn open(folder: &Path, private: Vec<PathBuf>, bounds: ReplyFileBounds) -> Result<Self, StateError> {
        let (live, staging) = (folder.join("live"), folder.join("staging"));
        for path in [folder, &live, &staging] {
            ensure_private_dir(path)?;
        }
        let private = private.iter().map(|path| crate::state::real(path)).collect();
        Ok(ReplyFiles { live, staging, private, bounds, active: Mutex::default() })
    }

    /// The name that a file will have.
    pub fn shown_name(name: &str) -> String {
        clean_name(name)
    }

    /// Publishes a file as it is now.
    ///
    /// # Errors
    /// See [`PublishError`].
    pub fn publish(&self, wanted: Publication<'_>) -> Result<ReplyFile, PublishError> {
        let source = self.source(wanted.path, wanted.roots)?;
        let before = source.metadata().map_err(|_| PublishError::Failed)?;
        if before.len() > self.bounds.file_bytes_max {
            return Err(PublishError::TooLarge(self.bounds.file_bytes_max));
        }
        let id = fresh_id()?;
        self.lock().insert(id.clone());
        let done = self.stage(&id, source, &before, wanted);
        if done.is_err() {
            let _gone = std::fs::remove_dir_all(self.staging.join(&id));
        }
        self.lock().remove(&id);
        done
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the source beneath a root, and judges what was opened.
    fn source(&self, path: &Path, roots: &[PathBuf]) -> Result<File, PublishError> {
        let first = roots.first().ok_or(PublishError::Outside)?;
        let whole = first.join(path);
        let mut found = PublishError::Outside;
        for root in roots {
            let Some(below) = below(&whole, root) else { continue };
            match open_beneath(root, &below) {
                Ok(file) => return self.judged(file, root),
                Err(error) => found = error,
            }
        }
        Err(found)
    }

    /// A root that lies in a private folder itself (a run's own output) was meant.
    fn judged(&self, file: OwnedFd, root: &Path) -> Result<File, PublishError> {
        let file = File::from(file);
        let about = file.metadata().map_err(|_| PublishError::Failed)?;
        if !about.is_file() {
            return Err(PublishError::NotAFile);
        }
        if about.nlink() != 1 {
            return Err(PublishError::HardLinked);
        }
        let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        let real = std::fs::read_link(link).map_err(|_| PublishError::Failed)?;
        let root = crate::state::real(root);
        if self.private.iter().any(|private| real.starts_with(private) && !root.starts_with(private)) {
            return Err(PublishError::Outside);
        }
        Ok(file)
    }

    fn stage(
        &self,
        id: &str,
        mut source: File,
        before: &std::fs::Metadata,
        wanted: Publication<'_>,
    ) -> Result<ReplyFile, PublishError> {
        let folder = self.staging.join(id);
        ensure_private_dir(&folder).map_err(|_| PublishError::Failed)?;
        let mut copy = new_file(&folder.join(COPY))?;
        let (size_bytes, sum, head) = copied(&mut source, &mut copy, self.bounds.file_bytes_max)?;
        copy.sync_all().map_err(|error| disk(&error))?;
        let after = source.metadata().map_err(|_| PublishError::Failed)?;
        let state =
            |it: &std::fs::Metadata| (it.len(), it.mtime(), it.mtime_nsec(), it.ctime(), it.ctime_nsec());
        if state(before) != state(&after) || after.len() != size_bytes || after.nlink() != 1 {
            return Err(PublishError::Changed);
        }
        let age_ms = i64::try_from(self.bounds.age_max.as_millis()).unwrap_or(i64::MAX);
        let file = ReplyFile {
            id: id.to_owned(),
            conversation: wanted.conversation.to_owned(),
            name: clean_name(wanted.name),
            media_type: believed(wanted.media_type, &head),
            size_bytes,
            sha256: sum,
            expires_ms: wanted.now_ms.saturating_add(age_ms),
        };
        let manifest = serde_json::to_vec(&file).map_err(|_| PublishError::Failed)?;
        let mut written = new_file(&folder.join("manifest.json"))?;
        written.write_all(&manifest).and_then(|()| written.sync_all()).map_err(|error| disk(&error))?;
        // Counted and renamed under one gate, so that two at once don't take the last room twice.
        let _gate = self.lock();
        let used: u64 = self.manifests().map(|it| it.size_bytes).sum();
        if self.bounds.storage_bytes_max.is_some_and(|most| used + size_bytes > most) {
            return Err(PublishError::NoBudget);
        }
        std::fs::rename(&folder, self.live.join(id)).map_err(|error| disk(&error))?;
        sync_folder(&self.live);
        Ok(file)
    }

    /// Takes a file back that was published a moment ago.
    pub fn remove(&self, id: &str) {
        if id.bytes().all(|b| b.is_ascii_hexdigit()) && !id.is_empty() {
            let _gone = std::fs::remove_dir_all(self.live.join(id));
        }
    }

    fn manifests(&self) -> impl Iterator<Item = ReplyFile> {
        let names = crate::state::folders_in(&self.live, 100_000);
        names.into_iter().filter_map(|name| manifest(&self.live.join(name)))
    }

    /// A published file's bytes: only where conversation, sum, manifest, size and bytes all agree.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub fn fetch(
        &self,
        id: &str,
        conversation: &str,
        sha256: &str,
        now_ms: i64,
    ) -> Result<Vec<u8>, FetchError> {
        Self::fetch_below(&self.live, id, conversation, sha256, now_ms)
    }

    /// The same for another process of the same owner; `folder` is what [`ReplyFiles::open`] was given.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub fn fetch_in(
        folder: &Path,
        id: &str,
        conversation: &str,
        sha256: &str,
        now_ms: i64,
    ) -> Result<Vec<u8>, FetchError> {
        Self::fetch_below(&folder.join("live"), id, conversation, sha256, now_ms)
    }

    fn fetch_below(
        live: &Path,
        id: &str,
        conversation: &str,
        sha256: &str,
        now_ms: i64,
    ) -> Result<Vec<u8>, FetchError> {
        let plain = !id.is_empty() && id.len() <= 64 && id.bytes().all(|b| b.is_ascii_hexdigit());
        if !plain {
            return Err(FetchError::Missing);
        }
        let folder = live.join(id);
        let file = manifest(&folder).ok_or(FetchError::Missing)?;
        // Somebody else's is not there, for all that the asker can tell.
        if file.conversation != conversation || file.id != id {
            return Err(FetchError::Missing);
        }
        if file.expires_ms <= now_ms {
            return Err(FetchError::Expired);
        }
        let bytes =
            read_bounded(&folder.join(COPY), REPLY_FILE_BYTES_MAX).map_err(|_| FetchError::Damaged)?;
        let sum = host_vocab::text::hex(&Sha256::digest(&bytes));
        let same = bytes.len() as u64 == file.size_bytes && sum == file.sha256 && sum == sha256;
        if same { Ok(bytes) } else { Err(FetchError::Damaged) }
    }

    /// Removes what was kept long enough, and staging that nobody works on any more (RET-1). Gives the number of files.
    pub fn clean(&self, now_ms: i64) -> usize {
        let mut removed = 0;
        for name in crate::state::folders_in(&self.live, 100_000) {
            let folder = self.live.join(&name);
            if manifest(&folder).is_some_and(|it| it.expires_ms <= now_ms) {
                removed += usize::from(std::fs::remove_dir_all(folder).is_ok());
            }
        }
        for name in crate::state::folders_in(&self.staging, 100_000) {
            let folder = self.staging.join(&name);
            let old = std::fs::symlink_metadata(&folder)
                .and_then(|it| it.modified())
                .is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > ABANDONED));
            if old && !self.lock().contains(&name) {
                let _gone = std::fs::remove_dir_all(folder);
            }
        }
        removed
    }
}

fn manifest(folder: &Path) -> Option<ReplyFile> {
    let bytes = read_bounded(&folder.join("manifest.json"), MANIFEST_BYTES_MAX).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// A path below a root, component by component; `None` = it isn't there by its words.
fn below(path: &Path, root: &Path) -> Option<PathBuf> {
    let real = crate::state::real(root);
    let rest = path.strip_prefix(root).or_else(|_| path.strip_prefix(&real)).ok()?;
    let plain = rest.components().all(|it| matches!(it, Component::Normal(_) | Component::CurDir));
    let rest: PathBuf = rest.components().filter(|it| matches!(it, Component::Normal(_))).collect();
    (plain && rest.components().next().is_some()).then_some(rest)
}

/// Opens a file beneath a root, through no link.
fn open_beneath(root: &Path, below: &Path) -> Result<OwnedFd, PublishError> {
    let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, folder, Mode::empty()).map_err(of_errno)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(&root, below, flags, Mode::empty(), resolve) {
        // An older kernel: one component at a time.
        Err(Errno::NOSYS | Errno::PERM) => step_by_step(root, below, flags),
        opened => opened.map_err(of_errno),
    }
}

fn step_by_step(root: OwnedFd, below: &Path, flags: OFlags) -> Result<OwnedFd, PublishError> {
    let mut at = root;
    let mut parts = below.components().peekable();
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        let how =
            if last { flags } else { OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC };
        at = rustix::fs::openat(&at, part.as_os_str(), how, Mode::empty()).map_err(of_errno)?;
    }
    Ok(at)
}

fn of_errno(errno: Errno) -> PublishError {
    match errno {
        Errno::NOENT | Errno::NOTDIR => PublishError::Missing,
        Errno::LOOP => PublishError::Link,
        Errno::XDEV => PublishError::Outside,
        Errno::NXIO => PublishError::NotAFile,
        _ => PublishError::Failed,
    }
}

fn new_file(path: &Path) -> Result<File, PublishError> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path).map_err(|error| disk(&error))
}

fn disk(error: &io::Error) -> PublishError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => PublishError::DiskFull,
        _ => PublishError::Failed,
    }
}

/// Copies, counts and sums; gives the beginning too.
fn copied(source: &mut File, copy: &mut File, most: u64) -> Result<(u64, String, Vec<u8>), PublishError> {
    let (mut sum, mut head, mut size) = (Sha256::new(), Vec::new(), 0_u64);
    let mut buffer = vec![0_u8; 256 * 1024];
    loop {
        let read = match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return Err(PublishError::Failed),
        };
        size += read as u64;
        if size > most {
            return Err(PublishError::TooLarge(most));
        }
        let piece = &buffer[..read];
        if head.len() < SNIFF_BYTES {
            head.extend_from_slice(&piece[..read.min(SNIFF_BYTES - head.len())]);
        }
        sum.update(piece);
        copy.write_all(piece).map_err(|error| disk(&error))?;
    }
    Ok((size, host_vocab::text::hex(&sum.finalize()), head))
}

/// The media type that a page is told: what the bytes show where they show something, else the claimed one where it is
/// one and claims nothing that a browser would run or draw.
fn believed(claimed: &str, head: &[u8]) -> String {
    let shown = media_type(head);
    if !matches!(shown, "text/plain" | "application/octet-stream" | "application/zip") {
        return shown.to_owned();
    }
    let claimed = claimed.trim().to_ascii_lowercase();
    let part = |it: &str| {
        !it.is_empty()
            && it.len() <= 100
            && it.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b))
    };
    let plain = claimed.split_once('/').is_some_and(|(kind, sub)| part(kind) && part(sub));
    let kind = claimed.split('/').next().unwrap_or_default();
    let drawn = matches!(kind, "image" | "audio" | "video" | "font" | "multipart" | "message");
    if plain && !drawn { claimed } else { shown.to_owned() }
}

fn fresh_id() -> Result<String, PublishError> {
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random).map_err(|_| PublishError::Failed)?;
    Ok(host_vocab::text::hex(&random))
}

fn sync_folder(folder: &Path) {
    // The rename itself is done; what a power cut could still take is the name of a file that was just published.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}
