//! Uploads as files below the console's folder.

use host_console::{StoredFile, UploadError, UploadFiles};
use host_files::attachment::{self, AttachmentError};
use std::path::PathBuf;

/// The largest upload, in bytes.
const UPLOAD_BYTES_MAX: u64 = 20 * 1024 * 1024;

pub(super) struct UploadFolder {
    folder: PathBuf,
}

impl UploadFolder {
    pub(super) fn new(folder: PathBuf) -> Self {
        UploadFolder { folder }
    }
}

impl UploadFiles for UploadFolder {
    fn store(&self, id: &str, name: &str, mut bytes: &[u8]) -> Result<StoredFile, UploadError> {
        attachment::store(&self.folder, id, name, &mut bytes, UPLOAD_BYTES_MAX).map_err(|error| match error {
            AttachmentError::Store(cause) if super::no_room(&cause) => UploadError::Full,
            AttachmentError::Store(cause) => UploadError::Failed(host_files::state::in_words(&cause)),
            AttachmentError::TooLarge { .. } => UploadError::Failed("it is larger than 20 MB".to_owned()),
            _ => UploadError::Failed("the console's folder can't be used".to_owned()),
        })
    }

    fn read(&self, id: &str, name: &str) -> Result<Vec<u8>, UploadError> {
        host_files::state::read_bounded(&self.path(id, name), UPLOAD_BYTES_MAX)
            .map_err(|_| UploadError::Failed("the file is gone".to_owned()))
    }

    fn path(&self, id: &str, name: &str) -> PathBuf {
        self.folder.join(id).join(name)
    }

    fn remove(&self, id: &str) {
        attachment::remove(&self.folder, id);
    }
}
