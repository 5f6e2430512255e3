//! Storing one fact (REM-1 to REM-6).
//!
//! Under the lock: the index is asked, then brought up to all of the notes, then asked again. So a fact whose
//! index row is missing is completed, a fact that somebody removed by hand is not said to be there, and two
//! writers never store the same fact twice.

use crate::bullet::{Bullet, DELIMITER, Status, instant};
use crate::intake::{CompletedTurn, Speaker};
use crate::refusal::unsafe_characters;
use crate::store::WRITE_WAIT;
use crate::sync::{self, SyncError, fact};
use crate::{
    Appended, IndexedSource, MemoryStore, NoteError, NoteWriter, Refused, SourceName, SourceUpdate,
    content_hash, normal, parse, render,
};
use host_ports::BoxFuture;
use host_ports::memory::{FACT_CHARS_MAX, Remember, RememberError, Remembered};
use host_vocab::text::one_line;

/// The longest summary of a turn in characters.
const SUMMARY_CHARS_MAX: usize = 2000;

impl Remember for MemoryStore {
    fn remember<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Remembered, RememberError>> {
        let (store, text) = (self.clone(), text.to_owned());
        Box::pin(async move {
            // Once begun it goes on to its end, also when the caller is gone.
            match tokio::task::spawn_blocking(move || store.remember_now(&text)).await {
                Ok(done) => done,
                Err(_) => Err(RememberError::Uncertain),
            }
        })
    }
}

/// Where a fact stands already.
struct Place {
    bullet: Bullet,
    source: SourceName,
}

impl MemoryStore {
    /// Stores one fact on this thread.
    ///
    /// # Errors
    /// See [`RememberError`].
    pub fn remember_now(&self, text: &str) -> Result<Remembered, RememberError> {
        if !self.is_writable() {
            return Err(RememberError::Unsupported);
        }
        self.store_text(self.accepted(text)?)
    }

    /// Notes the host's own summary of a completed turn (`memory.writeMode: append-host-summary`), once for
    /// each content; secrets are taken out, and what is long is cut. `None` = there is nothing to note.
    ///
    /// # Errors
    /// See [`RememberError`].
    pub fn note_summary(&self, turn: &CompletedTurn) -> Result<Option<Remembered>, RememberError> {
        if !self.is_writable() {
            return Err(RememberError::Unsupported);
        }
        let Some(text) = self.summary(turn) else { return Ok(None) };
        match self.parts.refusal.check(&text) {
            Ok(()) => self.store_text(normal(&text)).map(Some),
            Err(Refused::Secret) => Err(RememberError::Secret),
            Err(Refused::Unsafe(what)) => Err(RememberError::Unsafe { what }),
        }
    }

    /// A completed turn in one line without secrets; `None` where there is nothing to note.
    pub(crate) fn summary(&self, turn: &CompletedTurn) -> Option<String> {
        if host_run::is_silent(&turn.answer) || turn.answer.trim().is_empty() {
            return None;
        }
        let said = match turn.speaker {
            Speaker::Trigger => String::new(),
            Speaker::HumanTurn | Speaker::Unknown => one_line(&turn.said, SUMMARY_CHARS_MAX / 3),
        };
        let label = one_line(&turn.label, 40);
        let asked = if said.trim().is_empty() { label } else { format!("{label}: {said}") };
        let text = format!("{asked} · Assistant: {}", one_line(&turn.answer, SUMMARY_CHARS_MAX));
        let text = normal(&self.parts.refusal.scrubbed(&text)).replace(DELIMITER, "<!-- mem");
        Some(text.chars().filter(|c| !is_unsafe(*c)).collect())
    }

    /// Stores words that passed every check.
    fn store_text(&self, text: String) -> Result<Remembered, RememberError> {
        let hash = content_hash(&text);
        let id = format!("{}-{hash}", self.tier().prefix());
        let mut writer = self.files().lock(WRITE_WAIT, false).map_err(|err| not_stored(&err))?;
        let was_indexed = self.index().by_text(&text).is_ok_and(|rows| !rows.is_empty());
        let (places, indexed) = match self.places(&text, &hash) {
            Ok(places) => (places, true),
            Err(SyncError::Index(_)) => (self.scan(&text, &hash)?, false),
            Err(SyncError::Notes(err)) => return Err(not_stored(&err)),
        };
        if let Some(place) = standing(&places, &text)? {
            let (id, source) = (place.bullet.id.clone(), place.source.to_string());
            if !indexed {
                return Err(RememberError::Unindexed { id, text, place: source });
            }
            return Ok(Remembered {
                id,
                text,
                duplicate: was_indexed,
                recovered: !was_indexed,
                bytes_written: 0,
                source,
            });
        }
        self.append(writer.as_mut(), id, text, indexed)
    }

    /// The words as they would be stored, if they may be.
    fn accepted(&self, text: &str) -> Result<String, RememberError> {
        // Normalising makes a text at most a few times longer; far over the bound it isn't worth the work.
        if text.len() > 64 * 1024 {
            return Err(RememberError::TooLong { chars: text.chars().count() });
        }
        let text = normal(text);
        if text.is_empty() {
            return Err(RememberError::Empty);
        }
        match self.parts.refusal.check(&text) {
            Err(Refused::Unsafe(what)) => return Err(RememberError::Unsafe { what }),
            Err(Refused::Secret) => return Err(RememberError::Secret),
            Ok(()) => {}
        }
        if text.contains(DELIMITER) {
            return Err(RememberError::Unsafe { what: "the mark of a stored line" });
        }
        let chars = text.chars().count();
        if chars > FACT_CHARS_MAX {
            return Err(RememberError::TooLong { chars });
        }
        Ok(text)
    }

    /// Where the fact stands in all of the notes, by way of the index.
    fn places(&self, text: &str, hash: &str) -> Result<Vec<Place>, SyncError> {
        sync::sync(self.files(), self.index())?;
        let index = self.index();
        let mut rows = index.by_id(&format!("RM-{hash}"))?;
        rows.extend(index.by_id(&format!("J-{hash}"))?);
        // The same words under another id (a captured fact, another program's form) are the same fact: known,
        // superseded, or forgotten for good.
        rows.extend(index.by_text(text)?);
        Ok(rows.into_iter().map(|it| Place { bullet: it.bullet, source: it.source }).collect())
    }

    /// The same without an index: reads all of the notes.
    fn scan(&self, text: &str, hash: &str) -> Result<Vec<Place>, RememberError> {
        let mut places = Vec::new();
        for listed in self.files().list().map_err(|err| not_stored(&err))? {
            let (notes, _) = self.files().read(&listed.name).map_err(|err| not_stored(&err))?;
            for found in parse(&notes).0 {
                let bullet = found.bullet;
                let same_id =
                    bullet.id.strip_prefix("RM-").or_else(|| bullet.id.strip_prefix("J-")) == Some(hash);
                if same_id || bullet.text == text {
                    places.push(Place { bullet, source: listed.name.clone() });
                }
            }
        }
        Ok(places)
    }

    fn append(
        &self,
        writer: &mut dyn NoteWriter,
        id: String,
        text: String,
        indexed: bool,
    ) -> Result<Remembered, RememberError> {
        let now = self.parts.clock.now_ms();
        let today = instant(now)[..10].to_owned();
        let failed = RememberError::NotStored { why: "the clock shows no date of the calendar" };
        let source = SourceName::daily(&today).ok_or(failed)?;
        if self.is_hidden_by(&source, indexed)? {
            return Err(RememberError::LegacyLayout { date: today });
        }
        let bullet = Bullet::note(id.clone(), text.clone(), now);
        let record =
            render(&bullet).map_err(|_| RememberError::Unsafe { what: "characters of the format" })?;
        let done = writer.append(&source, &record).map_err(|err| match err {
            NoteError::Uncertain { .. } => RememberError::Uncertain,
            err => not_stored(&err),
        })?;
        let place = source.to_string();
        let known = indexed && self.take_in(&source, &done, &record, bullet).is_ok();
        if !known {
            return Err(RememberError::Unindexed { id, text, place });
        }
        let bytes_written = record.len() as u64 + done.lead_bytes;
        Ok(Remembered { id, text, duplicate: false, recovered: false, bytes_written, source: place })
    }

    /// Whether the day stands in the old layout alone, so that a new file would hide it (REM-6). The index was
    /// just brought up to the notes, so it knows without another look at the folder.
    fn is_hidden_by(&self, source: &SourceName, indexed: bool) -> Result<bool, RememberError> {
        let Some(old) = SourceName::legacy(source.date()) else { return Ok(false) };
        if indexed && let Ok(found) = self.index().source(&old) {
            return Ok(found.is_some());
        }
        let listed = self.files().list().map_err(|err| not_stored(&err))?;
        Ok(listed.iter().any(|it| it.name == old))
    }

    /// Adds what was just appended to the index, without reading the file again where nothing else changed.
    fn take_in(
        &self,
        name: &SourceName,
        done: &Appended,
        record: &str,
        bullet: Bullet,
    ) -> Result<(), SyncError> {
        let before = self.index().source(name)?;
        let (read_bytes, sum) = match (&before, done.before) {
            (None, None) => (0, sync::SUM_START),
            (Some(it), Some(was)) if it.fingerprint == was && it.read_bytes == was.bytes && !done.mended => {
                (it.read_bytes, it.sum)
            }
            _ => return sync::sync(self.files(), self.index()),
        };
        let lead = if done.lead_bytes > 0 { "\n" } else { "" };
        let sum = sync::sum(sync::sum(sum, lead.as_bytes()), record.as_bytes());
        let read_bytes = read_bytes + done.lead_bytes + record.len() as u64;
        let source = IndexedSource { name: name.clone(), fingerprint: done.after, read_bytes, sum };
        let update = SourceUpdate { source, replace: false, facts: vec![fact(bullet)] };
        Ok(self.index().update(&[update], &[])?)
    }
}

/// The place that makes a fact known already; an error where it can't be stored again.
fn standing<'a>(places: &'a [Place], text: &str) -> Result<Option<&'a Place>, RememberError> {
    if places.iter().any(|it| it.bullet.status == Status::Dropped) {
        return Err(RememberError::Forgotten);
    }
    if let Some(other) = places.iter().find(|it| it.bullet.text != text) {
        return Err(RememberError::Conflict { id: other.bullet.id.clone() });
    }
    if places.iter().any(|it| it.bullet.status == Status::Invalidated) {
        return Err(RememberError::Superseded);
    }
    Ok(places.first())
}

fn is_unsafe(c: char) -> bool {
    unsafe_characters(c.encode_utf8(&mut [0; 4])).is_some()
}

/// Nothing was written, for a reason without paths.
fn not_stored(err: &NoteError) -> RememberError {
    RememberError::NotStored {
        why: match err {
            NoteError::Busy => "another process is writing to this memory",
            NoteError::Fenced => "an operator's change to this memory is not finished",
            NoteError::NoSpace => "no space is left on the disk",
            NoteError::Unsafe { .. } => {
                "a file of the notes is not a plain file of this user's own (mono-agent memory audit names it)"
            }
            NoteError::TooLarge { .. } => {
                "a file of the notes is too large (mono-agent memory audit names it)"
            }
            NoteError::NotText { .. } => "a file of the notes is no text (mono-agent memory audit names it)",
            NoteError::Missing { .. } | NoteError::Io { .. } | NoteError::Uncertain { .. } => {
                "the memory could not be read or written"
            }
        },
    }
}
