//! Empty files that stand for protected names which don't exist, so that nothing can be made there.

use super::Identity;
use host_ports::commands::STAND_IN_MODE;
use rustix::fs::FlockOperation;
use std::collections::HashMap;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// All placeholders of this process, counted, since two children may need the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Placeholders {
    open: Arc<Mutex<HashMap<PathBuf, Open>>>,
    journal: Option<PathBuf>,
}

#[derive(Debug)]
struct Open {
    users: usize,
    identity: Identity,
    /// The note that outlives a crash; its lock says that somebody still uses it.
    note: Option<(PathBuf, std::fs::File)>,
}

/// One use of a placeholder; it goes when the last use does.
#[derive(Debug)]
pub(super) struct Placeholder {
    name: PathBuf,
    all: Placeholders,
}

impl Placeholders {
    /// With a folder for notes, from which leftovers of a crash are removed first.
    pub(crate) fn new(journal: Option<PathBuf>) -> Self {
        if let Some(folder) = &journal {
            let _ = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
            remove_leftovers(folder);
        }
        Placeholders { open: Arc::default(), journal }
    }

    /// Puts one, if the name is free and the folder can be written.
    pub(super) fn put(&self, name: &Path) -> Option<Placeholder> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // Made only where it is given away: dropping one takes the lock that is held here.
        let placeholder = || Placeholder { name: name.to_path_buf(), all: self.clone() };
        if let Some(known) = open.get_mut(name) {
            known.users += 1;
            return Some(placeholder());
        }
        let file =
            std::fs::OpenOptions::new().write(true).create_new(true).mode(STAND_IN_MODE).open(name).ok()?;
        // Under root it is the folder's owner's, so that a child of that user can read it as empty.
        if rustix::process::geteuid().is_root()
            && let Some(about) = name.parent().and_then(|folder| std::fs::metadata(folder).ok())
        {
            let _ = std::os::unix::fs::fchown(&file, Some(about.uid()), Some(about.gid()));
        }
        // A mask of the user's may have taken bits away, and they tell it from a file of somebody's.
        let _ = file.set_permissions(std::fs::Permissions::from_mode(STAND_IN_MODE));
        drop(file);
        let identity = Identity::of(name)?;
        let note = self.journal.as_deref().and_then(|folder| write_note(folder, name, &identity));
        open.insert(name.to_path_buf(), Open { users: 1, identity, note });
        Some(placeholder())
    }

    /// Whether a name is one of our own at this moment.
    pub(crate) fn holds(&self, name: &Path) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).contains_key(name)
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        let mut open = self.all.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = open.get_mut(&self.name) else { return };
        known.users -= 1;
        if known.users > 0 {
            return;
        }
        if let Some(known) = open.remove(&self.name) {
            remove_if_ours(&self.name, &known.identity);
            if let Some((note, _lock)) = known.note {
                let _ = std::fs::remove_file(note);
            }
        }
    }
}

/// Removes a placeholder, unless somebody put something of their own there.
fn remove_if_ours(name: &Path, identity: &Identity) {
    let empty = std::fs::symlink_metadata(name).is_ok_and(|about| about.is_file() && about.len() == 0);
    let same =
        Identity::of(name).is_some_and(|now| now.device == identity.device && now.inode == identity.inode);
    if empty && same {
        let _ = std::fs::remove_file(name);
    }
}

fn write_note(folder: &Path, name: &Path, identity: &Identity) -> Option<(PathBuf, std::fs::File)> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).ok()?;
    let path = folder.join(format!("{:016x}", u64::from_ne_bytes(random)));
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).ok()?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    let note = serde_json::json!({"name": name, "device": identity.device, "inode": identity.inode});
    file.write_all(note.to_string().as_bytes()).ok()?;
    Some((path, file))
}

fn remove_leftovers(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(file) = std::fs::File::open(entry.path()) else { continue };
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        let note = std::io::read_to_string(&file).ok();
        let note = note.and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
        if let Some(note) = note
            && let (Some(name), Some(device), Some(inode)) =
                (note["name"].as_str(), note["device"].as_u64(), note["inode"].as_u64())
        {
            remove_if_ours(Path::new(name), &Identity { device, inode, changed_ns: None });
        }
        let _ = std::fs::remove_file(entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SBX-1
    #[test]
    fn a_placeholder_goes_with_its_last_use_and_a_leftover_at_the_next_start() {
        let dir = tempfile::tempdir().expect("a folder");
        let name = dir.path().join(".env");
        let journal = dir.path().join("journal");
        let all = Placeholders::new(Some(journal.clone()));
        let first = all.put(&name).expect("put");
        let second = all.put(&name).expect("shared");
        drop(first);
        assert!(name.exists() && all.holds(&name));
        // Another process that starts meanwhile leaves it alone.
        let _other = Placeholders::new(Some(journal.clone()));
        assert!(name.exists());
        // A crash: nothing is cleaned up, the lock is gone.
        std::mem::forget(second);
        let note = all.open.lock().expect("free").get_mut(&name).and_then(|open| open.note.take());
        drop(note);
        let _next = Placeholders::new(Some(journal.clone()));
        assert!(!name.exists());
        assert_eq!(std::fs::read_dir(&journal).expect("listed").count(), 0);
    }

    #[test]
    fn what_somebody_wrote_there_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let name = dir.path().join(".env");
        let all = Placeholders::new(None);
        let one = all.put(&name).expect("put");
        std::fs::write(&name, "A=1").expect("written by a person meanwhile");
        drop(one);
        assert_eq!(std::fs::read_to_string(&name).expect("kept"), "A=1");
        assert!(all.put(&name).is_none());
    }
}
