//! Kept output without secrets: what is too large for a result goes to the run's folder as it may be shown (QUA-5).

use host_files::KeptFolder;
use host_ports::kept::{Kept, KeptFile, KeptOutput};
use host_redact::{Redactor, StreamRedactor};
use host_vocab::{CallId, RunId};
use std::io::{self, Write};
use std::sync::Arc;

/// The folder, behind the redactor.
pub(crate) struct RedactedOutput {
    folder: Arc<KeptFolder>,
    redactor: Arc<Redactor>,
    /// Beyond so many bytes of one stream the folder only counts.
    bytes_max: u64,
}

impl RedactedOutput {
    /// Over a folder whose bound for one call is `bytes_max`.
    pub(crate) fn new(folder: Arc<KeptFolder>, redactor: Arc<Redactor>, bytes_max: u64) -> Self {
        RedactedOutput { folder, redactor, bytes_max }
    }
}

impl KeptOutput for RedactedOutput {
    fn create(&self, run: &RunId, call: &CallId, stream: &str) -> io::Result<Box<dyn KeptFile>> {
        Ok(Box::new(RedactedFile {
            file: self.folder.create(run, call, stream)?,
            stream: Some(StreamRedactor::new(Arc::clone(&self.redactor))),
            cut: Vec::new(),
            given: 0,
            bytes_max: self.bytes_max,
        }))
    }
}

struct RedactedFile {
    file: Box<dyn KeptFile>,
    /// Gone once it was asked for the last of it.
    stream: Option<StreamRedactor>,
    /// The beginning of a character whose end is still to come.
    cut: Vec<u8>,
    given: u64,
    bytes_max: u64,
}

impl RedactedFile {
    fn give(&mut self, text: &str) -> io::Result<()> {
        self.given += text.len() as u64;
        self.file.write_all(text.as_bytes())
    }
}

impl Write for RedactedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.given >= self.bytes_max {
            // The folder takes nothing more and counts what comes: gigabytes need no looking through.
            self.file.write_all(bytes)?;
            return Ok(bytes.len());
        }
        self.cut.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.cut) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.cut.len(),
        };
        // Bytes that are no text become the sign for them: who reads it gets text.
        let rest = self.cut.split_off(whole);
        let text = String::from_utf8_lossy(&std::mem::replace(&mut self.cut, rest)).into_owned();
        let sure = self.stream.as_mut().map(|it| it.push(&text)).unwrap_or_default();
        self.give(&sure)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl KeptFile for RedactedFile {
    fn finish(mut self: Box<Self>) -> io::Result<Kept> {
        let text = String::from_utf8_lossy(&std::mem::take(&mut self.cut)).into_owned();
        if let Some(mut stream) = self.stream.take() {
            let last = stream.push(&text) + &stream.finish();
            self.give(&last)?;
        }
        self.file.finish()
    }
}
