//! Completed turns that wait to be noted: admitted once, tried again later, given up in the end, and never lost
//! in silence (A3, A15).
//!
//! | folder below `.capture-intake` | what is in it |
//! |---|---|
//! | `pending` | turns that wait; the name is the SHA-256 of the run id |
//! | `dead` | turns that failed sixteen times |
//! | `resolved` | receipts without text; the newest 4,096 are kept |
//! | `ledger` | id and sum of every turn that was ever admitted, so that none is admitted twice |

use crate::bullet::instant;
use crate::store::WRITE_WAIT;
use crate::{MemoryStore, NoteError, content_hash};
use serde::{Deserialize, Serialize};

const FOLDER: &str = ".capture-intake";
/// The bounds (A3.5, A3.6).
const ATTEMPTS_MAX: u32 = 16;
const ACTIVE_MAX: usize = 4096;
const RECORD_BYTES_MAX: u64 = 640 * 1024;
const RECEIPTS_MAX: usize = 4096;
const LEDGER_BYTES_MAX: u64 = 16 * 1024 * 1024;
const WAIT_MS_FIRST: i64 = 60_000;
const WAIT_MS_MAX: i64 = 6 * 3_600_000;

/// Who spoke in a turn, as the host knows it; never taken from text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Speaker {
    /// The owner, verified by the host.
    HumanTurn,
    /// A schedule or a webhook: its own words are no memory, the answer may be.
    Trigger,
    /// Anybody else.
    #[default]
    Unknown,
}

/// A turn that came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompletedTurn {
    /// The run.
    pub run: String,
    /// Who spoke.
    pub speaker: Speaker,
    /// What set it going, for people: `User`, `scheduled task`, `webhook`.
    pub label: String,
    /// What was asked; empty for triggers.
    pub said: String,
    /// What was answered.
    pub answer: String,
}

/// What became of an admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It waits to be noted, durable.
    Accepted,
    /// This very turn was admitted before.
    Duplicate,
    /// There is nothing to note (A2.3).
    Skipped,
}

/// Why a turn was not admitted, or an operator's request not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IntakeError {
    /// The folder.
    #[error(transparent)]
    Notes(#[from] NoteError),
    /// The same run with other content.
    #[error("this run was admitted with other content")]
    Conflict,
    /// Too many wait, or one is too large.
    #[error("memory intake is full: {0}")]
    Full(&'static str),
    /// A record that can't be read; nothing is done with it.
    #[error("a record of the intake is damaged: {0}")]
    Damaged(String),
    /// No such record.
    #[error("no turn with the id {0} waits or was given up")]
    Unknown(String),
    /// Not an id.
    #[error("an id has 64 lower-case hexadecimal digits")]
    Id,
    /// Not a reason.
    #[error("a reason has 1 to 64 lower-case letters, digits, '_' or '-', and starts with a letter or digit")]
    Reason,
    /// It is about to be written: resolving it would lose that.
    #[error("the turn {0} has a plan that is not written yet; run `mono-agent memory retry {0}` instead")]
    Planned(String),
}

/// What kind of failure an attempt met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCategory {
    /// The model's answer breaks the contract.
    ModelOutput,
    /// The model could not be had.
    Provider,
    /// The host's own work.
    Processing,
}

/// One waiting turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Waiting {
    version: u32,
    pub(crate) id: String,
    payload: String,
    pub(crate) admitted_ms: i64,
    attempts: u32,
    due_ms: i64,
    revision: u32,
    failure: Option<FailureCategory>,
    pub(crate) turn: CompletedTurn,
    /// What will be written, once it is decided: a crash after that asks no model again.
    pub(crate) plan: Option<serde_json::Value>,
}

/// One record as an operator sees it: no text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IntakeItem {
    /// Its id.
    pub id: String,
    /// `pending` or `dead`.
    pub state: &'static str,
    /// When it came (RFC 3339).
    pub admitted_at: String,
    /// When it may be tried again.
    pub due_at: String,
    /// How often it was tried.
    pub attempts: u32,
    /// How often it was changed.
    pub revision: u32,
    /// Whether it may be tried now.
    pub due: bool,
    /// What the last attempt met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureCategory>,
}

/// How many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IntakeCounts {
    /// Waiting.
    pub pending: u64,
    /// Of those, the ones that may be tried now.
    pub due: u64,
    /// Given up.
    pub dead: u64,
}

/// What an operator sees of the intake.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IntakeReport {
    /// How many.
    pub counts: IntakeCounts,
    /// Which, by id.
    pub items: Vec<IntakeItem>,
}

/// What a retry changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Retried {
    /// Whether anything changed.
    pub changed: bool,
    /// How many may be tried now that could not before.
    pub retried: u64,
}

fn name(state: &str, id: &str) -> String {
    format!("{FOLDER}/{state}/{id}.json")
}

fn checked(id: &str) -> Result<&str, IntakeError> {
    let hex = id.len() == 64 && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if hex { Ok(id) } else { Err(IntakeError::Id) }
}

impl MemoryStore {
    /// Takes a completed turn in; when this returns it is on the disk (A3.1). Secrets are taken out first.
    /// Call it for turns that succeeded and are neither isolated nor cancelled (A2.2).
    ///
    /// # Errors
    /// See [`IntakeError`]: the answer is delivered all the same, with a warning.
    pub fn admit(&self, turn: &CompletedTurn) -> Result<Admission, IntakeError> {
        if host_run::is_silent(&turn.answer) || turn.answer.trim().is_empty() {
            return Ok(Admission::Skipped);
        }
        let mut turn = turn.clone();
        turn.answer = self.parts.refusal.scrubbed(&turn.answer);
        turn.said = match turn.speaker {
            Speaker::Trigger => String::new(),
            Speaker::HumanTurn | Speaker::Unknown => self.parts.refusal.scrubbed(&turn.said),
        };
        let id = content_hash(&turn.run);
        let payload = content_hash(&serde_json::to_string(&turn).unwrap_or_default());
        let _writer = self.files().lock(WRITE_WAIT, false)?;
        if let Some(known) = self.ledger_entry(&id)? {
            return if known == payload { Ok(Admission::Duplicate) } else { Err(IntakeError::Conflict) };
        }
        let active = self.ids("pending")?.len() + self.ids("dead")?.len();
        if active >= ACTIVE_MAX {
            return Err(IntakeError::Full(
                "4,096 turns wait or were given up; look at `mono-agent memory inspect`",
            ));
        }
        let now = self.parts.clock.now_ms();
        let waiting = Waiting {
            version: 1,
            id: id.clone(),
            payload: payload.clone(),
            admitted_ms: now,
            attempts: 0,
            due_ms: now,
            revision: 0,
            failure: None,
            turn,
            plan: None,
        };
        self.put("pending", &waiting)?;
        // The record first: a ledger entry without it would lose the turn.
        self.note_in_ledger(&id, &payload)?;
        Ok(Admission::Accepted)
    }

    fn put(&self, state: &str, waiting: &Waiting) -> Result<(), IntakeError> {
        let text = serde_json::to_vec(waiting).map_err(|_| IntakeError::Damaged(waiting.id.clone()))?;
        if text.len() as u64 > RECORD_BYTES_MAX {
            return Err(IntakeError::Full("the turn has more than 640 KiB"));
        }
        Ok(self.files().put_record(&name(state, &waiting.id), &text)?)
    }

    fn get(&self, state: &str, id: &str) -> Result<Option<Waiting>, IntakeError> {
        let Some(bytes) = self.files().record(&name(state, id), RECORD_BYTES_MAX)? else { return Ok(None) };
        let damaged = || IntakeError::Damaged(id.to_owned());
        let waiting: Waiting = serde_json::from_slice(&bytes).map_err(|_| damaged())?;
        let sound = waiting.id == id && content_hash(&waiting.turn.run) == id && waiting.version == 1;
        if sound { Ok(Some(waiting)) } else { Err(damaged()) }
    }

    fn ids(&self, state: &str) -> Result<Vec<String>, IntakeError> {
        let names = self.files().records(&format!("{FOLDER}/{state}"))?;
        Ok(names.iter().filter_map(|it| it.strip_suffix(".json")).map(str::to_owned).collect())
    }

    fn shard(id: &str) -> String {
        format!("{FOLDER}/ledger/{}", &id[..2])
    }

    fn ledger_entry(&self, id: &str) -> Result<Option<String>, IntakeError> {
        let Some(bytes) = self.files().record(&Self::shard(id), LEDGER_BYTES_MAX)? else { return Ok(None) };
        let text = String::from_utf8(bytes).map_err(|_| IntakeError::Damaged("ledger".to_owned()))?;
        Ok(text.lines().find_map(|line| line.strip_prefix(id)?.strip_prefix(' ')).map(str::to_owned))
    }

    fn note_in_ledger(&self, id: &str, payload: &str) -> Result<(), IntakeError> {
        let shard = Self::shard(id);
        let mut text = self.files().record(&shard, LEDGER_BYTES_MAX)?.unwrap_or_default();
        text.extend_from_slice(format!("{id} {payload}\n").as_bytes());
        Ok(self.files().put_record(&shard, &text)?)
    }

    /// The turn that waits longest and may be tried now.
    pub(crate) fn next_due(&self) -> Result<Option<Waiting>, IntakeError> {
        let now = self.parts.clock.now_ms();
        let mut next: Option<Waiting> = None;
        for id in self.ids("pending")? {
            // A damaged record is the operator's; it must not stop the others.
            let Ok(Some(waiting)) = self.get("pending", &id) else { continue };
            if waiting.due_ms <= now && next.as_ref().is_none_or(|it| waiting.admitted_ms < it.admitted_ms) {
                next = Some(waiting);
            }
        }
        Ok(next)
    }

    /// Keeps what will be written.
    pub(crate) fn keep_plan(
        &self,
        waiting: &mut Waiting,
        plan: serde_json::Value,
    ) -> Result<(), IntakeError> {
        waiting.plan = Some(plan);
        waiting.revision += 1;
        self.put("pending", waiting)
    }

    /// The turn is noted.
    pub(crate) fn settle_done(&self, waiting: &Waiting, reason: &str) -> Result<(), IntakeError> {
        let receipt = serde_json::json!({
            "version": 1, "id": waiting.id, "payload": waiting.payload, "reason": reason,
            "resolvedAt": instant(self.parts.clock.now_ms()),
        });
        self.files().put_record(&name("resolved", &waiting.id), receipt.to_string().as_bytes())?;
        self.files().remove_record(&name("pending", &waiting.id))?;
        self.files().remove_record(&name("dead", &waiting.id))?;
        let receipts = self.ids("resolved")?;
        for id in receipts.iter().take(receipts.len().saturating_sub(RECEIPTS_MAX)) {
            self.files().remove_record(&name("resolved", id))?;
        }
        Ok(())
    }

    /// An attempt failed: later, or never again.
    pub(crate) fn settle_failed(
        &self,
        waiting: &mut Waiting,
        why: FailureCategory,
    ) -> Result<(), IntakeError> {
        waiting.attempts += 1;
        waiting.revision += 1;
        waiting.failure = Some(why);
        if waiting.attempts >= ATTEMPTS_MAX {
            self.put("dead", waiting)?;
            return Ok(self.files().remove_record(&name("pending", &waiting.id))?);
        }
        let doubled = WAIT_MS_FIRST.saturating_mul(1_i64 << (waiting.attempts - 1).min(20));
        waiting.due_ms = self.parts.clock.now_ms().saturating_add(doubled.min(WAIT_MS_MAX));
        self.put("pending", waiting)
    }

    /// How many turns wait.
    ///
    /// # Errors
    /// See [`IntakeError`].
    pub fn intake_counts(&self) -> Result<IntakeCounts, IntakeError> {
        let now = self.parts.clock.now_ms();
        let mut counts = IntakeCounts { dead: self.ids("dead")?.len() as u64, ..IntakeCounts::default() };
        for id in self.ids("pending")? {
            counts.pending += 1;
            counts.due += u64::from(self.get("pending", &id)?.is_some_and(|it| it.due_ms <= now));
        }
        Ok(counts)
    }

    /// `memory inspect [id]`: what waits and what was given up; changes nothing.
    ///
    /// # Errors
    /// See [`IntakeError`].
    pub fn inspect(&self, id: Option<&str>) -> Result<IntakeReport, IntakeError> {
        if let Some(id) = id {
            checked(id)?;
        }
        let now = self.parts.clock.now_ms();
        let mut items = Vec::new();
        for state in ["pending", "dead"] {
            for found in self.ids(state)?.into_iter().filter(|it| id.is_none_or(|id| id == it)) {
                let Some(it) = self.get(state, &found)? else { continue };
                items.push(IntakeItem {
                    id: found,
                    state,
                    admitted_at: instant(it.admitted_ms),
                    due_at: instant(it.due_ms),
                    attempts: it.attempts,
                    revision: it.revision,
                    due: state == "pending" && it.due_ms <= now,
                    failure: it.failure,
                });
            }
        }
        match id {
            Some(id) if items.is_empty() => Err(IntakeError::Unknown(id.to_owned())),
            _ => Ok(IntakeReport { counts: self.intake_counts()?, items }),
        }
    }

    /// `memory retry [id]`: what was given up waits again, what waits may be tried now. Stop the agent first.
    ///
    /// # Errors
    /// See [`IntakeError`].
    pub fn retry(&self, id: Option<&str>) -> Result<Retried, IntakeError> {
        let _writer = self.files().lock(WRITE_WAIT, false)?;
        let now = self.parts.clock.now_ms();
        let items = self.inspect(id)?.items;
        let mut retried = 0;
        for item in items.into_iter().filter(|it| !it.due) {
            let Some(mut waiting) = self.get(item.state, &item.id)? else { continue };
            (waiting.attempts, waiting.due_ms) = (0, now);
            waiting.revision += 1;
            self.put("pending", &waiting)?;
            self.files().remove_record(&name("dead", &item.id))?;
            retried += 1;
        }
        Ok(Retried { changed: retried > 0, retried })
    }

    /// `memory resolve <id> <reason>`: an operator takes a turn out; it is not admitted again.
    ///
    /// # Errors
    /// See [`IntakeError`].
    pub fn resolve(&self, id: &str, reason: &str) -> Result<(), IntakeError> {
        let id = checked(id)?;
        if !is_slug(reason) {
            return Err(IntakeError::Reason);
        }
        let _writer = self.files().lock(WRITE_WAIT, false)?;
        let waiting = match self.get("pending", id)? {
            Some(waiting) => Some(waiting),
            None => self.get("dead", id)?,
        };
        let waiting = waiting.ok_or_else(|| IntakeError::Unknown(id.to_owned()))?;
        if waiting.plan.is_some() {
            return Err(IntakeError::Planned(id.to_owned()));
        }
        self.settle_done(&waiting, &format!("operator_resolved:{reason}"))
    }
}

/// A reason as operators give it.
pub(crate) fn is_slug(reason: &str) -> bool {
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    (1..=64).contains(&reason.len())
        && reason.bytes().next().is_some_and(word)
        && reason.bytes().all(|b| word(b) || matches!(b, b'_' | b'-'))
}
