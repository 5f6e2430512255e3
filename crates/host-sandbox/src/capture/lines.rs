//! The first and last lines of a stream, each cut to a length, in bounded memory.

use memchr::{memchr, memchr_iter, memrchr_iter};
use std::collections::VecDeque;

/// Keeps what a preview by lines needs.
pub(super) struct LinePreview {
    head_max: usize,
    tail_max: usize,
    chars_max: usize,
    head: Vec<Line>,
    tail: VecDeque<Line>,
    /// Lines that fell out of the tail.
    left_out: u64,
    /// The line that has no end yet.
    open: Line,
}

/// One line: its start, and how long it really is.
#[derive(Debug, Default, Clone)]
struct Line {
    start: Vec<u8>,
    bytes: u64,
    chars: u64,
    ended: bool,
}

impl LinePreview {
    pub(super) fn new(head_max: usize, tail_max: usize, chars_max: usize) -> Self {
        LinePreview {
            head_max,
            tail_max,
            chars_max,
            head: Vec::new(),
            tail: VecDeque::new(),
            left_out: 0,
            open: Line::default(),
        }
    }

    pub(super) fn push(&mut self, mut chunk: &[u8]) {
        // Lines go one by one while they may still be shown from the start …
        while self.head.len() < self.head_max {
            let Some(end) = memchr(b'\n', chunk) else { break };
            self.open.add(&chunk[..end], self.chars_max);
            self.close();
            chunk = &chunk[end + 1..];
        }
        // … and of the rest only the last ones of each chunk are looked at.
        let count = memchr_iter(b'\n', chunk).count();
        let skipped = count.saturating_sub(self.tail_max + 1);
        if skipped > 0 {
            let from = nth_newline_from_end(chunk, self.tail_max + 1);
            self.left_out += skipped as u64 + self.tail.len() as u64;
            self.tail.clear();
            self.open = Line::default();
            chunk = &chunk[from..];
        }
        while let Some(end) = memchr(b'\n', chunk) {
            self.open.add(&chunk[..end], self.chars_max);
            self.close();
            chunk = &chunk[end + 1..];
        }
        self.open.add(chunk, self.chars_max);
    }

    fn close(&mut self) {
        let mut line = std::mem::take(&mut self.open);
        line.ended = true;
        if self.head.len() < self.head_max {
            self.head.push(line);
            return;
        }
        self.tail.push_back(line);
        if self.tail.len() > self.tail_max {
            // The room of the old line is used for the next one.
            if let Some(mut old) = self.tail.pop_front() {
                old.start.clear();
                self.open = Line { start: old.start, ..Line::default() };
            }
            self.left_out += 1;
        }
    }

    /// The preview, and whether it is less than the whole.
    pub(super) fn render(mut self) -> (String, bool) {
        if self.open.bytes > 0 {
            let open = std::mem::take(&mut self.open);
            if self.head.len() < self.head_max {
                self.head.push(open);
            } else {
                self.tail.push_back(open);
                if self.tail.len() > self.tail_max {
                    self.tail.pop_front();
                    self.left_out += 1;
                }
            }
        }
        let mut cut = self.left_out > 0;
        let mut out = String::new();
        for line in &self.head {
            cut |= line.render(&mut out, self.chars_max);
        }
        if self.left_out > 0 {
            let s = if self.left_out == 1 { "" } else { "s" };
            out.push_str(&format!("[… {} line{s} left out …]\n", self.left_out));
        }
        for line in &self.tail {
            cut |= line.render(&mut out, self.chars_max);
        }
        (out, cut)
    }
}

impl Line {
    fn add(&mut self, bytes: &[u8], chars_max: usize) {
        // A character has at most four bytes, and one cut character may stand at the end.
        let room = (chars_max.saturating_mul(4) + 4).saturating_sub(self.start.len());
        self.start.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.bytes += bytes.len() as u64;
        self.chars += bytes.iter().filter(|&&b| b & 0xc0 != 0x80).count() as u64;
    }

    fn render(&self, out: &mut String, chars_max: usize) -> bool {
        let text = String::from_utf8_lossy(&self.start);
        let whole = self.start.len() as u64 == self.bytes;
        let shown: String = text.chars().take(chars_max).collect();
        let cut = !whole || shown.len() < text.len();
        out.push_str(&shown);
        if cut {
            let shown = shown.chars().count() as u64;
            // Exact for valid text; of a line that isn't, the bytes are what can be said.
            let more = self.chars.saturating_sub(shown).max(1);
            out.push_str(&format!("… [{more} more characters]"));
        }
        if self.ended || cut {
            out.push('\n');
        }
        cut
    }
}

/// Where the text after the `n`-th newline from the end begins.
fn nth_newline_from_end(chunk: &[u8], n: usize) -> usize {
    memrchr_iter(b'\n', chunk).nth(n).map_or(0, |at| at + 1)
}
