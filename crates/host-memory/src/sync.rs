//! Bringing the index up to the notes. Only who holds the lock of writers does it.

use crate::graph::{entity_term, is_entity};
use crate::{
    Fact, Fingerprint, Index, IndexError, IndexedSource, Listed, NoteError, NoteFiles, Parsed, SourceName,
    SourceUpdate, parse, terms,
};
use std::collections::BTreeSet;

/// After how many facts a transaction ends.
const BATCH_FACTS: usize = 50_000;
/// Up to how many sources are read on the same thread, and how many a reader is ahead.
const FEW: usize = 8;
const AHEAD: usize = 64;

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
    /// Whether the index has no source at all.
    empty: bool,
}

impl Behind {
    /// The sources that are new or another.
    pub(crate) fn changed(&self) -> impl Iterator<Item = &Listed> {
        self.changed.iter().map(|(listed, _)| listed)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.gone.is_empty()
    }
}

/// Compares the notes with the index, by size, time and inode.
pub(crate) fn behind(files: &dyn NoteFiles, index: &dyn Index) -> Result<Behind, SyncError> {
    let listed = files.list()?;
    let known = index.sources()?;
    let mut behind = Behind { empty: known.is_empty(), ..Behind::default() };
    let mut there = 0;
    for source in &listed {
        let had = known.get(&source.name);
        there += usize::from(had.is_some());
        if had.is_none_or(|had| had.fingerprint != source.fingerprint) {
            behind.changed.push((source.clone(), had.cloned()));
        }
    }
    if there < known.len() {
        let listed: BTreeSet<&SourceName> = listed.iter().map(|it| &it.name).collect();
        behind.gone = known.keys().filter(|it| !listed.contains(it)).cloned().collect();
    }
    Ok(behind)
}

/// Reads what has changed into the index. A source that can't be read doesn't keep the others out; its fault is
/// given back in the end, since then not all of the notes are known.
pub(crate) fn sync(files: &dyn NoteFiles, index: &dyn Index) -> Result<(), SyncError> {
    let Behind { changed, gone, empty } = behind(files, index)?;
    let mut taking = Taking { index, batch: Vec::new(), facts: 0, gone, fault: None };
    let read = |(listed, had): (Listed, Option<IndexedSource>)| {
        let read = files.read(&listed.name);
        (read.map(|(text, fingerprint)| update_of(&listed.name, &text, fingerprint, had)), listed.name)
    };
    if changed.len() <= FEW || !empty {
        for (update, name) in changed.into_iter().map(read) {
            taking.take(update, name)?;
        }
        return taking.end();
    }
    // Many: one thread reads while this one writes, each a bounded number of sources ahead.
    std::thread::scope(|scope| {
        let (send, receive) = std::sync::mpsc::sync_channel(AHEAD);
        scope.spawn(move || {
            for read in changed.into_iter().map(read) {
                if send.send(read).is_err() {
                    return;
                }
            }
        });
        let mut fault = None;
        let mut updates = receive.into_iter().filter_map(|(update, _)| match update {
            Ok(update) => Some(update),
            Err(NoteError::Missing { .. }) => None,
            Err(err) => {
                fault = fault.take().or(Some(err));
                None
            }
        });
        index.fill(&mut updates)?;
        drop(updates);
        fault.map_or(Ok(()), |err| Err(err.into()))
    })
}

/// What was read on its way into the index.
struct Taking<'a> {
    index: &'a dyn Index,
    batch: Vec<SourceUpdate>,
    facts: usize,
    gone: Vec<SourceName>,
    fault: Option<NoteError>,
}

impl Taking<'_> {
    fn take(&mut self, update: Result<SourceUpdate, NoteError>, name: SourceName) -> Result<(), IndexError> {
        match update {
            Ok(update) => {
                self.facts += update.facts.len();
                self.batch.push(update);
            }
            Err(NoteError::Missing { .. }) => self.gone.push(name),
            Err(err) => self.fault = self.fault.take().or(Some(err)),
        }
        if self.facts >= BATCH_FACTS {
            self.index.update(&std::mem::take(&mut self.batch), &[])?;
            self.facts = 0;
        }
        Ok(())
    }

    fn end(self) -> Result<(), SyncError> {
        if !self.batch.is_empty() || !self.gone.is_empty() {
            self.index.update(&self.batch, &self.gone)?;
        }
        self.fault.map_or(Ok(()), |err| Err(err.into()))
    }
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
    let mut words = terms(&bullet.text).joined();
    for id in bullet.refs.iter().filter(|it| is_entity(it)) {
        words.push(' ');
        words.push_str(&entity_term(id));
    }
    Fact { terms: words, bullet }
}

pub(crate) const SUM_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, which can go on from where it stopped. It tells an edit from an addition, and keeps out nobody.
pub(crate) fn sum(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
