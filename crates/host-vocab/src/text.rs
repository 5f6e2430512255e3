//! Text within bounds, always cut on character boundaries.

/// The longest prefix of at most `bytes_max` bytes that ends on a character boundary.
pub fn prefix(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// The longest suffix of at most `bytes_max` bytes that starts on a character boundary.
pub fn suffix(text: &str, bytes_max: usize) -> &str {
    let from = text.len().saturating_sub(bytes_max);
    &text[text.ceil_char_boundary(from)..]
}

/// The longest prefix of at most `bytes_max` bytes that parts no word ([`word_end`]): for what is looked through for
/// secrets after it was cut.
pub fn whole_prefix(text: &str, bytes_max: usize) -> &str {
    &text[..word_end(text, prefix(text, bytes_max).len())]
}

/// The longest suffix of at most `bytes_max` bytes that parts no word ([`word_start`]).
pub fn whole_suffix(text: &str, bytes_max: usize) -> &str {
    &text[word_start(text, text.len() - suffix(text, bytes_max).len())..]
}

/// How far a cut is moved so that it parts no word, in bytes.
const WORD_BYTES_MAX: usize = 512;

/// Where to end a text at or before `at` (a character boundary) so that no word is parted. A half of a secret is known
/// by nobody who looks for the whole. A word of more than 512 bytes is parted at a character that is no part of
/// names and tokens, and if there is none either, where it was to be.
pub fn word_end(text: &str, at: usize) -> usize {
    for inside in [in_word, in_token] {
        if !parts(text, at, inside) {
            return at;
        }
        let start = text[..at].rfind(|c| !inside(c)).map_or(0, |it| text.ceil_char_boundary(it + 1));
        if at - start <= WORD_BYTES_MAX {
            return start;
        }
    }
    at
}

/// Where to begin a text at or behind `at` so that no word is parted; see [`word_end`].
pub fn word_start(text: &str, at: usize) -> usize {
    for inside in [in_word, in_token] {
        if !parts(text, at, inside) {
            return at;
        }
        let after = &text[at..];
        let length = after.find(|c| !inside(c)).unwrap_or(after.len());
        if length <= WORD_BYTES_MAX {
            return at + length;
        }
    }
    at
}

/// Whether a cut has characters of one run on both sides.
fn parts(text: &str, at: usize, inside: fn(char) -> bool) -> bool {
    let (before, after) = text.split_at(at);
    before.chars().next_back().is_some_and(inside) && after.chars().next().is_some_and(inside)
}

fn in_word(c: char) -> bool {
    !c.is_whitespace()
}

fn in_token(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/' | '=' | '~' | '%')
}

/// Bytes as lower-case hex digits, two for each.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]])
        .map(char::from)
        .collect()
}

/// One line for people: control and bidi control characters are shown as `�`, line breaks and runs of
/// white space become one space, and what is over `chars_max` characters is cut with `…`.
pub fn one_line(text: &str, chars_max: usize) -> String {
    let mut out = String::new();
    let mut count = 0;
    let mut gap = false;
    for c in text.chars() {
        if c.is_whitespace() {
            gap = count > 0;
            continue;
        }
        let needed = 1 + usize::from(gap);
        if count + needed > chars_max {
            out.push('…');
            return out;
        }
        if gap {
            out.push(' ');
            gap = false;
        }
        out.push(if c.is_control() || is_bidi_control(c) { '\u{fffd}' } else { c });
        count += needed;
    }
    out
}

/// Whether a character changes the direction of the text around it, or hides in it.
pub fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Text for a terminal or a log: control characters other than line feed and tab, and bidi controls,
/// become `�`, so that nobody's text can move the cursor or write over a line.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| {
            let harmless = matches!(c, '\n' | '\t');
            if (c.is_control() && !harmless) || is_bidi_control(c) { '\u{fffd}' } else { c }
        })
        .collect()
}

/// How a text was cut by [`head_tail`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// What is left, with a marker where something is missing.
    pub text: String,
    /// The bytes that are missing; 0 = nothing was cut.
    pub omitted_bytes: usize,
}

/// Keeps at most `bytes_max` bytes of a text, 60 % from its head and 40 % from its tail, and puts a
/// marker between them that says how much is missing (TOO-7). The marker counts towards the bound. No word is parted
/// ([`word_end`]).
pub fn head_tail(text: &str, bytes_max: usize, how_to_get_the_rest: &str) -> Cut {
    if text.len() <= bytes_max {
        return Cut { text: text.to_owned(), omitted_bytes: 0 };
    }
    let marker = |omitted: usize| {
        let hint =
            if how_to_get_the_rest.is_empty() { String::new() } else { format!("; {how_to_get_the_rest}") };
        format!("\n[… {omitted} of {} bytes omitted here{hint} …]\n", text.len())
    };
    let room = bytes_max.saturating_sub(marker(text.len()).len());
    let head = whole_prefix(text, room / 10 * 6 + room % 10 * 6 / 10);
    let tail = whole_suffix(text, room - head.len());
    let omitted = text.len() - head.len() - tail.len();
    Cut { text: format!("{head}{}{tail}", marker(omitted)), omitted_bytes: omitted }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_line_cannot_forge_a_second() {
        assert_eq!(one_line("a\n\n  b\u{1b}[2J\u{202e}c", 99), "a b\u{fffd}[2J\u{fffd}c");
        assert_eq!(one_line("abcdef", 3), "abc…");
        assert_eq!(one_line("   ", 3), "");
    }

    // QUA-5: no half of a token on either side of a cut.
    #[test]
    fn cuts_part_no_word() {
        let text = format!("{}token-12345678 end", "word ".repeat(100));
        for max in 150..text.len() {
            let cut = head_tail(&text, max, "").text;
            let left = cut.replace("token-12345678", "");
            assert!(
                !left.contains("oken") && !left.contains("1234") && !left.contains("5678"),
                "{max}: {left}"
            );
        }
        assert_eq!(&"ab cd"[..word_end("ab cd", 4)], "ab ");
        assert_eq!(&"ab cd"[word_start("ab cd", 1)..], " cd");
        let long = "x".repeat(600);
        assert_eq!((word_end(&long, 550), word_start(&long, 50)), (550, 50));
        let json = format!("{{\"{}\":\"{}\"}}", "k".repeat(700), "v".repeat(300));
        assert_eq!(&json[word_start(&json, 300)..][..3], "\":\"");
        assert_eq!(&json[word_end(&json, 800) - 3..word_end(&json, 800)], "\":\"");
    }

    proptest! {
        // TOO-7
        #[test]
        fn head_tail_is_bounded_and_says_what_it_left_out(text in ".{0,400}", max in 120usize..300) {
            let cut = head_tail(&text, max, "ask again");
            prop_assert!(cut.text.len() <= max);
            prop_assert_eq!(cut.omitted_bytes == 0, cut.text == text);
        }

        #[test]
        fn cuts_fall_on_characters(text in "\\PC{0,60}", max in 0usize..80) {
            prop_assert!(prefix(&text, max).len() <= max);
            prop_assert!(suffix(&text, max).len() <= max);
            prop_assert!(text.starts_with(prefix(&text, max)) && text.ends_with(suffix(&text, max)));
        }
    }
}
