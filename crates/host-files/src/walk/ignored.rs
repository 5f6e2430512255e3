//! `.gitignore` and `.ignore`: the rules are `ignore`'s, the lines are read by us.

use super::path_of;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{FileType, Mode, OFlags};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most of one rule file that is read.
const RULE_BYTES_MAX: u64 = 1024 * 1024;

/// The rules of one folder and of those above it.
pub(super) struct Ignored {
    above: Option<Arc<Ignored>>,
    rules: Gitignore,
    place: Place,
}

enum Place {
    /// A folder of the walk: how long its path is.
    Below { path_len: usize },
    /// A folder above the start: the way from it to the start.
    Above { way: Vec<u8> },
}

impl Ignored {
    /// The rules of the folders above the start of a walk, outermost first.
    pub(super) fn above(folders: Vec<(OwnedFd, PathBuf)>, start: &Path) -> Option<Arc<Ignored>> {
        let mut chain = None;
        for (folder, path) in folders {
            let Some(rules) = read_rules(std::os::fd::AsFd::as_fd(&folder)) else { continue };
            let Ok(way) = start.strip_prefix(&path) else { continue };
            let mut way = way.as_os_str().as_bytes().to_vec();
            way.push(b'/');
            chain = Some(Arc::new(Ignored { above: chain, rules, place: Place::Above { way } }));
        }
        chain
    }

    /// The rules of a folder of the walk on top of those above it.
    pub(super) fn below(
        above: Option<Arc<Ignored>>,
        folder: BorrowedFd<'_>,
        path: &[u8],
    ) -> Option<Arc<Ignored>> {
        match read_rules(folder) {
            None => above,
            Some(rules) => {
                let place = Place::Below { path_len: path.len() };
                Some(Arc::new(Ignored { above, rules, place }))
            }
        }
    }

    /// Whether a path below the start is ignored: the innermost rule that speaks of it decides.
    pub(super) fn ignores(&self, path: &[u8], is_folder: bool) -> bool {
        let mut level = Some(self);
        while let Some(here) = level {
            let verdict = match &here.place {
                Place::Below { path_len } => {
                    here.rules.matched(Path::new(std::ffi::OsStr::from_bytes(&path[*path_len..])), is_folder)
                }
                Place::Above { way } => {
                    here.rules.matched(path_of(&[way.as_slice(), path].concat()), is_folder)
                }
            };
            if !verdict.is_none() {
                return verdict.is_ignore();
            }
            level = here.above.as_deref();
        }
        false
    }
}

fn read_rules(folder: BorrowedFd<'_>) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new("");
    let mut any = false;
    for name in [".gitignore", ".ignore"] {
        let Some(text) = read(folder, name) else { continue };
        for line in text.trim_start_matches('\u{feff}').lines() {
            // A line that is no pattern is passed over, as git does.
            any |= builder.add_line(None, line).is_ok();
        }
    }
    if any { builder.build().ok() } else { None }
}

fn read(folder: BorrowedFd<'_>, name: &str) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let opened = rustix::fs::openat(folder, name, flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&opened).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut bytes = Vec::new();
    File::from(opened).take(RULE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
