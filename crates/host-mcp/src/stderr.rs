//! A server's stderr: read at all times, kept by its end alone (MCP-7).

use host_redact::Redactor;
use host_vocab::text;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How much of the end is kept, in bytes.
const TAIL_BYTES_MAX: usize = 8 * 1024;
/// The most pieces that are logged for one child.
const LOGGED_PIECES_MAX: u32 = 1000;

/// The end of a child's error output. Whatever leaves it went through the redactor: programs print their
/// configuration when they fail.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tail {
    kept: Arc<Mutex<Kept>>,
    redactor: Arc<Redactor>,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: VecDeque<u8>,
    /// Whether its beginning was thrown away.
    cut: bool,
}

impl Tail {
    /// An empty end.
    pub(crate) fn new(redactor: Arc<Redactor>) -> Self {
        Tail { kept: Arc::default(), redactor }
    }

    /// What is kept, as text. Where the beginning is gone, the line that it cut is left out: half of a
    /// secret can't be recognised.
    pub(crate) fn text(&self) -> String {
        let kept = self.kept.lock().unwrap_or_else(|broken| broken.into_inner());
        let bytes: Vec<u8> = kept.bytes.iter().copied().collect();
        let text = self.redactor.text(&text::printable(&String::from_utf8_lossy(&bytes))).into_inner();
        match text.split_once('\n') {
            _ if !kept.cut => text,
            Some((_cut, rest)) if !rest.is_empty() => rest.to_owned(),
            // One line without end: its second half is far from the cut.
            _ => text::suffix(&text, text.len() / 2).to_owned(),
        }
    }

    /// The last of it as one line, for a message.
    pub(crate) fn line(&self) -> String {
        let all = self.text();
        let last: Vec<&str> = all.lines().filter(|line| !line.trim().is_empty()).collect();
        let from = last.len().saturating_sub(5);
        text::one_line(text::suffix(&last[from..].join(" | "), 400), 400)
    }

    fn push(&self, bytes: &[u8]) {
        let mut kept = self.kept.lock().unwrap_or_else(|broken| broken.into_inner());
        let new = &bytes[bytes.len().saturating_sub(TAIL_BYTES_MAX)..];
        kept.bytes.extend(new);
        let over = kept.bytes.len().saturating_sub(TAIL_BYTES_MAX);
        kept.bytes.drain(..over);
        kept.cut |= over > 0 || new.len() < bytes.len();
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
                let piece = self.redactor.text(&String::from_utf8_lossy(&buffer[..count])).into_inner();
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

    // QUA-5
    #[tokio::test]
    async fn a_secret_does_not_leave_it_not_even_by_half() {
        let secret = "c4nary-0123456789-abcdefghij";
        let redactor = Arc::new(Redactor::new([host_vocab::Secret::new(secret)]));
        let tail = Tail::new(Arc::clone(&redactor));
        tail.clone().drain("t".into(), format!("key={secret} is wrong\n").as_bytes()).await;
        assert!(tail.text().contains("is wrong") && !tail.text().contains("c4nary"), "{}", tail.text());
        // Cut in the middle of the secret, at the place where the beginning is thrown away or the line ends.
        for at in 1..secret.len() {
            let tail = Tail::new(Arc::clone(&redactor));
            let rest = "y".repeat(TAIL_BYTES_MAX - 5 - at);
            tail.clone().drain("t".into(), format!("{secret}{rest}\nend\n").as_bytes()).await;
            assert!(!tail.text().contains(&secret[secret.len() - at..]), "{at}");
            let tail = Tail::new(Arc::clone(&redactor));
            tail.clone().drain("t".into(), format!("{secret}{}\n", "z".repeat(400 - at)).as_bytes()).await;
            assert!(!tail.line().contains("cdefghij"), "{}", tail.line());
        }
    }
}
