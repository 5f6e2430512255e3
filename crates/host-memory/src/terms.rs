//! The words of a text for full text: the same for facts and queries.
//!
//! Case, accents and compatibility forms are folded. Scripts that don't part their words with spaces become
//! pairs of letters (and single letters), so that a part of a sentence is found (T9-11).

use std::fmt::Write as _;
use unicode_normalization::UnicodeNormalization as _;

/// The longest word in bytes; the rest of it is left out.
const TERM_BYTES_MAX: usize = 64;

/// The words of one text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Terms(pub Vec<String>);

impl Terms {
    /// All words with spaces between.
    pub fn joined(&self) -> String {
        self.0.join(" ")
    }
}

/// The words of a fact.
pub fn terms(text: &str) -> Terms {
    let mut out = Vec::new();
    visit(text, |run, script| match script {
        Script::Spaced => out.push(bounded(run)),
        Script::Dense => {
            let letters: Vec<char> = run.chars().collect();
            out.extend(letters.iter().map(char::to_string));
            out.extend(letters.windows(2).map(pair));
        }
    });
    Terms(out)
}

/// The words of a query: pairs where there are pairs, single letters alone where there is nothing else.
pub(crate) fn query_terms(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    visit(text, |run, script| match script {
        Script::Spaced => out.push(bounded(run)),
        Script::Dense => {
            let letters: Vec<char> = run.chars().collect();
            if letters.len() == 1 {
                out.push(run.to_owned());
            }
            out.extend(letters.windows(2).map(pair));
        }
    });
    let mut seen = std::collections::HashSet::new();
    out.retain(|term| seen.insert(term.clone()));
    out
}

fn pair(letters: &[char]) -> String {
    letters.iter().collect()
}

fn bounded(word: &str) -> String {
    host_vocab::text::prefix(word, TERM_BYTES_MAX).to_owned()
}

/// A text for comparing: compatibility forms, case and accents folded.
pub(crate) fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let plain: String = text.nfkd().filter(|c| !('\u{300}'..='\u{36f}').contains(c)).nfkc().collect();
    let mut out = String::with_capacity(plain.len());
    for c in plain.chars().flat_map(char::to_lowercase) {
        match c {
            'ß' => out.push_str("ss"),
            'ς' => out.push('σ'),
            'ı' => out.push('i'),
            'ø' => out.push('o'),
            'ł' => out.push('l'),
            'æ' => out.push_str("ae"),
            'œ' => out.push_str("oe"),
            // A dot that lower-casing left behind.
            '\u{307}' => {}
            _ => {
                let _infallible = out.write_char(c);
            }
        }
    }
    out
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    /// Words have spaces between.
    Spaced,
    /// Words stand together.
    Dense,
}

fn script(c: char) -> Option<Script> {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric().then_some(Script::Spaced);
    }
    match c {
        '\u{0e00}'..='\u{0eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17ff}' => Some(Script::Dense),
        '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{30ff}'
        | '\u{3105}'..='\u{318f}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}' => (c != '\u{30fb}').then_some(Script::Dense),
        _ if c.is_alphanumeric() || is_mark(c) => Some(Script::Spaced),
        _ => None,
    }
}

/// Vowel signs and the like, which belong to the word that they stand in.
fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

fn visit(text: &str, mut each: impl FnMut(&str, Script)) {
    let text = folded(text);
    let mut start = 0;
    let mut now: Option<Script> = None;
    for (at, c) in text.char_indices() {
        let next = script(c);
        if next != now {
            if let Some(kind) = now {
                each(&text[start..at], kind);
            }
            (start, now) = (at, next);
        }
    }
    if let Some(kind) = now {
        each(&text[start..], kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // T9-11
    #[test]
    fn every_script_is_found() {
        for (text, query) in [
            ("周五上午在三楼评审预算方案", "评审"),
            ("周五上午在三楼评审预算方案", "楼"),
            ("重新执行make-qzx之后完成", "qzx"),
            ("重新执行make-qzx之后完成", "make"),
            ("明日はがくせいに会う", "がくせい"),
            ("ｶﾅのテスト", "カナ"),
            ("내일 서울에서 만나요", "서울"),
            ("พรุ่งนี้ไปตลาดกับแม่", "ตลาด"),
            ("Crème Brûlée", "creme brulee"),
            ("STRASSE", "straße"),
            ("ΟΔΟΣ", "οδος"),
            ("Łódź", "lodz"),
            ("हिन्दी में लिखा", "हिन्दी"),
        ] {
            let terms = terms(text).0;
            let query = query_terms(query);
            assert!(!query.is_empty());
            for term in &query {
                assert!(terms.contains(term), "{term} of {query:?} in {terms:?}");
            }
        }
        // Another kana is another word.
        assert!(!terms("かく").0.contains(&query_terms("がく")[0]));
    }

    #[test]
    fn words_have_no_spaces_and_no_signs() {
        let long = "x".repeat(500);
        for term in terms(&format!("a-b_c \"d\" * NEAR(e) {long} ❤ 12.5")).0 {
            assert!(term.len() <= TERM_BYTES_MAX && term.chars().all(char::is_alphanumeric), "{term}");
        }
    }
}
