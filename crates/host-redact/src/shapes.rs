//! Token shapes that are known without any configuration.
//!
//! One pass finds the literals that a shape begins with; each hit is then looked at by hand, so that text
//! without secrets costs one pass and no allocation.

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::ops::Range;
use std::sync::LazyLock;

/// A place with the words before it that made it one: a stream must not part the two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    /// What is replaced.
    pub(crate) range: Range<usize>,
    /// Where the words that made it a secret begin.
    pub(crate) context: usize,
    /// Whether more text could make it longer.
    pub(crate) open: bool,
}

type Look = fn(&str, Range<usize>) -> Option<Shape>;

const LOOKS: &[(&str, Look)] = &[
    ("sk-", openai),
    ("sk_live_", |t, h| prefixed(t, h, 10, WORD)),
    ("sk_test_", |t, h| prefixed(t, h, 10, WORD)),
    ("rk_live_", |t, h| prefixed(t, h, 10, WORD)),
    ("ghp_", |t, h| prefixed(t, h, 20, ALNUM)),
    ("gho_", |t, h| prefixed(t, h, 20, ALNUM)),
    ("ghu_", |t, h| prefixed(t, h, 20, ALNUM)),
    ("ghs_", |t, h| prefixed(t, h, 20, WORD)),
    ("ghr_", |t, h| prefixed(t, h, 20, ALNUM)),
    ("github_pat_", |t, h| prefixed(t, h, 20, WORD)),
    ("glpat-", |t, h| prefixed(t, h, 16, WORD)),
    ("npm_", |t, h| prefixed(t, h, 30, ALNUM)),
    ("hf_", |t, h| prefixed(t, h, 30, ALNUM)),
    ("xox", slack),
    ("xapp-", |t, h| with_digit(t, prefixed(t, h, 8, WORD)?)),
    ("akia", aws),
    ("asia", aws),
    ("aiza", |t, h| prefixed(t, h, 30, WORD)),
    ("bearer", bearer),
    ("basic", basic),
    ("-----begin", pem),
    ("://", url_password),
    ("eyj", jwt),
    ("0:", telegram),
    ("1:", telegram),
    ("2:", telegram),
    ("3:", telegram),
    ("4:", telegram),
    ("5:", telegram),
    ("6:", telegram),
    ("7:", telegram),
    ("8:", telegram),
    ("9:", telegram),
];

/// Finds all shapes of a text.
pub(crate) fn find(text: &str, mut found: impl FnMut(Shape)) {
    static FIRSTS: LazyLock<AhoCorasick> = LazyLock::new(|| {
        AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(aho_corasick::AhoCorasickKind::DFA))
            .build(LOOKS.iter().map(|(first, _)| first))
            .expect("a few short literals")
    });
    let mut state = aho_corasick::automaton::OverlappingState::start();
    let input = aho_corasick::Input::new(text);
    loop {
        FIRSTS.find_overlapping(input.clone(), &mut state);
        let Some(hit) = state.get_match() else { return };
        if let Some((_, look)) = LOOKS.get(hit.pattern().as_usize())
            && let Some(shape) = look(text, hit.start()..hit.end())
        {
            found(shape);
        }
    }
}

type Class = fn(u8) -> bool;

const ALNUM: Class = |byte| byte.is_ascii_alphanumeric();
const WORD: Class = |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
const DOTTED: Class = |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
const BASE64: Class = |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
const B68: Class =
    |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/');

/// Where the run of a class ends.
fn run(text: &str, from: usize, class: Class) -> usize {
    from + text.as_bytes()[from..].iter().take_while(|byte| class(**byte)).count()
}

/// Whether the hit begins a word.
fn begins(text: &str, start: usize) -> bool {
    start == 0 || !text.as_bytes()[start - 1].is_ascii_alphanumeric()
}

fn shape(text: &str, range: Range<usize>, context: usize) -> Option<Shape> {
    let open = range.end == text.len();
    Some(Shape { range, context, open })
}

/// A fixed prefix and at least so many characters of a class.
fn prefixed(text: &str, hit: Range<usize>, chars_min: usize, class: Class) -> Option<Shape> {
    let end = run(text, hit.end, class);
    if !begins(text, hit.start) || end - hit.end < chars_min {
        return None;
    }
    shape(text, hit.start..end, hit.start)
}

fn with_digit(text: &str, found: Shape) -> Option<Shape> {
    text.as_bytes()[found.range.clone()].iter().any(u8::is_ascii_digit).then_some(found)
}

/// `sk-…` with hyphens, underscores and dots inside (`sk-proj-`, `sk-svcacct-`, `sk-ant-` and keys with a
/// dot). Words joined by hyphens (`sk-learn-compatible-estimators`) are not one.
fn openai(text: &str, hit: Range<usize>) -> Option<Shape> {
    let mut end = run(text, hit.end, DOTTED);
    while end > hit.end && text.as_bytes()[end - 1] == b'.' {
        end -= 1;
    }
    let key = &text[hit.end..end];
    let digit = key.bytes().any(|byte| byte.is_ascii_digit());
    let longest = key.split(['-', '_', '.']).map(str::len).max().unwrap_or_default();
    let enough = key.len() >= 16 && (digit || longest >= 20);
    if !begins(text, hit.start) || !enough {
        return None;
    }
    shape(text, hit.start..end, hit.start)
}

/// `xoxb-…`, `xoxp-…`, `xoxe.xoxp-…`.
fn slack(text: &str, hit: Range<usize>) -> Option<Shape> {
    let bytes = text.as_bytes();
    let kind = bytes.get(hit.end).is_some_and(u8::is_ascii_alphabetic);
    if !kind || bytes.get(hit.end + 1) != Some(&b'-') || !begins(text, hit.start) {
        return None;
    }
    let end = run(text, hit.end + 2, WORD);
    if end - (hit.end + 2) < 5 {
        return None;
    }
    with_digit(text, shape(text, hit.start..end, hit.start)?)
}

/// AWS key ids: the prefix and 16 characters, no more. In lower case a digit must be among them, since
/// words begin like that too.
fn aws(text: &str, hit: Range<usize>) -> Option<Shape> {
    let end = run(text, hit.start, ALNUM);
    let id = &text[hit.start..end];
    let upper = id.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let digit = id.bytes().any(|byte| byte.is_ascii_digit());
    if !begins(text, hit.start) || id.len() != 20 || !(upper || digit) {
        return None;
    }
    shape(text, hit.start..end, hit.start)
}

/// Whether the text before a scheme word is an authorization header or key.
fn in_header(text: &str, start: usize) -> Option<usize> {
    const WORD: &[u8] = b"authorization";
    let bytes = text.as_bytes();
    let skip =
        |byte: &u8| matches!(byte, b' ' | b'\t' | b':' | b'=' | b'"' | b'\'' | b'\\' | b'>' | b'(' | b',');
    let end = start - bytes[..start].iter().rev().take(16).take_while(|byte| skip(byte)).count();
    let from = end.checked_sub(WORD.len())?;
    (end < start && bytes[from..end].eq_ignore_ascii_case(WORD)).then_some(from)
}

/// The text after a scheme word: where the credential begins.
fn after_scheme(text: &str, end: usize) -> Option<usize> {
    let space = text.as_bytes()[end..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let escaped = if text[end..].starts_with("%20") { 3 } else { space };
    (escaped > 0 && escaped <= 16).then_some(end + escaped)
}

/// `Bearer …`: anything behind an authorization header, else what looks like a token and not like a word.
fn bearer(text: &str, hit: Range<usize>) -> Option<Shape> {
    let from = after_scheme(text, hit.end)?;
    let end = run(text, from, B68);
    let end = run(text, end, |byte| byte == b'=');
    let token = text[from..end].trim_end_matches(['.', ',']);
    let end = from + token.len();
    if !begins(text, hit.start) || token.is_empty() {
        return None;
    }
    if let Some(context) = in_header(text, hit.start) {
        return shape(text, from..end, context);
    }
    let digit = token.bytes().any(|byte| byte.is_ascii_digit());
    let mixed = token.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
        && token.bytes().any(|byte| byte.is_ascii_lowercase());
    if (token.len() >= 8 && (digit || mixed)) || token.len() >= 24 {
        return shape(text, from..end, hit.start);
    }
    None
}

/// `Basic …`: anything behind an authorization header, else base64 of `user:password`.
fn basic(text: &str, hit: Range<usize>) -> Option<Shape> {
    let from = after_scheme(text, hit.end)?;
    let body = run(text, from, BASE64);
    let end = run(text, body, |byte| byte == b'=').min(body + 2);
    if !begins(text, hit.start) || body == from {
        return None;
    }
    if let Some(context) = in_header(text, hit.start) {
        return shape(text, from..end, context);
    }
    let credentials = body - from >= 4 && user_and_password(&text[from..body]);
    if credentials { shape(text, from..end, hit.start) } else { None }
}

fn user_and_password(body: &str) -> bool {
    const LOOSE: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let decode = |alphabet| GeneralPurpose::new(alphabet, LOOSE).decode(body).ok();
    let decoded = decode(&alphabet::STANDARD).or_else(|| decode(&alphabet::URL_SAFE));
    decoded
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .is_some_and(|plain| plain.contains(':') && !plain.chars().any(char::is_control))
}

/// The password of `scheme://user:password@host`.
fn url_password(text: &str, hit: Range<usize>) -> Option<Shape> {
    let bytes = text.as_bytes();
    let letters = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-');
    let scheme = bytes[..hit.start].iter().rev().take(32).take_while(|byte| letters(byte)).count();
    let stop = |byte: u8| {
        byte.is_ascii_whitespace()
            || matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'<' | b'>' | b'\\' | b'`')
    };
    let end = hit.end + bytes[hit.end..].iter().take_while(|byte| !stop(**byte)).count();
    let at = hit.end + text[hit.end..end].rfind('@')?;
    let colon = hit.end + text[hit.end..at].find(':')?;
    let password = &text[colon + 1..at];
    if scheme == 0 || password.is_empty() || is_placeholder(password) {
        return None;
    }
    Some(Shape { range: colon + 1..at, context: hit.start - scheme, open: end == text.len() })
}

/// `$NAME`, `${NAME}`, `{name}`, `***`: nothing is given away by them.
fn is_placeholder(password: &str) -> bool {
    let name = password.trim_start_matches('$').trim_start_matches('{').trim_end_matches('}');
    let marked = name.len() < password.len();
    let word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (marked
        && word
        && (password.starts_with("${")
            || password.starts_with('{')
            || name.bytes().all(|b| !b.is_ascii_lowercase())))
        || password.bytes().all(|byte| byte == b'*')
}

/// Three base64url parts of which the first is a JSON object.
fn jwt(text: &str, hit: Range<usize>) -> Option<Shape> {
    let head = run(text, hit.start, WORD);
    let exact = text.as_bytes()[hit.clone()] == *b"eyJ";
    if !exact || !begins(text, hit.start) || head - hit.start < 10 || text.as_bytes().get(head) != Some(&b'.')
    {
        return None;
    }
    let body = run(text, head + 1, WORD);
    if body - head < 5 || text.as_bytes().get(body) != Some(&b'.') {
        return None;
    }
    shape(text, hit.start..run(text, body + 1, WORD), hit.start)
}

/// A Telegram bot token: the bot's number, a colon, 30 to 64 characters.
fn telegram(text: &str, hit: Range<usize>) -> Option<Shape> {
    let bytes = text.as_bytes();
    let digits = bytes[..hit.end - 1].iter().rev().take(14).take_while(|byte| byte.is_ascii_digit()).count();
    let start = hit.end - 1 - digits;
    let end = run(text, hit.end, WORD);
    let length = end - hit.end;
    if !(6..=12).contains(&digits) || !(30..=64).contains(&length) {
        return None;
    }
    shape(text, start..end, start)
}

/// How far the end of a PEM block is looked for, in bytes.
pub(crate) const PEM_BYTES_MAX: usize = 64 * 1024;

/// A PEM block with a private key, over lines or with escaped line ends. A block without an end goes as far
/// as its lines look like one.
fn pem(text: &str, hit: Range<usize>) -> Option<Shape> {
    let label = run(text, hit.end, |byte| byte.is_ascii_alphanumeric() || byte == b' ');
    let name = text[hit.end..label].to_ascii_uppercase();
    let public =
        ["PUBLIC", "CERTIFICATE", "SIGN", "MESSAGE", "PARAMETERS"].iter().any(|word| name.contains(word));
    if public || !text[label..].starts_with("-----") {
        return None;
    }
    let body = label + 5;
    let limit = floor(text, body.saturating_add(PEM_BYTES_MAX));
    if let Some(at) = find_end(&text[body..limit]) {
        let dashes = body + at;
        let close = run(text, dashes, |byte| byte.is_ascii_alphanumeric() || byte == b' ');
        let end = run(text, close, |byte| byte == b'-').min(close + 5);
        return Some(Shape {
            range: hit.start..end,
            context: hit.start,
            open: end < close + 5 && end == text.len(),
        });
    }
    let end = body + key_lines(&text[body..limit]);
    Some(Shape { range: hit.start..end, context: hit.start, open: end == text.len() })
}

/// Where the label after `-----END` begins.
fn find_end(text: &str) -> Option<usize> {
    text.match_indices("-----").find_map(|(at, _)| {
        let rest = text.get(at + 5..at + 8)?;
        rest.eq_ignore_ascii_case("END").then_some(at + 8)
    })
}

/// The bytes of the lines that can be of a key: base64, or a header.
fn key_lines(text: &str) -> usize {
    let mut taken = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches(['\n', '\r']);
        let key = bare.bytes().all(|b| BASE64(b) || matches!(b, b'=' | b'\\' | b'\t'));
        let header =
            bare.split_once(": ").is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(WORD));
        if !key && !header {
            let part = bare.bytes().take_while(|b| BASE64(*b) || matches!(b, b'=' | b'\\')).count();
            return taken + if part >= 16 { part } else { 0 };
        }
        taken += line.len();
    }
    taken
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
