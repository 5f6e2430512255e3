//! Configured values and the forms they travel in.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use host_vocab::Secret;
use std::collections::BTreeSet;
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;

/// A value of fewer characters is not looked for: it would stand in ordinary text (REM-4).
pub const VALUE_CHARS_MIN: usize = 4;
/// A line of a value of several lines is a value of its own from this many characters.
const LINE_CHARS_MIN: usize = 16;
/// An encoding broken over lines is looked for from this many characters.
const WRAPPED_CHARS_MIN: usize = 12;

/// Finds the configured values of one agent.
pub(crate) struct Values {
    /// The values as they are, in the compatibility form (that of some readings), and encoded.
    encoded: AhoCorasick,
    /// For each pattern of `encoded`, how it may be widened.
    edges: Vec<Edge>,
    /// Long encodings; for joined lines.
    wrapped: AhoCorasick,
    /// The values as they are.
    plain: Vec<String>,
    /// Values that are whole numbers.
    numbers: BTreeSet<String>,
    /// The longest pattern, in bytes.
    pub(crate) longest: usize,
    /// The longest value with white space in it, in bytes.
    pub(crate) longest_spaced: usize,
}

/// Whether the neighbours of a match hold bits of the value too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Edge {
    left: bool,
    right: bool,
    /// Whether padding may follow.
    padded: bool,
}

const NO_EDGE: Edge = Edge { left: false, right: false, padded: false };

/// A value of fewer bytes is too short to be told by the base64 characters that it decides alone, so its
/// neighbours' bits are tried out.
const WHOLE_BITS_BELOW: usize = 8;

impl Values {
    /// `None` where there is nothing to look for.
    pub(crate) fn new(secrets: &[Secret]) -> Option<Self> {
        let mut plain: BTreeSet<String> = BTreeSet::new();
        for secret in secrets {
            add_value(&mut plain, secret.expose());
        }
        if plain.is_empty() {
            return None;
        }
        let mut patterns: Vec<(String, Edge)> = Vec::new();
        let mut wrapped: Vec<String> = Vec::new();
        for value in &plain {
            patterns.push((value.clone(), NO_EDGE));
            let folded = fold(value);
            if folded != *value && folded.chars().count() >= VALUE_CHARS_MIN {
                patterns.push((folded, NO_EDGE));
            }
            let encodings = encodings(value);
            wrapped.extend(
                encodings.iter().map(|(text, _)| text.clone()).filter(|t| t.len() >= WRAPPED_CHARS_MIN),
            );
            patterns.extend(encodings);
        }
        let longest = patterns.iter().map(|(text, _)| text.len()).max().unwrap_or_default();
        let spaced = |value: &&String| value.contains(char::is_whitespace);
        let longest_spaced = plain.iter().filter(spaced).map(String::len).max().unwrap_or_default();
        let numbers =
            plain.iter().filter(|v| v.len() >= 8 && v.bytes().all(|b| b.is_ascii_digit())).cloned().collect();
        let whole = plain.iter().cloned().collect();
        Some(Values {
            plain: whole,
            encoded: automaton(patterns.iter().map(|(text, _)| text.as_str()))?,
            edges: patterns.iter().map(|(_, edge)| *edge).collect(),
            wrapped: automaton(wrapped.iter().map(String::as_str))?,
            numbers,
            longest,
            longest_spaced,
        })
    }

    /// Adds the places of a text.
    pub(crate) fn find(&self, text: &str, mut found: impl FnMut(Range<usize>)) {
        for hit in self.encoded.find_iter(text) {
            let edge = self.edges.get(hit.pattern().as_usize()).copied().unwrap_or(NO_EDGE);
            found(widened(text, hit.start()..hit.end(), edge));
        }
    }

    /// Adds the halves of values beside the marks of a cut (`…`): the beginning of a value before one, the end of a
    /// value behind one.
    pub(crate) fn find_cut(&self, text: &str, mut found: impl FnMut(Range<usize>)) {
        for (at, mark) in text.match_indices(CUT).take(CUTS_MAX) {
            let before = text[..at].trim_end_matches(['[', '\n']);
            // A mark with words in it reaches to its own end.
            let behind = text[at + mark.len()..].trim_start_matches([']', '\n']);
            let from = text.len() - behind.len();
            for value in &self.plain {
                if let Some(half) = halves(value).find(|half| before.ends_with(half)) {
                    found(before.len() - half.len()..before.len());
                }
                if let Some(half) = other_halves(value).find(|half| behind.starts_with(half)) {
                    found(from..from + half.len());
                }
            }
        }
    }

    /// Adds the places of encodings in joined lines.
    pub(crate) fn find_wrapped(&self, text: &str, mut found: impl FnMut(Range<usize>)) {
        self.wrapped.find_iter(text).for_each(|hit| found(hit.start()..hit.end()));
    }

    /// Whether a number is a configured value.
    pub(crate) fn is_number(&self, digits: &str) -> bool {
        self.numbers.contains(digits)
    }
}

/// What stands where a text was cut.
const CUT: &str = "…";
/// At most so many cuts of one text are looked at.
const CUTS_MAX: usize = 16;
/// A part of a value counts from this many bytes.
const HALF_BYTES_MIN: usize = 6;

/// The proper beginnings of a value, the longest first.
fn halves(value: &str) -> impl Iterator<Item = &str> {
    (HALF_BYTES_MIN..value.len()).rev().filter_map(|at| value.get(..at))
}

/// The proper ends of a value, the longest first.
fn other_halves(value: &str) -> impl Iterator<Item = &str> {
    (1..value.len().saturating_sub(HALF_BYTES_MIN - 1)).filter_map(|at| value.get(at..))
}

/// The form that readings are compared in: NFKC without invisible characters.
fn fold(value: &str) -> String {
    crate::view::folded(value).map_or_else(|| value.nfkc().collect(), |view| view.text)
}

/// Patterns of at most this many bytes become a table, which is quicker and larger.
const TABLE_BYTES_MAX: usize = 16 * 1024;

fn automaton<'a>(patterns: impl Iterator<Item = &'a str> + Clone) -> Option<AhoCorasick> {
    let small = patterns.clone().map(str::len).sum::<usize>() <= TABLE_BYTES_MAX;
    AhoCorasick::builder()
        // Leftmost-longest, so that a value that begins with another one goes as a whole.
        .match_kind(MatchKind::LeftmostLongest)
        .kind(small.then_some(AhoCorasickKind::DFA))
        .build(patterns)
        .ok()
}

fn add_value(values: &mut BTreeSet<String>, value: &str) {
    for form in [value, value.trim()] {
        if form.chars().count() >= VALUE_CHARS_MIN && !form.trim().is_empty() {
            values.insert(form.to_owned());
            values.insert(form.nfc().collect());
            values.insert(form.nfd().collect());
        }
    }
    if value.trim().contains('\n') {
        for line in value.lines().map(str::trim).filter(|line| line.chars().count() >= LINE_CHARS_MIN) {
            values.insert(line.to_owned());
        }
    }
}

/// Base64 in both alphabets and all three alignments, hex in both cases, and the form encoding.
fn encodings(value: &str) -> Vec<(String, Edge)> {
    let bytes = value.as_bytes();
    let mut forms: Vec<(String, Edge)> = Vec::new();
    for offset in 0..3 {
        if bytes.len() < WHOLE_BITS_BELOW {
            base64_all_bits(bytes, offset, &mut forms)
        } else {
            base64_inner(bytes, offset, &mut forms)
        }
    }
    let hex = host_vocab::text::hex(bytes);
    forms.push((hex.to_uppercase(), NO_EDGE));
    forms.push((hex, NO_EDGE));
    if value.contains(' ') {
        forms.push((value.replace(' ', "+"), NO_EDGE));
    }
    forms
}

/// The characters that the value alone decides, behind so many other bytes.
fn base64_inner(bytes: &[u8], offset: usize, forms: &mut Vec<(String, Edge)>) {
    let mut padded = vec![0; offset];
    padded.extend_from_slice(bytes);
    let start = (8 * offset).div_ceil(6);
    let end = 8 * padded.len() / 6;
    let edge = Edge { left: offset > 0, right: !padded.len().is_multiple_of(3), padded: true };
    add_base64(&padded, start..end, edge, forms);
}

/// The characters that hold any bit of the value, with all that its neighbours may add to them.
fn base64_all_bits(bytes: &[u8], offset: usize, forms: &mut Vec<(String, Edge)>) {
    let bits = 8 * (offset + bytes.len());
    let (start, end) = (8 * offset / 6, bits.div_ceil(6));
    let left_bits = 8 * offset % 6;
    let right_bits = 6 * end - bits;
    let edge = Edge { padded: true, ..NO_EDGE };
    for left in 0..1_u8 << left_bits {
        for right in 0..1_u16 << right_bits {
            let mut padded = vec![0; offset];
            if let Some(before) = padded.last_mut() {
                *before = left;
            }
            padded.extend_from_slice(bytes);
            padded.push(u8::try_from(right << (8 - right_bits)).unwrap_or_default());
            add_base64(&padded, start..end, edge, forms);
        }
    }
}

fn add_base64(bytes: &[u8], range: Range<usize>, edge: Edge, forms: &mut Vec<(String, Edge)>) {
    for text in [STANDARD.encode(bytes), URL_SAFE_NO_PAD.encode(bytes)] {
        let form = &text[range.clone()];
        if !forms.iter().any(|(known, _)| known == form) {
            forms.push((form.to_owned(), edge));
        }
    }
}

fn widened(text: &str, range: Range<usize>, edge: Edge) -> Range<usize> {
    let bytes = text.as_bytes();
    let letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    let mut range = range;
    if edge.left && range.start > 0 && letter(&bytes[range.start - 1]) {
        range.start -= 1;
    }
    if edge.right && bytes.get(range.end).is_some_and(letter) {
        range.end += 1;
    }
    if edge.padded {
        range.end += bytes[range.end..].iter().take(2).take_while(|byte| **byte == b'=').count();
    }
    range
}
