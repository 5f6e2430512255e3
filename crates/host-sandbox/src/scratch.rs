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

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
