//! What was said and answered, as the host itself sums it up, for a person to look at: `audit/YYYY-MM-DD.md`
//! (A2.9). It is never recalled and no model reads it, so an outage of the model that takes notes can't make a
//! raw turn recallable.

use crate::bullet::instant;
use crate::intake::IntakeError;
use crate::store::WRITE_WAIT;
use crate::{CompletedTurn, MemoryStore, NoteError};

/// The largest file of a day. What comes after is left out: the log has every turn.
const DAY_BYTES_MAX: u64 = 16 * 1024 * 1024;

impl MemoryStore {
    /// Adds the summary of a completed turn to the day's audit file, without secrets.
    ///
    /// # Errors
    /// Where it could not be written.
    pub fn note_audit(&self, turn: &CompletedTurn) -> Result<(), IntakeError> {
        if !self.is_writable() {
            return Ok(());
        }
        let Some(text) = self.summary(turn) else { return Ok(()) };
        let now = instant(self.parts.clock.now_ms());
        let name = format!("audit/{}.md", &now[..10]);
        let line = format!("- {now} {text}\n");
        let _writer = self.files().lock(WRITE_WAIT, false)?;
        match self.files().append_record(&name, line.as_bytes(), DAY_BYTES_MAX) {
            Err(NoteError::TooLarge { .. }) => {
                tracing::warn!(name, "the audit of this day is full; the log has the turn");
                Ok(())
            }
            done => Ok(done?),
        }
    }
}
