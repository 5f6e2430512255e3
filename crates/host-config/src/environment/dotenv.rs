//! `.env` files: `NAME=value` lines.
//!
//! - `export NAME=value` is the same; blank lines and lines that begin with `#` are skipped.
//! - A bare value ends at white space followed by `#`, and at the end of the line; spaces around it go.
//! - `'…'` is literal; `"…"` knows `\n`, `\r`, `\t`, `\"`, `\\` and `\$`. Both may span lines.
//! - Nothing is expanded: `$NAME` stays as it is.
//! - A name that comes twice has its last value.

use super::is_name;
use std::collections::BTreeMap;

/// How many bad lines are reported.
const BAD_LINES_MAX: usize = 50;

/// What a file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dotenv {
    /// Its variables.
    pub variables: BTreeMap<String, String>,
    /// Lines that are none.
    pub bad: Vec<BadLine>,
}

/// A line that sets nothing. Its text isn't kept, since it may hold a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong.
    pub why: &'static str,
    /// What to do.
    pub hint: &'static str,
    /// Whether the line speaks of one of our own variables, so that leaving it out changes the agent.
    pub ours: bool,
}

/// Reads a file.
pub fn dotenv(bytes: &[u8]) -> Dotenv {
    let mut out = Dotenv::default();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
            let line = valid.matches('\n').count() as u32 + 1;
            let hint = "save the file again as UTF-8";
            out.bad.push(BadLine { line, why: "a byte that is not UTF-8 text", hint, ours: true });
            valid.rsplit_once('\n').map_or("", |(whole, _)| whole)
        }
    };
    let mut rest = text;
    let mut line = 1;
    while !rest.is_empty() {
        let (taken, found) = entry(rest);
        let skipped = &rest[..taken];
        match found {
            Ok(Some((name, value))) => {
                out.variables.insert(name.to_owned(), value);
            }
            Ok(None) => {}
            Err((why, hint)) if out.bad.len() < BAD_LINES_MAX => {
                let first = skipped.split('\n').next().unwrap_or_default();
                out.bad.push(BadLine { line, why, hint, ours: first.contains("MONO_AGENT_") });
            }
            Err(_) => {}
        }
        line += skipped.matches('\n').count() as u32;
        rest = &rest[taken..];
    }
    out
}

type Entry<'t> = Result<Option<(&'t str, String)>, (&'static str, &'static str)>;

/// The entry at the start of a text, and how many bytes it takes with its line break.
fn entry(text: &str) -> (usize, Entry<'_>) {
    let line_end = text.find('\n').unwrap_or(text.len());
    let whole_line = (line_end + 1).min(text.len());
    let line = &text[..line_end];
    let trimmed = line.trim();
    if trimmed.is_empty() || trimmed.starts_with('#') {
        return (whole_line, Ok(None));
    }
    let Some((left, _)) = line.split_once('=') else {
        return (whole_line, Err(("a line without `=`", "write NAME=value, or begin a comment with `#`")));
    };
    let name = left.trim();
    let name =
        name.strip_prefix("export").filter(|rest| rest.starts_with([' ', '\t'])).unwrap_or(name).trim();
    if !is_name(name) {
        return (whole_line, Err(("no name before `=`", "a name has letters, digits and `_`, no spaces")));
    }
    let value_start = left.len() + 1;
    let value = &text[value_start..];
    let blank = value.len() - value.trim_start_matches([' ', '\t']).len();
    let at = value_start + blank;
    match text[at..].chars().next() {
        Some(quote @ ('"' | '\'')) => match quoted(&text[at + 1..], quote) {
            Ok((value, length)) => {
                let after = at + 1 + length;
                let tail_end = text[after..].find('\n').map_or(text.len(), |i| after + i);
                let tail = text[after..tail_end].trim();
                let taken = (tail_end + 1).min(text.len());
                if tail.is_empty() || tail.starts_with('#') {
                    (taken, Ok(Some((name, value))))
                } else {
                    (
                        taken,
                        Err(("text after the closing quote", "put the whole value in one pair of quotes")),
                    )
                }
            }
            Err(error) => (whole_line, Err(error)),
        },
        _ => (whole_line, bare(&text[at.min(line_end)..line_end]).map(|value| Some((name, value)))),
    }
}

fn bare(text: &str) -> Result<String, (&'static str, &'static str)> {
    let text = text.trim_end_matches('\r');
    let mut end = text.len();
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if c == '#' && before.is_whitespace() {
            end = at;
            break;
        }
        before = c;
    }
    let value = text[..end].trim();
    if value.contains('\0') {
        return Err(("a NUL character", "a variable can't hold one"));
    }
    Ok(value.to_owned())
}

/// The text up to the closing quote, unescaped, and how many bytes it takes with the quote.
fn quoted(text: &str, quote: char) -> Result<(String, usize), (&'static str, &'static str)> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return Ok((out, at + 1)),
            '\0' => return Err(("a NUL character", "a variable can't hold one")),
            '\\' if quote == '"' => match chars.next() {
                Some((_, 'n')) => out.push('\n'),
                Some((_, 'r')) => out.push('\r'),
                Some((_, 't')) => out.push('\t'),
                Some((_, c @ ('"' | '\\' | '$'))) => out.push(c),
                Some((_, c)) => {
                    out.push('\\');
                    out.push(c);
                }
                None => break,
            },
            c => out.push(c),
        }
    }
    Err(("a quote that isn't closed", "close it, or take it away"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // CFG-2
    #[test]
    fn the_usual_forms() {
        let text = "\u{feff}# a comment\nA=1\nexport B = two words # not this\r\nC=\"x\\ny \\\"q\\\" \\$HOME # in\" # out\n\
                    D='lit\\n $X'\nE=\nF=a#b\nG=\"two\nlines\"\n\nH=last";
        let got = dotenv(text.as_bytes());
        assert_eq!(got.bad, []);
        let want = [
            ("A", "1"),
            ("B", "two words"),
            ("C", "x\ny \"q\" $HOME # in"),
            ("D", "lit\\n $X"),
            ("E", ""),
            ("F", "a#b"),
            ("G", "two\nlines"),
            ("H", "last"),
        ];
        let want: BTreeMap<String, String> = want.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        assert_eq!(got.variables, want);
    }

    #[test]
    fn bad_lines_are_named_and_cost_themselves_alone() {
        let text = "A=1\njust words\n2B=x\nMONO_AGENT MODEL=x\nC=\"a\" b\nD=\"never closed\nE=2\n";
        let got = dotenv(text.as_bytes());
        let lines: Vec<(u32, bool)> = got.bad.iter().map(|bad| (bad.line, bad.ours)).collect();
        assert_eq!(lines, [(2, false), (3, false), (4, false), (5, false), (6, false)]);
        assert_eq!(got.variables.keys().collect::<Vec<_>>(), ["A", "E"]);
        assert!(dotenv(b"MONO_AGENT_MODEL x").bad[0].ours);
        assert_eq!(dotenv(b"A=1\nB=\xff\nC=2").bad[0].line, 2);
    }

    proptest! {
        #[test]
        fn anything_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let lines = bytes.iter().filter(|b| **b == b'\n').count() as u32 + 1;
            for bad in dotenv(&bytes).bad {
                prop_assert!(bad.line <= lines);
            }
        }

        #[test]
        fn quoted_values_come_back(value in "[ -~\n\t]{0,40}") {
            let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let got = dotenv(format!("X=\"{escaped}\"\nY=1").as_bytes());
            prop_assert_eq!(got.variables.get("X"), Some(&value));
            prop_assert!(got.variables.contains_key("Y"));
        }
    }
}
