//! Other readings of one text, each with a way back: what was found in a reading is replaced in the
//! text itself, and nothing else of it changes.

use std::ops::Range;
use unicode_normalization::char::{canonical_combining_class, compose};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// A stretch of a reading and the part of the source that it was read from.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    /// Where it begins in the reading.
    at: usize,
    /// Where it begins in the source.
    from: usize,
    /// How long it is in the source.
    length: usize,
    /// Whether it stands there letter by letter.
    same: bool,
}

impl Stretch {
    fn begin_of(&self, position: usize) -> usize {
        if self.same { self.from + (position - self.at) } else { self.from }
    }

    fn end_of(&self, last: usize) -> usize {
        if self.same { self.from + (last - self.at) + 1 } else { self.from + self.length }
    }
}

/// A reading of a text with the way back.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub(crate) text: String,
    stretches: Vec<Stretch>,
}

impl View {
    fn with_room(bytes: usize) -> Self {
        View { text: String::with_capacity(bytes), stretches: Vec::new() }
    }

    /// Takes a part of the source as it stands.
    fn copy(&mut self, source: &str, range: Range<usize>) {
        if !range.is_empty() {
            self.add(Stretch { at: self.text.len(), from: range.start, length: range.len(), same: true });
            self.text.push_str(&source[range]);
        }
    }

    /// Takes a letter that was decoded from a part of the source.
    fn decoded(&mut self, letter: char, source: Range<usize>) {
        self.add(Stretch { at: self.text.len(), from: source.start, length: source.len(), same: false });
        self.text.push(letter);
    }

    fn add(&mut self, next: Stretch) {
        if let Some(last) = self.stretches.last_mut()
            && last.same
            && next.same
            && last.from + last.length == next.from
            && last.at + last.length == next.at
        {
            last.length += next.length;
            return;
        }
        self.stretches.push(next);
    }

    fn stretch(&self, position: usize) -> Option<&Stretch> {
        let after = self.stretches.partition_point(|stretch| stretch.at <= position);
        self.stretches.get(after.checked_sub(1)?)
    }

    /// The source of a range of the reading.
    pub(crate) fn source(&self, range: Range<usize>) -> Range<usize> {
        let last = range.end.saturating_sub(1);
        match (self.stretch(range.start), self.stretch(last)) {
            (Some(first), Some(end)) if !range.is_empty() => first.begin_of(range.start)..end.end_of(last),
            _ => 0..0,
        }
    }

    /// A reading of this reading, with the way back to the first source.
    pub(crate) fn then(&self, read: fn(&str) -> Option<View>) -> Option<View> {
        let next = read(&self.text)?;
        let mut whole = View { text: next.text, stretches: Vec::with_capacity(next.stretches.len()) };
        for stretch in next.stretches {
            let end = stretch.from + stretch.length;
            if !stretch.same {
                let source = self.source(stretch.from..end);
                whole.add(Stretch { from: source.start, length: source.len(), ..stretch });
                continue;
            }
            let first = self.stretches.partition_point(|inner| inner.at <= stretch.from).saturating_sub(1);
            for (index, inner) in self.stretches.iter().enumerate().skip(first) {
                if inner.at >= end {
                    break;
                }
                let inner_end = self.stretches.get(index + 1).map_or(self.text.len(), |after| after.at);
                let (low, high) = (inner.at.max(stretch.from), inner_end.min(end));
                let from = inner.begin_of(low);
                let length = if inner.same { high - low } else { inner.length };
                whole.add(Stretch { at: stretch.at + (low - stretch.from), from, length, same: inner.same });
            }
        }
        Some(whole)
    }
}

/// What the front of a rest decodes to (nothing, for what is left out) and how many bytes that took.
type Unit = Option<(Option<char>, usize)>;

/// Reads a text: at each `sign`, `unit` decodes the front of the rest, or says `None` for "as it stands".
/// No reading where nothing was decoded.
fn read(text: &str, sign: u8, unit: impl Fn(&str) -> Unit) -> Option<View> {
    // Every encoding has a sign, and most texts don't hold it.
    memchr::memchr(sign, text.as_bytes())?;
    let mut view = View::with_room(text.len());
    let mut changed = false;
    let (mut copied, mut at) = (0, 0);
    while let Some(skip) = memchr::memchr(sign, &text.as_bytes()[at..]) {
        at += skip;
        match unit(&text[at..]) {
            Some((letter, taken)) => {
                changed = true;
                view.copy(text, copied..at);
                if let Some(letter) = letter {
                    view.decoded(letter, at..at + taken);
                }
                at += taken;
                copied = at;
            }
            None => at += 1,
        }
    }
    view.copy(text, copied..text.len());
    changed.then_some(view)
}

/// Percent decoding, of whole UTF-8 characters.
pub(crate) fn percent(text: &str) -> Option<View> {
    read(text, b'%', |rest| {
        let first = percent_byte(rest)?;
        let bytes = match first {
            0..=0x7f => return Some((Some(char::from(first)), 3)),
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => return None,
        };
        let mut buffer = [first; 4];
        for (index, byte) in buffer.iter_mut().enumerate().take(bytes).skip(1) {
            *byte = percent_byte(rest.get(3 * index..)?)?;
        }
        let letter = std::str::from_utf8(&buffer[..bytes]).ok()?.chars().next();
        Some((letter, 3 * bytes))
    })
}

fn percent_byte(rest: &str) -> Option<u8> {
    let bytes = rest.as_bytes();
    (bytes.first() == Some(&b'%')).then(|| hex_pair(bytes.get(1..3)?)).flatten()
}

fn hex_pair(pair: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()
}

/// Backslash escapes of JSON and of most languages: `\"`, `\/`, `\n`, `\u0041`, `\u{41}`, `\x41`.
pub(crate) fn unescaped(text: &str) -> Option<View> {
    read(text, b'\\', |rest| {
        let bytes = rest.as_bytes();
        if bytes.first() != Some(&b'\\') {
            return None;
        }
        let simple = |letter| Some((Some(letter), 2));
        match bytes.get(1)? {
            b'n' => simple('\n'),
            b'r' => simple('\r'),
            b't' => simple('\t'),
            b'b' => simple('\u{8}'),
            b'f' => simple('\u{c}'),
            byte @ (b'"' | b'\'' | b'/' | b'\\') => simple(char::from(*byte)),
            b'x' => Some((Some(char::from(hex_pair(bytes.get(2..4)?)?)), 4)),
            b'u' => unicode_escape(rest),
            _ => None,
        }
    })
}

fn unicode_escape(rest: &str) -> Option<(Option<char>, usize)> {
    if let Some(braced) = rest.get(2..)?.strip_prefix('{') {
        let end = braced.bytes().take(8).position(|byte| byte == b'}')?;
        let letter = char::from_u32(u32::from_str_radix(&braced[..end], 16).ok()?)?;
        return Some((Some(letter), end + 4));
    }
    let unit = |at: usize| u32::from_str_radix(rest.get(at..at + 4)?, 16).ok();
    let first = unit(2)?;
    if (0xd800..0xdc00).contains(&first) && rest.get(6..8) == Some("\\u") {
        let second = unit(8).filter(|low| (0xdc00..0xe000).contains(low))?;
        let letter = char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))?;
        return Some((Some(letter), 12));
    }
    Some((Some(char::from_u32(first)?), 6))
}

/// Character references of HTML and XML: the named five, decimal and hexadecimal ones.
pub(crate) fn references(text: &str) -> Option<View> {
    read(text, b'&', |rest| {
        let inner = rest.strip_prefix('&')?;
        let end = inner.bytes().take(10).position(|byte| byte == b';')?;
        let letter = match &inner[..end] {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            number => {
                let number = number.strip_prefix('#')?;
                let code = match number.strip_prefix(['x', 'X']) {
                    Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                    None => number.parse().ok()?,
                };
                char::from_u32(code)?
            }
        };
        Some((Some(letter), end + 2))
    })
}

/// A text without its line ends and the space before the next line's first character: what a wrapped
/// encoding was before.
pub(crate) fn joined(text: &str) -> Option<View> {
    if !may_be_wrapped(text.as_bytes()) {
        return None;
    }
    // A carriage return before the line end belongs to no encoding: where there is one, it is the sign.
    if memchr::memchr(b'\r', text.as_bytes()).is_some() {
        return read(text, b'\r', |rest| rest.starts_with("\r\n").then(|| (None, line_end(rest, 2))));
    }
    read(text, b'\n', |rest| Some((None, line_end(rest, 1))))
}

/// A line of an encoding that goes on in the next one ends with at least so many of its characters.
const WRAPPED_LINE_MIN: usize = 16;

fn may_be_wrapped(bytes: &[u8]) -> bool {
    let letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    memchr::memchr_iter(b'\n', bytes).any(|at| {
        let line = bytes[..at].strip_suffix(b"\r").unwrap_or(&bytes[..at]);
        line.iter().rev().take(WRAPPED_LINE_MIN).take_while(|byte| letter(byte)).count() == WRAPPED_LINE_MIN
    })
}

fn line_end(rest: &str, end: usize) -> usize {
    end + rest[end..].bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// The compatibility form (NFKC) without invisible characters and terminal colours.
pub(crate) fn folded(text: &str) -> Option<View> {
    if text.is_ascii() && memchr::memchr(0x1b, text.as_bytes()).is_none() {
        return None;
    }
    let mut view = View::with_room(text.len());
    let mut changed = false;
    // Letters that combine are normalised together.
    let mut cluster: Vec<char> = Vec::new();
    let mut source = 0..0;
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        let skipped = invisible(&text[at..], letter);
        if skipped > 0 {
            changed = true;
            at += skipped;
            continue;
        }
        if cluster.last().is_none_or(|last| starts_cluster(*last, letter)) {
            changed |= flush(&mut view, text, &mut cluster, source.clone());
            // All but the last of a plain stretch can't combine with anything.
            let plain = text[at..].bytes().take_while(|byte| byte.is_ascii() && *byte != 0x1b).count();
            if plain > 1 {
                view.copy(text, at..at + plain - 1);
                at += plain - 1;
                source = at..at;
                continue;
            }
            source.start = at;
        }
        cluster.push(letter);
        at += letter.len_utf8();
        source.end = at;
    }
    changed |= flush(&mut view, text, &mut cluster, source);
    changed.then_some(view)
}

fn starts_cluster(last: char, letter: char) -> bool {
    letter.is_ascii()
        || (canonical_combining_class(letter) == 0
            && !('\u{1160}'..='\u{11ff}').contains(&letter)
            && compose(last, letter).is_none())
}

/// At most this many letters are normalised together; a longer cluster is no text.
const CLUSTER_LETTERS_MAX: usize = 64;

/// Takes a cluster; says whether it changed.
fn flush(view: &mut View, text: &str, cluster: &mut Vec<char>, source: Range<usize>) -> bool {
    if cluster.is_empty() {
        return false;
    }
    // A cluster with something invisible inside is longer in the source than its letters.
    let whole = cluster.iter().map(|letter| letter.len_utf8()).sum::<usize>() == source.len();
    if whole && is_nfkc_quick(cluster.iter().copied()) == IsNormalized::Yes {
        view.copy(text, source);
        cluster.clear();
        return false;
    }
    for letter in cluster.iter().take(CLUSTER_LETTERS_MAX).copied().nfkc() {
        view.decoded(letter, source.clone());
    }
    cluster.clear();
    true
}

/// How many bytes at the front show nothing: zero-width and control-of-layout characters, and terminal
/// sequences.
fn invisible(rest: &str, letter: char) -> usize {
    match letter {
        '\u{1b}' => terminal_sequence(rest),
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{180b}'..='\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}' => letter.len_utf8(),
        _ => 0,
    }
}

fn terminal_sequence(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    if bytes.get(1) != Some(&b'[') {
        return 0;
    }
    match bytes.iter().skip(2).take(32).position(|byte| (0x40..=0x7e).contains(byte)) {
        Some(at) if bytes[2..2 + at].is_ascii() => at + 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(source: &str, view: &View, needle: &str) -> String {
        let at = view.text.find(needle).unwrap();
        source[view.source(at..at + needle.len())].to_owned()
    }

    #[test]
    fn every_reading_leads_back() {
        for (read, source, needle, part) in [
            (percent as fn(&str) -> Option<View>, "x%70%C3%A9q y", "péq", "%70%C3%A9q"),
            (unescaped, r#"a \"\u0070\uD83D\uDE00\/ b"#, "p😀/", r"\u0070\uD83D\uDE00\/"),
            (unescaped, r"\x70\u{71}", "pq", r"\x70\u{71}"),
            (references, "x &amp;&#112;&#x71; y", "&pq", "&amp;&#112;&#x71;"),
            (joined, "abcdefghijklmnopq\r\n  rstu", "opqrs", "opq\r\n  rs"),
            (folded, "é ｐ\u{200b}４ss e\u{301}x", "p4ss", "ｐ\u{200b}４ss"),
            (folded, "é ｐ４ss e\u{301}x", "éx", "e\u{301}x"),
            (folded, "p4\u{1b}[01;31mss", "p4ss", "p4\u{1b}[01;31mss"),
            (folded, "ᄒ\u{1161}\u{11ab}", "한", "ᄒ\u{1161}\u{11ab}"),
        ] {
            let view = read(source).unwrap();
            let at = view.text.rfind(needle).unwrap_or_else(|| panic!("{source}: {:?}", view.text));
            assert_eq!(&source[view.source(at..at + needle.len())], part, "{source}");
        }
        let both = unescaped(r"%5Cu0070x").is_none();
        assert!(both);
        let chain = percent("%5Cu0070x").unwrap().then(unescaped).unwrap();
        assert_eq!(back("%5Cu0070x", &chain, "p"), "%5Cu0070");
    }

    #[test]
    fn nothing_to_read() {
        assert!(percent("100% of %zz %").is_none());
        assert!(unescaped(r"C:\Users \ud800 \").is_none());
        assert!(references("a & b &nope; &#xzz;").is_none());
        assert!(folded("plain é text").is_none());
        assert!(joined("one line").is_none());
    }
}
