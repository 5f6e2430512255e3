//! Forgetting on purpose, in two phases (A16): a plan that changes nothing, and its application, with a
//! backup that can be put back. No model decides what is forgotten. Bullets stay as `dropped`, so that nothing
//! stores the fact again (REM-6).

use crate::capture::with_status;
use crate::files::FENCE;
use crate::intake::is_slug;
use crate::store::WRITE_WAIT;
use crate::sync::{self, SyncError};
use crate::{MemoryStore, NoteError, NoteWriter, Status, content_hash, parse};
use serde::{Deserialize, Serialize};

const IDS_MAX: usize = 32;
/// How many backups stay (A16.7).
const BACKUPS_MAX: usize = 3;
/// How old one gets: 30 days (A16.7).
const BACKUP_AGE_MAX_MS: i64 = 30 * 86_400_000;
const APPLIED: &str = ".forget/applied.json";
const RECORD_BYTES_MAX: u64 = 1 << 20;

/// What is to be forgotten: ids and what they are bound to, and no text of a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForgetPlan {
    /// 1.
    pub version: u32,
    /// When it was made (RFC 3339).
    pub created_at: String,
    /// Why.
    pub reason: String,
    /// What.
    pub ids: Vec<String>,
    /// The state of all notes that it was made for.
    pub notes: String,
    /// Over everything above.
    pub checksum: String,
}

/// What was forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Forgotten {
    /// How many facts.
    pub forgotten: usize,
    /// The backup's name, beside the memory's folder.
    pub backup: String,
}

/// The record that blocks every other writer while the notes change, and what is left of it afterwards.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Transaction {
    backup: Option<String>,
    after: Option<String>,
}

/// Why nothing was forgotten.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForgetError {
    /// The notes or the index.
    #[error(transparent)]
    Sync(#[from] SyncError),
    /// No id, or too many.
    #[error("a plan has 1 to {IDS_MAX} ids, one a line")]
    Count,
    /// An id twice in the list.
    #[error("the id {0} stands twice in the list")]
    Repeated(String),
    /// No such bullet, or more than one.
    #[error("the id {id} stands {times} times in the notes; it must be there once")]
    Places {
        /// The id.
        id: String,
        /// How often.
        times: usize,
    },
    /// Already forgotten or superseded.
    #[error("the id {0} is forgotten or superseded already")]
    Terminal(String),
    /// Not a reason.
    #[error("a reason has 1 to 64 lower-case letters, digits, '_' or '-', and starts with a letter or digit")]
    Reason,
    /// The plan was edited.
    #[error("the plan was changed after it was made; make it again with `mono-agent memory forget prepare`")]
    Edited,
    /// The notes have changed since.
    #[error(
        "the notes have changed since the plan was made; make it again with `mono-agent memory forget prepare`"
    )]
    Stale,
    /// The tree is no longer as the application left it.
    #[error("the notes have changed since; the backup can't be put back without losing that")]
    Changed,
    /// No such backup.
    #[error("that is not the backup of the last `memory forget apply`")]
    NoBackup,
    /// It failed and everything is as it was.
    #[error("it failed, and the notes were put back as they were: {0}")]
    PutBack(String),
}

impl ForgetError {
    /// Whether an earlier application broke off, and [`MemoryStore::forget_resume`] is due.
    pub fn is_fenced(&self) -> bool {
        matches!(self, ForgetError::Sync(SyncError::Notes(NoteError::Fenced)))
    }
}

impl From<NoteError> for ForgetError {
    fn from(err: NoteError) -> Self {
        ForgetError::Sync(err.into())
    }
}

impl ForgetPlan {
    fn sum(&self) -> String {
        let parts =
            [&self.version.to_string(), &self.created_at, &self.reason, &self.ids.join("\n"), &self.notes];
        content_hash(&parts.map(|it| format!("{}:{it}", it.len())).concat())
    }
}

impl MemoryStore {
    /// `memory forget prepare`: a plan for some ids. Changes nothing; the agent may run.
    ///
    /// # Errors
    /// See [`ForgetError`].
    pub fn forget_prepare(&self, ids: &[String], reason: &str) -> Result<ForgetPlan, ForgetError> {
        if !is_slug(reason) {
            return Err(ForgetError::Reason);
        }
        if ids.is_empty() || ids.len() > IDS_MAX {
            return Err(ForgetError::Count);
        }
        if let Some(twice) = ids.iter().enumerate().find(|(at, id)| ids[..*at].contains(id)) {
            return Err(ForgetError::Repeated(twice.1.clone()));
        }
        let (notes, states) = self.tree(ids)?;
        for (id, found) in ids.iter().zip(states) {
            match found[..] {
                [status] if status.is_live() => {}
                [_] => return Err(ForgetError::Terminal(id.clone())),
                _ => return Err(ForgetError::Places { id: id.clone(), times: found.len() }),
            }
        }
        let mut plan = ForgetPlan {
            version: 1,
            created_at: crate::bullet::instant(self.parts.clock.now_ms()),
            reason: reason.to_owned(),
            ids: ids.to_vec(),
            notes,
            checksum: String::new(),
        };
        plan.checksum = plan.sum();
        Ok(plan)
    }

    /// The sum of all notes, and where some ids stand.
    fn tree(&self, ids: &[String]) -> Result<(String, Vec<Vec<Status>>), NoteError> {
        let mut sums = String::new();
        let mut found = vec![Vec::new(); ids.len()];
        for listed in self.files().list()? {
            let (text, _) = self.files().read(&listed.name)?;
            sums.push_str(&format!("{} {}\n", listed.name, content_hash(&text)));
            for it in parse(&text).0 {
                if let Some(at) = ids.iter().position(|id| *id == it.bullet.id) {
                    found[at].push(it.bullet.status);
                }
            }
        }
        Ok((content_hash(&sums), found))
    }

    /// `memory forget apply`: does what the plan says. Stop the agent first. A failure puts everything back; a
    /// crash leaves a record, and no writer begins before [`MemoryStore::forget_resume`].
    ///
    /// # Errors
    /// See [`ForgetError`].
    pub fn forget_apply(&self, plan: &ForgetPlan) -> Result<Forgotten, ForgetError> {
        if plan.version != 1 || plan.checksum != plan.sum() || !is_slug(&plan.reason) {
            return Err(ForgetError::Edited);
        }
        let mut writer = self.files().lock(WRITE_WAIT, false)?;
        let (notes, states) = self.tree(&plan.ids)?;
        if notes != plan.notes || states.iter().any(|it| it.len() != 1 || !it[0].is_live()) {
            return Err(ForgetError::Stale);
        }
        // The backup first, the fence with its name second, the first change third: whatever stands in the
        // fence is whole.
        let stamp = format!("{}-{}", self.parts.clock.now_ms(), &plan.checksum[..8]);
        let backup = writer.backup(&stamp)?;
        self.put_transaction(FENCE, Some(&backup), None)?;
        if let Err(err) = self.drop_all(writer.as_mut(), &plan.ids, &backup) {
            self.put_back(writer.as_mut(), &backup)?;
            return Err(ForgetError::PutBack(err.to_string()));
        }
        self.files().remove_record(FENCE)?;
        if let Err(err) = writer.prune_backups(BACKUPS_MAX, self.backups_since()) {
            tracing::warn!(error = %err, "older backups of the notes could not be removed");
        }
        Ok(Forgotten { forgotten: plan.ids.len(), backup })
    }

    /// Removes backups that are beyond their number or their age (A16.7): they hold what was to be forgotten.
    ///
    /// # Errors
    /// See [`NoteError`].
    pub fn expire_backups(&self) -> Result<(), NoteError> {
        if !self.is_writable() {
            return Ok(());
        }
        match self.files().lock(WRITE_WAIT, false) {
            Ok(mut writer) => writer.prune_backups(BACKUPS_MAX, self.backups_since()),
            // An unfinished change may need its backup; a writer at work makes this wait for the next hour.
            Err(NoteError::Fenced | NoteError::Busy) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn backups_since(&self) -> i64 {
        self.parts.clock.now_ms() - BACKUP_AGE_MAX_MS
    }

    fn drop_all(&self, writer: &mut dyn NoteWriter, ids: &[String], backup: &str) -> Result<(), SyncError> {
        for listed in self.files().list()? {
            let (text, fingerprint) = self.files().read(&listed.name)?;
            let mut changed = None;
            for id in ids {
                let now = with_status(changed.as_deref().unwrap_or(&text), id, Status::Dropped);
                changed = now.or(changed);
            }
            if let Some(changed) = changed {
                writer.replace(&listed.name, fingerprint, &changed)?;
            }
        }
        let (after, _) = self.tree(&[])?;
        self.put_transaction(APPLIED, Some(backup), Some(&after))?;
        sync::sync(self.files(), self.index())
    }

    fn put_transaction(
        &self,
        name: &str,
        backup: Option<&str>,
        after: Option<&str>,
    ) -> Result<(), NoteError> {
        let it = Transaction { backup: backup.map(str::to_owned), after: after.map(str::to_owned) };
        self.files().put_record(name, serde_json::to_string(&it).unwrap_or_default().as_bytes())
    }

    fn put_back(&self, writer: &mut dyn NoteWriter, backup: &str) -> Result<(), ForgetError> {
        writer.restore(backup)?;
        self.files().remove_record(FENCE)?;
        // The index follows by itself; a fault there must not hide that the notes are back.
        if let Err(err) = sync::sync(self.files(), self.index()) {
            tracing::warn!(error = %err, "the memory index is behind the notes");
        }
        Ok(())
    }

    /// Finishes what a crash left of an application: the notes are put back as they were. Says whether there
    /// was anything to do.
    ///
    /// # Errors
    /// See [`ForgetError`].
    pub fn forget_resume(&self) -> Result<bool, ForgetError> {
        let mut writer = self.files().lock(WRITE_WAIT, true)?;
        let Some(fence) = self.transaction(FENCE)? else { return Ok(false) };
        self.put_back(writer.as_mut(), fence.backup.as_deref().ok_or(ForgetError::NoBackup)?)?;
        Ok(true)
    }

    /// `memory forget restore`: puts the backup of the last application back, as long as nothing changed since.
    ///
    /// # Errors
    /// See [`ForgetError`].
    pub fn forget_restore(&self, backup: &str) -> Result<(), ForgetError> {
        let mut writer = self.files().lock(WRITE_WAIT, false)?;
        let applied = self.transaction(APPLIED)?.ok_or(ForgetError::NoBackup)?;
        let name = backup.rsplit('/').next().unwrap_or(backup);
        if applied.backup.as_deref() != Some(name) {
            return Err(ForgetError::NoBackup);
        }
        if applied.after != Some(self.tree(&[])?.0) {
            return Err(ForgetError::Changed);
        }
        self.put_transaction(FENCE, Some(name), None)?;
        self.put_back(writer.as_mut(), name)?;
        Ok(self.files().remove_record(APPLIED)?)
    }

    fn transaction(&self, name: &str) -> Result<Option<Transaction>, ForgetError> {
        let Some(bytes) = self.files().record(name, RECORD_BYTES_MAX)? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|_| ForgetError::Edited)
    }
}
