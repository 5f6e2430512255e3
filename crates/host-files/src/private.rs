//! Folders and files of the host's own, which the agent never sees.

use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Component, Path, PathBuf};

/// How many entries of private folders are compared with a file that has several hard links.
const LINK_SCAN_ENTRIES_MAX: usize = 100_000;

/// The private paths, as written and as they really are.
#[derive(Debug, Default)]
pub(crate) struct Private {
    paths: Vec<PathBuf>,
    /// Roots that lie in a private folder (attachments in the state folder): what is in them is the agent's.
    opened: Vec<PathBuf>,
}

impl Private {
    pub(crate) fn new(paths: &[PathBuf], workspace: &Path, roots: &[&Path]) -> Self {
        let mut all = Vec::new();
        for path in paths {
            let lexical = normal(&workspace.join(path));
            let real = real(&lexical);
            all.push(lexical);
            if !all.contains(&real) {
                all.push(real);
            }
        }
        let inside = |root: &&&Path| all.iter().any(|private| **root != private && root.starts_with(private));
        let opened = roots.iter().filter(inside).map(|root| root.to_path_buf()).collect();
        Private { paths: all, opened }
    }

    /// Whether a path is one of them or lies in one. Compared by whole components.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        self.paths.iter().any(|private| {
            let opened = |root: &PathBuf| root.starts_with(private) && path.starts_with(root);
            path.starts_with(private) && !self.opened.iter().any(opened)
        })
    }

    /// Whether a root reaches a path without a private folder in between.
    pub(crate) fn lets_through(&self, root: &Path, path: &Path) -> bool {
        self.paths.iter().all(|private| !path.starts_with(private) || root.starts_with(private))
    }

    /// Those below a folder.
    pub(crate) fn below<'a>(&'a self, folder: &'a Path) -> impl Iterator<Item = &'a Path> {
        self.paths.iter().filter_map(move |path| path.strip_prefix(folder).ok())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// All files in them by device and inode, so that another hard link to one of them is known. `None` =
    /// there are too many to tell.
    pub(crate) fn inodes(&self) -> Option<HashSet<(u64, u64)>> {
        let mut found = HashSet::new();
        for path in &self.paths {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let Ok(handle) = rustix::fs::open(path, flags, Mode::empty()) else { continue };
            collect(handle.as_fd(), 0, &mut found)?;
        }
        Some(found)
    }
}

fn collect(handle: BorrowedFd<'_>, depth: usize, found: &mut HashSet<(u64, u64)>) -> Option<()> {
    let Ok(stat) = rustix::fs::fstat(handle) else { return Some(()) };
    if !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir() {
        found.insert((stat.st_dev, stat.st_ino));
        return (found.len() <= LINK_SCAN_ENTRIES_MAX).then_some(());
    }
    if depth > 32 {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = rustix::fs::openat(handle, ".", flags, Mode::empty()) else { return Some(()) };
    let Ok(entries) = Dir::read_from(&folder) else { return Some(()) };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if entry.file_type().is_dir() {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            if let Ok(below) = rustix::fs::openat(&folder, name, flags, Mode::empty()) {
                collect(below.as_fd(), depth + 1, found)?;
            }
        } else if let Ok(stat) = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            found.insert((stat.st_dev, stat.st_ino));
            if found.len() > LINK_SCAN_ENTRIES_MAX {
                return None;
            }
        }
    }
    Some(())
}

/// A path without `.` and `..`, by its text.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::Normal(name) => out.push(name),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    out
}

/// Where a path really is: links of its nearest existing part resolved, the rest as written.
fn real(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            return path.strip_prefix(ancestor).map_or_else(|_| real.clone(), |rest| real.join(rest));
        }
    }
    path.to_owned()
}
