//! A log file that does not grow without bound.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// An append-only file, 0600, that moves to `.1` when it is full; older ones move on to `.2`, `.3` …
pub struct RotatingFile {
    path: PathBuf,
    bytes_max: u64,
    generations: u32,
    file: File,
    written: u64,
}

impl RotatingFile {
    /// Opens it for appending. `bytes_max` is the size at which it moves, `generations` how many old ones are
    /// kept.
    ///
    /// # Errors
    /// Where the file can't be opened.
    pub fn open(path: &Path, bytes_max: u64, generations: u32) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let file = append(path)?;
        let written = file.metadata()?.len();
        Ok(RotatingFile { path: path.to_owned(), bytes_max, generations, file, written })
    }

    /// The open file itself, for a child's output; it does not move on any more.
    ///
    /// # Errors
    /// Where what was written can't be flushed.
    pub fn into_file(mut self) -> io::Result<File> {
        self.file.flush()?;
        Ok(self.file)
    }

    fn rotate(&mut self) -> io::Result<()> {
        let name = |n: u32| PathBuf::from(format!("{}.{n}", self.path.display()));
        for n in (1..self.generations).rev() {
            // A gap in the row is no reason to stop logging.
            let _ = std::fs::rename(name(n), name(n + 1));
        }
        if self.generations > 0 {
            std::fs::rename(&self.path, name(1))?;
        } else {
            std::fs::remove_file(&self.path)?;
        }
        self.file = append(&self.path)?;
        self.written = 0;
        Ok(())
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(libc_nofollow()).open(path)
}

fn libc_nofollow() -> i32 {
    i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0)
}

impl Write for RotatingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.written > 0 && self.written + bytes.len() as u64 > self.bytes_max {
            self.rotate()?;
        }
        let n = self.file.write(bytes)?;
        self.written += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_moves_on_and_old_ones_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a").join("host.log");
        let mut log = RotatingFile::open(&path, 10, 2).unwrap();
        for line in ["aaaaaa\n", "bbbbbb\n", "cccccc\n", "dddddd\n"] {
            log.write_all(line.as_bytes()).unwrap();
        }
        let read = |name: &str| std::fs::read_to_string(folder.path().join("a").join(name)).unwrap();
        assert_eq!(
            (read("host.log"), read("host.log.1"), read("host.log.2")),
            ("dddddd\n".to_owned(), "cccccc\n".to_owned(), "bbbbbb\n".to_owned())
        );
        assert!(!folder.path().join("a").join("host.log.3").exists());
    }
}
