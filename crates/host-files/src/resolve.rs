//! The one resolver: from a path that a model wrote to an opened object within a root (SBX-6).

use crate::config::{FilesConfig, FilesError};
use crate::deny::DenyWrite;
use crate::private::{Private, normal};
use host_ports::files::FileError;
use host_vocab::text;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// The most links that one path may lead through.
const LINK_HOPS_MAX: usize = 40;
/// The longest path, in bytes.
const PATH_BYTES_MAX: usize = 4_096;
/// The most components that a path may come to with all its links.
const COMPONENTS_MAX: usize = 2_048;

const HANDLE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A folder that was opened at the start.
#[derive(Debug)]
struct Root {
    folder: OwnedFd,
    /// As configured, and as it really is.
    names: [PathBuf; 2],
    write: bool,
}

impl Root {
    fn real(&self) -> &Path {
        &self.names[1]
    }
}

/// What a path came to.
#[derive(Debug)]
pub(crate) struct Spot {
    /// The path to show.
    pub(crate) shown: String,
    /// The path by its text, absolute and without `..`.
    pub(crate) lexical: PathBuf,
    /// Where the object really is.
    pub(crate) real: PathBuf,
    /// The object.
    pub(crate) at: At,
}

#[derive(Debug)]
pub(crate) enum At {
    /// A folder that is a root, or was reached by `..`.
    Top(OwnedFd),
    /// A name in an opened folder, with a handle (`O_PATH`) on what it is. Never a link.
    Entry { parent: OwnedFd, name: OsString, handle: OwnedFd, stat: Box<Stat> },
    /// Nothing: the deepest folder that is there, and the names that are missing below it.
    Missing { parent: OwnedFd, names: Vec<OsString> },
}

/// The roots and rules.
#[derive(Debug)]
pub(crate) struct Resolver {
    roots: Vec<Root>,
    workspace: PathBuf,
    aliases: Vec<(PathBuf, PathBuf)>,
    pub(crate) private: Private,
    deny: DenyWrite,
}

impl Resolver {
    pub(crate) fn new(config: &FilesConfig) -> Result<Self, FilesError> {
        let mut roots: Vec<Root> = Vec::new();
        let all = config.write_roots.iter().map(|path| (path, true));
        for (path, write) in all.chain(config.read_roots.iter().map(|path| (path, false))) {
            let root = open_root(&config.workspace.join(path), write)
                .map_err(|source| FilesError::Root { path: path.clone(), source })?;
            if !roots.iter().any(|known| known.names == root.names) {
                roots.push(root);
            }
        }
        let names: Vec<&Path> =
            roots.iter().flat_map(|root| root.names.iter().map(PathBuf::as_path)).collect();
        let private = Private::new(&config.private, &config.workspace, &names);
        let aliases = config.aliases.iter().map(|(name, folder)| (normal(Path::new(name)), normal(folder)));
        Ok(Resolver {
            roots,
            workspace: normal(&config.workspace),
            aliases: aliases.collect(),
            private,
            deny: DenyWrite::new(&config.deny_write)?,
        })
    }

    /// Opens what a path names.
    pub(crate) fn resolve(&self, given: &str) -> Result<Spot, FileError> {
        let bad = |why| FileError::BadPath { shown: text::one_line(given, 200), why };
        if let Some(why) = no_path(given) {
            return Err(bad(why));
        }
        let written = self.expand_alias(Path::new(given));
        let lexical = normal(&written);
        let outside = || FileError::Outside { shown: text::one_line(given, 200) };
        let rooted = self.enter(components(&lexical)).ok_or_else(outside)?;
        if self.private.holds(&lexical) {
            return Err(outside());
        }
        let shown = self.show(&lexical);
        let parts = components(&written);
        let straight = !parts.iter().any(|part| part == "..");
        let way = Way { resolver: self, shown: &shown, outside: &outside };
        let quick = if straight { way.straight(&rooted)? } else { None };
        let (real, at) = match quick {
            Some(found) => found,
            None => way.by_component(parts)?,
        };
        Ok(Spot { shown, lexical, real, at })
    }

    /// Whether a spot may be written, by its text and by where it really is.
    pub(crate) fn check_write(&self, spot: &Spot) -> Result<(), FileError> {
        for path in [&spot.lexical, &spot.real] {
            let names = self.roots.iter().filter(|root| root.write).flat_map(|root| &root.names);
            let root = names
                .filter(|name| self.private.lets_through(name, path))
                .find_map(|name| path.strip_prefix(name).ok());
            let Some(below) = root else { return Err(FileError::ReadOnly { shown: spot.shown.clone() }) };
            if let Some(pattern) = self.deny.pattern_for(below, path) {
                return Err(FileError::Denied { shown: spot.shown.clone(), pattern: pattern.to_owned() });
            }
        }
        Ok(())
    }

    /// The path to show: relative to the workspace where it lies in it, by its other name where it has one.
    pub(crate) fn show(&self, lexical: &Path) -> String {
        if let Ok(below) = lexical.strip_prefix(&self.workspace) {
            let shown = text::one_line(&below.to_string_lossy(), PATH_BYTES_MAX);
            return if shown.is_empty() { ".".to_owned() } else { shown };
        }
        for (name, folder) in &self.aliases {
            if let Ok(below) = lexical.strip_prefix(folder) {
                return text::one_line(&name.join(below).to_string_lossy(), PATH_BYTES_MAX);
            }
        }
        text::one_line(&lexical.to_string_lossy(), PATH_BYTES_MAX)
    }

    /// Folders above a real path, up to and with its root: where ignore files are looked for.
    pub(crate) fn ancestors_in_root(&self, real: &Path) -> Vec<(OwnedFd, PathBuf)> {
        let Some(root) = self
            .roots
            .iter()
            .filter(|root| real.starts_with(root.real()))
            .min_by_key(|root| root.real().as_os_str().len())
        else {
            return Vec::new();
        };
        let Ok(below) = real.strip_prefix(root.real()) else { return Vec::new() };
        let mut folders = Vec::new();
        let Ok(mut folder) = root.folder.try_clone() else { return Vec::new() };
        let mut path = root.real().to_owned();
        for part in below.components() {
            let next =
                rustix::fs::openat(&folder, part.as_os_str(), HANDLE | OFlags::DIRECTORY, Mode::empty());
            folders.push((folder, path.clone()));
            let Ok(next) = next else { return folders };
            folder = next;
            path.push(part);
        }
        folders
    }

    fn expand_alias(&self, given: &Path) -> PathBuf {
        for (name, folder) in &self.aliases {
            if let Ok(below) = given.strip_prefix(name) {
                return folder.join(below);
            }
        }
        self.workspace.join(given)
    }

    /// The innermost root that an absolute path names, and what is left of the path. `..` before the root goes
    /// by the text, because nothing outside of the roots is ever looked at.
    fn enter(&self, parts: Vec<OsString>) -> Option<(usize, VecDeque<OsString>)> {
        let mut here = PathBuf::from("/");
        let mut left = VecDeque::from(parts);
        let mut found = None;
        loop {
            if let Some(index) = self.roots.iter().position(|root| root.names.contains(&here)) {
                found = Some((index, left.clone()));
            }
            match left.pop_front() {
                None => return found,
                Some(part) if part == ".." => {
                    if found.is_some() {
                        return found;
                    }
                    here.pop();
                }
                Some(part) => here.push(part),
            }
        }
    }
}

/// One path on its way.
struct Way<'a> {
    resolver: &'a Resolver,
    shown: &'a str,
    outside: &'a dyn Fn() -> FileError,
}

impl Way<'_> {
    /// The quick way: one `openat2` to the last folder, allowed only where nothing on it is a link, so that
    /// the text is the real path. `None` = go by component, which also finds the right error.
    fn straight(&self, rooted: &(usize, VecDeque<OsString>)) -> Result<Option<(PathBuf, At)>, FileError> {
        let root = &self.resolver.roots[rooted.0];
        let mut real = root.real().to_owned();
        real.extend(&rooted.1);
        if self.resolver.private.holds(&real) {
            return Err((self.outside)());
        }
        let mut names = rooted.1.clone();
        let Some(name) = names.pop_back() else {
            return Ok(Some((real, At::Top(self.again(root.folder.as_fd())?))));
        };
        let way: PathBuf = if names.is_empty() { PathBuf::from(".") } else { names.iter().collect() };
        let rules = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = HANDLE | OFlags::DIRECTORY;
        let Ok(parent) = rustix::fs::openat2(&root.folder, &way, flags, Mode::empty(), rules) else {
            return Ok(None);
        };
        let Ok(handle) = rustix::fs::openat(&parent, &name, HANDLE, Mode::empty()) else { return Ok(None) };
        let stat = self.stat(handle.as_fd())?;
        if FileType::from_raw_mode(stat.st_mode).is_symlink() {
            return Ok(None);
        }
        Ok(Some((real, At::Entry { parent, name, handle, stat: Box::new(stat) })))
    }

    /// One component at a time, each opened in the folder before it without following a link; `..` goes back
    /// to a folder that is still open, so that nobody can move it away underneath.
    fn by_component(&self, parts: Vec<OsString>) -> Result<(PathBuf, At), FileError> {
        let (mut root, mut left) = self.resolver.enter(parts).ok_or_else(self.outside)?;
        let mut opened: Vec<(OsString, OwnedFd)> = Vec::new();
        let mut hops = 0;
        while let Some(part) = left.pop_front() {
            let top = &self.resolver.roots[root];
            if part == ".." {
                if opened.pop().is_none() {
                    let mut way = components(top.real().parent().unwrap_or(Path::new("/")));
                    way.extend(left);
                    (root, left) = self.resolver.enter(way).ok_or_else(self.outside)?;
                }
                continue;
            }
            let real = real_path(top, &opened).join(&part);
            if self.resolver.private.holds(&real) || opened.len() + left.len() > COMPONENTS_MAX {
                return Err((self.outside)());
            }
            let folder = opened.last().map_or(top.folder.as_fd(), |(_, folder)| folder.as_fd());
            let handle = match rustix::fs::openat(folder, &part, HANDLE, Mode::empty()) {
                Ok(handle) => handle,
                Err(Errno::NOENT) => return self.missing(folder, real, part, left),
                Err(err) => return Err(self.failed(err)),
            };
            let stat = self.stat(handle.as_fd())?;
            let kind = FileType::from_raw_mode(stat.st_mode);
            if kind.is_symlink() {
                hops += 1;
                if hops > LINK_HOPS_MAX {
                    return Err(FileError::BadPath { shown: self.shown.to_owned(), why: "too many links" });
                }
                let target = self.target(handle.as_fd())?;
                let mut way = components(&target);
                way.extend(left);
                if target.is_absolute() {
                    (root, left) = self.resolver.enter(way).ok_or_else(self.outside)?;
                    opened.clear();
                } else {
                    left = way.into();
                }
            } else if left.is_empty() {
                let parent = self.again(folder)?;
                return Ok((real, At::Entry { parent, name: part, handle, stat: Box::new(stat) }));
            } else if kind.is_dir() {
                opened.push((part, handle));
            } else {
                return Err(FileError::NotFolder { shown: self.shown.to_owned() });
            }
        }
        let top = &self.resolver.roots[root];
        let folder = opened.last().map_or(top.folder.as_fd(), |(_, folder)| folder.as_fd());
        Ok((real_path(top, &opened), At::Top(self.again(folder)?)))
    }

    fn missing(
        &self,
        folder: BorrowedFd<'_>,
        mut real: PathBuf,
        first: OsString,
        left: VecDeque<OsString>,
    ) -> Result<(PathBuf, At), FileError> {
        if left.iter().any(|part| part == "..") {
            return Err(FileError::NotFound { shown: self.shown.to_owned() });
        }
        real.extend(&left);
        if self.resolver.private.holds(&real) {
            return Err((self.outside)());
        }
        let parent = self.again(folder)?;
        Ok((real, At::Missing { parent, names: std::iter::once(first).chain(left).collect() }))
    }

    fn target(&self, link: BorrowedFd<'_>) -> Result<PathBuf, FileError> {
        let target = rustix::fs::readlinkat(link, "", Vec::new()).map_err(|err| self.failed(err))?;
        Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }

    fn stat(&self, handle: BorrowedFd<'_>) -> Result<Stat, FileError> {
        rustix::fs::fstat(handle).map_err(|err| self.failed(err))
    }

    fn again(&self, folder: BorrowedFd<'_>) -> Result<OwnedFd, FileError> {
        folder.try_clone_to_owned().map_err(|err| io_error(self.shown, &err))
    }

    fn failed(&self, err: Errno) -> FileError {
        io_error(self.shown, &err.into())
    }
}

/// The error of the port for one of the system.
pub(crate) fn io_error(shown: &str, err: &std::io::Error) -> FileError {
    use std::io::ErrorKind;
    let shown = shown.to_owned();
    if err.raw_os_error() == Some(Errno::NAMETOOLONG.raw_os_error()) {
        return FileError::BadPath { shown, why: "a name of it is too long" };
    }
    match err.kind() {
        ErrorKind::NotFound => FileError::NotFound { shown },
        ErrorKind::PermissionDenied => FileError::Permission { shown },
        ErrorKind::NotADirectory => FileError::NotFolder { shown },
        ErrorKind::IsADirectory => FileError::Folder { shown },
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => FileError::NoSpace { shown },
        kind => FileError::Io { shown, kind },
    }
}

/// Why a text can't be a path.
fn no_path(given: &str) -> Option<&'static str> {
    if given.is_empty() {
        Some("an empty path names no file")
    } else if given.len() > PATH_BYTES_MAX {
        Some("the path is longer than 4096 bytes")
    } else if given.contains('\0') {
        Some("a path can't hold a NUL character")
    } else if given == "~" || given.starts_with("~/") {
        Some("`~` is not expanded; give a path relative to the workspace")
    } else if given.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("file:")) {
        Some("give a path, not a file: address")
    } else {
        None
    }
}

fn components(path: &Path) -> Vec<OsString> {
    path.as_os_str()
        .as_bytes()
        .split(|byte| *byte == b'/')
        .filter(|part| !part.is_empty() && *part != b".")
        .map(|part| OsStr::from_bytes(part).to_owned())
        .collect()
}

fn real_path(root: &Root, opened: &[(OsString, OwnedFd)]) -> PathBuf {
    let mut path = root.real().to_owned();
    path.extend(opened.iter().map(|(name, _)| name));
    path
}

fn open_root(path: &Path, write: bool) -> std::io::Result<Root> {
    let real = path.canonicalize()?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(&real, flags, Mode::empty())?;
    Ok(Root { folder, names: [normal(path), real], write })
}
