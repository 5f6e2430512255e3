//! Writing notes, under the lock.

use super::{FILE, FOLDER, MemoryFolder, failed, fingerprint, is_ours};
use crate::replace::{sync_folder, temp_name};
use host_memory::{Appended, Fingerprint, NoteError, NoteFiles as _, NoteWriter, SourceName};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

/// How far from its end a file is looked at for a torn record.
const TAIL_BYTES: u64 = 16 * 1024;

/// The right to write.
pub(super) struct Writer<'a> {
    pub(super) folder: &'a MemoryFolder,
    pub(super) _lock: OwnedFd,
}

impl NoteWriter for Writer<'_> {
    fn append(&mut self, name: &SourceName, text: &str) -> Result<Appended, NoteError> {
        let shown = name.to_string();
        let daily = self.folder_of(name)?;
        let file_name = format!("{}.md", name.date());
        let (mut file, created) = open_or_create(&daily, &file_name).map_err(|err| failed(&shown, err))?;
        let stat = rustix::fs::fstat(&file).map_err(|err| failed(&shown, err))?;
        if !is_ours(&stat) {
            return Err(NoteError::Unsafe { name: shown });
        }
        let before = fingerprint(&stat);
        let (keep, lead) = end_of(&file, before.bytes).map_err(|err| io(&shown, &err))?;
        let mended = keep < before.bytes;
        if mended {
            rustix::fs::ftruncate(&file, keep).map_err(|err| failed(&shown, err))?;
        }
        let whole = format!("{lead}{text}");
        let written = file.write_all(whole.as_bytes()).and_then(|()| file.sync_all());
        if let Err(err) = written {
            // The file as it was before; only then is it true that nothing was written.
            let undone = rustix::fs::ftruncate(&file, keep).and_then(|()| rustix::fs::fsync(&file));
            return Err(if undone.is_ok() { io(&shown, &err) } else { NoteError::Uncertain { name: shown } });
        }
        let uncertain = |_: Errno| NoteError::Uncertain { name: shown.clone() };
        if created {
            sync_folder(daily.as_fd()).map_err(uncertain)?;
        }
        let after = rustix::fs::fstat(&file).map(|stat| fingerprint(&stat)).map_err(uncertain)?;
        let before = (!created).then_some(before);
        Ok(Appended { before, after, mended, lead_bytes: lead.len() as u64 })
    }

    fn replace(
        &mut self,
        name: &SourceName,
        expect: Fingerprint,
        text: &str,
    ) -> Result<Fingerprint, NoteError> {
        let shown = name.to_string();
        let folder = self.folder_of(name)?;
        let file_name = format!("{}.md", name.date());
        let opened = rustix::fs::openat(&folder, &file_name, FILE | OFlags::RDONLY, Mode::empty())
            .map_err(|err| failed(&shown, err))?;
        let stat = rustix::fs::fstat(&opened).map_err(|err| failed(&shown, err))?;
        if !is_ours(&stat) {
            return Err(NoteError::Unsafe { name: shown });
        }
        if fingerprint(&stat) != expect {
            return Err(NoteError::Busy);
        }
        let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
        put(&folder, &file_name, text.as_bytes(), mode).map_err(|err| failed(&shown, err))?;
        let new = rustix::fs::statat(&folder, &file_name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|err| failed(&shown, err))?;
        Ok(fingerprint(&new))
    }

    fn backup(&mut self, stamp: &str) -> Result<String, NoteError> {
        let name = format!(".memory-forget-backup-{stamp}");
        let path = self.backup_path(&name)?;
        match self.copy_to(&path) {
            Ok(()) => Ok(name),
            Err(err) => {
                let _ = std::fs::remove_dir_all(&path);
                Err(err)
            }
        }
    }

    fn prune_backups(&mut self, keep: usize, since_ms: i64) -> Result<(), NoteError> {
        let failed = |err: std::io::Error| io("the backups", &err);
        let Some(above) = self.folder.path.parent() else { return Ok(()) };
        let mut names = Vec::new();
        for entry in std::fs::read_dir(above).map_err(failed)?.flatten() {
            if let Some(name) = entry.file_name().to_str()
                && self.backup_path(name).is_ok()
            {
                names.push(name.to_owned());
            }
        }
        // Their names begin with their time.
        names.sort_unstable();
        let beyond = names.len().saturating_sub(keep);
        for (at, name) in names.iter().enumerate() {
            if at < beyond || made_ms(name).is_some_and(|made| made < since_ms) {
                std::fs::remove_dir_all(above.join(name)).map_err(failed)?;
            }
        }
        Ok(())
    }

    fn restore(&mut self, backup: &str) -> Result<(), NoteError> {
        let copy = MemoryFolder::open_existing(&self.backup_path(backup)?)?;
        for listed in copy.list()? {
            let (text, _) = copy.read(&listed.name)?;
            let (folder, file_name) = (self.folder_of(&listed.name)?, format!("{}.md", listed.name.date()));
            put(&folder, &file_name, text.as_bytes(), Mode::from_raw_mode(0o600))
                .map_err(|err| failed(&listed.name.to_string(), err))?;
        }
        Ok(())
    }
}

/// When a backup was made, by its name: `.memory-forget-backup-<Unix milliseconds>-<checksum>`.
fn made_ms(name: &str) -> Option<i64> {
    let stamp = name.strip_prefix(".memory-forget-backup-")?.split('-').next()?;
    (stamp.len() == 13).then(|| stamp.parse().ok()).flatten()
}

impl Writer<'_> {
    /// The folder that a source stands in; that of the days is made where it isn't there.
    fn folder_of(&self, name: &SourceName) -> Result<OwnedFd, NoteError> {
        let root = &self.folder.root;
        if name.is_legacy() {
            return rustix::fs::openat(root, ".", FOLDER, Mode::empty()).map_err(|err| failed(".", err));
        }
        if let Some(daily) = self.folder.daily()? {
            return Ok(daily);
        }
        match rustix::fs::mkdirat(root, "daily", Mode::from_raw_mode(0o700)) {
            Ok(()) => sync_folder(root.as_fd()).map_err(|err| failed("daily", err))?,
            Err(Errno::EXIST) => {}
            Err(err) => return Err(failed("daily", err)),
        }
        self.folder.daily()?.ok_or_else(|| NoteError::Missing { name: "daily".to_owned() })
    }

    /// A backup's path beside the root. Only a name of our own kind is taken.
    fn backup_path(&self, name: &str) -> Result<PathBuf, NoteError> {
        let ours = name.strip_prefix(".memory-forget-backup-").is_some_and(|stamp| {
            !stamp.is_empty() && stamp.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        });
        let unsafe_name = || NoteError::Unsafe { name: name.chars().take(80).collect() };
        let above = self.folder.path.parent().filter(|_| ours).ok_or_else(unsafe_name)?;
        Ok(above.join(name))
    }

    fn copy_to(&self, path: &std::path::Path) -> Result<(), NoteError> {
        let shown = "the backup";
        rustix::fs::mkdir(path, Mode::from_raw_mode(0o700)).map_err(|err| failed(shown, err))?;
        let copy = MemoryFolder::open_existing(path)?;
        rustix::fs::mkdirat(&copy.root, "daily", Mode::from_raw_mode(0o700))
            .map_err(|err| failed(shown, err))?;
        let target = Writer {
            _lock: rustix::fs::openat(&copy.root, ".", FOLDER, Mode::empty())
                .map_err(|err| failed(shown, err))?,
            folder: &copy,
        };
        for listed in self.folder.list()? {
            let (text, _) = self.folder.read(&listed.name)?;
            let folder = target.folder_of(&listed.name)?;
            let file_name = format!("{}.md", listed.name.date());
            put(&folder, &file_name, text.as_bytes(), Mode::from_raw_mode(0o600))
                .map_err(|err| failed(shown, err))?;
            if copy.read(&listed.name)?.0 != text {
                return Err(NoteError::Uncertain { name: shown.to_owned() });
            }
        }
        sync_folder(copy.root.as_fd()).map_err(|err| failed(shown, err))?;
        if let Some(above) = path.parent() {
            let above = rustix::fs::open(above, FOLDER, Mode::empty()).map_err(|err| failed(shown, err))?;
            sync_folder(above.as_fd()).map_err(|err| failed(shown, err))?;
        }
        Ok(())
    }
}

impl MemoryFolder {
    /// A folder that must be there.
    fn open_existing(path: &std::path::Path) -> Result<MemoryFolder, NoteError> {
        let root = rustix::fs::open(path, FOLDER, Mode::empty()).map_err(|err| failed("the backup", err))?;
        Ok(MemoryFolder { path: path.to_owned(), root })
    }
}

fn open_or_create(folder: &OwnedFd, name: &str) -> Result<(File, bool), Errno> {
    let flags = FILE | OFlags::RDWR | OFlags::APPEND;
    match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Ok(file) => Ok((File::from(file), false)),
        Err(Errno::NOENT) => {
            let flags = flags | OFlags::CREATE | OFlags::EXCL;
            rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(0o600))
                .map(|it| (File::from(it), true))
        }
        Err(err) => Err(err),
    }
}

/// Where a file's whole part ends, and what must come first so that a new record begins on its own line.
///
/// A power cut can leave a part of our last record: a bullet's line with a comment that has no end. It was
/// never acknowledged, so it goes. Any other last line without an end is somebody's text, and stays.
fn end_of(file: &File, bytes: u64) -> std::io::Result<(u64, &'static str)> {
    if bytes == 0 {
        return Ok((0, ""));
    }
    let from = bytes.saturating_sub(TAIL_BYTES);
    let mut tail = vec![0; usize::try_from(bytes - from).unwrap_or(0)];
    file.read_exact_at(&mut tail, from)?;
    // Blocks that were never written read as zeros after a power cut.
    let written = tail.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
    let zeros = written < tail.len();
    let part = &tail[..written];
    if part.ends_with(b"\n") || part.is_empty() {
        return Ok((from + written as u64, ""));
    }
    let line = part.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let before = part[..line].strip_suffix(b"\n").unwrap_or(&part[..line]);
    let bullet = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let comment = part[line..].trim_ascii_start();
    let torn = line > 0 && comment.starts_with(b"<!--mem ") && !comment.ends_with(b"-->");
    if torn && part[bullet..].starts_with(b"- ") {
        return Ok((from + bullet as u64, ""));
    }
    if zeros {
        return Ok((from + written as u64, "\n"));
    }
    Ok((bytes, "\n"))
}

/// Writes a file in one step and waits for the disk.
fn put(folder: &OwnedFd, name: &str, content: &[u8], mode: Mode) -> Result<(), Errno> {
    let temp = temp_name()?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let write = || -> Result<(), Errno> {
        let mut file = File::from(rustix::fs::openat(folder, &temp, flags, Mode::from_raw_mode(0o600))?);
        file.write_all(content).map_err(|err| Errno::from_io_error(&err).unwrap_or(Errno::IO))?;
        rustix::fs::fchmod(&file, mode)?;
        rustix::fs::fsync(&file)?;
        rustix::fs::renameat(folder, &temp, folder, name)
    };
    write().inspect_err(|_| {
        let _ = rustix::fs::unlinkat(folder, &temp, AtFlags::empty());
    })?;
    sync_folder(folder.as_fd())
}

fn io(name: &str, err: &std::io::Error) -> NoteError {
    failed(name, Errno::from_io_error(err).unwrap_or(Errno::IO))
}
