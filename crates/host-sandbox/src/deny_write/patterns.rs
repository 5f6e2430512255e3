//! Patterns of names, and finding what they match without walking more than they ask for.

use crate::policy::PolicyError;
use globset::{GlobBuilder, GlobMatcher};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// The most directory entries that one look may touch.
const ENTRIES_MAX: usize = 200_000;

/// Patterns, anchored and compiled.
#[derive(Debug, Default)]
pub struct Patterns(Vec<Vec<Segment>>);

#[derive(Debug, Clone)]
enum Segment {
    Plain(String),
    Glob(GlobMatcher),
    AnyDepth,
}

/// What exists of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// A name that matches.
    Name(PathBuf),
    /// A folder below which everything matches.
    Folder(PathBuf),
}

impl Found {
    pub(super) fn path(&self) -> &Path {
        match self {
            Found::Name(path) | Found::Folder(path) => path,
        }
    }
}

/// What one look found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) found: Vec<Found>,
    /// Plain names that don't exist, in folders that do.
    pub(super) missing: Vec<PathBuf>,
    /// Folders in which a name matters.
    pub(super) looked: BTreeSet<PathBuf>,
    entries: usize,
    /// Where folders on the way really are, asked once for each.
    real: HashMap<PathBuf, Option<PathBuf>>,
}

impl Patterns {
    /// Reads patterns; relative ones start at the workspace.
    ///
    /// # Errors
    /// The first pattern that isn't one.
    pub fn parse(workspace: &Path, patterns: &[String]) -> Result<Self, PolicyError> {
        patterns.iter().map(|pattern| parse(workspace, pattern)).collect::<Result<_, _>>().map(Patterns)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a pattern matches at any depth, so that a name matters in every folder.
    pub(crate) fn at_any_depth(&self) -> bool {
        self.0
            .iter()
            .any(|segments| segments.iter().rev().skip(1).any(|segment| matches!(segment, Segment::AnyDepth)))
    }

    /// Whether a name that exists is protected.
    pub(crate) fn protects(&self, name: &Path, roots: &[PathBuf]) -> bool {
        self.scan(roots).is_ok_and(|scan| {
            scan.found.iter().any(|found| match found {
                Found::Name(path) => path == name,
                Found::Folder(path) => name != path && name.starts_with(path),
            })
        })
    }

    /// Looks for what exists inside these roots. The error is a sentence.
    pub(super) fn scan(&self, roots: &[PathBuf]) -> Result<Scan, String> {
        let mut scan = Scan::default();
        for segments in &self.0 {
            scan.descend(Path::new("/"), segments)?;
        }
        let inside = |path: &Path| roots.iter().any(|root| path.starts_with(root));
        scan.found.retain(|found| inside(found.path()));
        scan.missing.retain(|path| inside(path));
        scan.looked.retain(|path| inside(path));
        Ok(scan)
    }
}

fn parse(workspace: &Path, pattern: &str) -> Result<Vec<Segment>, PolicyError> {
    let refuse = |why: &str| PolicyError::Pattern { pattern: pattern.to_owned(), why: why.to_owned() };
    if pattern.is_empty() || pattern.contains('\0') {
        return Err(refuse("it is empty or holds a NUL"));
    }
    let mut segments = Vec::new();
    if !pattern.starts_with('/') {
        segments.extend(workspace.to_string_lossy().split('/').filter(|s| !s.is_empty()).map(plain));
    }
    for part in pattern.split('/').filter(|part| !part.is_empty() && *part != ".") {
        segments.push(match part {
            ".." => return Err(refuse("it climbs with \"..\"; write the path that is meant")),
            "**" => Segment::AnyDepth,
            part if !part.contains(['*', '?', '[', '{', '\\']) => plain(part),
            part => {
                let glob = GlobBuilder::new(part).literal_separator(true).backslash_escape(true).build();
                let glob = glob.map_err(|error| refuse(&error.kind().to_string()))?;
                Segment::Glob(glob.compile_matcher())
            }
        });
    }
    if segments.is_empty() {
        return Err(refuse("it names nothing"));
    }
    Ok(segments)
}

fn plain(part: &str) -> Segment {
    Segment::Plain(part.to_owned())
}

impl Scan {
    fn descend(&mut self, folder: &Path, segments: &[Segment]) -> Result<(), String> {
        let Some((first, rest)) = segments.split_first() else { return Ok(()) };
        if !(matches!(first, Segment::AnyDepth) && rest.is_empty()) {
            self.looked.insert(folder.to_path_buf());
        }
        match first {
            Segment::Plain(name) => self.visit(&folder.join(name), rest, true),
            Segment::Glob(glob) => {
                for path in self.entries_of(folder)? {
                    if path.file_name().is_some_and(|name| glob.is_match(Path::new(name))) {
                        self.visit(&path, rest, false)?;
                    }
                }
                Ok(())
            }
            Segment::AnyDepth if rest.is_empty() => {
                if folder.is_dir() {
                    self.push(Found::Folder(folder.to_path_buf()));
                }
                Ok(())
            }
            Segment::AnyDepth => {
                self.descend(folder, rest)?;
                for path in self.entries_of(folder)? {
                    if path.is_dir() && !path.is_symlink() {
                        self.descend(&path, segments)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Where a folder really is; `None` = it is none. What it lies in was asked for before, so that only its own
    /// name has to be looked at.
    fn real_folder(&mut self, path: &Path) -> Option<PathBuf> {
        if let Some(known) = self.real.get(path) {
            return known.clone();
        }
        let about = std::fs::symlink_metadata(path).ok();
        let real = match about {
            Some(about) if about.is_dir() => Some(path.to_path_buf()),
            Some(about) if about.is_symlink() => {
                std::fs::canonicalize(path).ok().filter(|real| real.is_dir())
            }
            _ => None,
        };
        self.real.insert(path.to_path_buf(), real.clone());
        real
    }

    fn visit(&mut self, path: &Path, rest: &[Segment], plain: bool) -> Result<(), String> {
        if !rest.is_empty() {
            // A folder that is a link counts where it leads to.
            return match self.real_folder(path) {
                Some(real) => self.descend(&real, rest),
                None => Ok(()),
            };
        }
        if std::fs::symlink_metadata(path).is_ok() {
            self.push(Found::Name(path.to_path_buf()));
        } else if plain && path.parent().is_some_and(Path::is_dir) {
            self.missing.push(path.to_path_buf());
        }
        Ok(())
    }

    fn push(&mut self, found: Found) {
        if !self.found.contains(&found) {
            self.found.push(found);
        }
    }

    fn entries_of(&mut self, folder: &Path) -> Result<Vec<PathBuf>, String> {
        let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
        let mut paths = Vec::new();
        for entry in entries.flatten() {
            self.entries += 1;
            if self.entries > ENTRIES_MAX {
                return Err(format!(
                    "the denyWrite patterns make the sandbox look at more than {ENTRIES_MAX} files; \
                     use patterns without a leading **"
                ));
            }
            paths.push(entry.path());
        }
        Ok(paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(patterns: &[&str], make: &[&str]) -> (Vec<String>, Vec<String>) {
        let dir = tempfile::tempdir().expect("a folder");
        let root = std::fs::canonicalize(dir.path()).expect("real");
        for file in make {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(path, "").expect("written");
        }
        let list: Vec<String> = patterns.iter().map(|&p| p.to_owned()).collect();
        let patterns = Patterns::parse(&root, &list).expect("patterns");
        let scan = patterns.scan(std::slice::from_ref(&root)).expect("a scan");
        let short = |p: &Path| p.strip_prefix(&root).expect("inside").display().to_string();
        let mut found: Vec<String> = scan.found.iter().map(|f| short(f.path())).collect();
        found.sort();
        (found, scan.missing.iter().map(|p| short(p)).collect())
    }

    // SBX-1
    #[test]
    fn a_star_stays_in_its_segment_and_two_cross() {
        let files =
            [".env", ".env.local", "sub/.env", ".git/config", ".git/hooks/pre-commit", "a/b/c.key", "d.key"];
        let defaults = crate::policy::DENY_WRITE_DEFAULT;
        let (found, missing) = check(defaults, &files);
        assert_eq!(found, [".env", ".env.local", ".git/config", ".git/hooks"]);
        assert!(missing.is_empty());
        assert_eq!(check(&["*.key"], &files).0, ["d.key"]);
        assert_eq!(check(&["**/*.key"], &files).0, ["a/b/c.key", "d.key"]);
        assert_eq!(check(&["**/.env"], &files).0, [".env", "sub/.env"]);
        assert_eq!(check(&["?.key"], &files).0, ["d.key"]);
    }

    #[test]
    fn plain_names_that_are_missing_are_told_where_their_folder_is_there() {
        let (found, missing) = check(crate::policy::DENY_WRITE_DEFAULT, &["x"]);
        assert!(found.is_empty());
        assert_eq!(missing, [".env"]);
    }

    #[test]
    fn patterns_that_climb_or_are_empty_are_refused() {
        for bad in ["", "../x", "a/../b", "/", "a[", "{a"] {
            assert!(Patterns::parse(Path::new("/w"), &[bad.to_owned()]).is_err(), "{bad:?}");
        }
    }
}
