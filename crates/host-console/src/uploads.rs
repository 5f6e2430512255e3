//! Files of people, on the console's own disk.

use host_turn::Attachment;
use std::path::PathBuf;

/// A file as it was stored.
pub type StoredFile = Attachment;

/// Why a file was not stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UploadError {
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// Something else, in words without paths.
    #[error("{0}")]
    Failed(String),
}

/// Where uploads are kept. Everything blocks for a moment.
pub trait UploadFiles: Send + Sync + 'static {
    /// Stores bytes under a cleaned name; the media type is told by the bytes.
    ///
    /// # Errors
    /// See [`UploadError`]; then nothing is stored.
    fn store(&self, id: &str, name: &str, bytes: &[u8]) -> Result<StoredFile, UploadError>;
    /// Reads one.
    ///
    /// # Errors
    /// See [`UploadError`].
    fn read(&self, id: &str, name: &str) -> Result<Vec<u8>, UploadError>;
    /// Where it is, for handing it on.
    fn path(&self, id: &str, name: &str) -> PathBuf;
    /// Removes one; one that isn't there is no fault.
    fn remove(&self, id: &str);
}
