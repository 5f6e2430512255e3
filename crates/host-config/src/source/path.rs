//! JSON paths as people read them: `tools.allowedTools[2]`, `providers["my id"].baseUrl`.

use host_vocab::text::one_line;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// A key of an object.
    Key(String),
    /// An item of a list, from 0.
    Item(usize),
}

fn is_bare(key: &str) -> bool {
    !key.is_empty()
        && key.len() <= 64
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'$'))
}

/// The path of a key below `base`; a key that isn't a plain word is quoted, bounded and on one line.
pub fn key(base: &str, key: &str) -> String {
    if is_bare(key) {
        if base.is_empty() { key.to_owned() } else { format!("{base}.{key}") }
    } else {
        let shown = one_line(key, 64).replace('\\', "\\\\").replace('"', "\\\"");
        format!("{base}[\"{shown}\"]")
    }
}

/// The path of an item below `base`.
pub fn item(base: &str, index: usize) -> String {
    format!("{base}[{index}]")
}

/// Splits a path into its steps. What [`key`] had to cut or clean doesn't come back.
pub fn segments(path: &str) -> Vec<Segment> {
    let mut out = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        if let Some(inner) = rest.strip_prefix("[\"") {
            let (text, after) = quoted(inner);
            out.push(Segment::Key(text));
            rest = after;
        } else if let Some(inner) = rest.strip_prefix('[') {
            let (number, after) = inner.split_once(']').unwrap_or((inner, ""));
            match number.parse() {
                Ok(index) => out.push(Segment::Item(index)),
                Err(_) => out.push(Segment::Key(number.to_owned())),
            }
            rest = after;
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            if end > 0 {
                out.push(Segment::Key(rest[..end].to_owned()));
            }
            rest = &rest[end..];
        }
    }
    out
}

/// The text up to the closing `"]`, and what follows it.
fn quoted(inner: &str) -> (String, &str) {
    let mut text = String::new();
    let mut chars = inner.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => text.extend(chars.next().map(|(_, c)| c)),
            '"' => {
                let after = &inner[at + 1..];
                return (text, after.strip_prefix(']').unwrap_or(after));
            }
            _ => text.push(c),
        }
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_go_there_and_back() {
        let path = key(&item(&key(&key("", "tools"), "my \"odd\" key"), 3), "x-y");
        assert_eq!(path, "tools[\"my \\\"odd\\\" key\"][3].x-y");
        assert_eq!(
            segments(&path),
            [
                Segment::Key("tools".into()),
                Segment::Key("my \"odd\" key".into()),
                Segment::Item(3),
                Segment::Key("x-y".into())
            ]
        );
    }
}
