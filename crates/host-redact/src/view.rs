//! Other readings of one text, each with a way back: what was found in a reading is replaced in the
//! text itself, and nothing else of it changes.

use std::ops::Range;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, compose};

/// A reading. `from[i]..to[i]` is the part of the source that byte `i` was read from.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub(crate) text: String,
    from: Vec<u32>,
    to: Vec<u32>,
}

impl View {
    fn with_room(bytes: usize) -> Self {
        View {
            text: String::with_capacity(bytes),
            from: Vec::with_capacity(bytes),
            to: Vec::with_capacity(bytes),
        }
    }

    fn push(&mut self, letter: char, source: Range<usize>) {
        self.text.push(letter);
        let bytes = self.text.len();
        // A source of 4 GiB or more is refused by `readable`.
        self.from.resize(bytes, source.start as u32);
        self.to.resize(bytes, source.end as u32);
    }

    /// The source of a range of the reading.
    pub(crate) fn source(&self, range: Range<usize>) -> Range<usize> {
        match (self.from.get(range.start), range.end.checked_sub(1).and_then(|last| self.to.get(last))) {
            (Some(from), Some(to)) if from <= to => *from as usize..*to as usize,
            _ => 0..0,
        }
    }

    /// A reading of this reading, with the way back to the first source.
    pub(crate) fn then(&self, read: fn(&str) -> Option<View>) -> Option<View> {
        let mut next = read(&self.text)?;
        for at in 0..next.text.len() {
            let source = self.source(next.from[at] as usize..next.to[at] as usize);
            next.from[at] = source.start as u32;
            next.to[at] = source.end as u32;
        }
        Some(next)
    }
}

fn readable(text: &str) -> bool {
    u32::try_from(text.len()).is_ok()
}

/// Reads a text unit by unit: `unit` gives the letters for the front of a rest and how many bytes they
/// took, or `None` for "as it stands". No reading where nothing was decoded.
fn read(text: &str, sign: u8, unit: impl Fn(&str) -> Option<(Option<char>, usize)>) -> Option<View> {
    // Every encoding has a sign, and most texts don't hold it.
    if memchr::memchr(sign, text.as_bytes()).is_none() || !readable(text) {
        return None;
    }
    let mut view = View::with_room(text.len());
    let mut changed = false;
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        let taken = match unit(&text[at..]) {
            Some((decoded, taken)) => {
                changed = true;
                if let Some(decoded) = decoded {
                    view.push(decoded, at..at + taken);
                }
                taken
            }
            None => {
                view.push(letter, at..at + letter.len_utf8());
                letter.len_utf8()
            }
        };
        at += taken;
    }
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
    read(text, b'\n', |rest| {
        let end = if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) };
        if end == 0 {
            return None;
        }
        let space = rest[end..].bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        Some((None, end + space))
    })
}

/// The compatibility form (NFKC) without invisible characters and terminal colours.
pub(crate) fn folded(text: &str) -> Option<View> {
    let plain = text.is_ascii() && memchr::memchr(0x1b, text.as_bytes()).is_none();
    if plain || !readable(text) {
        return None;
    }
    let mut view = View::with_room(text.len());
    let mut changed = false;
    // Letters that combine are normalised together; `ends` is where each cluster stops in the source.
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
            changed |= flush(&mut view, &mut cluster, source.clone());
            source.start = at;
        }
        cluster.push(letter);
        at += letter.len_utf8();
        source.end = at;
    }
    changed |= flush(&mut view, &mut cluster, source);
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

fn flush(view: &mut View, cluster: &mut Vec<char>, source: Range<usize>) -> bool {
    if let [one] = cluster.as_slice()
        && one.is_ascii()
    {
        view.push(*one, source);
        cluster.clear();
        return false;
    }
    let mut same = cluster.len() <= CLUSTER_LETTERS_MAX;
    let mut count = 0;
    for letter in cluster.iter().take(CLUSTER_LETTERS_MAX).copied().nfkc() {
        same &= cluster.get(count) == Some(&letter);
        count += 1;
        view.push(letter, source.clone());
    }
    same &= count == cluster.len();
    cluster.clear();
    !same
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
            (joined, "abc\r\n  def", "bcde", "bc\r\n  de"),
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
