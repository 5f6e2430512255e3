//! The store's own small files below the root: intake, plans, fences.

use super::{FILE, FOLDER, failed, is_ours, read_whole};
use crate::replace::{sync_folder, temp_name};
use host_memory::NoteError;
use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// A record's folders and its last name. No part leads out.
fn parts(name: &str) -> Result<Vec<&str>, NoteError> {
    let parts: Vec<&str> = name.split('/').collect();
    if parts.iter().any(|part| part.is_empty() || *part == "." || *part == ".." || part.contains('\0')) {
        return Err(NoteError::Unsafe { name: name.chars().take(80).collect() });
    }
    Ok(parts)
}

/// Opens the folders one by one; `None` = one isn't there.
fn walk(root: BorrowedFd<'_>, folders: &[&str], make: bool) -> Result<Option<OwnedFd>, NoteError> {
    let mut at = rustix::fs::openat(root, ".", FOLDER, Mode::empty()).map_err(|err| failed(".", err))?;
    for folder in folders {
        let mut opened = rustix::fs::openat(&at, *folder, FOLDER, Mode::empty());
        if make && matches!(opened, Err(Errno::NOENT)) {
            match rustix::fs::mkdirat(&at, *folder, Mode::from_raw_mode(0o700)) {
                Ok(()) => sync_folder(at.as_fd()).map_err(|err| failed(folder, err))?,
                Err(Errno::EXIST) => {}
                Err(err) => return Err(failed(folder, err)),
            }
            opened = rustix::fs::openat(&at, *folder, FOLDER, Mode::empty());
        }
        at = match opened {
            Ok(next) => next,
            Err(Errno::NOENT) => return Ok(None),
            Err(err) => return Err(failed(folder, err)),
        };
    }
    Ok(Some(at))
}

pub(super) fn read(root: BorrowedFd<'_>, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, NoteError> {
    let parts = parts(name)?;
    let (last, folders) = parts.split_last().expect("split gives at least one part");
    let Some(folder) = walk(root, folders, false)? else { return Ok(None) };
    let opened = match rustix::fs::openat(&folder, *last, FILE | OFlags::RDONLY, Mode::empty()) {
        Ok(opened) => opened,
        Err(Errno::NOENT) => return Ok(None),
        Err(err) => return Err(failed(name, err)),
    };
    let stat = rustix::fs::fstat(&opened).map_err(|err| failed(name, err))?;
    if !is_ours(&stat) || stat.st_nlink > 1 {
        return Err(NoteError::Unsafe { name: name.to_owned() });
    }
    read_whole(&mut File::from(opened), name, bytes_max).map(Some)
}

pub(super) fn list(root: BorrowedFd<'_>, folder: &str) -> Result<Vec<String>, NoteError> {
    let Some(opened) = walk(root, &parts(folder)?, false)? else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for entry in Dir::read_from(&opened).map_err(|err| failed(folder, err))? {
        let entry = entry.map_err(|err| failed(folder, err))?;
        if let Ok(name) = entry.file_name().to_str()
            && !name.starts_with('.')
        {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

pub(super) fn write(root: BorrowedFd<'_>, name: &str, content: &[u8]) -> Result<(), NoteError> {
    let parts = parts(name)?;
    let (last, folders) = parts.split_last().expect("split gives at least one part");
    let folder = walk(root, folders, true)?.ok_or_else(|| NoteError::Missing { name: name.to_owned() })?;
    let temp = temp_name().map_err(|err| failed(name, err))?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let put = || -> Result<(), Errno> {
        let mut file = File::from(rustix::fs::openat(&folder, &temp, flags, Mode::from_raw_mode(0o600))?);
        file.write_all(content).map_err(|err| Errno::from_io_error(&err).unwrap_or(Errno::IO))?;
        rustix::fs::fsync(&file)?;
        rustix::fs::renameat(&folder, &temp, &folder, *last)
    };
    put().map_err(|err| {
        let _ = rustix::fs::unlinkat(&folder, &temp, AtFlags::empty());
        failed(name, err)
    })?;
    sync_folder(folder.as_fd()).map_err(|err| failed(name, err))
}

pub(super) fn remove(root: BorrowedFd<'_>, name: &str) -> Result<(), NoteError> {
    let parts = parts(name)?;
    let (last, folders) = parts.split_last().expect("split gives at least one part");
    let Some(folder) = walk(root, folders, false)? else { return Ok(()) };
    match rustix::fs::unlinkat(&folder, *last, AtFlags::empty()) {
        Ok(()) => sync_folder(folder.as_fd()).map_err(|err| failed(name, err)),
        Err(Errno::NOENT) => Ok(()),
        Err(err) => Err(failed(name, err)),
    }
}

pub(super) fn append(
    root: BorrowedFd<'_>,
    name: &str,
    content: &[u8],
    bytes_max: u64,
) -> Result<(), NoteError> {
    let parts = parts(name)?;
    let (last, folders) = parts.split_last().expect("split gives at least one part");
    let folder = walk(root, folders, true)?.ok_or_else(|| NoteError::Missing { name: name.to_owned() })?;
    let flags = FILE | OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    let opened = rustix::fs::openat(&folder, *last, flags, Mode::from_raw_mode(0o600))
        .map_err(|err| failed(name, err))?;
    let stat = rustix::fs::fstat(&opened).map_err(|err| failed(name, err))?;
    if !is_ours(&stat) || stat.st_nlink > 1 {
        return Err(NoteError::Unsafe { name: name.to_owned() });
    }
    let before = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    if before.saturating_add(content.len() as u64) > bytes_max {
        return Err(NoteError::TooLarge { name: name.to_owned(), bytes_max });
    }
    let mut file = File::from(opened);
    let written = file.write_all(content).and_then(|()| file.sync_all());
    if let Err(err) = written {
        let _ = rustix::fs::ftruncate(&file, before);
        return Err(failed(name, Errno::from_io_error(&err).unwrap_or(Errno::IO)));
    }
    if before == 0 { sync_folder(folder.as_fd()).map_err(|err| failed(name, err)) } else { Ok(()) }
}
