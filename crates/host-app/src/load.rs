//! Reading an agent's folder.

use host_config::environment::Environment;
use host_config::{LoadInput, Loaded, load};
use host_files::state;
use std::io;
use std::path::{Path, PathBuf};

/// The largest config, identity or skill file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Where an agent is looked for.
#[derive(Debug, Clone)]
pub struct Whereabouts {
    /// The agent's folder, absolute.
    pub folder: PathBuf,
    /// A config file that was named.
    pub config: Option<PathBuf>,
    /// A `.env` file that was named.
    pub env_file: Option<PathBuf>,
    /// What the process was started with.
    pub env: Environment,
}

/// Loads an agent from its folder. What is wrong is in the findings.
pub fn load_agent(place: &Whereabouts) -> Loaded {
    load(LoadInput {
        folder: place.folder.clone(),
        config_path: place.config.clone(),
        env_file: place.env_file.clone(),
        env: place.env.clone(),
        home: None,
        read: &read,
    })
}

/// Reads a regular file within the bound; the error's kind tells a missing file from others.
///
/// The sandbox's stand-in for a file that doesn't exist is no file, be it of a command that runs or of one that
/// was killed.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    if state::is_stand_in(path) {
        return Err(io::ErrorKind::NotFound.into());
    }
    state::read_bounded(path, FILE_BYTES_MAX).map_err(|error| match error {
        state::StateError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound && is_link(path) => {
            io::Error::other("it is a link to something that is not there")
        }
        state::StateError::Io { source, .. } => source,
        state::StateError::TooLarge { .. } => io::ErrorKind::FileTooLarge.into(),
        state::StateError::NotAFile { .. } if state::is_folder(path) => io::ErrorKind::IsADirectory.into(),
        _ => io::Error::other("it is no regular file"),
    })
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.is_symlink())
}
