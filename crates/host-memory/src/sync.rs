//! Bringing the index up to the notes. Only who holds the lock of writers does it.

use crate::{
    Fact, Fingerprint, Index, IndexError, IndexedSource, Listed, NoteError, NoteFiles, Parsed, SourceName,
    SourceUpdate, parse, terms,
};
use std::collections::BTreeMap;

/// After how many facts a transaction ends.
const BATCH_FACTS: usize = 50_000;

/// Why the index is not up to the notes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyncError {
    /// The notes.
    #[error(transparent)]
    Notes(#[from] NoteError),
    /// The index.
    #[error(transparent)]
    Index(#[from] IndexError),
}

/// What is not in the index as it is in the notes.
#[derive(Debug, Default)]
pub(crate) struct Behind {
    changed: Vec<(Listed, Option<IndexedSource>)>,
    gone: Vec<SourceName>,
}

impl Behind {
    pub(crate) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.gone.is_empty()
    }
}

/// Compares the notes with the index, by size, time and inode.
pub(crate) fn behind(files: &dyn NoteFiles, index: &dyn Index) -> Result<Behind, SyncError> {
    let listed = files.list()?;
    let mut known: BTreeMap<SourceName, IndexedSource> =
        index.sources()?.into_iter().map(|it| (it.name.clone(), it)).collect();
    let mut behind = Behind::default();
    for source in listed {
        let had = known.remove(&source.name);
        if had.as_ref().is_none_or(|had| had.fingerprint != source.fingerprint) {
            behind.changed.push((source, had));
        }
    }
    behind.gone = known.into_keys().collect();
    Ok(behind)
}

/// Reads what has changed into the index. A source that can't be read doesn't keep the others out; its fault is
/// given back in the end, since then not all of the notes are known.
pub(crate) fn sync(files: &dyn NoteFiles, index: &dyn Index) -> Result<(), SyncError> {
    let behind = behind(files, index)?;
    let mut batch = Vec::new();
    let mut facts = 0;
    let mut fault = None;
    let mut gone = behind.gone;
    for (listed, had) in behind.changed {
        let update = match files.read(&listed.name) {
            Ok((text, fingerprint)) => update_of(&listed.name, &text, fingerprint, had),
            Err(NoteError::Missing { .. }) => {
                gone.push(listed.name);
                continue;
            }
            Err(err) => {
                fault = fault.or(Some(err));
                continue;
            }
        };
        facts += update.facts.len();
        batch.push(update);
        if facts >= BATCH_FACTS {
            index.update(&batch, &[])?;
            batch.clear();
            facts = 0;
        }
    }
    if !batch.is_empty() || !gone.is_empty() {
        index.update(&batch, &gone)?;
    }
    fault.map_or(Ok(()), |err| Err(err.into()))
}

/// What is new in a source: its end alone, where its beginning is as it was.
fn update_of(
    name: &SourceName,
    text: &str,
    fingerprint: Fingerprint,
    had: Option<IndexedSource>,
) -> SourceUpdate {
    let known = had.and_then(|had| {
        let upto = usize::try_from(had.read_bytes).ok()?;
        let first = text.as_bytes().get(..upto)?;
        (text.is_char_boundary(upto) && sum(SUM_START, first) == had.sum).then_some((upto, had.sum))
    });
    let (from, before) = known.unwrap_or((0, SUM_START));
    let (found, resume) = parse(&text[from..]);
    let read = &text.as_bytes()[from..from + resume];
    // What comes after the last whole record is read again the next time, so it is not taken in twice.
    let whole = found.into_iter().filter(|it| it.range.end <= resume);
    SourceUpdate {
        source: IndexedSource {
            name: name.clone(),
            fingerprint,
            read_bytes: (from + resume) as u64,
            sum: sum(before, read),
        },
        replace: known.is_none(),
        facts: whole.map(|Parsed { bullet, .. }| fact(bullet)).collect(),
    }
}

pub(crate) fn fact(bullet: crate::Bullet) -> Fact {
    Fact { terms: terms(&bullet.text).joined(), bullet }
}

pub(crate) const SUM_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, which can go on from where it stopped. It tells an edit from an addition, and keeps out nobody.
pub(crate) fn sum(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
