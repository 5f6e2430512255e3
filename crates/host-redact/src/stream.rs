//! Redaction of a text that comes in pieces, where a secret may be cut by the edge of two.

use crate::redactor::{REDACTED, Redactor};
use crate::shapes::PEM_BYTES_MAX;
use std::sync::Arc;

/// At least this much of the end is held back: words that make what follows them a secret are shorter.
const HOLD_BYTES_MIN: usize = 512;
/// At most this much is held back for configured values; longer ones are found within one piece only.
const HOLD_BYTES_MAX: usize = 32 * 1024;
/// A stored stream is looked at when this much more has come.
const BATCH_BYTES: usize = 512;
/// A run without white space longer than this is no token.
const RUN_BYTES_MAX: usize = 8 * 1024;
/// At most this much is held back at all.
const HELD_BYTES_MAX: usize = PEM_BYTES_MAX + HOLD_BYTES_MAX;

/// Redacts a stream: each [`push`](StreamRedactor::push) gives what can be said already, and holds back a
/// bounded tail (at most 96 KiB) in which a secret may still be growing.
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Arc<Redactor>,
    held: String,
    hold: usize,
    /// For a screen: hold back the last word alone, where nothing before it hints at a secret.
    live: bool,
    /// A secret that was longer than all bounds goes on: drop what follows up to white space.
    swallow: bool,
}

impl StreamRedactor {
    /// A stream that is stored: it waits for the longest form that a configured value may take.
    pub fn new(redactor: Arc<Redactor>) -> Self {
        // An escaped byte takes up to six characters, a combined encoding more.
        let hold = redactor.longest().saturating_mul(6).clamp(HOLD_BYTES_MIN, HOLD_BYTES_MAX);
        StreamRedactor { redactor, held: String::new(), hold, live: false, swallow: false }
    }

    /// A stream that a person watches: it says every word as soon as the next one begins. Only an encoding
    /// that was broken over lines and cut there is not seen; what is stored goes through [`Self::new`] or
    /// [`Redactor::text`].
    pub fn live(redactor: Arc<Redactor>) -> Self {
        let hold = redactor.longest_spaced().min(HOLD_BYTES_MAX);
        StreamRedactor { redactor, held: String::new(), hold, live: true, swallow: false }
    }

    /// Takes a piece and gives the redacted text that is sure.
    pub fn push(&mut self, piece: &str) -> String {
        let piece = self.swallowed(piece);
        self.held.push_str(piece);
        // A stored stream is looked at in batches, since each look reads all that is held.
        let wait = if self.live { self.hold } else { self.hold + BATCH_BYTES };
        if self.held.len() <= wait {
            return String::new();
        }
        let cut = self.sure();
        if cut == 0 && self.held.len() <= HELD_BYTES_MAX {
            return String::new();
        }
        if cut == 0 {
            return self.overflow();
        }
        let rest = self.held.split_off(cut);
        let sure = std::mem::replace(&mut self.held, rest);
        self.redactor.text(&sure).into_inner()
    }

    /// The end of the stream: gives what was held back.
    pub fn finish(mut self) -> String {
        self.redactor.text(&std::mem::take(&mut self.held)).into_inner()
    }

    /// How much is held back, in bytes.
    pub fn held_bytes(&self) -> usize {
        self.held.len()
    }

    fn swallowed<'p>(&mut self, piece: &'p str) -> &'p str {
        if !self.swallow {
            return piece;
        }
        match piece.find(char::is_whitespace) {
            Some(at) => {
                self.swallow = false;
                &piece[at..]
            }
            None => "",
        }
    }

    /// How much from the front no later piece can change.
    fn sure(&self) -> usize {
        let text = self.held.as_str();
        let mut cut = text.len() - self.hold;
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        // Not within a run of characters that could be one token.
        let run = run_start(text, cut);
        if cut - run <= RUN_BYTES_MAX {
            cut = run;
        }
        if self.live {
            cut = hint_start(text, cut);
        }
        // Not within a secret, nor between it and the words that make it one.
        let mut places: Vec<(usize, usize)> = Vec::new();
        self.redactor.find(text, |shape| {
            let end = if shape.open { usize::MAX } else { shape.range.end };
            places.push((shape.context.min(shape.range.start), end));
        });
        places.sort_unstable_by(|a, b| b.cmp(a));
        let mut moved = true;
        while moved {
            moved = false;
            for (start, end) in &places {
                if *start < cut && cut < *end {
                    cut = *start;
                    moved = true;
                }
            }
        }
        cut
    }

    /// A secret without an end: say so, and drop the rest of it.
    fn overflow(&mut self) -> String {
        let sure = std::mem::take(&mut self.held);
        let mut open = false;
        self.redactor.find(&sure, |shape| open |= shape.open);
        let mut out = self.redactor.text(&sure).into_inner();
        if open {
            self.swallow = true;
            if !out.ends_with(REDACTED) {
                out.push_str(REDACTED);
            }
        }
        out
    }
}

/// Where the run without white space begins that ends here.
fn run_start(text: &str, end: usize) -> usize {
    let mut letters = text[..end].char_indices().rev();
    letters.find(|(_, letter)| letter.is_whitespace()).map_or(0, |(at, letter)| at + letter.len_utf8())
}

/// How far back a word is looked for that makes what follows it a secret.
const HINT_BYTES_MAX: usize = 64;

/// The place before a word that makes the next one a secret, where one is near the cut.
fn hint_start(text: &str, cut: usize) -> usize {
    const HINTS: [&str; 4] = ["authorization", "bearer", "basic", "-----begin"];
    let mut from = cut.saturating_sub(HINT_BYTES_MAX);
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    let near = text[from..cut].to_ascii_lowercase();
    HINTS.iter().filter_map(|hint| near.rfind(hint)).min().map_or(cut, |at| from + at)
}
