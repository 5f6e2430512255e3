//! Paths in settings: `~` and the folder that a relative one starts from.

use crate::registry::Base;
use std::path::{Component, Path, PathBuf};

/// Why a path can't be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// `~` without a home folder.
    #[error("`~` can't be expanded: HOME is not set (to an absolute path)")]
    NoHome,
    /// `~name`.
    #[error("`~name` is not expanded; write the home folder out")]
    OtherHome,
}

/// The folders that relative paths start from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bases {
    /// The agent's folder, absolute.
    pub folder: PathBuf,
    /// The workspace, absolute.
    pub workspace: PathBuf,
    /// The home folder, where one is known.
    pub home: Option<PathBuf>,
}

impl Bases {
    /// The folder of a base.
    pub fn of(&self, base: Base) -> &Path {
        match base {
            Base::Folder => &self.folder,
            Base::Workspace => &self.workspace,
        }
    }

    /// An absolute path: `~` is the home folder, a relative path starts from `base`, `.` steps are gone.
    /// `..` stays as it is: where it leads is the file system's to say.
    ///
    /// # Errors
    /// A `~` that can't be expanded.
    pub fn resolve(&self, text: &str, base: Base) -> Result<PathBuf, PathError> {
        let expanded = self.tilde(text)?;
        Ok(tidy(&self.of(base).join(expanded)))
    }

    /// A text whose leading `~` or `~/` is the home folder; any other text as it is.
    ///
    /// # Errors
    /// A `~` that can't be expanded.
    pub fn tilde(&self, text: &str) -> Result<String, PathError> {
        let Some(rest) = text.strip_prefix('~') else { return Ok(text.to_owned()) };
        if !rest.is_empty() && !rest.starts_with('/') {
            return Err(PathError::OtherHome);
        }
        let home = self.home.as_deref().filter(|home| home.is_absolute()).ok_or(PathError::NoHome)?;
        let home = home.to_str().ok_or(PathError::NoHome)?;
        Ok(format!("{}{rest}", home.trim_end_matches('/')))
    }
}

/// A path without `.` steps and doubled slashes.
pub(crate) fn tidy(path: &Path) -> PathBuf {
    path.components().filter(|part| !matches!(part, Component::CurDir)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // T1-09
    #[test]
    fn paths_start_from_their_base() {
        let bases = Bases { folder: "/a".into(), workspace: "/w/a".into(), home: Some("/home/u".into()) };
        let path = |text: &str, base| bases.resolve(text, base).unwrap();
        assert_eq!(path("./mcp.json", Base::Workspace), Path::new("/w/a/mcp.json"));
        assert_eq!(path("x", Base::Folder), Path::new("/a/x"));
        assert_eq!(path("~/x", Base::Folder), Path::new("/home/u/x"));
        assert_eq!(path("~", Base::Folder), Path::new("/home/u"));
        assert_eq!(path("/x/./y", Base::Folder), Path::new("/x/y"));
        assert_eq!(bases.resolve("~bob/x", Base::Folder), Err(PathError::OtherHome));
        let homeless = Bases { home: None, ..bases };
        assert_eq!(homeless.resolve("~/x", Base::Folder), Err(PathError::NoHome));
    }
}
