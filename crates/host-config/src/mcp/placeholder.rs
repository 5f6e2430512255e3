//! References that other hosts expand and this one doesn't (MCP-5).

/// The first reference in a text that somebody may hope to be expanded: `${NAME}`, `${env:NAME}`, `$NAME`
/// (capitals), `{env:NAME}`, `{{name}}`, `%NAME%`. Values are literal here: it would be sent as it is.
pub fn placeholder(text: &str) -> Option<&str> {
    (0..text.len()).filter(|at| text.is_char_boundary(*at)).find_map(|at| {
        let rest = &text[at..];
        let length = braces(rest, "${", "}")
            .or_else(|| braces(rest, "{{", "}}"))
            .or_else(|| braces(rest, "{env:", "}"))
            .or_else(|| bare(rest))
            .or_else(|| percent(rest))?;
        Some(&rest[..length])
    })
}

/// The length of `open … close` at the start of a text, on one line and not long.
fn braces(rest: &str, open: &str, close: &str) -> Option<usize> {
    let inner = rest.strip_prefix(open)?;
    let end = inner.find(close)?;
    let name = &inner[..end];
    let plausible = !name.trim().is_empty() && name.len() <= 128 && !name.contains(['\n', '{']);
    plausible.then_some(open.len() + end + close.len())
}

fn bare(rest: &str) -> Option<usize> {
    let name = rest.strip_prefix('$')?;
    let end = name
        .find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'))
        .unwrap_or(name.len());
    let starts = name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
    (starts && end >= 2).then_some(1 + end)
}

fn percent(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('%')?;
    let end = inner.find('%')?;
    let name = &inner[..end];
    // `%2F%3A` is an escape of a URL, not a variable.
    let is_name =
        name.len() >= 3 && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    (is_name && name.contains(|c: char| c.is_ascii_uppercase())).then_some(end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    // T1-07
    #[test]
    fn references_are_seen() {
        for (text, found) in [
            ("Bearer ${T_TOKEN}", "${T_TOKEN}"),
            ("${env:KEY}", "${env:KEY}"),
            ("a ${input:key} b", "${input:key}"),
            ("${VAR:-x}", "${VAR:-x}"),
            ("Bearer $TOKEN", "$TOKEN"),
            ("{env:X}", "{env:X}"),
            ("{{token}}", "{{token}}"),
            ("%USERPROFILE%", "%USERPROFILE%"),
            ("é${A}", "${A}"),
        ] {
            assert_eq!(placeholder(text), Some(found), "{text}");
        }
        for text in ["plain", "$5", "a$", "${", "${}", "{}", "100%", "%2F%3A", "{\"a\":1}", "$x"] {
            assert_eq!(placeholder(text), None, "{text}");
        }
    }
}
