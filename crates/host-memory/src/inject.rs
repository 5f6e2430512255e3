//! Recalled facts as a turn's background (A8): never a part of the system prompt, never saved to the session,
//! and delimited where it is put in (`host_run::Background`).

use crate::MemoryStore;
use host_ports::memory::OMITTED;
use host_run::Background;

/// The bounds of a block (A8.3, A8.5).
const LINES_MAX: usize = 3;
const LINE_BYTES_MAX: usize = 360;
const BLOCK_BYTES_MAX: usize = 1536;
/// How sure a fact must be to be there unasked, and how far under the best another one may be.
const SURE: f32 = 0.62;
const NEAR: f32 = 0.04;

impl MemoryStore {
    /// A block for a turn of the owner, or nothing: what is put in unasked must fit well. Give it only for turns
    /// that the host verified as the owner's (A8.6). `bytes_max` is `memory.maxBytes`.
    pub async fn background(&self, said: &str, bytes_max: usize) -> Option<Background> {
        let query = host_vocab::text::prefix(said, host_ports::memory::QUERY_BYTES_MAX);
        let recalled = self.look_up(query, LINES_MAX * 2, false).await.ok()?;
        // Words alone are too weak a reason (A8.6).
        if recalled.degraded.is_some() || self.parts.embedder.is_none() {
            return None;
        }
        let best = recalled.hits.first().map(|hit| hit.score).filter(|score| *score >= SURE)?;
        let mut hits: Vec<_> = recalled
            .hits
            .into_iter()
            .filter(|hit| hit.score >= best - NEAR && hit.text != OMITTED)
            .take(LINES_MAX)
            .collect();
        hits.sort_by(|a, b| a.created_at.cmp(&b.created_at));
        let mut text = "Possibly relevant; may be unrelated; verify before you rely on it.".to_owned();
        for hit in hits {
            let line = format!("\n- {} ({}) {}", &hit.created_at[..10], hit.currentness, hit.text);
            // A line that doesn't fit is left out, not cut.
            if line.len() <= LINE_BYTES_MAX && text.len() + line.len() <= BLOCK_BYTES_MAX.min(bytes_max) {
                text.push_str(&line);
            }
        }
        text.contains('\n').then(|| Background { source: "memory".to_owned(), text })
    }
}
