//! A server's stderr: read at all times, kept by its end alone (MCP-7).

use host_vocab::text;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How much of the end is kept, in bytes.
const TAIL_BYTES_MAX: usize = 8 * 1024;
/// The most pieces that are logged for one child.
const LOGGED_PIECES_MAX: u32 = 1000;

/// The end of a child's error output.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    /// What is kept, as text.
    pub(crate) fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(|broken| broken.into_inner());
        let bytes: Vec<u8> = kept.iter().copied().collect();
        text::printable(&String::from_utf8_lossy(&bytes))
    }

    /// The last of it as one line, for a message.
    pub(crate) fn line(&self) -> String {
        let all = self.text();
        let last: Vec<&str> = all.lines().filter(|line| !line.trim().is_empty()).collect();
        let from = last.len().saturating_sub(5);
        text::one_line(text::suffix(&last[from..].join(" | "), 400), 400)
    }

    fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(|broken| broken.into_inner());
        kept.extend(&bytes[bytes.len().saturating_sub(TAIL_BYTES_MAX)..]);
        let over = kept.len().saturating_sub(TAIL_BYTES_MAX);
        kept.drain(..over);
    }

    /// Reads a child's stderr to its end, so that the child never waits for a reader.
    pub(crate) async fn drain(self, label: String, mut from: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 16 * 1024];
        let mut logged = 0;
        while let Ok(count) = from.read(&mut buffer).await {
            if count == 0 {
                return;
            }
            self.push(&buffer[..count]);
            if logged < LOGGED_PIECES_MAX {
                logged += 1;
                let piece = String::from_utf8_lossy(&buffer[..count.min(2048)]);
                tracing::debug!(server = %label, stderr = %text::one_line(&piece, 500), "server wrote to stderr");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // T2-03
    #[tokio::test]
    async fn a_flood_is_read_and_its_end_kept() {
        let tail = Tail::default();
        let flood = [vec![b'x'; 1024 * 1024], b"\nlast words\n".to_vec()].concat();
        tail.clone().drain("t".into(), &flood[..]).await;
        assert!(tail.text().len() <= TAIL_BYTES_MAX);
        assert!(tail.line().ends_with("last words"), "{}", tail.line());
    }
}
