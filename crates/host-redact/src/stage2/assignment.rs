//! Prose that assigns a password or a secret (RUN-9).

use crate::REDACTED;
use aho_corasick::AhoCorasick;
use std::sync::LazyLock;

/// What such a name holds, without case.
const WORDS: [&str; 3] = ["password", "passwd", "secret"];

/// Whether a text assigns a password or a secret something else than exactly `[redacted]`.
pub(super) fn is_in(text: &str) -> bool {
    static FIND: LazyLock<AhoCorasick> = LazyLock::new(|| {
        // Three short literals: building can't reach a size limit.
        AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS).expect("three short literals")
    });
    FIND.find_iter(text).any(|word| assigned(&text[word.end()..]).is_some_and(|value| !is_redacted(value)))
}

/// The text from the value on, where the name that ends here is assigned one.
fn assigned(rest: &str) -> Option<&str> {
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    let rest = rest.trim_start_matches(|c: char| {
        matches!(c, '"' | '\'' | '`' | '\\' | ' ' | '\t' | ']' | ')' | '\u{201d}' | '\u{2019}' | '*')
    });
    let mut chars = rest.chars();
    let rest = match chars.next()? {
        ':' | '=' | '：' | '＝' => chars.as_str(),
        _ => return None,
    };
    let rest = rest.strip_prefix(['=', '>']).unwrap_or(rest);
    let value = rest.trim_start_matches([' ', '\t']);
    let value = match value.strip_prefix('\r').unwrap_or(value).strip_prefix('\n') {
        // An indented next line is the value too.
        Some(next) if next.starts_with([' ', '\t']) => next.trim_start_matches([' ', '\t']),
        Some(_) => return None,
        None => value,
    };
    (!value.is_empty() && !value.starts_with(['\n', '\r', ',', '}'])).then_some(value)
}

/// Whether a value, quoted or not, is exactly the marker: nothing before it and nothing behind it.
fn is_redacted(value: &str) -> bool {
    let escaped = value.strip_prefix('\\').unwrap_or(value);
    if let Some(quote) = escaped.chars().next().filter(|c| matches!(c, '"' | '\'' | '`')) {
        let inner = &escaped[quote.len_utf8()..];
        let Some(after) = inner.strip_prefix(REDACTED) else { return false };
        let after = after.strip_prefix('\\').unwrap_or(after);
        return after.strip_prefix(quote).is_some_and(is_end);
    }
    value.strip_prefix(REDACTED).is_some_and(is_end)
}

fn is_end(after: &str) -> bool {
    after
        .chars()
        .next()
        .is_none_or(|c| c.is_whitespace() || matches!(c, ',' | ';' | '}' | ']' | ')' | '&' | '"' | '\\'))
}
