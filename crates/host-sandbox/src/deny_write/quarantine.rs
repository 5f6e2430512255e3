//! Where files go that should not have been made.

use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

/// Moves a file or folder into the quarantine folder and says what became of it, as the rest of a sentence
/// whose subject is the name.
pub(super) fn put_away(name: &Path, folder: &Path) -> String {
    match move_into(name, folder) {
        Ok(()) => "was made during the call and is now in quarantine".to_owned(),
        Err(_) => {
            "was made during the call and could not be moved to quarantine: it is still there".to_owned()
        }
    }
}

fn move_into(name: &Path, folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let base = name.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut target = folder.join(base);
    let mut number = 1;
    while std::fs::symlink_metadata(&target).is_ok() {
        target = folder.join(format!("{}.{number}", base.to_string_lossy()));
        number += 1;
    }
    match std::fs::rename(name, &target) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            copy(name, &target)?;
            if name.is_dir() && !name.is_symlink() {
                std::fs::remove_dir_all(name)
            } else {
                std::fs::remove_file(name)
            }
        }
        other => other,
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let kind = std::fs::symlink_metadata(from)?.file_type();
    if kind.is_symlink() {
        std::os::unix::fs::symlink(std::fs::read_link(from)?, to)
    } else if kind.is_dir() {
        std::fs::create_dir(to)?;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        Ok(())
    } else if kind.is_file() {
        std::fs::copy(from, to).map(|_| ())
    } else {
        // A pipe, socket or device has no content to keep.
        Ok(())
    }
}
