//! The start and the end of a stream by characters, in bounded memory.

use host_vocab::text::{word_end, word_start};
use std::collections::VecDeque;

/// Keeps what a preview by characters needs.
pub(super) struct Ends {
    chars_max: usize,
    bytes: u64,
    head: Vec<u8>,
    tail: VecDeque<u8>,
}

impl Ends {
    pub(super) fn new(chars_max: usize) -> Self {
        Ends { chars_max, bytes: 0, head: Vec::new(), tail: VecDeque::new() }
    }

    /// A character has at most four bytes; a cut one may stand at the edge.
    fn room(&self) -> usize {
        self.chars_max.saturating_mul(4) + 8
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.bytes += chunk.len() as u64;
        let room = self.room();
        let first = chunk.len().min(room - self.head.len());
        self.head.extend_from_slice(&chunk[..first]);
        let rest = &chunk[first..];
        let last = &rest[rest.len().saturating_sub(room)..];
        let over = (self.tail.len() + last.len()).saturating_sub(room);
        self.tail.drain(..over);
        self.tail.extend(last);
    }

    fn held(&self) -> u64 {
        (self.head.len() + self.tail.len()) as u64
    }

    /// The whole text, where nothing fell out.
    fn whole(&mut self) -> Option<String> {
        if self.held() != self.bytes {
            return None;
        }
        self.head.extend(self.tail.drain(..));
        Some(String::from_utf8_lossy(&self.head).into_owned())
    }

    /// At most `chars_max` characters, and whether something is left out.
    fn render(mut self, chars_max: usize) -> (String, bool) {
        if let Some(text) = self.whole() {
            return cut(&text, &text, chars_max, 0);
        }
        let head = String::from_utf8_lossy(&self.head).into_owned();
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        // The tail may begin inside a character.
        let from = tail.iter().take(4).position(|b| b & 0xc0 != 0x80).unwrap_or(0);
        let tail = String::from_utf8_lossy(&tail[from..]).into_owned();
        cut(&head, &tail, chars_max, self.bytes)
    }
}

/// 60 % from the start of one text and 40 % from the end of another, with a marker between them; `bytes` is the
/// length of the whole where the two are not the same text. No word is parted.
fn cut(head: &str, tail: &str, chars_max: usize, bytes: u64) -> (String, bool) {
    if bytes == 0 && head.chars().count() <= chars_max {
        return (head.to_owned(), false);
    }
    let first_chars = chars_max / 10 * 6 + chars_max % 10 * 6 / 10;
    let place = |text: &str, chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let first = &head[..word_end(head, place(head, first_chars))];
    let last_chars = chars_max - first_chars;
    let skip = tail.chars().count().saturating_sub(last_chars);
    let last = &tail[word_start(tail, place(tail, skip))..];
    let bytes = if bytes == 0 { head.len() as u64 } else { bytes };
    let left_out = bytes.saturating_sub((first.len() + last.len()) as u64);
    (format!("{first}\n[… {left_out} of {bytes} bytes left out here …]\n{last}"), true)
}

/// Shares the room between both streams: what one doesn't need the other may have.
pub(super) fn render_both(mut out: Ends, mut err: Ends) -> ((String, bool), (String, bool)) {
    let room = out.chars_max.min(err.chars_max);
    let needs = |ends: &mut Ends| ends.whole().map_or(room, |text| text.chars().count().min(room));
    let (out_needs, err_needs) = (needs(&mut out), needs(&mut err));
    let half = room / 2;
    let err_room = err_needs.min(half.max(room - out_needs.min(room)));
    (out.render(room - err_room), err.render(err_room))
}
