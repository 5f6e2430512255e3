//! A text as it is compared: the same for spellings that a model mixes up, each byte with its place in the
//! original, so that a hit gives back the very bytes that it stands for.

/// How far two texts may differ and still be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Likeness {
    /// Byte for byte.
    Exact,
    /// Line ends may differ.
    LineEnds,
    /// White space within and around lines, quotes and dashes may differ too.
    Space,
    /// White space beside punctuation may be missing too.
    Words,
}

impl Likeness {
    /// All but the exact one, nearest first.
    pub(crate) const FOLDED: [Likeness; 3] = [Likeness::LineEnds, Likeness::Space, Likeness::Words];

    /// What differed, for the model; `None` = nothing worth a word.
    pub(crate) const fn note(self) -> Option<&'static str> {
        match self {
            Likeness::Exact | Likeness::LineEnds => None,
            Likeness::Space => Some("white space, quotes or dashes differ"),
            Likeness::Words => Some("spacing around punctuation differs"),
        }
    }
}

/// A folded text.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    /// What is compared.
    pub(crate) bytes: Vec<u8>,
    from: Vec<u32>,
    to: Vec<u32>,
}

impl Folded {
    /// Folds bytes; what is no UTF-8 stands for itself and is like nothing else.
    pub(crate) fn new(text: &[u8], likeness: Likeness) -> Self {
        let mut out = Folded {
            bytes: Vec::with_capacity(text.len()),
            from: Vec::with_capacity(text.len()),
            to: Vec::with_capacity(text.len()),
        };
        let mut state = State { line_start: true, gap: None };
        let mut at = 0;
        for chunk in text.utf8_chunks() {
            let valid = chunk.valid();
            let bytes = valid.as_bytes();
            let mut offset = 0;
            while let Some(&byte) = bytes.get(offset) {
                let from = at + offset;
                if byte == b'\r' && bytes.get(offset + 1) == Some(&b'\n') {
                    state.ascii(&mut out, b'\n', from, from + 2, likeness);
                    offset += 2;
                } else if byte.is_ascii() {
                    state.ascii(&mut out, byte, from, from + 1, likeness);
                    offset += 1;
                } else {
                    // A character begins here, since each before it was stepped over whole.
                    let Some(c) = valid[offset..].chars().next() else { break };
                    offset += c.len_utf8();
                    state.character(&mut out, c, from, at + offset, likeness);
                }
            }
            at += valid.len();
            for byte in chunk.invalid() {
                state.opaque(&mut out, *byte, at, likeness);
                at += 1;
            }
        }
        out
    }

    /// The original range that a hit at `at` with `len` folded bytes stands for.
    pub(crate) fn original(&self, at: usize, len: usize) -> std::ops::Range<usize> {
        self.from[at] as usize..self.to[at + len - 1] as usize
    }

    fn push(&mut self, c: char, from: usize, to: usize) {
        let mut buffer = [0; 4];
        for byte in c.encode_utf8(&mut buffer).bytes() {
            self.byte(byte, from, to);
        }
    }

    fn byte(&mut self, byte: u8, from: usize, to: usize) {
        self.bytes.push(byte);
        // Files are bounded far below 4 GiB before they come here.
        self.from.push(u32::try_from(from).unwrap_or(u32::MAX));
        self.to.push(u32::try_from(to).unwrap_or(u32::MAX));
    }

    fn ends_with_word(&self) -> bool {
        self.bytes.last().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80)
    }
}

struct State {
    line_start: bool,
    gap: Option<(usize, usize)>,
}

impl State {
    fn character(&mut self, out: &mut Folded, c: char, from: usize, to: usize, likeness: Likeness) {
        if likeness <= Likeness::LineEnds {
            out.push(c, from, to);
            return;
        }
        if c == '\n' {
            self.gap = None;
            self.line_start = true;
            out.push(c, from, to);
        } else if is_space(c) {
            let start = self.gap.map_or(from, |gap| gap.0);
            self.gap = Some((start, to));
        } else {
            let plain = plain(c);
            self.close_gap(out, is_word(plain), likeness);
            out.push(plain, from, to);
        }
    }

    /// The same for one byte of ASCII, which most of any text is; it stands for itself.
    #[inline]
    fn ascii(&mut self, out: &mut Folded, byte: u8, from: usize, to: usize, likeness: Likeness) {
        if likeness <= Likeness::LineEnds {
            out.byte(byte, from, to);
            return;
        }
        match byte {
            b'\n' => {
                self.gap = None;
                self.line_start = true;
                out.byte(byte, from, to);
            }
            b' ' | b'\t' | b'\r' | 0x0b | 0x0c => {
                let start = self.gap.map_or(from, |gap| gap.0);
                self.gap = Some((start, to));
            }
            _ => {
                if self.gap.is_some() {
                    self.close_gap(out, byte.is_ascii_alphanumeric() || byte == b'_', likeness);
                } else {
                    self.line_start = false;
                }
                out.byte(byte, from, to);
            }
        }
    }

    fn opaque(&mut self, out: &mut Folded, byte: u8, at: usize, likeness: Likeness) {
        if likeness > Likeness::LineEnds {
            self.close_gap(out, true, likeness);
        }
        out.byte(byte, at, at + 1);
    }

    fn close_gap(&mut self, out: &mut Folded, word_follows: bool, likeness: Likeness) {
        let Some((from, to)) = self.gap.take() else {
            self.line_start = false;
            return;
        };
        let matters = likeness == Likeness::Space || (word_follows && out.ends_with_word());
        if !self.line_start && matters {
            out.push(' ', from, to);
        }
        self.line_start = false;
    }
}

/// White space within a line, the invisible kinds too.
pub(crate) fn is_space(c: char) -> bool {
    (c.is_whitespace() && c != '\n') || matches!(c, '\u{200b}' | '\u{2060}')
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Quotes and dashes in their plain form.
fn plain(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{2035}' | '\u{02bc}' | '\u{00b4}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{2036}' | '\u{00ab}' | '\u{00bb}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => '-',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every character by the general way.
    fn slowly(text: &str, likeness: Likeness) -> Folded {
        let mut out = Folded::default();
        let mut state = State { line_start: true, gap: None };
        let mut chars = text.char_indices().peekable();
        while let Some((from, c)) = chars.next() {
            if c == '\r' && chars.next_if(|(_, next)| *next == '\n').is_some() {
                state.character(&mut out, '\n', from, from + 2, likeness);
            } else {
                state.character(&mut out, c, from, from + c.len_utf8(), likeness);
            }
        }
        out
    }

    proptest! {
        // FIL-4: the quick way for ASCII is the general one.
        #[test]
        fn ascii_is_folded_as_any_character(text in "[ -~\\t\\r\\n\\x0b\\x0c\\x00\\x1f“”–é\u{a0}]{0,60}") {
            for likeness in Likeness::FOLDED {
                let (quick, slow) = (Folded::new(text.as_bytes(), likeness), slowly(&text, likeness));
                prop_assert_eq!(quick.bytes, slow.bytes);
                prop_assert_eq!((quick.from, quick.to), (slow.from, slow.to));
            }
        }
    }
}
