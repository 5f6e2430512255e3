//! The index of long-term memory ([`host_memory::Index`]), in a file of its own that can be lost: it is
//! built anew from the notes.
//!
//! Full text is FTS5 over words that `host-memory` made, so the tokenizer here only parts at spaces. The
//! ranking is `host-memory`'s as well: this module finds, it doesn't judge. Vectors go by the sum of the words
//! that they were made from, so that a rebuild keeps them.

mod facts;
mod known;
mod tables;
mod vectors;

use crate::held::Held;
use crate::{connection, folder};
use facts::CommonWords;
use host_memory::{
    FactRow, Index, IndexCounts, IndexError, IndexedSource, SourceName, SourceUpdate, VectorIdentity,
};
use known::KnownSources;
use rusqlite::{Connection, ErrorCode};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use vectors::VectorCache;

/// The index, opened when it is first needed. Threads take turns; processes may share the file.
pub struct MemoryIndex {
    path: PathBuf,
    open: Mutex<Option<Open>>,
}

struct Open {
    conn: Connection,
    inode: u64,
    vectors: VectorCache,
    common: CommonWords,
    sources: KnownSources,
    /// After the connection, so that it is let go of last.
    _held: Held,
}

impl MemoryIndex {
    /// The index at a path; nothing is opened yet.
    pub fn new(path: &Path) -> Self {
        MemoryIndex { path: path.to_owned(), open: Mutex::default() }
    }

    /// Runs `work` on the file, opening it first. A damaged file, or one that isn't ours, is made anew, once.
    fn with<T>(&self, mut work: impl FnMut(&mut Open) -> rusqlite::Result<T>) -> Result<T, IndexError> {
        let mut slot = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // Another process may have put a new file in its place.
        if let Some(open) = slot.as_ref()
            && std::fs::metadata(&self.path).map(|it| it.ino()).ok() != Some(open.inode)
        {
            *slot = None;
        }
        for attempt in 0..2 {
            let done = match slot.take() {
                Some(open) => Ok(open),
                None => self.open_file(),
            }
            .and_then(|open| work(slot.insert(open)));
            match done {
                Err(error) if attempt == 0 && is_damage(&error) => {
                    tracing::warn!("the memory index is damaged; it is built anew from the notes");
                    *slot = None;
                    tables::drop_files(&self.path);
                }
                done => return done.map_err(|error| IndexError::Failed(why(&error))),
            }
        }
        Err(IndexError::Failed("it is damaged".to_owned()))
    }

    fn open_file(&self) -> rusqlite::Result<Open> {
        let (conn, held) = tables::open(&self.path)?;
        let inode = std::fs::metadata(&self.path).map_or(0, |it| it.ino());
        let (vectors, common, sources) = Default::default();
        Ok(Open { conn, inode, vectors, common, sources, _held: held })
    }
}

/// A fault in words without paths.
fn why(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "it is busy".to_owned(),
        Some(ErrorCode::DiskFull) => "the disk is full".to_owned(),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            "its file can't be opened for writing".to_owned()
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => "it is damaged".to_owned(),
        Some(code) => format!("{code:?}"),
        None => "its file can't be used".to_owned(),
    }
}

fn is_damage(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown) => true,
        Some(_) => false,
        None => matches!(
            error,
            rusqlite::Error::QueryReturnedNoRows
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::FromSqlConversionFailure(..)
        ),
    }
}

/// Runs `work` in one transaction that writes.
pub(crate) fn transaction<T>(
    conn: &Connection,
    work: impl FnOnce() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let done = work().and_then(|value| {
        conn.prepare_cached("COMMIT")?.execute([])?;
        Ok(value)
    });
    if done.is_err() && !conn.is_autocommit() {
        let _ = conn.execute_batch("ROLLBACK");
    }
    done
}

impl Index for MemoryIndex {
    fn sources(&self) -> Result<Arc<BTreeMap<SourceName, IndexedSource>>, IndexError> {
        self.with(|open| open.sources.all(&open.conn))
    }

    fn source(&self, name: &SourceName) -> Result<Option<IndexedSource>, IndexError> {
        self.with(|open| facts::source(&open.conn, name))
    }

    fn update(&self, updates: &[SourceUpdate], gone: &[SourceName]) -> Result<(), IndexError> {
        self.with(|open| {
            let done = transaction(&open.conn, || facts::update(&open.conn, updates, gone));
            match &done {
                Ok(()) => open.sources.committed(updates, gone),
                Err(_) => open.sources.forget(),
            }
            done
        })
    }

    fn fill(&self, updates: &mut dyn Iterator<Item = SourceUpdate>) -> Result<(), IndexError> {
        let mut begun = false;
        self.with(|open| {
            // What came once can't come again: a file that is damaged in between is the next attempt's.
            if std::mem::replace(&mut begun, true) {
                return Err(rusqlite::Error::InvalidQuery);
            }
            open.sources.forget();
            transaction(&open.conn, || facts::fill(&open.conn, updates))
        })
    }

    fn clear(&self) -> Result<(), IndexError> {
        self.with(|open| {
            (open.vectors, open.common, open.sources) = Default::default();
            tables::clear(&open.conn)
        })
    }

    fn by_id(&self, id: &str) -> Result<Vec<FactRow>, IndexError> {
        self.with(|open| facts::by_id(&open.conn, id))
    }

    fn by_text(&self, text: &str) -> Result<Vec<FactRow>, IndexError> {
        self.with(|open| facts::by_text(&open.conn, text))
    }

    fn frequencies(&self, terms: &[String]) -> Result<(Vec<u64>, u64), IndexError> {
        self.with(|open| facts::frequencies(&open.conn, &mut open.common, terms))
    }

    fn matching(&self, all_of: &[String], limit: usize) -> Result<Vec<i64>, IndexError> {
        self.with(|open| facts::matching(&open.conn, all_of, limit))
    }

    fn rows(&self, rows: &[i64]) -> Result<Vec<FactRow>, IndexError> {
        self.with(|open| facts::rows(&open.conn, rows))
    }

    fn between(&self, from_ms: i64, until_ms: i64, limit: usize) -> Result<Vec<FactRow>, IndexError> {
        self.with(|open| facts::between(&open.conn, from_ms, until_ms, limit))
    }

    fn newest(&self, limit: usize) -> Result<Vec<FactRow>, IndexError> {
        self.with(|open| facts::newest(&open.conn, limit))
    }

    fn counts(&self) -> Result<IndexCounts, IndexError> {
        self.with(|open| facts::counts(&open.conn))
    }

    fn use_vectors(&self, identity: &VectorIdentity, replace: bool) -> Result<(), IndexError> {
        let found = self.with(|open| {
            let found = vectors::identity(&open.conn)?;
            if found.as_ref() == Some(identity) || (found.is_some() && !replace) {
                return Ok(found);
            }
            open.vectors = VectorCache::default();
            transaction(&open.conn, || vectors::begin(&open.conn, identity))?;
            Ok(Some(identity.clone()))
        })?;
        match found {
            Some(found) if found != *identity => Err(IndexError::Vectors {
                found: format!("{}:{} with {} numbers", found.provider, found.model, found.dim),
            }),
            _ => Ok(()),
        }
    }

    fn without_vector(&self, limit: usize) -> Result<Vec<(i64, String)>, IndexError> {
        self.with(|open| vectors::missing(&open.conn, limit))
    }

    fn put_vectors(&self, vectors: &[(i64, Vec<f32>)]) -> Result<(), IndexError> {
        self.with(|open| transaction(&open.conn, || vectors::put(&open.conn, vectors)))
    }

    fn nearest(&self, vector: &[f32], limit: usize) -> Result<Vec<(i64, f32)>, IndexError> {
        self.with(|open| {
            open.vectors.refresh(&open.conn)?;
            open.vectors.nearest(&open.conn, vector, limit)
        })
    }

    fn cosines(&self, vector: &[f32], rows: &[i64]) -> Result<Vec<(i64, f32)>, IndexError> {
        self.with(|open| {
            open.vectors.refresh(&open.conn)?;
            open.vectors.cosines(&open.conn, vector, rows)
        })
    }

    fn check(&self) -> Result<Vec<&'static str>, IndexError> {
        self.with(|open| tables::check(&open.conn))
    }
}
