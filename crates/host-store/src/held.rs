//! Which database files this process has open.
//!
//! POSIX locks belong to the process, and closing any descriptor of a file lets go of all of them. So a file
//! that SQLite holds here must never be opened and closed behind its back: another process would take its
//! locks for free and could remove the write-ahead file under it.

use rustix::fs::Stat;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

type Inode = (u64, u64);

static HELD: Mutex<BTreeMap<Inode, usize>> = Mutex::new(BTreeMap::new());

/// As long as it lives, its file counts as open here. Take it before the first connection, and drop it after
/// the last.
#[derive(Debug)]
pub(crate) struct Held(Option<Inode>);

impl Held {
    /// Of no file.
    pub(crate) fn none() -> Held {
        Held(None)
    }

    /// Of the file at `path`.
    pub(crate) fn of(path: &Path) -> Held {
        let inode = rustix::fs::lstat(path).ok().map(|stat| inode(&stat));
        if let Some(inode) = inode {
            *HELD.lock().unwrap_or_else(PoisonError::into_inner).entry(inode).or_default() += 1;
        }
        Held(inode)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(inode) = self.0 else { return };
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&inode) {
            *count -= 1;
            if *count == 0 {
                held.remove(&inode);
            }
        }
    }
}

/// Runs `look`, which may open and close the file, unless the file is open here already.
pub(crate) fn unless_held<T>(stat: &Stat, look: impl FnOnce() -> T) -> Option<T> {
    // Locked all the way: nobody begins to hold the file while it is looked at.
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    if held.contains_key(&inode(stat)) { None } else { Some(look()) }
}

#[allow(clippy::unnecessary_cast, reason = "the fields' types differ between platforms")]
fn inode(stat: &Stat) -> Inode {
    (stat.st_dev as u64, stat.st_ino as u64)
}
