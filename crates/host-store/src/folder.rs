//! The store's folder and the files in it: the owner's alone, never through a link.

use crate::OpenError;
use rustix::fs::{FileType, Mode, OFlags, Stat};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Makes a folder for the owner alone, with the folders above it, or checks the one that is there. Rights of
/// others to read it are taken away; had others the right to write, what stands in it can't be trusted, and
/// it is refused.
pub(crate) fn private_folder(path: &Path) -> Result<(), OpenError> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.exists()) {
        std::fs::create_dir_all(parent).map_err(|e| in_the_way(parent, e))?;
    }
    match rustix::fs::mkdir(path, Mode::from_raw_mode(0o700)) {
        Ok(()) => return Ok(()),
        Err(rustix::io::Errno::EXIST) => {}
        Err(errno) => return Err(in_the_way(path, errno.into())),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let stat = rustix::fs::lstat(path).map_err(|e| OpenError::io(path, e))?;
    check(path, &stat, FileType::Directory)?;
    if stat.st_mode & 0o077 != 0 {
        let folder = rustix::fs::open(path, flags, Mode::empty()).map_err(|e| OpenError::io(path, e))?;
        rustix::fs::fchmod(&folder, Mode::from_raw_mode(0o700)).map_err(|e| OpenError::io(path, e))?;
    }
    Ok(())
}

/// Names the file that stands where a folder of the way must be.
fn in_the_way(path: &Path, cause: std::io::Error) -> OpenError {
    let there = path.ancestors().find(|it| std::fs::symlink_metadata(it).is_ok());
    match there {
        Some(there)
            if matches!(
                cause.kind(),
                std::io::ErrorKind::NotADirectory | std::io::ErrorKind::AlreadyExists
            ) =>
        {
            OpenError::Unsafe {
                path: there.to_owned(),
                problem: "it is not a folder, and the agent keeps its state there".to_owned(),
                way_out: "move it away or remove it".to_owned(),
            }
        }
        _ => OpenError::io(path, cause),
    }
}

/// What stands at `path`, checked: a plain file of ours with no other name, readable by nobody else.
/// `None` where there is nothing.
pub(crate) fn private_file(path: &Path) -> Result<Option<Stat>, OpenError> {
    match rustix::fs::lstat(path) {
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(errno) => Err(OpenError::io(path, errno)),
        Ok(stat) => check(path, &stat, FileType::RegularFile).map(|()| Some(stat)),
    }
}

/// Opens a file for reading and checks the very file that was opened.
pub(crate) fn open_private(path: &Path) -> Result<Option<File>, OpenError> {
    if private_file(path)?.is_none() {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(|e| OpenError::io(path, e))?;
    let stat = rustix::fs::fstat(&fd).map_err(|e| OpenError::io(path, e))?;
    check(path, &stat, FileType::RegularFile)?;
    Ok(Some(File::from(fd)))
}

/// Creates an empty file for the owner alone; it must not exist.
pub(crate) fn create_private(path: &Path) -> Result<File, OpenError> {
    create(path, OFlags::EXCL).map(File::from).map_err(|e| OpenError::io(path, e))
}

/// Opens a file of the owner's for appending, or creates it.
pub(crate) fn open_private_append(path: &Path) -> Result<File, OpenError> {
    private_file(path)?;
    let fd = create(path, OFlags::APPEND).map_err(|e| OpenError::io(path, e))?;
    let stat = rustix::fs::fstat(&fd).map_err(|e| OpenError::io(path, e))?;
    check(path, &stat, FileType::RegularFile)?;
    Ok(File::from(fd))
}

/// Opens or creates a lock file for the owner alone.
pub(crate) fn open_or_create(path: &Path) -> rustix::io::Result<OwnedFd> {
    create(path, OFlags::empty())
}

fn create(path: &Path, more: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | more;
    rustix::fs::open(path, flags, Mode::from_raw_mode(0o600))
}

/// Makes the names in a folder last.
pub(crate) fn sync_folder(path: &Path) -> Result<(), OpenError> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(|e| OpenError::io(path, e))
}

fn check(path: &Path, stat: &Stat, wanted: FileType) -> Result<(), OpenError> {
    let refuse = |problem: &str, way_out: String| {
        Err(OpenError::Unsafe { path: path.to_owned(), problem: problem.to_owned(), way_out })
    };
    let kind = FileType::from_raw_mode(stat.st_mode);
    let (name, mode, forbidden) =
        if wanted == FileType::Directory { ("folder", 700, 0o022) } else { ("file", 600, 0o077) };
    if kind != wanted {
        let what = if kind == FileType::Symlink { "a symbolic link" } else { "something else" };
        return refuse(
            &format!("a plain {name} is needed here, and this is {what}"),
            "move it away, or name another folder".to_owned(),
        );
    }
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return refuse(
            &format!("the {name} belongs to user {}", stat.st_uid),
            "run as that user, or name another folder".to_owned(),
        );
    }
    if stat.st_mode & forbidden != 0 {
        return refuse(
            &format!("others than its owner have rights to the {name} (mode {:o})", stat.st_mode & 0o777),
            format!("run: chmod {mode} '{}'", path.display()),
        );
    }
    if wanted == FileType::RegularFile && stat.st_nlink > 1 {
        return refuse("the file has a second name (a hard link)", "remove the other name".to_owned());
    }
    Ok(())
}
