//! Landlock rulesets, built before the fork, so that only a system call is left after it.

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetCreated,
    RulesetCreatedAttr as _, RulesetError, Scope, path_beneath_rules,
};
use rustix::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The newest Landlock that we know the meaning of.
const LANDLOCK_ABI: ABI = ABI::V6;

/// A file or folder that is granted, and which one it is: a grant holds for the file and not for its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Granted {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl AsRef<Path> for Granted {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

/// Grants on files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileGrants {
    /// Read and execute.
    read: Vec<Granted>,
    /// Everything.
    write: Vec<Granted>,
}

fn granted(paths: Vec<PathBuf>) -> Vec<Granted> {
    let one = |path: PathBuf| {
        let about = std::fs::metadata(&path).ok()?;
        Some(Granted { path, device: about.dev(), inode: about.ino() })
    };
    paths.into_iter().filter_map(one).collect()
}

impl FileGrants {
    /// On what of these is there.
    pub(crate) fn new(read: Vec<PathBuf>, write: Vec<PathBuf>) -> Self {
        FileGrants { read: granted(read), write: granted(write) }
    }

    /// These grants, and everything else that Landlock can keep inside. Hard requirement: an older kernel that
    /// can't do the file part fails here. The error is a sentence.
    pub(crate) fn ruleset(&self) -> Result<OwnedFd, String> {
        let created = self.created().map_err(|error| format!("Landlock: {error}"))?;
        Option::<OwnedFd>::from(created).ok_or_else(|| "Landlock: the kernel has none".to_owned())
    }

    fn created(&self) -> Result<RulesetCreated, RulesetError> {
        let read = AccessFs::from_read(LANDLOCK_ABI);
        let all = AccessFs::from_all(LANDLOCK_ABI);
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI::V3))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(all)?
            .scope(Scope::from_all(LANDLOCK_ABI))?
            .create()?
            .add_rules(path_beneath_rules(&self.read, read))?
            .add_rules(path_beneath_rules(&self.write, all))
    }
}

/// No grants on files: only abstract sockets and signals are kept inside, where the kernel can.
pub(crate) fn scopes_only() -> Result<Option<OwnedFd>, String> {
    let created = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::from_all(LANDLOCK_ABI))
        .and_then(Ruleset::create);
    created.map(Option::<OwnedFd>::from).map_err(|error| format!("Landlock: {error}"))
}

/// Whether this kernel has a Landlock that can confine files.
pub(crate) fn kernel_can() -> bool {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V3))
        .and_then(Ruleset::create);
    ruleset.is_ok()
}
