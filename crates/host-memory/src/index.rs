//! The index, as this crate needs it. `host-store` answers. It is derived: whatever is in it comes from the
//! notes. Every method blocks.

use crate::{Bullet, Fingerprint, SourceName};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One fact for the index.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// The bullet.
    pub bullet: Bullet,
    /// Its words for full text, made by [`crate::terms`], with single spaces.
    pub terms: String,
}

/// One fact of the index.
#[derive(Debug, Clone, PartialEq)]
pub struct FactRow {
    /// Its row.
    pub row: i64,
    /// The bullet.
    pub bullet: Bullet,
    /// Where it stands.
    pub source: SourceName,
}

/// How far a source is in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedSource {
    /// Its name.
    pub name: SourceName,
    /// How it was then.
    pub fingerprint: Fingerprint,
    /// How many bytes from its start were read as whole records.
    pub read_bytes: u64,
    /// The sum of those bytes.
    pub sum: u64,
}

/// What of a source is new.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceUpdate {
    /// Where it stands now.
    pub source: IndexedSource,
    /// Whether everything of the source that is in the index goes first.
    pub replace: bool,
    /// The facts.
    pub facts: Vec<Fact>,
}

/// Which model made the vectors.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VectorIdentity {
    /// Whose.
    pub provider: String,
    /// Which.
    pub model: String,
    /// How many numbers.
    pub dim: usize,
}

/// What is in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexCounts {
    /// Facts, each id once.
    pub memories: u64,
    /// Those that are recalled.
    pub live: u64,
    /// Those that were forgotten.
    pub dropped: u64,
    /// Those that were superseded.
    pub invalidated: u64,
    /// Sources.
    pub sources: u64,
    /// Live facts with a vector.
    pub vectors: u64,
    /// Live facts without one.
    pub missing_vectors: u64,
    /// Ids that stand in the notes more than once.
    pub repeated_ids: u64,
}

/// Why the index could not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// Its file can't be used.
    #[error("the memory index can't be used: {0}")]
    Failed(String),
    /// Its vectors are another model's.
    #[error("the vectors were made by {found}; run `mono-agent memory rebuild`")]
    Vectors {
        /// The model.
        found: String,
    },
}

/// The index.
pub trait Index: Send + Sync {
    /// Every source that is in it. Asking again costs little where nothing changed.
    ///
    /// # Errors
    /// See [`IndexError`].
    fn sources(&self) -> Result<Arc<BTreeMap<SourceName, IndexedSource>>, IndexError>;

    /// One source, where it is in it.
    ///
    /// # Errors
    /// See [`IndexError`].
    fn source(&self, name: &SourceName) -> Result<Option<IndexedSource>, IndexError>;

    /// Takes sources in and drops others, all or nothing. Only who may write to the notes calls it.
    ///
    /// # Errors
    /// See [`IndexError`].
    fn update(&self, updates: &[SourceUpdate], gone: &[SourceName]) -> Result<(), IndexError>;

    /// Takes very many sources into an index that has none, as they come, all or nothing.
    ///
    /// # Errors
    /// See [`IndexError`].
    fn fill(&self, updates: &mut dyn Iterator<Item = SourceUpdate>) -> Result<(), IndexError>;

    /// Empties it. Vectors stay where their words and their model do.
    ///
    /// # Errors
    /// See [`IndexError`].
    fn clear(&self) -> Result<(), IndexError>;

    /// Every place where an id stands.
    ///
    /// # Errors
    /// See [`IndexError`].
    fn by_id(&self, id: &str) -> Result<Vec<FactRow>, IndexError>;

    /// Every place where these very words stand.
    ///
    /// # Errors
    /// See [`IndexError`].
    fn by_text(&self, text: &str) -> Result<Vec<FactRow>, IndexError>;

    /// In how many live facts each word is, and how many there are.
    ///
    /// # Errors
    /// See [`IndexError`].
    fn frequencies(&self, terms: &[String]) -> Result<(Vec<u64>, u64), IndexError>;

    /// Rows of live facts with all of these words (a word that ends in `*` is a beginning), the newest first.
    ///
    /// # Errors
    /// See [`IndexError`].
    fn matching(&self, all_of: &[String], limit: usize) -> Result<Vec<i64>, IndexError>;

    /// Facts by row.
    ///
    /// # Errors
    /// See [`IndexError`].
    fn rows(&self, rows: &[i64]) -> Result<Vec<FactRow>, IndexError>;

    /// Facts that were noted in `[from_ms, until_ms)` and not forgotten, by time and id.
    ///
    /// # Errors
    /// See [`IndexError`].
    fn between(&self, from_ms: i64, until_ms: i64, limit: usize) -> Result<Vec<FactRow>, IndexError>;

    /// The newest live facts.
    ///
    /// # Errors
    /// See [`IndexError`].
    fn newest(&self, limit: usize) -> Result<Vec<FactRow>, IndexError>;

    /// What is in it.
    ///
    /// # Errors
    /// See [`IndexError`].
    fn counts(&self) -> Result<IndexCounts, IndexError>;

    /// Says whose vectors are used from now on. With `replace`, others' vectors go.
    ///
    /// # Errors
    /// [`IndexError::Vectors`] where others' are there.
    fn use_vectors(&self, identity: &VectorIdentity, replace: bool) -> Result<(), IndexError>;

    /// Live facts without a vector.
    ///
    /// # Errors
    /// See [`IndexError`].
    fn without_vector(&self, limit: usize) -> Result<Vec<(i64, String)>, IndexError>;

    /// Stores vectors of rows, as one byte a number.
    ///
    /// # Errors
    /// See [`IndexError`].
    fn put_vectors(&self, vectors: &[(i64, Vec<f32>)]) -> Result<(), IndexError>;

    /// The live facts nearest to a vector with their cosine, best first.
    ///
    /// # Errors
    /// See [`IndexError`].
    fn nearest(&self, vector: &[f32], limit: usize) -> Result<Vec<(i64, f32)>, IndexError>;

    /// The cosine of rows to a vector, where they have one.
    ///
    /// # Errors
    /// See [`IndexError`].
    fn cosines(&self, vector: &[f32], rows: &[i64]) -> Result<Vec<(i64, f32)>, IndexError>;

    /// Whether the index is sound in itself: the words that are wrong with it, none = sound.
    ///
    /// # Errors
    /// See [`IndexError`].
    fn check(&self) -> Result<Vec<&'static str>, IndexError>;
}
