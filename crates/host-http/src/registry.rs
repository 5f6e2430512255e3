//! Which agents of this user have, or had, a host: one small file for each, below the user's own folder.
//!
//! A host announces itself when its socket is bound. The entry stays when the host ends, so that whoever lists
//! the agents still knows of it; it goes when the agent's folder is gone. Nothing in an entry is believed but the
//! way to the socket: who answers there is asked of the kernel.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The most agents that are listed.
const ENTRIES_MAX: usize = 500;
/// The largest entry that is read, in bytes.
const ENTRY_BYTES_MAX: u64 = 16 * 1024;

/// One agent that has, or had, a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostEntry {
    /// Its state folder.
    pub state: PathBuf,
    /// Its socket.
    pub socket: PathBuf,
    /// Its name, as its host said it.
    pub name: String,
    /// The process of its newest host.
    pub pid: u32,
    /// When that one was started, in Unix milliseconds.
    pub started_at: i64,
}

impl HostEntry {
    /// Names the agent on this machine: a digest of its state folder, 16 hexadecimal digits.
    pub fn id(&self) -> String {
        id_of(&self.state)
    }
}

fn id_of(state: &Path) -> String {
    let digest = Sha256::digest(state.as_os_str().as_encoded_bytes());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The folder of the entries.
#[derive(Debug, Clone)]
pub struct HostRegistry {
    folder: PathBuf,
}

impl HostRegistry {
    /// The registry of a user: `hosts` below `~/.mono-agent`.
    pub fn of_home(home: &Path) -> Self {
        HostRegistry { folder: home.join(".mono-agent").join("hosts") }
    }

    /// Puts an entry there, over an older one of the same agent.
    ///
    /// # Errors
    /// The folder belongs to someone else, or can't be written.
    pub fn announce(&self, entry: &HostEntry) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let about = std::fs::symlink_metadata(&self.folder)?;
        if !about.is_dir() || !is_mine(&about) {
            return Err(io::Error::other("the folder of the hosts belongs to someone else"));
        }
        std::fs::set_permissions(&self.folder, std::fs::Permissions::from_mode(0o700))?;
        let path = self.folder.join(format!("{}.json", entry.id()));
        let draft = self.folder.join(format!(".{}.{}", entry.id(), std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        let done = file.write_all(&serde_json::to_vec(entry)?).and_then(|()| std::fs::rename(&draft, &path));
        if done.is_err() {
            // The draft is of no use to anybody; that it may stay is no new fault.
            let _ = std::fs::remove_file(&draft);
        }
        done
    }

    /// All agents whose folders are still there, by name. What can't be read or isn't the user's is left out.
    pub fn list(&self) -> Vec<HostEntry> {
        let Ok(names) = std::fs::read_dir(&self.folder) else { return Vec::new() };
        let mut found: Vec<HostEntry> =
            names.flatten().take(ENTRIES_MAX).filter_map(|name| read(&name.path())).collect();
        found.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.state.cmp(&b.state)));
        found
    }
}

fn is_mine(about: &std::fs::Metadata) -> bool {
    about.uid() == rustix::process::geteuid().as_raw()
}

/// One entry; one of an agent that is gone is removed.
fn read(path: &Path) -> Option<HostEntry> {
    if path.extension()? != "json" {
        return None;
    }
    let about = std::fs::symlink_metadata(path).ok()?;
    if !about.is_file() || !is_mine(&about) {
        return None;
    }
    let mut text = Vec::new();
    std::fs::File::open(path).ok()?.take(ENTRY_BYTES_MAX).read_to_end(&mut text).ok()?;
    let entry: HostEntry = serde_json::from_slice(&text).ok()?;
    let named = path.file_stem()?.to_str()? == entry.id();
    let there = std::fs::symlink_metadata(&entry.state).is_ok_and(|it| it.is_dir());
    if named && !there {
        let _ = std::fs::remove_file(path);
    }
    (named && there).then_some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(state: &Path) -> HostEntry {
        HostEntry {
            state: state.to_owned(),
            socket: state.join("run/host.sock"),
            name: "Atlas".into(),
            pid: 7,
            started_at: 1,
        }
    }

    // WEB-1
    #[test]
    fn an_agent_is_listed_until_its_folder_is_gone() {
        let home = tempfile::tempdir().unwrap();
        let registry = HostRegistry::of_home(home.path());
        assert_eq!(registry.list(), []);
        let state = home.path().join("a/.mono-agent");
        std::fs::create_dir_all(&state).unwrap();
        registry.announce(&entry(&state)).unwrap();
        let newer = HostEntry { pid: 8, ..entry(&state) };
        registry.announce(&newer).unwrap();
        assert_eq!(registry.list(), [newer]);
        std::fs::remove_dir_all(home.path().join("a")).unwrap();
        assert_eq!(registry.list(), []);
        assert_eq!(std::fs::read_dir(&registry.folder).unwrap().count(), 0);
    }

    #[test]
    fn an_entry_under_another_name_or_through_a_link_is_left_out() {
        let home = tempfile::tempdir().unwrap();
        let registry = HostRegistry::of_home(home.path());
        registry.announce(&entry(home.path())).unwrap();
        let real = registry.folder.join(format!("{}.json", entry(home.path()).id()));
        std::fs::rename(&real, registry.folder.join("0000000000000000.json")).unwrap();
        std::os::unix::fs::symlink(registry.folder.join("0000000000000000.json"), &real).unwrap();
        assert_eq!(registry.list(), []);
    }
}
