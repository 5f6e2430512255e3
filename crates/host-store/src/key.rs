//! Key files: 32 random bytes that never leave the owner's hands.

use crate::{OpenError, folder};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The bytes of a key; wiped when dropped.
pub(crate) type Key = Zeroizing<[u8; 32]>;

/// Below the store's folder.
pub(crate) fn path(dir: &Path, name: &str) -> PathBuf {
    dir.join("keys").join(name)
}

/// Reads a key; `None` where there is none.
pub(crate) fn read(path: &Path) -> Result<Option<Key>, OpenError> {
    let Some(file) = folder::open_private(path)? else { return Ok(None) };
    let mut bytes = Zeroizing::new(Vec::with_capacity(64));
    file.take(64).read_to_end(&mut bytes).map_err(|e| OpenError::io(path, e))?;
    let mut key = Zeroizing::new([0u8; 32]);
    if bytes.len() != key.len() {
        return Err(OpenError::Key {
            path: path.to_owned(),
            problem: format!("a key has 32 bytes, and this file has {}", bytes.len()),
        });
    }
    key.copy_from_slice(&bytes);
    Ok(Some(key))
}

/// Reads a key, or makes one. Of two processes that make it at once both get the same. A new one is not on
/// the disk before [`sync`]; an empty file is one that a power cut took before that, and is made anew.
pub(crate) fn read_or_create(path: &Path) -> Result<Key, OpenError> {
    if let Some(parent) = path.parent() {
        folder::private_folder(parent)?;
    }
    for _ in 0..3 {
        match folder::private_file(path)? {
            Some(stat) if stat.st_size == 0 => {
                std::fs::remove_file(path).map_err(|e| OpenError::io(path, e))?;
            }
            _ => {}
        }
        if let Some(key) = read(path)? {
            return Ok(key);
        }
        create(path)?;
    }
    Err(OpenError::Key { path: path.to_owned(), problem: "it vanishes while it is made".to_owned() })
}

/// Waits until a key and its name are on the disk.
pub(crate) fn sync(path: &Path) -> Result<(), OpenError> {
    let file = folder::open_private(path)?;
    file.map_or(Ok(()), |file| file.sync_all()).map_err(|e| OpenError::io(path, e))?;
    folder::sync_folder(path.parent().unwrap_or(path))
}

fn create(path: &Path) -> Result<(), OpenError> {
    let mut key = Zeroizing::new([0u8; 32]);
    random(&mut key[..]).map_err(|e| OpenError::io(path, e))?;
    let mut tag = [0u8; 8];
    random(&mut tag).map_err(|e| OpenError::io(path, e))?;
    let fresh = path.with_extension(format!("new-{:016x}", u64::from_be_bytes(tag)));
    let mut file = folder::create_private(&fresh)?;
    let made = (|| {
        file.write_all(&key[..])?;
        match rustix::fs::renameat_with(
            rustix::fs::CWD,
            &fresh,
            rustix::fs::CWD,
            path,
            rustix::fs::RenameFlags::NOREPLACE,
        ) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::EXIST) => Ok(false),
            Err(errno) => Err(std::io::Error::from(errno)),
        }
    })();
    if !matches!(made, Ok(true)) {
        let _ = std::fs::remove_file(&fresh);
    }
    made.map(|_| ()).map_err(|e| OpenError::io(path, e))
}

/// Fills a buffer with random bytes of the operating system.
pub(crate) fn random(buffer: &mut [u8]) -> std::io::Result<()> {
    getrandom::fill(buffer).map_err(|e| std::io::Error::other(e.to_string()))
}

/// Some random bytes as lower-case hex.
pub(crate) fn random_hex(bytes: usize) -> std::io::Result<String> {
    let mut buffer = vec![0u8; bytes];
    random(&mut buffer)?;
    Ok(host_vocab::text::hex(&buffer))
}
