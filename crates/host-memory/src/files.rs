//! The canonical notes, as this crate needs them. `host-files` answers. Every method blocks.

use std::fmt;
use std::time::Duration;

/// The record that stands while an operator's change is under way.
pub const FENCE: &str = ".forget/pending.json";

/// The name of a daily source: `daily/YYYY-MM-DD.md`, or `YYYY-MM-DD.md` in the old layout.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceName {
    date: String,
    legacy: bool,
}

impl SourceName {
    /// The file of a day.
    pub fn daily(date: &str) -> Option<Self> {
        is_date(date).then(|| SourceName { date: date.to_owned(), legacy: false })
    }

    /// The file of a day in the old layout, at the root.
    pub fn legacy(date: &str) -> Option<Self> {
        is_date(date).then(|| SourceName { date: date.to_owned(), legacy: true })
    }

    /// From its text.
    pub fn parse(text: &str) -> Option<Self> {
        let (legacy, name) = match text.strip_prefix("daily/") {
            Some(name) => (false, name),
            None => (true, text),
        };
        let date = name.strip_suffix(".md")?;
        is_date(date).then(|| SourceName { date: date.to_owned(), legacy })
    }

    /// The day, `YYYY-MM-DD`.
    pub fn date(&self) -> &str {
        &self.date
    }

    /// Whether it is of the old layout.
    pub fn is_legacy(&self) -> bool {
        self.legacy
    }
}

impl fmt::Display for SourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}.md", if self.legacy { "" } else { "daily/" }, self.date)
    }
}

/// A day of the calendar, not only something of its shape.
fn is_date(text: &str) -> bool {
    text.len() == 10 && text.is_ascii() && text.parse::<jiff::civil::Date>().is_ok()
}

/// What tells that a file is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fingerprint {
    /// Its size.
    pub bytes: u64,
    /// Its last change, in nanoseconds.
    pub modified_ns: i64,
    /// Its inode.
    pub inode: u64,
}

/// One source in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: SourceName,
    /// How it is.
    pub fingerprint: Fingerprint,
}

/// Why the notes could not be read or written. No variant holds a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// Something other than plain files and folders of the owner's own.
    #[error("{name} is not a plain file or folder of this user's own")]
    Unsafe {
        /// Its name below the root.
        name: String,
    },
    /// Over the bound.
    #[error("{name} has more than {bytes_max} bytes")]
    TooLarge {
        /// Its name below the root.
        name: String,
        /// The bound.
        bytes_max: u64,
    },
    /// No UTF-8.
    #[error("{name} is no UTF-8 text")]
    NotText {
        /// Its name below the root.
        name: String,
    },
    /// Another process writes for longer than the wait.
    #[error("another process is writing to this memory")]
    Busy,
    /// An unfinished change by an operator; it must be finished or taken back first.
    #[error("an unfinished `memory forget` blocks this memory; run `mono-agent memory forget resume`")]
    Fenced,
    /// The disk is full.
    #[error("no space is left on the disk")]
    NoSpace,
    /// It isn't there.
    #[error("{name} is not there")]
    Missing {
        /// Its name below the root.
        name: String,
    },
    /// Any other fault.
    #[error("{name}: {kind}")]
    Io {
        /// Its name below the root.
        name: String,
        /// What kind.
        kind: std::io::ErrorKind,
    },
    /// Written, but whether it lasts is not known.
    #[error("whether {name} was written is not known")]
    Uncertain {
        /// Its name below the root.
        name: String,
    },
}

/// What an append did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The file before; `None` = it was not there.
    pub before: Option<Fingerprint>,
    /// The file after.
    pub after: Fingerprint,
    /// Whether the end of the file was put in order first, so that `before` is no prefix of it.
    pub mended: bool,
    /// What was written, where a line feed had to come first.
    pub lead_bytes: u64,
}

/// The folder with the notes.
pub trait NoteFiles: Send + Sync {
    /// The daily sources, those of the old layout where their day has no other, by date.
    ///
    /// # Errors
    /// See [`NoteError`].
    fn list(&self) -> Result<Vec<Listed>, NoteError>;

    /// The text of a source and how it was when it was read.
    ///
    /// # Errors
    /// See [`NoteError`].
    fn read(&self, name: &SourceName) -> Result<(String, Fingerprint), NoteError>;

    /// Waits for the right to write, which one process has at a time. While a record stands at
    /// [`FENCE`], only who comes to finish that work gets it (`mend`).
    ///
    /// # Errors
    /// [`NoteError::Busy`] after `wait`; [`NoteError::Fenced`].
    fn lock(&self, wait: Duration, mend: bool) -> Result<Box<dyn NoteWriter + '_>, NoteError>;

    /// Takes a duty that one process has at a time, given back when dropped; `None` = another one has it.
    ///
    /// # Errors
    /// See [`NoteError`].
    fn duty(&self, name: &str) -> Result<Option<Box<dyn std::any::Any + Send>>, NoteError>;

    /// A file of the store's own, such as `.capture-intake/pending/x.json`; `None` = not there.
    ///
    /// # Errors
    /// See [`NoteError`].
    fn record(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, NoteError>;

    /// The names in a folder of the store's own, sorted; none where it isn't there.
    ///
    /// # Errors
    /// See [`NoteError`].
    fn records(&self, folder: &str) -> Result<Vec<String>, NoteError>;

    /// Writes a file of the store's own in one step, owner-only and synced.
    ///
    /// # Errors
    /// See [`NoteError`]; then the old one stands.
    fn put_record(&self, name: &str, content: &[u8]) -> Result<(), NoteError>;

    /// Adds to the end of a file of the store's own, which is made where it isn't there, and waits for the disk.
    ///
    /// # Errors
    /// See [`NoteError`]; [`NoteError::TooLarge`] where it would have more than `bytes_max` bytes.
    fn append_record(&self, name: &str, content: &[u8], bytes_max: u64) -> Result<(), NoteError>;

    /// Removes one; nothing there is no error.
    ///
    /// # Errors
    /// See [`NoteError`].
    fn remove_record(&self, name: &str) -> Result<(), NoteError>;
}

/// The right to write, given back when dropped.
pub trait NoteWriter {
    /// Adds to the end of a day's file and waits for the disk.
    ///
    /// # Errors
    /// See [`NoteError`]. But for [`NoteError::Uncertain`] nothing was written.
    fn append(&mut self, name: &SourceName, text: &str) -> Result<Appended, NoteError>;

    /// Replaces a file that is still as it was.
    ///
    /// # Errors
    /// See [`NoteError`]; then the old one stands.
    fn replace(
        &mut self,
        name: &SourceName,
        expect: Fingerprint,
        text: &str,
    ) -> Result<Fingerprint, NoteError>;

    /// Copies all sources into a new folder beside the root, synced, and gives its name.
    ///
    /// # Errors
    /// See [`NoteError`]; then the folder is removed.
    fn backup(&mut self, stamp: &str) -> Result<String, NoteError>;

    /// Removes all but the newest backups, and those of before `since_ms` (Unix milliseconds): they hold what was to
    /// be forgotten. A backup whose name tells no time only counts.
    ///
    /// # Errors
    /// See [`NoteError`].
    fn prune_backups(&mut self, keep: usize, since_ms: i64) -> Result<(), NoteError>;

    /// Puts the sources of a backup in the place of those that are there.
    ///
    /// # Errors
    /// See [`NoteError`].
    fn restore(&mut self, backup: &str) -> Result<(), NoteError>;
}
