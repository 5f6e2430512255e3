//! What the agent may read and write.

use std::path::PathBuf;

/// The agent's folders. All paths are absolute; relative ones are taken from the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesConfig {
    /// Where relative paths of a model start. It is no root by itself.
    pub workspace: PathBuf,
    /// Folders that may be read.
    pub read_roots: Vec<PathBuf>,
    /// Folders that may be read and written.
    pub write_roots: Vec<PathBuf>,
    /// Names that are never written (SBX-1). A relative pattern holds at any depth; `*` and `?` stay in one
    /// segment, `**` crosses. Compared without regard to case and Unicode form.
    pub deny_write: Vec<String>,
    /// Files and folders of the host's own: as if they were outside, wherever they lie. A root
    /// that lies in one of them (the folder of attachments in the state folder) is the agent's all the same.
    pub private: Vec<PathBuf>,
    /// Other names of folders: (`/workspace`, the folder on this machine). What a model writes below the
    /// name is taken from the folder, and what is shown carries the name.
    pub aliases: Vec<(String, PathBuf)>,
}

impl FilesConfig {
    /// The patterns of `denyWrite` where the setting is absent.
    pub const DENY_WRITE: [&'static str; 4] = [".env", ".env.*", ".git/config", ".git/hooks/**"];

    /// One folder to read and write, with the default patterns.
    pub fn workspace(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        FilesConfig {
            read_roots: vec![folder.clone()],
            write_roots: vec![folder.clone()],
            workspace: folder,
            deny_write: Self::DENY_WRITE.iter().map(ToString::to_string).collect(),
            private: Vec::new(),
            aliases: Vec::new(),
        }
    }
}

/// Why the agent's folders can't be used.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A root is missing, no folder, or can't be opened.
    #[error("the folder {path} can't be opened: {source}")]
    Root {
        /// The root.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A pattern of `denyWrite` is broken.
    #[error("sandbox.denyWrite: `{pattern}`: {why}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
}
