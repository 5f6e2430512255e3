//! The words of a fact in the one form in which they are stored and compared.

use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use unicode_normalization::UnicodeNormalization as _;

/// NFKC, trimmed, white space collapsed to single spaces, case kept (REM-1). Doing it twice changes nothing.
pub fn normal(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let once = collapsed(&text.nfkc().collect::<String>());
    // Trimming can bring letters together that compose.
    let twice = collapsed(&once.nfkc().collect::<String>());
    if twice == once { once } else { normal(&twice) }
}

fn collapsed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// Printable ASCII with single spaces is in this form already.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().all(|byte| (b' '..=b'~').contains(byte))
        && !bytes.starts_with(b" ")
        && !bytes.ends_with(b" ")
        && !bytes.windows(2).any(|pair| pair == b"  ")
}

/// SHA-256 of normalised words in lower-case hex: the part of an id that comes from the content (REM-3).
pub fn content_hash(normal: &str) -> String {
    content_hash_of(normal.as_bytes())
}

/// The same of bytes.
pub(crate) fn content_hash_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut out, byte| {
        let _infallible = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // REM-1
    #[test]
    fn one_line_in_nfkc() {
        for (text, wanted) in [
            ("  Ada \t\n prefers\u{2028}tea\u{a0} ", "Ada prefers tea"),
            ("ﬁrst Ａｄａ ①", "first Ada 1"),
            ("e\u{301}", "é"),
            ("\u{b4}a", "\u{301}a"),
            ("plain text", "plain text"),
            (" \u{3000} ", ""),
        ] {
            assert_eq!(normal(text), wanted, "{text:?}");
        }
    }

    proptest! {
        // REM-1
        #[test]
        fn twice_is_once(text in "\\PC{0,40}", gaps in "[\\s\\p{M}\u{fdfa}\u{b4}]{0,8}") {
            for text in [format!("{text}{gaps}"), format!("{gaps}{text}"), text] {
                let once = normal(&text);
                prop_assert_eq!(&normal(&once), &once);
                prop_assert!(!once.contains("  ") && once.trim() == once);
            }
        }
    }
}
