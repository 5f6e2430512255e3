//! Lines of a pipe, ended by LF bytes alone and bounded while they are read.

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How much of a line over the bound is kept from each end.
const ENDS_KEPT: usize = 512;

/// One line without its LF.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line within the bound.
    Whole(Vec<u8>),
    /// What is left of one over it.
    Oversized { head: Vec<u8>, tail: Vec<u8>, bytes: u64 },
}

/// Reads lines from a pipe.
pub(crate) struct Lines<R> {
    from: R,
    bytes_max: usize,
    buffer: Box<[u8]>,
    filled: std::ops::Range<usize>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(from: R, bytes_max: usize) -> Self {
        Lines { from, bytes_max, buffer: vec![0; 64 * 1024].into_boxed_slice(), filled: 0..0 }
    }

    /// The next line; a last one without LF counts. `None` at the end or where the pipe broke.
    pub(crate) async fn next(&mut self) -> Option<Line> {
        let mut line = Vec::new();
        let mut tail = Vec::new();
        let mut bytes = 0u64;
        loop {
            if self.filled.is_empty() {
                match self.from.read(&mut self.buffer).await {
                    Ok(0) | Err(_) if bytes == 0 => return None,
                    Ok(0) | Err(_) => return Some(self.ended(line, tail, bytes)),
                    Ok(count) => self.filled = 0..count,
                }
            }
            let piece = &self.buffer[self.filled.clone()];
            let end = memchr::memchr(b'\n', piece);
            let part = &piece[..end.unwrap_or(piece.len())];
            bytes += part.len() as u64;
            let room = self.bytes_max.saturating_sub(line.len());
            line.extend_from_slice(&part[..part.len().min(room)]);
            if bytes > self.bytes_max as u64 {
                line.truncate(ENDS_KEPT);
                line.shrink_to_fit();
                tail.extend_from_slice(&part[part.len().saturating_sub(ENDS_KEPT)..]);
                let over = tail.len().saturating_sub(ENDS_KEPT);
                tail.drain(..over);
            }
            self.filled.start += part.len() + usize::from(end.is_some());
            if end.is_some() {
                return Some(self.ended(line, tail, bytes));
            }
        }
    }

    fn ended(&self, line: Vec<u8>, tail: Vec<u8>, bytes: u64) -> Line {
        if bytes > self.bytes_max as u64 {
            Line::Oversized { head: line, tail, bytes }
        } else {
            Line::Whole(line)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(text: &[u8], bytes_max: usize) -> Vec<Line> {
        let mut lines = Lines::new(text, bytes_max);
        let mut out = Vec::new();
        while let Some(line) = lines.next().await {
            out.push(line);
        }
        out
    }

    #[tokio::test]
    async fn lf_alone_ends_a_line() {
        let lines = all("a\u{2028}b\rc\n\nlast".as_bytes(), 100).await;
        let expected = ["a\u{2028}b\rc", "", "last"].map(|it| Line::Whole(it.as_bytes().to_vec()));
        assert_eq!(lines, expected);
    }

    #[tokio::test]
    async fn a_line_over_the_bound_is_dropped_and_the_next_one_read() {
        let mut text = format!("{{\"id\":7,{}END", "x".repeat(300_000)).into_bytes();
        text.extend_from_slice(b"\nnext\n");
        let lines = all(&text, 1000).await;
        let Line::Oversized { head, tail, bytes } = &lines[0] else { panic!() };
        assert!(head.starts_with(b"{\"id\":7,") && tail.ends_with(b"END"));
        assert!(head.len() <= 512 && tail.len() <= 512);
        assert_eq!(*bytes, 300_011);
        assert_eq!(lines[1], Line::Whole(b"next".to_vec()));
    }
}
