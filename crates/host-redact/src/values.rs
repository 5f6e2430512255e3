//! Configured values and the forms they travel in.

use aho_corasick::{AhoCorasick, MatchKind};
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
    /// The values as they are and encoded; for the text itself.
    encoded: AhoCorasick,
    /// For each pattern of `encoded`, how it may be widened.
    edges: Vec<Edge>,
    /// The values as they are, in the compatibility form; for readings.
    plain: AhoCorasick,
    /// Long encodings; for joined lines.
    wrapped: AhoCorasick,
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
}

const NO_EDGE: Edge = Edge { left: false, right: false };

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
            let encodings = encodings(value);
            wrapped.extend(
                encodings.iter().map(|(text, _)| text.clone()).filter(|t| t.len() >= WRAPPED_CHARS_MIN),
            );
            patterns.extend(encodings);
        }
        let folded: BTreeSet<String> =
            plain.iter().map(|value| fold(value)).filter(|v| v.chars().count() >= VALUE_CHARS_MIN).collect();
        let longest = patterns.iter().map(|(text, _)| text.len()).max().unwrap_or_default();
        let spaced = |value: &&String| value.contains(char::is_whitespace);
        let longest_spaced = plain.iter().filter(spaced).map(String::len).max().unwrap_or_default();
        let numbers =
            plain.iter().filter(|v| v.len() >= 8 && v.bytes().all(|b| b.is_ascii_digit())).cloned().collect();
        Some(Values {
            encoded: automaton(patterns.iter().map(|(text, _)| text.as_str()))?,
            edges: patterns.iter().map(|(_, edge)| *edge).collect(),
            plain: automaton(folded.iter().chain(&plain).map(String::as_str))?,
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

    /// Adds the places of a reading of a text.
    pub(crate) fn find_plain(&self, text: &str, mut found: impl FnMut(Range<usize>)) {
        self.plain.find_iter(text).for_each(|hit| found(hit.start()..hit.end()));
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

/// The form that readings are compared in: NFKC without invisible characters.
fn fold(value: &str) -> String {
    crate::view::folded(value).map_or_else(|| value.nfkc().collect(), |view| view.text)
}

fn automaton<'a>(patterns: impl Iterator<Item = &'a str>) -> Option<AhoCorasick> {
    // Leftmost-longest, so that a value that begins with another one goes as a whole.
    AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(patterns).ok()
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
        let mut padded = vec![0; offset];
        padded.extend_from_slice(bytes);
        // Only the characters that the value alone decides.
        let start = (8 * offset).div_ceil(6);
        let end = 8 * padded.len() / 6;
        let edge = Edge { left: offset > 0, right: 8 * padded.len() % 6 != 0 };
        for text in [STANDARD.encode(&padded), URL_SAFE_NO_PAD.encode(&padded)] {
            let form = &text[start..end];
            if form.len() >= if offset == 0 { 5 } else { 7 } && !forms.iter().any(|(known, _)| known == form)
            {
                forms.push((form.to_owned(), edge));
            }
        }
    }
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    forms.push((hex.to_uppercase(), NO_EDGE));
    forms.push((hex, NO_EDGE));
    if value.contains(' ') {
        forms.push((value.replace(' ', "+"), NO_EDGE));
    }
    forms
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
    if edge.left || edge.right {
        range.end += bytes[range.end..].iter().take(2).take_while(|byte| **byte == b'=').count();
    }
    range
}
