//! What an operator asks of a memory: counts, days, facts, health, a new index.

use crate::store::{Freshness, WRITE_WAIT};
use crate::sync::{self, SyncError};
use crate::{IndexCounts, MemoryStore, SourceName, VectorIdentity};
use host_ports::memory::Hit;
use serde::Serialize;

/// The most facts of a day that are shown.
const DAY_FACTS_MAX: usize = 1000;

/// How a memory is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// `lite`, `journal` or `bujo`.
    pub mode: String,
    /// What is in the index.
    pub index: IndexCounts,
    /// Whose vectors they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embeddings: Option<VectorIdentity>,
    /// Whether the index is up to the notes.
    pub up_to_date: bool,
}

/// Why an operator's request was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MaintenanceError {
    /// Notes or index.
    #[error(transparent)]
    Sync(#[from] SyncError),
    /// No such day.
    #[error("'{0}' is no date of the form YYYY-MM-DD")]
    Date(String),
    /// There are no notes of that day.
    #[error("there are no notes of {0}")]
    NoNotes(String),
}

impl From<crate::NoteError> for MaintenanceError {
    fn from(err: crate::NoteError) -> Self {
        MaintenanceError::Sync(err.into())
    }
}

impl From<crate::IndexError> for MaintenanceError {
    fn from(err: crate::IndexError) -> Self {
        MaintenanceError::Sync(err.into())
    }
}

/// One day's notes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DayNotes {
    /// The day.
    pub date: String,
    /// Its file.
    pub source: String,
    /// The facts, in the order of the file, at most 1,000; unsafe texts are left out by a marker.
    pub facts: Vec<Hit>,
    /// How many more there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What a rebuild did.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rebuilt {
    /// What is in the index now.
    pub index: IndexCounts,
    /// How long it took.
    pub took_ms: u64,
}

/// The health of a memory (A14): no paths, ids or texts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// 1.
    pub schema_version: u32,
    /// `bujo`: the built-in store.
    pub backend: &'static str,
    /// The tier.
    pub mode: String,
    /// `healthy`, `in_progress`, `degraded`, `unhealthy` or `unknown`.
    pub status: &'static str,
    /// When (RFC 3339).
    pub checked_at: String,
    /// Closed words.
    pub issues: Vec<&'static str>,
    /// Numbers.
    pub counts: HealthCounts,
}

/// The numbers of [`Health`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HealthCounts {
    /// Turns that wait to be captured.
    pub pending: u64,
    /// Of those, the ones that may be tried now.
    pub due: u64,
    /// Turns that were given up.
    pub dead: u64,
    /// Always 0: this store writes facts and index under one lock.
    pub outbox: u64,
    /// Left-over files of a crash.
    pub temporary: u64,
    /// Facts.
    pub memories: u64,
    /// Live facts with a vector.
    pub vectors: u64,
    /// Live facts without one.
    pub missing_vectors: u64,
}

impl Health {
    /// The exit code of `memory audit --strict`: 0 for healthy, in progress and not configured.
    pub fn exit_code(&self) -> i32 {
        i32::from(!matches!(self.status, "healthy" | "in_progress" | "not_configured"))
    }
}

impl MemoryStore {
    /// How it is. Brings the index up to the notes first.
    ///
    /// # Errors
    /// See [`MaintenanceError`].
    pub fn stats(&self) -> Result<Stats, MaintenanceError> {
        let freshness = self.refresh()?;
        Ok(Stats {
            mode: self.tier().as_str().to_owned(),
            index: self.index().counts()?,
            embeddings: self.parts.embedder.as_ref().map(|it| it.identity()),
            up_to_date: freshness == Freshness::Fresh,
        })
    }

    /// The notes of today (UTC, as the files are named).
    ///
    /// # Errors
    /// See [`MaintenanceError`].
    pub fn today(&self) -> Result<DayNotes, MaintenanceError> {
        let today = crate::bullet::instant(self.parts.clock.now_ms())[..10].to_owned();
        match self.show(&today) {
            Err(MaintenanceError::NoNotes(date)) => {
                Ok(DayNotes { source: format!("daily/{date}.md"), date, facts: Vec::new(), left_out: 0 })
            }
            done => done,
        }
    }

    /// The notes of a day.
    ///
    /// # Errors
    /// See [`MaintenanceError`].
    pub fn show(&self, date: &str) -> Result<DayNotes, MaintenanceError> {
        SourceName::daily(date)
            .ok_or_else(|| MaintenanceError::Date(host_vocab::text::one_line(date, 40)))?;
        let listed = self.files().list()?.into_iter().find(|it| it.name.date() == date);
        let name = listed.ok_or_else(|| MaintenanceError::NoNotes(date.to_owned()))?.name;
        let (text, _) = self.files().read(&name)?;
        let found = crate::parse(&text).0;
        let left_out = found.len().saturating_sub(DAY_FACTS_MAX);
        let rows = found.into_iter().take(DAY_FACTS_MAX).map(|it| crate::FactRow {
            row: 0,
            bullet: it.bullet,
            source: name.clone(),
        });
        let facts = rows.map(|row| self.hit(row, 1.0)).collect();
        Ok(DayNotes { date: date.to_owned(), source: name.to_string(), facts, left_out })
    }

    /// The newest live facts.
    ///
    /// # Errors
    /// See [`MaintenanceError`].
    pub fn top(&self, limit: usize) -> Result<Vec<Hit>, MaintenanceError> {
        self.refresh()?;
        let rows = self.index().newest(limit)?.into_iter().map(|row| (row, 1.0)).collect();
        Ok(self.settle(rows)?.into_iter().map(|(row, score)| self.hit(row, score)).collect())
    }

    /// Builds the index anew from the notes. Vectors stay, where they are of the configured model.
    ///
    /// # Errors
    /// See [`MaintenanceError`].
    pub fn rebuild(&self) -> Result<Rebuilt, MaintenanceError> {
        let begun = self.parts.clock.instant();
        {
            let _writer = self.files().lock(WRITE_WAIT, false)?;
            self.index().clear()?;
            sync::sync(self.files(), self.index())?;
            if let Some(embedder) = &self.parts.embedder {
                self.index().use_vectors(&embedder.identity(), true)?;
            }
        }
        let took = self.parts.clock.instant().saturating_duration_since(begun);
        Ok(Rebuilt {
            index: self.index().counts()?,
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// The sources that can't be read, with the reason. While there is one, nothing new is stored: not all of the
    /// notes are known (REM-3).
    ///
    /// # Errors
    /// See [`MaintenanceError`].
    pub fn unreadable(&self) -> Result<Vec<(String, String)>, MaintenanceError> {
        let behind = sync::behind(self.files(), self.index())?;
        let names = behind.changed().map(|listed| listed.name.clone());
        Ok(names
            .filter_map(|name| {
                let error = self.files().read(&name).err()?;
                Some((name.to_string(), error.to_string()))
            })
            .collect())
    }

    /// The health of the store, without network and model. It repairs nothing.
    pub fn audit(&self) -> Health {
        let mut issues = Vec::new();
        let mut unknown = false;
        let mut counts = HealthCounts::default();
        match sync::behind(self.files(), self.index()) {
            Ok(behind) if behind.is_empty() => {}
            // What can't be read stays behind for good; the rest catches up by itself.
            Ok(_) if self.unreadable().is_ok_and(|it| it.is_empty()) => issues.push("canonical_mismatch"),
            Ok(_) => issues.push("canonical_invalid"),
            Err(SyncError::Notes(_)) => issues.push("canonical_invalid"),
            Err(SyncError::Index(_)) => {
                unknown = true;
                issues.push("database_unavailable");
            }
        }
        match self.index().check() {
            Ok(wrong) => issues.extend(wrong),
            Err(_) => unknown = true,
        }
        if let Ok(index) = self.index().counts() {
            counts.memories = index.memories;
            if self.parts.embedder.is_some() {
                (counts.vectors, counts.missing_vectors) = (index.vectors, index.missing_vectors);
            }
        }
        if let Some(embedder) = &self.parts.embedder
            && matches!(
                self.index().use_vectors(&embedder.identity(), false),
                Err(crate::IndexError::Vectors { .. })
            )
        {
            issues.push("configured_identity_mismatch");
        }
        match self.files().record(crate::FENCE, 1 << 20) {
            Ok(None) => {}
            Ok(Some(_)) => issues.push("mutation_in_progress"),
            Err(_) => issues.push("canonical_invalid"),
        }
        match self.intake_counts() {
            Ok(intake) => {
                (counts.pending, counts.due, counts.dead) = (intake.pending, intake.due, intake.dead);
                if intake.dead > 0 {
                    issues.push("dead_letters");
                }
                if intake.pending > 0 {
                    issues.push("intake_pending");
                }
            }
            Err(_) => issues.push("intake_invalid"),
        }
        issues.dedup();
        let status = status(&issues, unknown);
        Health {
            schema_version: 1,
            backend: "bujo",
            mode: self.tier().as_str().to_owned(),
            status,
            checked_at: crate::bullet::instant(self.parts.clock.now_ms()),
            issues,
            counts,
        }
    }
}

/// The worst of the issues decides (A14.5).
fn status(issues: &[&str], unknown: bool) -> &'static str {
    let any = |words: &[&str]| issues.iter().any(|it| words.contains(it));
    if unknown {
        "unknown"
    } else if any(&[
        "sqlite_integrity_failed",
        "fts_mismatch",
        "orphaned_rows",
        "canonical_invalid",
        "configured_identity_mismatch",
        "intake_invalid",
        "mutation_in_progress",
    ]) {
        "unhealthy"
    } else if any(&["dead_letters"]) {
        "degraded"
    } else if any(&["intake_pending", "canonical_mismatch"]) {
        "in_progress"
    } else {
        "healthy"
    }
}
