//! Output that is too large for a result, in the run's private folder (TOO-7).

use crate::state::{StateError, ensure_private_dir};
use host_ports::kept::{Kept, KeptFile, KeptOutput};
use host_vocab::limits::{AGENT_OUTPUT_BYTES_MAX, CALL_OUTPUT_BYTES_MAX};
use host_vocab::{CallId, RunId};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How many calls are remembered for the bound of one call.
const CALLS_REMEMBERED_MAX: usize = 4_096;

/// Why kept output could not be read.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    /// No such output: never kept, or removed since.
    #[error("no kept output of that id in this run")]
    NotFound,
    /// The system said no.
    #[error("kept output could not be read: {0}")]
    Io(io::ErrorKind),
}

fn fault(err: io::Error) -> KeptError {
    match err.kind() {
        io::ErrorKind::NotFound => KeptError::NotFound,
        kind => KeptError::Io(kind),
    }
}

/// The folder of all runs' kept output: `<root>/<run>/<id>`, folders 0700, files 0600.
#[derive(Debug)]
pub struct KeptFolder {
    root: PathBuf,
    used: Arc<AtomicU64>,
    calls: Mutex<HashMap<String, Arc<AtomicU64>>>,
    call_bytes_max: u64,
    agent_bytes_max: u64,
}

impl KeptFolder {
    /// Makes or opens the folder and counts what is in it.
    ///
    /// # Errors
    /// See [`StateError`].
    pub fn new(root: impl Into<PathBuf>) -> Result<Self, StateError> {
        Self::with_bounds(root, CALL_OUTPUT_BYTES_MAX, AGENT_OUTPUT_BYTES_MAX)
    }

    /// The same with other bounds (`toolOutput.maxBytes`), in bytes: of one call, of the agent.
    ///
    /// # Errors
    /// See [`StateError`].
    pub fn with_bounds(
        root: impl Into<PathBuf>,
        call_bytes_max: u64,
        agent_bytes_max: u64,
    ) -> Result<Self, StateError> {
        let root = root.into();
        ensure_private_dir(&root)?;
        let used = Arc::new(AtomicU64::new(bytes_below(&root)));
        Ok(KeptFolder { root, used, calls: Mutex::default(), call_bytes_max, agent_bytes_max })
    }

    /// How many bytes one output has; `None` where it is not there (any more).
    pub fn size(&self, run: &RunId, id: &str) -> Option<u64> {
        self.open_output(run, id).ok()?.metadata().ok().map(|about| about.len())
    }

    /// Up to `bytes_max` bytes of one output from `offset`; less only at its end.
    ///
    /// # Errors
    /// See [`KeptError`]. An id of another run is not found.
    pub fn read(&self, run: &RunId, id: &str, offset: u64, bytes_max: usize) -> Result<Vec<u8>, KeptError> {
        let mut file = self.open_output(run, id)?;
        file.seek(SeekFrom::Start(offset)).map_err(fault)?;
        let mut chunk = Vec::new();
        file.take(bytes_max as u64).read_to_end(&mut chunk).map_err(fault)?;
        Ok(chunk)
    }

    /// Opens one output of a run: a regular file right in the run's own folder.
    fn open_output(&self, run: &RunId, id: &str) -> Result<File, KeptError> {
        if id.len() != 32 || !id.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(KeptError::NotFound);
        }
        let folder = self.open_run(run).map_err(fault)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened =
            rustix::fs::openat(&folder, id, flags, Mode::empty()).map_err(|err| fault(err.into()))?;
        let file = File::from(opened);
        if file.metadata().map_err(fault)?.is_file() { Ok(file) } else { Err(KeptError::NotFound) }
    }

    /// Removes all output of a run; the agent's bound has that room again.
    ///
    /// # Errors
    /// Where something could not be removed.
    pub fn remove_run(&self, run: &RunId) -> io::Result<()> {
        let path = self.root.join(run.as_str());
        let bytes = bytes_below(&path);
        match std::fs::remove_dir_all(&path) {
            Ok(()) => {}
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(err) => return Err(err),
        }
        let _ = self
            .used
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |used| Some(used.saturating_sub(bytes)));
        Ok(())
    }

    /// Removes the output of runs that nobody knows any more, but what was written within the last `young`; gives how
    /// many runs that were. What is no run's folder is left alone.
    ///
    /// # Errors
    /// Where the folder can't be read; what can't be removed stays.
    pub fn sweep(&self, known: impl Fn(&RunId) -> bool, young: std::time::Duration) -> io::Result<usize> {
        let mut removed = 0;
        for entry in std::fs::read_dir(&self.root)? {
            let entry = entry?;
            let about = entry.metadata()?;
            let Some(run) = entry.file_name().to_str().and_then(|name| RunId::parse(name).ok()) else {
                continue;
            };
            let old = about.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age >= young));
            if about.is_dir() && old && !known(&run) && self.remove_run(&run).is_ok() {
                removed += 1;
            }
        }
        Ok(removed)
    }

    fn open_run(&self, run: &RunId) -> io::Result<std::os::fd::OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::open(self.root.join(run.as_str()), flags, Mode::empty())?)
    }

    fn used_by_call(&self, run: &RunId, call: &CallId) -> Arc<AtomicU64> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() >= CALLS_REMEMBERED_MAX {
            calls.retain(|_, used| Arc::strong_count(used) > 1);
        }
        Arc::clone(calls.entry(format!("{run}/{call}")).or_default())
    }
}

impl KeptOutput for KeptFolder {
    fn create(&self, run: &RunId, call: &CallId, stream: &str) -> io::Result<Box<dyn KeptFile>> {
        match rustix::fs::mkdir(self.root.join(run.as_str()), Mode::from_raw_mode(0o700)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(err) => return Err(err.into()),
        }
        let folder = self.open_run(run)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for again in 0..100 {
            let id = output_id(run, call, stream, again);
            match rustix::fs::openat(&folder, &id, flags, Mode::from_raw_mode(0o600)) {
                Err(rustix::io::Errno::EXIST) => continue,
                Err(err) => return Err(err.into()),
                Ok(opened) => {
                    let path = self.root.join(run.as_str()).join(&id).to_string_lossy().into_owned();
                    return Ok(Box::new(Filling {
                        file: BufWriter::with_capacity(64 * 1024, File::from(opened)),
                        kept: Kept { id, path, bytes: 0, dropped_bytes: 0 },
                        used_by_call: self.used_by_call(run, call),
                        used_by_agent: Arc::clone(&self.used),
                        call_bytes_max: self.call_bytes_max,
                        agent_bytes_max: self.agent_bytes_max,
                    }));
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

/// One file being filled.
struct Filling {
    file: BufWriter<File>,
    kept: Kept,
    used_by_call: Arc<AtomicU64>,
    used_by_agent: Arc<AtomicU64>,
    call_bytes_max: u64,
    agent_bytes_max: u64,
}

impl Filling {
    /// How many of some bytes both bounds have room for; that room is taken.
    fn take_room(&self, bytes: u64) -> u64 {
        let of_call = take(&self.used_by_call, self.call_bytes_max, bytes);
        let of_agent = take(&self.used_by_agent, self.agent_bytes_max, of_call);
        self.used_by_call.fetch_sub(of_call - of_agent, Ordering::AcqRel);
        of_agent
    }
}

fn take(used: &AtomicU64, max: u64, wanted: u64) -> u64 {
    let mut got = 0;
    let _ = used.fetch_update(Ordering::AcqRel, Ordering::Acquire, |used| {
        got = wanted.min(max.saturating_sub(used));
        Some(used + got)
    });
    got
}

impl Write for Filling {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Once something is left out, nothing after it is kept: the file is a beginning, never a patchwork.
        let room = if self.kept.dropped_bytes > 0 { 0 } else { self.take_room(bytes.len() as u64) };
        let kept = usize::try_from(room).unwrap_or(bytes.len()).min(bytes.len());
        self.file.write_all(&bytes[..kept])?;
        self.kept.bytes += kept as u64;
        self.kept.dropped_bytes += (bytes.len() - kept) as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl KeptFile for Filling {
    fn finish(mut self: Box<Self>) -> io::Result<Kept> {
        if self.kept.dropped_bytes > 0 {
            let left_out = self.kept.dropped_bytes;
            write!(self.file, "\n[… {left_out} more bytes were over the limit and are not kept …]\n")?;
        }
        self.file.flush()?;
        Ok(self.kept)
    }
}

fn output_id(run: &RunId, call: &CallId, stream: &str, again: usize) -> String {
    let hash = Sha256::digest(format!("{run}/{call}.{stream}.{again}"));
    host_vocab::text::hex(&hash[..16])
}

fn bytes_below(folder: &Path) -> u64 {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(opened) = rustix::fs::open(folder, flags, Mode::empty()) else { return 0 };
    let Ok(entries) = Dir::read_from(&opened) else { return 0 };
    let mut bytes = 0;
    for entry in entries.flatten() {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let Ok(stat) = rustix::fs::statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => bytes += bytes_below(&folder.join(&*name.to_string_lossy())),
            _ => bytes += u64::try_from(stat.st_size).unwrap_or(0),
        }
    }
    bytes
}
