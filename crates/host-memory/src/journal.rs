//! Memory by date: snapshots that stay as they were, and pages of them (JRN-1 to JRN-6).

mod cursor;
mod range;

use crate::bullet::instant;
use crate::{FactRow, MemoryStore, Status};
use cursor::{Key, Place};
use host_ports::BoxFuture;
use host_ports::memory::{
    Journal, JournalCoverage, JournalEntry, JournalError, JournalKey, JournalPage, JournalRange, JournalSpan,
};
use host_vocab::RunId;
use range::Span;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// The page size where the call doesn't say, and its bound.
const LIMIT_DEFAULT: usize = 10;
const LIMIT_MAX: i64 = 25;
/// The bounds of a snapshot.
const ENTRIES_MAX: usize = 1000;
const SNAPSHOT_BYTES_MAX: usize = 2 * 1024 * 1024;
/// The most snapshots of one run.
const SNAPSHOTS_MAX: usize = 4;
/// The bounds of a page.
const TEXT_BYTES_MAX: usize = 2048;
const PAGE_BYTES_MAX: usize = 8 * 1024;
/// How many runs are remembered; the oldest one's snapshots go first. Ended runs leave by themselves.
const RUNS_MAX: usize = 256;

/// A range frozen for one run.
struct Snapshot {
    span: Span,
    limit: usize,
    entries: Vec<JournalEntry>,
    truncation: Option<&'static str>,
    /// Where pages begin that a cursor was given for.
    issued: BTreeSet<usize>,
}

#[derive(Default)]
struct Runs {
    by_run: HashMap<RunId, Vec<Snapshot>>,
    order: VecDeque<RunId>,
}

/// The journal of one memory: it keeps the runs' snapshots.
pub struct JournalDesk {
    store: MemoryStore,
    key: Key,
    runs: Arc<Mutex<Runs>>,
}

impl JournalDesk {
    /// Over a memory. Cursors are good for this desk alone.
    pub fn new(store: MemoryStore) -> Self {
        JournalDesk { store, key: Key::fresh(), runs: Arc::default() }
    }

    async fn open(&self, run: &RunId, range: &JournalRange) -> Result<JournalPage, JournalError> {
        let limit = match range.limit {
            None => LIMIT_DEFAULT,
            Some(limit @ 1..=LIMIT_MAX) => usize::try_from(limit).unwrap_or(LIMIT_DEFAULT),
            Some(_) => return Err(JournalError::Limit { limit_max: LIMIT_MAX }),
        };
        let span = Span::resolve(range)?;
        let full = |runs: &Runs| runs.by_run.get(run).is_some_and(|it| it.len() >= SNAPSHOTS_MAX);
        let too_many = JournalError::Snapshots { snapshots_max: SNAPSHOTS_MAX };
        if full(&self.runs.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Err(too_many);
        }
        let (store, scanned) = (self.store.clone(), span.clone());
        let frozen = tokio::task::spawn_blocking(move || freeze(&store, scanned, limit)).await;
        let snapshot = frozen.ok().flatten().ok_or(JournalError::Unavailable)?;
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if full(&runs) {
            return Err(too_many);
        }
        if !runs.by_run.contains_key(run) {
            runs.order.push_back(run.clone());
            if runs.order.len() > RUNS_MAX
                && let Some(oldest) = runs.order.pop_front()
            {
                runs.by_run.remove(&oldest);
            }
        }
        let snapshots = runs.by_run.entry(run.clone()).or_default();
        snapshots.push(snapshot);
        let at = snapshots.len() - 1;
        Ok(self.page(run, &mut snapshots[at], at, 0))
    }

    fn turn(&self, run: &RunId, cursor: &str) -> Result<JournalPage, JournalError> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshots = runs.by_run.get_mut(run).ok_or(JournalError::Cursor)?;
        let place = Place::claimed(cursor).ok_or(JournalError::Cursor)?;
        let snapshot = snapshots.get_mut(place.snapshot).ok_or(JournalError::Cursor)?;
        let genuine = self.key.verifies(cursor, run, &snapshot.span, snapshot.limit, place);
        if !genuine || !snapshot.issued.contains(&place.offset) {
            return Err(JournalError::Cursor);
        }
        Ok(self.page(run, snapshot, place.snapshot, place.offset))
    }

    fn page(&self, run: &RunId, snapshot: &mut Snapshot, at: usize, offset: usize) -> JournalPage {
        let mut bytes = 2;
        let mut entries = Vec::new();
        for entry in snapshot.entries.iter().skip(offset).take(snapshot.limit) {
            bytes += written_bytes(entry) + 1;
            if bytes > PAGE_BYTES_MAX && !entries.is_empty() {
                break;
            }
            entries.push(entry.clone());
        }
        let next = offset + entries.len();
        let has_next_page = next < snapshot.entries.len();
        let next_cursor = has_next_page.then(|| {
            snapshot.issued.insert(next);
            self.key.cursor(run, &snapshot.span, snapshot.limit, Place { snapshot: at, offset: next })
        });
        let key =
            |entry: &JournalEntry| JournalKey { created_at: entry.created_at.clone(), id: entry.id.clone() };
        JournalPage {
            status: "ok",
            evidence_kind: "curated_memory_summary",
            untrusted: true,
            no_data: snapshot.entries.is_empty() && snapshot.truncation.is_none(),
            range: snapshot.span.shown(),
            coverage: JournalCoverage {
                snapshot_entries: snapshot.entries.len(),
                offset,
                returned: entries.len(),
                has_next_page,
                range_complete: snapshot.truncation.is_none(),
                truncation: snapshot.truncation.map(str::to_owned),
                last_included: snapshot.entries.last().map(key),
            },
            entries,
            next_cursor,
        }
    }
}

impl Journal for JournalDesk {
    fn first<'a>(
        &'a self,
        run: &'a RunId,
        range: &'a JournalRange,
    ) -> BoxFuture<'a, Result<JournalPage, JournalError>> {
        Box::pin(self.open(run, range))
    }

    fn next<'a>(
        &'a self,
        run: &'a RunId,
        cursor: &'a str,
    ) -> BoxFuture<'a, Result<JournalPage, JournalError>> {
        Box::pin(async move { self.turn(run, cursor) })
    }

    fn end(&self, run: &RunId) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.by_run.remove(run);
        runs.order.retain(|it| it != run);
    }
}

fn written_bytes(entry: &JournalEntry) -> usize {
    serde_json::to_string(entry).map_or(usize::MAX / 2, |text| text.len())
}

/// All entries of a span within the bounds; nothing where notes or index fail, or the index is behind: an
/// incomplete answer must not look like a whole one.
fn freeze(store: &MemoryStore, span: Span, limit: usize) -> Option<Snapshot> {
    if store.refresh().ok()? == crate::store::Freshness::Behind {
        return None;
    }
    let rows = store.index().between(span.from_ms, span.until_ms, ENTRIES_MAX + 1).ok()?;
    let mut truncation = (rows.len() > ENTRIES_MAX).then_some("entry_limit");
    let mut entries: Vec<JournalEntry> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let mut bytes = 0;
    for row in rows.into_iter().take(ENTRIES_MAX) {
        if !seen.insert(row.bullet.id.clone()) || forgotten(store, &row)? {
            continue;
        }
        let entry = entry(store, row);
        bytes += written_bytes(&entry);
        if bytes > SNAPSHOT_BYTES_MAX {
            truncation = Some("byte_limit");
            break;
        }
        entries.push(entry);
    }
    Some(Snapshot { span, limit, entries, truncation, issued: BTreeSet::new() })
}

/// Whether another place of the same id takes it back.
fn forgotten(store: &MemoryStore, row: &FactRow) -> Option<bool> {
    let places = store.index().by_id(&row.bullet.id).ok()?;
    Some(places.iter().any(|it| it.bullet.status == Status::Dropped))
}

fn entry(store: &MemoryStore, row: FactRow) -> JournalEntry {
    let bullet = row.bullet;
    let (text, text_truncated) = store.shown(&bullet.text, TEXT_BYTES_MAX);
    let lifecycle = if bullet.status == Status::Invalidated { "superseded" } else { "active" };
    JournalEntry {
        created_at: instant(bullet.created_ms()),
        kind: bullet.kind.as_str().to_owned(),
        lifecycle: lifecycle.to_owned(),
        status: bullet.status.as_str().to_owned(),
        supersedes: bullet.supersedes().map(|id| store.shown_id(id)),
        id: store.shown_id(&bullet.id),
        text,
        text_truncated,
        source: row.source.to_string(),
    }
}

impl Span {
    fn shown(&self) -> JournalSpan {
        JournalSpan {
            from_date: self.from_date.to_string(),
            through_date: self.through_date.to_string(),
            time_zone: self.time_zone.clone(),
            from_instant: instant(self.from_ms),
            until_instant: instant(self.until_ms),
        }
    }
}
