//! A run's own folder for output: made for it, lent to servers, and taken away as the object that it is (CTX-2).

use crate::state::{StateError, ensure_private_dir};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The deepest folder that is cleared; what lies deeper stays, with the folder.
const DEPTH_MAX: usize = 128;
/// The longest id that can name a folder.
const ID_BYTES_MAX: usize = 200;

/// Why a run has no folder.
#[derive(Debug, thiserror::Error)]
pub enum RunOutputError {
    /// The id can't be a folder's name (`invalid_run_id`).
    #[error("the run's id can't name a folder")]
    InvalidRunId,
    /// Something stands there already (`unsafe_run_output`).
    #[error("{} is there already", path.display())]
    Unsafe {
        /// Where.
        path: PathBuf,
    },
    /// The folder above can't be used.
    #[error(transparent)]
    Folder(#[from] StateError),
    /// The operating system refused.
    #[error("the run's folder could not be made: {0}")]
    Io(io::Error),
}

/// The folder `<outbound>/<run>`, 0700. Everything is done through descriptors: whatever is put in its place
/// meanwhile is left alone. Its lock tells other processes that the run still goes on.
#[derive(Debug)]
pub struct RunOutput {
    above: OwnedFd,
    folder: OwnedFd,
    name: String,
    path: PathBuf,
    identity: (u64, u64),
}

impl RunOutput {
    /// Makes it.
    ///
    /// # Errors
    /// See [`RunOutputError`]; then nothing was made.
    pub fn create(outbound: &Path, run: &str) -> Result<Self, RunOutputError> {
        if !is_name(run) {
            return Err(RunOutputError::InvalidRunId);
        }
        ensure_private_dir(outbound)?;
        let above =
            open_folder(rustix::fs::CWD, outbound).map_err(|error| RunOutputError::Io(error.into()))?;
        let path = outbound.join(run);
        match rustix::fs::mkdirat(&above, run, Mode::from_raw_mode(0o700)) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Err(RunOutputError::Unsafe { path }),
            Err(error) => return Err(RunOutputError::Io(error.into())),
        }
        let opened = open_folder(&above, run).and_then(|folder| {
            rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
            let identity = identity(folder.as_fd())?;
            Ok((folder, identity))
        });
        match opened {
            Ok((folder, identity)) => Ok(RunOutput { above, folder, name: run.to_owned(), path, identity }),
            Err(error) => Err(RunOutputError::Io(error.into())),
        }
    }

    /// Where it was made.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the very folder that was made away, with all that is in it, wherever it was moved meanwhile. Gives
    /// whether it is gone. Blocks its thread.
    pub fn remove(self) -> bool {
        clear(self.folder.as_fd(), DEPTH_MAX);
        if remove_named(self.above.as_fd(), Path::new(&self.name), self.identity) {
            return true;
        }
        // It was renamed: its descriptor still knows where it is.
        let Some(now) = path_of(self.folder.as_fd()) else { return true };
        let (Some(parent), Some(name)) = (now.parent(), now.file_name()) else { return false };
        match open_folder(rustix::fs::CWD, parent) {
            Ok(parent) => remove_named(parent.as_fd(), Path::new(name), self.identity),
            Err(_) => false,
        }
    }
}

/// Takes away the folders of runs whose process is gone. Gives their number. Blocks its thread.
pub fn sweep(outbound: &Path) -> usize {
    let Ok(above) = open_folder(rustix::fs::CWD, outbound) else { return 0 };
    let Ok(entries) = rustix::fs::Dir::read_from(&above) else { return 0 };
    let mut swept = 0;
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().to_str() else { continue };
        if !is_name(name) {
            continue;
        }
        let Ok(folder) = open_folder(&above, name) else { continue };
        if rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        if let Ok(identity) = identity(folder.as_fd()) {
            clear(folder.as_fd(), DEPTH_MAX);
            swept += usize::from(remove_named(above.as_fd(), Path::new(name), identity));
        }
    }
    swept
}

fn is_name(run: &str) -> bool {
    run.len() <= ID_BYTES_MAX
        && run.starts_with(|c: char| c.is_ascii_alphanumeric())
        && run.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

fn open_folder<P: rustix::path::Arg>(above: impl AsFd, name: P) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(above, name, flags, Mode::empty())
}

fn identity(folder: BorrowedFd<'_>) -> rustix::io::Result<(u64, u64)> {
    let stat = rustix::fs::fstat(folder)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Where a descriptor's folder is now; none = it is gone.
fn path_of(folder: BorrowedFd<'_>) -> Option<PathBuf> {
    use std::os::fd::AsRawFd as _;
    let about = std::fs::metadata(format!("/proc/self/fd/{}", folder.as_raw_fd())).ok()?;
    if about.nlink() == 0 {
        return None;
    }
    std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd())).ok()
}

/// Removes an empty folder by its name where it is still the same object.
fn remove_named(above: BorrowedFd<'_>, name: &Path, wanted: (u64, u64)) -> bool {
    let Ok(stat) = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW) else { return false };
    (stat.st_dev, stat.st_ino) == wanted && rustix::fs::unlinkat(above, name, AtFlags::REMOVEDIR).is_ok()
}

/// Empties a folder through its descriptor. Links are removed, never followed; what can't be removed stays.
fn clear(folder: BorrowedFd<'_>, depth: usize) {
    let Ok(entries) = rustix::fs::Dir::read_from(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_bytes() == b"." || name.to_bytes() == b".." {
            continue;
        }
        if rustix::fs::unlinkat(folder, name, AtFlags::empty()).is_ok() {
            continue;
        }
        clear_folder(folder, name, depth);
    }
}

fn clear_folder(above: BorrowedFd<'_>, name: &CStr, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let is_folder = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir());
    if !is_folder {
        return;
    }
    let opened = open_folder(above, name).or_else(|_| {
        // A folder that its owner closed to itself.
        rustix::fs::chmodat(above, name, Mode::from_raw_mode(0o700), AtFlags::empty())?;
        open_folder(above, name)
    });
    if let Ok(inner) = opened {
        let _ = rustix::fs::fchmod(&inner, Mode::from_raw_mode(0o700));
        clear(inner.as_fd(), depth);
        let _ = rustix::fs::unlinkat(above, name, AtFlags::REMOVEDIR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn made() -> (tempfile::TempDir, PathBuf, RunOutput) {
        let folder = tempfile::tempdir().unwrap();
        let outbound = folder.path().join("outbound");
        let output = RunOutput::create(&outbound, "run-1").unwrap();
        (folder, outbound, output)
    }

    // CTX-2
    #[test]
    fn it_is_private_and_goes_with_everything_in_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let (folder, outbound, output) = made();
        assert_eq!(fs::metadata(output.path()).unwrap().permissions().mode() & 0o777, 0o700);
        let outside = folder.path().join("outside");
        fs::write(&outside, "stays").unwrap();
        let deep = output.path().join("a/b/c");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("f"), "x").unwrap();
        std::os::unix::fs::symlink(&outside, deep.join("link")).unwrap();
        std::os::unix::fs::symlink(folder.path(), output.path().join("up")).unwrap();
        fs::set_permissions(&deep, fs::Permissions::from_mode(0o000)).unwrap();
        assert!(output.remove());
        assert!(!outbound.join("run-1").exists() && outside.exists());
    }

    // CTX-2: what was put in its place is left alone, and the folder itself is found where it was moved.
    #[test]
    fn what_stands_in_its_place_is_left_alone() {
        let (folder, outbound, output) = made();
        fs::write(output.path().join("f"), "x").unwrap();
        let moved = folder.path().join("moved");
        fs::rename(outbound.join("run-1"), &moved).unwrap();
        fs::create_dir(outbound.join("run-1")).unwrap();
        fs::write(outbound.join("run-1/other"), "stays").unwrap();
        assert!(output.remove());
        assert!(!moved.exists());
        assert_eq!(fs::read_to_string(outbound.join("run-1/other")).unwrap(), "stays");
    }

    // CTX-2
    #[test]
    fn bad_ids_and_places_that_are_taken_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let long = "a".repeat(201);
        for bad in ["", "..", "a/b", ".a", "-a", "a b", "é", &long] {
            assert!(
                matches!(RunOutput::create(folder.path(), bad), Err(RunOutputError::InvalidRunId)),
                "{bad}"
            );
        }
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("run-1")).unwrap();
        assert!(matches!(RunOutput::create(folder.path(), "run-1"), Err(RunOutputError::Unsafe { .. })));
    }

    // CTX-2: what a killed process left is swept, what a living one has is not.
    #[test]
    fn only_what_nobody_holds_is_swept() {
        let (_folder, outbound, output) = made();
        fs::create_dir_all(outbound.join("dead/x")).unwrap();
        fs::write(outbound.join("dead/x/f"), "x").unwrap();
        assert_eq!(sweep(&outbound), 1);
        assert!(!outbound.join("dead").exists() && output.path().exists());
        let path = output.path().to_owned();
        drop(output);
        assert_eq!(sweep(&outbound), 1);
        assert!(!path.exists());
    }
}
