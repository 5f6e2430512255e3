//! The door of memory: what an agent (and its operator) can do with it.

use crate::sync::{self, SyncError};
use crate::{Embedder, FactRow, Index, NoteError, NoteFiles, Refusal};
use host_ports::clock::Clock;
use std::sync::Arc;
use std::time::Duration;

/// How long a writer waits for others.
pub(crate) const WRITE_WAIT: Duration = Duration::from_secs(10);
/// How long a reader waits before it answers from what the index has.
const READ_WAIT: Duration = Duration::from_secs(2);

/// How much memory does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Full text.
    Lite,
    /// Plus vectors.
    Journal,
    /// Plus what a model notes.
    Bujo,
}

impl Tier {
    /// The word of the config.
    pub const fn as_str(self) -> &'static str {
        match self {
            Tier::Lite => "lite",
            Tier::Journal => "journal",
            Tier::Bujo => "bujo",
        }
    }

    /// What the id of a remembered fact begins with (A6.2).
    pub(crate) const fn prefix(self) -> &'static str {
        match self {
            Tier::Lite | Tier::Bujo => "RM",
            Tier::Journal => "J",
        }
    }
}

/// What a store is made of.
pub struct StoreParts {
    /// The notes.
    pub files: Arc<dyn NoteFiles>,
    /// The index.
    pub index: Arc<dyn Index>,
    /// What is never stored.
    pub refusal: Refusal,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Vectors; `None` = full text alone.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// How much it does.
    pub tier: Tier,
    /// Whether nothing may be written to the notes.
    pub read_only: bool,
}

/// A memory. Clones are the same memory.
#[derive(Clone)]
pub struct MemoryStore {
    pub(crate) parts: Arc<StoreParts>,
}

/// How a reading stands to the notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// The index is up to them.
    Fresh,
    /// Another process is writing, or they could not be read as a whole.
    Behind,
}

impl MemoryStore {
    /// A memory of its parts. Nothing is opened or read yet.
    pub fn new(parts: StoreParts) -> Self {
        MemoryStore { parts: Arc::new(parts) }
    }

    /// Whether facts can be stored (REM-2).
    pub fn is_writable(&self) -> bool {
        !self.parts.read_only
    }

    /// How much it does.
    pub fn tier(&self) -> Tier {
        self.parts.tier
    }

    pub(crate) fn files(&self) -> &dyn NoteFiles {
        self.parts.files.as_ref()
    }

    pub(crate) fn index(&self) -> &dyn Index {
        self.parts.index.as_ref()
    }

    /// Brings the index up to the notes, where that is needed.
    pub(crate) fn refresh(&self) -> Result<Freshness, SyncError> {
        let (files, index) = (self.files(), self.index());
        if sync::behind(files, index)?.is_empty() {
            return Ok(Freshness::Fresh);
        }
        let _writer = match files.lock(READ_WAIT, false) {
            Ok(writer) => writer,
            Err(NoteError::Busy | NoteError::Fenced) => return Ok(Freshness::Behind),
            Err(err) => return Err(err.into()),
        };
        match sync::sync(files, index) {
            Ok(()) => Ok(Freshness::Fresh),
            // A part that can't be read must not hide the rest.
            Err(SyncError::Notes(_)) => Ok(Freshness::Behind),
            Err(err) => Err(err),
        }
    }

    /// Leaves out what another place of the same id takes back, and repeated ids.
    pub(crate) fn settle(&self, rows: Vec<(FactRow, f32)>) -> Result<Vec<(FactRow, f32)>, SyncError> {
        let mut kept: Vec<(FactRow, f32)> = Vec::with_capacity(rows.len());
        for (row, score) in rows {
            let seen =
                kept.iter().any(|(it, _)| it.bullet.id == row.bullet.id || it.bullet.text == row.bullet.text);
            if !seen && self.index().by_id(&row.bullet.id)?.iter().all(|it| it.bullet.status.is_live()) {
                kept.push((row, score));
            }
        }
        Ok(kept)
    }
}
