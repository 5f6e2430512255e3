//! Output that is too large for a result, kept for the run (TOO-7).

use host_vocab::{CallId, RunId};
use std::io::{self, Write};

/// Where large output goes: the run's private tool-output folder.
pub trait KeptOutput: Send + Sync {
    /// Opens a new file for one stream of one call (`stdout`, `stderr`, `result` …).
    ///
    /// # Errors
    /// Where the folder can't be written; the call goes on without (EXE-4).
    fn create(&self, run: &RunId, call: &CallId, stream: &str) -> io::Result<Box<dyn KeptFile>>;
}

/// One file being filled. What is over the bounds of [`host_vocab::limits`] is counted, not kept.
pub trait KeptFile: Write + Send {
    /// Closes the file and says what it holds.
    ///
    /// # Errors
    /// Where the last bytes could not be written.
    fn finish(self: Box<Self>) -> io::Result<Kept>;
}

/// A closed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// An opaque id, `<runId>/<callId>.<stream>` hashed; never a path.
    pub id: String,
    /// The path as the host knows it; shown to nobody but the dialect that has contracts on it (EXE-2).
    pub path: String,
    /// The bytes that are in the file.
    pub bytes: u64,
    /// The bytes that were over the bound and are not.
    pub dropped_bytes: u64,
}

/// Keeps nothing: for tests and for tools without a host.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeepNothing;

impl KeptOutput for KeepNothing {
    fn create(&self, _run: &RunId, _call: &CallId, _stream: &str) -> io::Result<Box<dyn KeptFile>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "no folder for tool output"))
    }
}
