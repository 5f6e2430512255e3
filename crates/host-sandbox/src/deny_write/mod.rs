//! Names inside a writable root that no child may write (SBX-1).
//!
//! What exists is mounted read-only. A plain name that doesn't exist gets an empty read-only placeholder, which
//! is removed afterwards. What matches a pattern and is new after the call is moved to quarantine.

mod grants;
mod patterns;
mod placeholder;
mod quarantine;

pub use patterns::Patterns;
pub(crate) use placeholder::Placeholders;

use patterns::{Found, Scan};
use placeholder::Placeholder;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a file is, beyond its name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    /// Set where another name could reach the same content.
    changed_ns: Option<i128>,
}

impl Identity {
    fn of(path: &Path) -> Option<Self> {
        let about = std::fs::symlink_metadata(path).ok()?;
        let changed = i128::from(about.mtime()) * 1_000_000_000 + i128::from(about.mtime_nsec());
        let linked = about.is_file() && about.nlink() > 1;
        Some(Identity { device: about.dev(), inode: about.ino(), changed_ns: linked.then_some(changed) })
    }
}

/// What is protected for one child, and how it was before.
#[derive(Debug, Default)]
pub(crate) struct Protected {
    patterns: Option<Arc<Patterns>>,
    writable: Vec<PathBuf>,
    read_only: Vec<PathBuf>,
    looked: BTreeSet<PathBuf>,
    before: BTreeMap<PathBuf, Identity>,
    placeholders: Vec<Placeholder>,
    /// Whether the names are mounts of the child's: it can't take them away then, only the folders above them.
    mounted: bool,
    /// The folders above the names, as they were.
    folders: BTreeMap<PathBuf, Identity>,
}

/// A protected name that was written in spite of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The name.
    pub(crate) name: PathBuf,
    /// What became of it, as the rest of a sentence.
    pub(crate) fate: String,
}

impl Protected {
    /// Looks at what is there and puts placeholders where they are needed; `None` = the engine lets nothing be
    /// made beside a protected name, so none are. The error is a sentence.
    pub(crate) fn prepare(
        patterns: &Arc<Patterns>,
        writable: &[PathBuf],
        placeholders: Option<&Placeholders>,
    ) -> Result<Self, String> {
        let mut protected = Protected {
            patterns: Some(Arc::clone(patterns)),
            writable: writable.to_vec(),
            mounted: placeholders.is_some(),
            ..Protected::default()
        };
        let mut scan = patterns.scan(writable)?;
        protected.looked = std::mem::take(&mut scan.looked);
        for name in scan.missing {
            if let Some(placeholder) = placeholders.and_then(|all| all.put(&name)) {
                protected.read_only.push(name.clone());
                protected.before.extend(Identity::of(&name).map(|identity| (name, identity)));
                protected.placeholders.push(placeholder);
            }
        }
        for found in scan.found {
            let path = found.path().to_path_buf();
            if let Some(all) = placeholders.filter(|all| all.holds(&path)) {
                // Another child's placeholder: it must not go while this child relies on it.
                protected.placeholders.extend(all.put(&path));
            }
            protected.before.extend(Identity::of(&path).map(|identity| (path.clone(), identity)));
            // A link is protected by what it leads to; itself it can only be watched.
            let real = if path.is_symlink() { std::fs::canonicalize(&path).ok() } else { Some(path) };
            protected
                .read_only
                .extend(real.filter(|real| writable.iter().any(|root| real.starts_with(root))));
        }
        protected.read_only.sort();
        protected.read_only.dedup();
        let folders = protected.read_only.iter().flat_map(|name| protected.folders_above(name));
        protected.folders =
            folders.filter_map(|folder| Some((folder.to_owned(), Identity::of(folder)?))).collect();
        Ok(protected)
    }

    /// The folders between a name and its writable root, that one included.
    fn folders_above<'a>(&self, name: &'a Path) -> Vec<&'a Path> {
        let below = |folder: &&Path| self.writable.iter().any(|root| folder.starts_with(root));
        name.ancestors().skip(1).take_while(below).collect()
    }

    /// Whether a name that is another file now was changed by somebody else, such as a person's editor: a
    /// mounted name can't be replaced by the child while the folders above it are the same ones.
    fn changed_from_outside(&self, name: &Path) -> bool {
        let same = |folder: &Path| {
            self.folders.get(folder).is_some_and(|it| Identity::of(folder).as_ref() == Some(it))
        };
        self.mounted
            && self.read_only.iter().any(|it| it == name)
            && self.folders_above(name).into_iter().all(same)
    }

    /// The names to mount read-only, in order.
    pub(crate) fn read_only(&self) -> &[PathBuf] {
        &self.read_only
    }

    /// Looks again, moves what is new to a folder and takes the placeholders away.
    pub(crate) fn finish(mut self, quarantine: &Path) -> Vec<Violation> {
        let Some(patterns) = self.patterns.take() else { return Vec::new() };
        let mut violations = Vec::new();
        match patterns.scan(&self.writable) {
            Ok(scan) => self.judge(&scan, quarantine, &mut violations),
            Err(why) => violations.push(Violation { name: PathBuf::new(), fate: why }),
        }
        violations
    }

    fn judge(&self, scan: &Scan, quarantine: &Path, violations: &mut Vec<Violation>) {
        for found in &scan.found {
            let path = found.path();
            let now = Identity::of(path);
            match self.before.get(path) {
                Some(before) if now.as_ref() == Some(before) => {}
                Some(before) if now.as_ref().is_some_and(|now| now.inode == before.inode) => {
                    let fate = "was changed through another name of the same file".to_owned();
                    violations.push(Violation { name: path.to_path_buf(), fate });
                }
                Some(_) if self.changed_from_outside(path) => {}
                _ => {
                    for name in found.new_names() {
                        let fate = quarantine::put_away(&name, quarantine);
                        violations.push(Violation { name, fate });
                    }
                }
            }
        }
        for name in self.before.keys() {
            if std::fs::symlink_metadata(name).is_err() && !self.changed_from_outside(name) {
                let fate = "was moved away together with its folder".to_owned();
                violations.push(Violation { name: name.clone(), fate });
            }
        }
    }
}

impl Found {
    /// The names that break the rule where this is new: of a folder that is protected whole, what lies in it.
    fn new_names(&self) -> Vec<PathBuf> {
        match self {
            Found::Name(path) => vec![path.clone()],
            Found::Folder(path) => {
                let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
                entries.map(|entry| entry.path()).collect()
            }
        }
    }
}
