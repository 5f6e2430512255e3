//! What must stay of a text file when its words change: byte order mark and line ends (FIL-6).

use memchr::memchr_iter;

/// The byte order mark of UTF-8.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// How the lines of a file end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnd {
    /// `\n`, also where there is none.
    Lf,
    /// `\r\n`.
    CrLf,
}

impl LineEnd {
    /// The end that most lines have.
    pub(crate) fn of(content: &[u8]) -> LineEnd {
        let (mut all, mut crlf) = (0_usize, 0_usize);
        for at in memchr_iter(b'\n', content) {
            all += 1;
            crlf += usize::from(at > 0 && content[at - 1] == b'\r');
        }
        if crlf * 2 > all { LineEnd::CrLf } else { LineEnd::Lf }
    }

    /// Whether every line ends so, and there is one.
    pub(crate) fn is_everywhere(self, content: &[u8]) -> bool {
        let mut any = false;
        memchr_iter(b'\n', content).all(|at| {
            any = true;
            (at > 0 && content[at - 1] == b'\r') == (self == LineEnd::CrLf)
        }) && any
    }

    /// A text with this end for each of its lines.
    pub(crate) fn applied_to(self, text: &str) -> String {
        match self {
            LineEnd::Lf => text.to_owned(),
            LineEnd::CrLf => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        }
    }
}

/// The length of a byte order mark at the start.
pub(crate) fn bom_len(content: &[u8]) -> usize {
    if content.starts_with(BOM) { BOM.len() } else { 0 }
}

/// How many lines a text has; a last line without an end counts.
pub(crate) fn line_count(content: &[u8]) -> usize {
    memchr_iter(b'\n', content).count() + usize::from(!content.is_empty() && !content.ends_with(b"\n"))
}

/// Where the body begins: after the front matter of a block file or a `SKILL.md`, else at the start. The
/// content must come without its byte order mark.
pub(crate) fn body_start(shown: &str, content: &[u8]) -> usize {
    if has_front_matter(shown) { front_matter_len(content) } else { 0 }
}

/// Whether the front matter of a file is kept apart (FIL-5): `SKILL.md` anywhere, Markdown files in `blocks`.
pub(crate) fn has_front_matter(shown: &str) -> bool {
    let mut parts = shown.trim_start_matches('/').rsplit('/');
    let name = parts.next().unwrap_or_default();
    name == "SKILL.md" || (name.ends_with(".md") && parts.next() == Some("blocks") && parts.next().is_none())
}

/// The length of a block between two `---` lines at the very start, with its last line's end.
pub(crate) fn front_matter_len(content: &[u8]) -> usize {
    let mut at = 0;
    for (index, line) in content.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let fence = line.trim_ascii_end() == b"---";
        at += line.len();
        match (index, fence) {
            (0, false) => return 0,
            (0, true) => {}
            (_, true) => return at,
            (_, false) => {}
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends() {
        assert_eq!(LineEnd::of(b"a\r\nb\r\nc\n"), LineEnd::CrLf);
        assert_eq!(LineEnd::of(b"a"), LineEnd::Lf);
        assert!(LineEnd::CrLf.is_everywhere(b"a\r\nb\r\n") && !LineEnd::CrLf.is_everywhere(b"a\r\nb\n"));
        assert_eq!(LineEnd::CrLf.applied_to("a\nb\r\nc"), "a\r\nb\r\nc");
        assert_eq!(
            (line_count(b""), line_count(b"a"), line_count(b"a\n"), line_count(b"a\nb")),
            (0, 1, 1, 2)
        );
    }

    // FIL-5
    #[test]
    fn front_matter() {
        assert_eq!(front_matter_len(b"---\na: 1\n---\nbody"), 13);
        assert_eq!(front_matter_len(b"---\r\na: 1\r\n---\r\nbody"), 16);
        for none in [&b"body\n---\n"[..], b"---\nnever closed\n", b"", b"----\n---\n"] {
            assert_eq!(front_matter_len(none), 0);
        }
        assert!(has_front_matter("SKILL.md") && has_front_matter("skills/x/SKILL.md"));
        assert!(has_front_matter("blocks/a.md") && has_front_matter("/blocks/a.md"));
        assert!(!has_front_matter("src/blocks/a.md") && !has_front_matter("blocks/a.txt"));
    }
}
