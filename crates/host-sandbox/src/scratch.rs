//! A private folder for one child's temporary files.

use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// A folder that only its owner can open. Dropping it removes it with all that is in it.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes one below a folder (the usual one for temporary files, where that is empty).
    pub(crate) fn make(below: &str) -> io::Result<Self> {
        let below = if below.is_empty() { "/tmp" } else { below };
        let mut random = [0; 12];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let name = host_vocab::text::hex(&random);
        let path = Path::new(below).join(format!("mono-agent-{name}"));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Scratch(path))
    }

    /// Whether it is still the folder that was made.
    pub(crate) fn is_there(&self) -> bool {
        std::fs::symlink_metadata(&self.0).is_ok_and(|about| about.is_dir())
    }

    /// Takes away all that is in it.
    pub(crate) fn empty(&self) -> io::Result<()> {
        // Whoever used it may have shut or opened it.
        std::fs::set_permissions(&self.0, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        for entry in std::fs::read_dir(&self.0)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                std::fs::remove_dir_all(entry.path())?;
            } else {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = self.empty();
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
