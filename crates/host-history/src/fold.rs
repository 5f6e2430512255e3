//! Text as searches see it: folded, cut into terms, and into the grams that the index holds.
//!
//! A term matches anywhere in a text (T9-11). The index finds candidates by grams: three letters for ordinary
//! scripts, overlapping pairs for those that write without spaces, and single letters and pairs for terms
//! that are shorter than that. A candidate counts only when its stored text really holds the term, so the
//! grams may be coarse, but they never miss.

use crate::error::HistoryError;
use crate::limits::{QUERY_BYTES_MAX, QUERY_TERMS_MAX};
use std::collections::HashSet;
use unicode_normalization::UnicodeNormalization as _;

/// The most grams of one term that are looked up; the text itself decides about the rest.
const TERM_GRAMS_MAX: usize = 24;

/// A text in the compatibility form (NFKC), with letters of either case alike. Control characters are spaces.
pub fn fold(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    if text.is_ascii() {
        return text.chars().map(|c| plain(c).to_ascii_lowercase()).collect();
    }
    // By way of capitals, so that letters with several small forms come out alike (ß, ς).
    let folded = text.nfkc().map(plain).flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    folded.nfkc().collect()
}

/// The different words of a query, folded, in their order.
///
/// # Errors
/// Names the limit that the query is over.
pub fn terms(query: &str) -> Result<Vec<String>, HistoryError> {
    if query.len() > QUERY_BYTES_MAX {
        let message = format!(
            "query: at most {QUERY_BYTES_MAX} bytes of UTF-8 are taken, and this has {}",
            query.len()
        );
        return Err(HistoryError::Input(message));
    }
    let mut seen = HashSet::new();
    let folded = fold(query);
    let terms: Vec<String> =
        folded.split_whitespace().filter(|term| seen.insert(*term)).map(str::to_owned).collect();
    if terms.len() > QUERY_TERMS_MAX {
        let message = format!(
            "query: at most {QUERY_TERMS_MAX} different words are taken, and this has {}",
            terms.len()
        );
        return Err(HistoryError::Input(message));
    }
    Ok(terms)
}

/// Grams as the index's tokens: nothing but letters and digits, so that nothing of a query is an operator.
#[derive(Debug, Default)]
pub struct Grams {
    tokens: String,
}

impl Grams {
    /// All grams of a folded text, each once.
    pub fn of_text(folded: &str) -> Self {
        let mut keys: Vec<u64> = Vec::with_capacity(folded.len());
        let mut letters: Vec<char> = Vec::new();
        for word in folded.split_whitespace() {
            letters.clear();
            letters.extend(word.chars());
            for (at, letter) in letters.iter().enumerate() {
                keys.push(key(&[*letter]));
                if let Some(pair) = letters.get(at..at + 2) {
                    keys.push(key(pair));
                }
                if let Some(three) = letters.get(at..at + 3)
                    && !three.iter().copied().any(is_unspaced)
                {
                    keys.push(key(three));
                }
            }
        }
        Self::of_keys(keys)
    }

    /// The grams that a text must have to hold a folded term.
    pub fn of_term(term: &str) -> Self {
        let letters: Vec<char> = term.chars().collect();
        let mut needed: Vec<u64> = Vec::new();
        match letters.len() {
            0 => {}
            1 | 2 => needed.push(key(&letters)),
            _ => {
                for (at, three) in letters.windows(3).enumerate() {
                    if !three.iter().copied().any(is_unspaced) {
                        needed.push(key(three));
                        continue;
                    }
                    needed.push(key(&letters[at..at + 2]));
                    if at + 3 == letters.len() {
                        needed.push(key(&letters[at + 1..]));
                    }
                }
            }
        }
        let step = needed.len().div_ceil(TERM_GRAMS_MAX).max(1);
        Self::of_keys(needed.into_iter().step_by(step).collect())
    }

    fn of_keys(mut keys: Vec<u64>) -> Self {
        keys.sort_unstable();
        keys.dedup();
        let mut grams = Grams { tokens: String::with_capacity(keys.len() * 9) };
        for key in keys {
            grams.push(key);
        }
        grams
    }

    /// Adds a token of another kind; a first letter that no gram begins with keeps them apart.
    pub fn push_token(&mut self, token: &str) {
        if !self.tokens.is_empty() {
            self.tokens.push(' ');
        }
        self.tokens.push_str(token);
    }

    /// The tokens with a space between each two.
    pub fn tokens(&self) -> &str {
        &self.tokens
    }

    /// The letters in hexadecimal, with a `g` between, which is no such digit.
    fn push(&mut self, key: u64) {
        if !self.tokens.is_empty() {
            self.tokens.push(' ');
        }
        let mut first = true;
        for shift in [2 * LETTER_BITS, LETTER_BITS, 0] {
            let field = (key >> shift) & ((1 << LETTER_BITS) - 1);
            let Some(letter) = field.checked_sub(1) else { continue };
            if !first {
                self.tokens.push('g');
            }
            first = false;
            let digits = (64 - letter.leading_zeros()).div_ceil(4).max(1);
            for digit in (0..digits).rev() {
                let value = u32::try_from((letter >> (digit * 4)) & 0xf).unwrap_or(0);
                self.tokens.extend(char::from_digit(value, 16));
            }
        }
    }
}

/// Enough for every letter there is, and one more for none.
const LETTER_BITS: u32 = 21;

/// Up to three letters as a number; no two grams have the same.
fn key(letters: &[char]) -> u64 {
    letters.iter().fold(0, |key, letter| (key << LETTER_BITS) | (u64::from(u32::from(*letter)) + 1))
}

/// Whether a letter belongs to a script that writes without spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{303f}'
        | '\u{3040}'..='\u{30ff}'
        | '\u{3100}'..='\u{31ff}'
        | '\u{3400}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(text: &str, term: &str) -> bool {
        let text = fold(text);
        let grams = Grams::of_text(&text);
        let tokens: HashSet<&str> = grams.tokens().split(' ').collect();
        Grams::of_term(&fold(term)).tokens().split(' ').all(|token| tokens.contains(token))
    }

    #[test]
    fn letters_of_either_case_and_form_are_alike() {
        // RUN-5
        assert_eq!(fold("STRASSE"), fold("straße"));
        assert_eq!(fold("ΣΊΣΥΦΟΣ"), fold("σίσυφος"));
        assert_eq!(fold("ﬁn e\u{301}"), fold("FIN É"));
        assert_eq!(fold("Ｎｏｒｔｈ"), "north");
        assert_eq!(fold("a\0b\tc"), "a b c");
    }

    #[test]
    fn limits_are_named() {
        // HIS-4
        assert_eq!(terms("b  A a b").unwrap(), ["b", "a"]);
        assert!(terms(&"é".repeat(256)).is_ok());
        let Err(HistoryError::Input(why)) = terms(&"é".repeat(257)) else { panic!("taken") };
        assert!(why.contains("512") && why.contains("514"), "{why}");
        let many: Vec<String> = (0..17).map(|n| format!("w{n}")).collect();
        assert!(terms(&many.join(" ")).unwrap_err().to_string().contains("16"));
    }

    #[test]
    fn scripts_without_spaces_are_found_in_the_middle() {
        // T9-11
        for (text, term) in [
            ("周五上午在三楼评审预算方案", "评审"),
            ("周五上午在三楼评审预算方案", "审"),
            ("重新执行make-qzx之后完成", "qzx"),
            ("重新执行make-qzx之后完成", "make"),
            ("重新执行make-qzx之后完成", "行make"),
            ("明日のミーティングを予約", "ミーティング"),
            ("회의를예약했습니다", "예약"),
            ("ฉันชอบกินข้าวผัด", "ข้าว"),
        ] {
            assert!(found(text, term), "{term} in {text}");
        }
        assert!(!found("周五上午", "预算"));
    }

    proptest! {
        #[test]
        fn grams_never_miss(text in "[a-cßÉ评审カ\u{301} ]{1,40}", from in 0usize..40, length in 1usize..9) {
            let folded = fold(&text);
            let letters: Vec<char> = folded.chars().collect();
            let term: String = letters.iter().skip(from).take(length).collect();
            prop_assume!(!term.is_empty() && !term.contains(' '));
            let grams = Grams::of_text(&folded);
            let tokens: HashSet<&str> = grams.tokens().split(' ').collect();
            for token in Grams::of_term(&term).tokens().split(' ') {
                prop_assert!(tokens.contains(token), "{} in {}", term, folded);
            }
        }

        #[test]
        fn folding_twice_is_folding_once(text in "\\PC{0,40}") {
            let once = fold(&text);
            prop_assert_eq!(fold(&once), once);
        }
    }
}
