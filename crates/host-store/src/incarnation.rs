//! The life of one host process, as others can see it (ENG-7).

use crate::lock::LockFile;
use crate::{OpenError, folder, key};
use std::path::{Path, PathBuf};

/// One host process. As long as it lives, it holds a lock that the operating system lets go when it ends,
/// however it ends. Runs name it, so that a start after a crash tells dead runs from living ones.
#[derive(Debug)]
pub struct Incarnation {
    id: String,
    _lock: LockFile,
}

impl Incarnation {
    /// Takes a new one below the store's folder.
    ///
    /// # Errors
    /// Names the file that could not be made.
    pub fn take(dir: &Path) -> Result<Self, OpenError> {
        folder::private_folder(dir)?;
        folder::private_folder(&locks(dir))?;
        let id = key::random_hex(16).map_err(|e| OpenError::io(dir, e))?;
        let path = lock_path(dir, &id);
        let lock = LockFile::take(&path).map_err(|e| OpenError::io(&path, e))?;
        let taken = || OpenError::io(&path, std::io::Error::from(std::io::ErrorKind::AlreadyExists));
        Ok(Incarnation { _lock: lock.ok_or_else(taken)?, id })
    }

    /// Its id, for [`host_event::Fact::HostStarted`] and [`host_event::Fact::RunStarted`].
    pub fn id(&self) -> &str {
        &self.id
    }
}

pub(crate) fn locks(dir: &Path) -> PathBuf {
    dir.join("incarnations")
}

pub(crate) fn lock_path(dir: &Path, id: &str) -> PathBuf {
    locks(dir).join(format!("{id}.lock"))
}

/// Whether a text can be an id of ours, and so part of a file's name.
pub(crate) fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= 64 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}
