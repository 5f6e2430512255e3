//! The nearest known name, for errors.

/// The candidate that is nearest to a text, compared without case and separators, where it is near
/// enough to be worth naming.
pub fn nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(text);
    let mut best: Option<(&str, f64)> = None;
    for candidate in candidates {
        let other = fold(candidate);
        let score =
            if other == folded { 1.0 } else { strsim::normalized_damerau_levenshtein(&folded, &other) };
        if best.is_none_or(|(_, so_far)| score > so_far) {
            best = Some((candidate, score));
        }
    }
    best.filter(|(_, score)| *score >= 0.5).map(|(name, _)| name)
}

/// At most this many characters of a text are compared: the measure is quadratic.
const COMPARED_CHARS_MAX: usize = 96;

fn fold(text: &str) -> String {
    text.chars()
        .filter(|c| !matches!(c, '_' | '-' | '.' | ' '))
        .take(COMPARED_CHARS_MAX)
        .flat_map(char::to_lowercase)
        .collect()
}

/// A text from a config as it is quoted in a message: on one line, at most 80 characters.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for (at, letter) in text.chars().enumerate() {
        if at == 80 {
            out.push('…');
            break;
        }
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            c if c.is_control()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}') =>
            {
                out.extend(c.escape_unicode());
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_far() {
        let names = ["ReadSections", "Read", "Bash"];
        assert_eq!(nearest("read_sections", names), Some("ReadSections"));
        assert_eq!(nearest("Raed", names), Some("Read"));
        assert_eq!(nearest("zzzzzzzz", names), None);
        assert_eq!(quoted("a\n\u{202e}b\""), "\"a\\u{a}\\u{202e}b\\\"\"");
    }
}
