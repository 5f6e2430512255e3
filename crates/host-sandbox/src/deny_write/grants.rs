//! `denyWrite` where the kernel can only allow: what may be written is granted piece by piece, so that nothing
//! is granted that would let a protected name be written, replaced or made.

use super::Protected;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The most entries that are granted one by one.
const GRANTS_MAX: usize = 10_000;

/// What is granted in place of the writable roots.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Grants {
    /// Files and folders that may be written with all that is in them.
    pub(crate) write: Vec<PathBuf>,
    /// Folders in which nothing can be made, renamed or removed, since a protected name is or could be there.
    pub(crate) guarded: Vec<PathBuf>,
}

impl Protected {
    /// Grants for these roots. The error is a sentence.
    pub(crate) fn grants(&self, roots: &[PathBuf]) -> Result<Grants, String> {
        let mut walk = Walk {
            guarded: self.guarded_below(roots),
            closed: self.read_only.iter().map(PathBuf::as_path).collect(),
            closed_files: self.read_only.iter().filter_map(|path| identity(path)).collect(),
            grants: Grants::default(),
        };
        for root in roots {
            let inside_closed = walk.closed.iter().any(|closed| root.starts_with(closed));
            if !inside_closed {
                walk.folder(root)?;
            }
        }
        walk.grants.guarded = walk.guarded.iter().cloned().collect();
        Ok(walk.grants)
    }

    /// Every folder where a name matters, and each on the way to one: else it could be swapped for another.
    fn guarded_below(&self, roots: &[PathBuf]) -> BTreeSet<PathBuf> {
        let parents = self.read_only.iter().filter_map(|path| path.parent());
        let folders = self.looked.iter().map(PathBuf::as_path).chain(parents);
        let inside = |path: &&Path| roots.iter().any(|root| path.starts_with(root));
        folders.flat_map(Path::ancestors).filter(inside).map(Path::to_path_buf).collect()
    }
}

struct Walk<'a> {
    guarded: BTreeSet<PathBuf>,
    closed: BTreeSet<&'a Path>,
    closed_files: BTreeSet<(u64, u64)>,
    grants: Grants,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path) -> Result<(), String> {
        if self.closed.contains(folder) {
            return Ok(());
        }
        if !self.guarded.contains(folder) {
            return self.grant(folder);
        }
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.folder(&path)?,
                // A grant on a link would be one on what it leads to, which has its own.
                Ok(kind) if kind.is_symlink() => {}
                // A grant is on the file, whatever its name: another name of a protected one gets none.
                Ok(_) if identity(&path).is_some_and(|it| !self.closed_files.contains(&it)) => {
                    self.grant(&path)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn grant(&mut self, path: &Path) -> Result<(), String> {
        if self.grants.write.len() >= GRANTS_MAX {
            return Err(format!(
                "Landlock: sandbox.denyWrite protects names in folders with more than {GRANTS_MAX} \
                 entries, too many to grant one by one; install bubblewrap"
            ));
        }
        self.grants.write.push(path.to_path_buf());
        Ok(())
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let about = std::fs::symlink_metadata(path).ok()?;
    Some((about.dev(), about.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deny_write::Patterns;
    use std::os::unix::fs::symlink;
    use std::sync::Arc;

    /// Grants and guarded folders below a workspace, by their short names.
    fn short(patterns: &[&str], make: impl FnOnce(&Path)) -> (Vec<String>, Vec<String>) {
        let dir = tempfile::tempdir().expect("a folder");
        let root = std::fs::canonicalize(dir.path()).expect("real");
        make(&root);
        let list: Vec<String> = patterns.iter().map(|&text| text.to_owned()).collect();
        let patterns = Arc::new(Patterns::parse(&root, &list).expect("patterns"));
        let roots = [root.clone()];
        let protected = Protected::prepare(&patterns, &roots, None).expect("prepared");
        let grants = protected.grants(&roots).expect("grants");
        let names = |list: Vec<PathBuf>| {
            let inside = |path: &PathBuf| path.strip_prefix(&root).expect("inside").display().to_string();
            let mut names: Vec<String> = list.iter().map(inside).collect();
            names.sort();
            names
        };
        (names(grants.write), names(grants.guarded))
    }

    // SBX-1, SBX-2
    #[test]
    fn protected_names_and_their_other_names_get_no_grant() {
        let (write, guarded) = short(crate::policy::DENY_WRITE_DEFAULT, |root| {
            for folder in [".git/hooks", ".git/objects", "src/deep"] {
                std::fs::create_dir_all(root.join(folder)).expect("made");
            }
            for file in [".env", ".env.local", "README", ".git/config", ".git/HEAD", ".git/hooks/x"] {
                std::fs::write(root.join(file), "").expect("written");
            }
            std::fs::hard_link(root.join(".env"), root.join("other-name")).expect("linked");
            symlink(".env", root.join("link")).expect("linked");
        });
        assert_eq!(write, [".git/HEAD", ".git/objects", "README", "src"]);
        assert_eq!(guarded, ["", ".git"]);
    }

    #[test]
    fn a_folder_where_nothing_is_protected_is_granted_whole() {
        let (write, guarded) = short(&["/elsewhere/x"], |root| {
            std::fs::create_dir(root.join("a")).expect("made");
        });
        assert_eq!((write, guarded), (vec![String::new()], Vec::new()));
    }

    #[test]
    fn the_way_to_a_protected_name_is_guarded_though_it_is_not_there_yet() {
        let (write, guarded) = short(&["a/b/secret"], |root| {
            std::fs::create_dir_all(root.join("a/c")).expect("made");
            std::fs::create_dir(root.join("d")).expect("made");
        });
        assert_eq!(write, ["a/c", "d"]);
        assert_eq!(guarded, ["", "a"]);
    }

    #[test]
    fn what_a_protected_link_leads_to_is_closed_too() {
        let (write, guarded) = short(&[".env"], |root| {
            std::fs::create_dir(root.join("conf")).expect("made");
            std::fs::write(root.join("conf/real"), "").expect("written");
            std::fs::write(root.join("conf/other"), "").expect("written");
            symlink("conf/real", root.join(".env")).expect("linked");
        });
        assert_eq!(write, ["conf/other"]);
        assert_eq!(guarded, ["", "conf"]);
    }
}
