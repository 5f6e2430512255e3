//! Where paths stand in a text, and what stands there instead.

use super::HOST_PATH;
use super::components::{Root, ends_with_account, harmless_end, is_part, separator};
use std::fmt::Write as _;

/// Components in one path that are looked at.
const PARTS_MAX: usize = 64;
/// Words that an account's or a folder's name with spaces may have after its first.
const MORE_WORDS_MAX: usize = 3;
/// Variables that stand for somebody's folder.
const VARIABLES: [&str; 8] = [
    "$HOME",
    "${HOME}",
    "%USERPROFILE%",
    "%HOMEPATH%",
    "%APPDATA%",
    "%LOCALAPPDATA%",
    "$env:USERPROFILE",
    "$PWD",
];
/// Schemes whose addresses lead out of the machine.
const WEB: [&str; 9] = ["http", "https", "ws", "wss", "ftp", "ftps", "sftp", "ssh", "git"];

/// A path in a text: from where its root begins to where it ends.
struct Span {
    from: usize,
    to: usize,
    shown: String,
}

/// The text with every path hidden; `None` where nothing had to change.
pub(super) fn hidden(text: &str, roots: &[String]) -> Option<String> {
    let mut out: Option<String> = None;
    let (mut done, mut at) = (0, 0);
    let scan = Scan { text, roots };
    while let Some(found) = scan.candidate(at) {
        match scan.at(found) {
            Step::Path(span) => {
                if text[span.from..span.to] != span.shown {
                    let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
                    out.push_str(&text[done..span.from.max(done)]);
                    out.push_str(&span.shown);
                    done = span.to;
                }
                at = span.to;
            }
            Step::Over(to) => at = to,
        }
    }
    let mut out = out?;
    out.push_str(&text[done..]);
    Some(out)
}

enum Step {
    Path(Span),
    /// Nothing here; go on from there.
    Over(usize),
}

struct Scan<'t> {
    text: &'t str,
    roots: &'t [String],
}

impl<'t> Scan<'t> {
    /// The next place where a path or an address may begin.
    fn candidate(&self, at: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        (at..bytes.len())
            .find(|&i| matches!(bytes[i], b'/' | b'\\' | b'~' | b'[' | b'%' | b'$' | b':' | b'.'))
    }

    fn at(&self, i: usize) -> Step {
        let rest = &self.text[i..];
        let bytes = rest.as_bytes();
        if rest.starts_with(HOST_PATH) {
            return self.path(i, i + HOST_PATH.len(), Root::Known);
        }
        if let Some(root) = self.roots.iter().find(|root| rest.starts_with(root.as_str())) {
            return self.path(i, i + root.len(), Root::Known);
        }
        match bytes[0] {
            b':' if rest.starts_with("://") => self.address(i),
            b':' => self.drive(i),
            b'~' => self.home(i),
            b'$' | b'%' => self.variable(i),
            b'.' => self.state(i),
            b'\\' if self.is_network(i) => {
                let slashes = bytes.iter().take_while(|byte| **byte == b'\\').count();
                self.path(i, i + slashes, Root::Network)
            }
            b'/' | b'\\' => self.absolute(i),
            _ => Step::Over(i + 1),
        }
    }

    fn before(&self, i: usize) -> Option<char> {
        self.text[..i].chars().next_back()
    }

    fn after(&self, i: usize) -> Option<char> {
        self.text[i..].chars().next()
    }

    /// Whether a path can begin here: what stands before is no part of a longer word.
    fn is_boundary(&self, i: usize) -> bool {
        match self.before(i) {
            None => true,
            Some(c) if c.is_ascii_alphanumeric() => self.is_flag(i),
            Some('<') => false,
            Some(c) => !matches!(c, '_' | '.' | '-' | '~' | '*' | '/' | '\\' | '%' | '$' | '@' | '+'),
        }
    }

    /// `-I/usr/include`: one letter behind a hyphen that begins a word.
    fn is_flag(&self, i: usize) -> bool {
        let mut back = self.text[..i].chars().rev();
        let (letter, dash, start) = (back.next(), back.next(), back.next());
        letter.is_some_and(|c| c.is_ascii_alphabetic())
            && dash == Some('-')
            && start.is_none_or(|c| c.is_whitespace() || matches!(c, '"' | '\'' | '=' | '('))
    }

    fn absolute(&self, i: usize) -> Step {
        let width = separators(&self.text.as_bytes()[i..]);
        let first = self.after(i + width);
        let boundary = self.is_boundary(i)
            && match self.before(i) {
                // In scripts without spaces a slash stands between words; a machine's tree is still told.
                Some(c) if !c.is_ascii() && c.is_alphanumeric() => self.begins_a_tree(i + width),
                _ => true,
            };
        let escape = self.text.as_bytes()[i] == b'\\' && width == 1;
        if !boundary || escape || !first.is_some_and(is_part) {
            return Step::Over(i + width.max(1));
        }
        self.path(i, i, Root::Absolute)
    }

    fn begins_a_tree(&self, i: usize) -> bool {
        let part: String = self.text[i..].chars().take_while(char::is_ascii_alphanumeric).collect();
        const TREES: [&str; 18] = [
            "home", "Users", "root", "etc", "usr", "var", "tmp", "opt", "srv", "mnt", "media", "private",
            "dev", "proc", "sys", "run", "Volumes", "work",
        ];
        TREES.contains(&part.as_str())
    }

    /// `C:\…` and `C:/…`: one letter before the colon.
    fn drive(&self, i: usize) -> Step {
        let letter = self.before(i).is_some_and(|c| c.is_ascii_alphabetic());
        if !letter || separator(&self.text.as_bytes()[i + 1..]) == 0 {
            return Step::Over(i + 1);
        }
        match self.before(i - 1) {
            Some(c) if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') => Step::Over(i + 1),
            _ => self.path(i - 1, i + 1, Root::Drive),
        }
    }

    /// `~`, `~/x` and `~user/x`.
    fn home(&self, i: usize) -> Step {
        if !self.is_boundary(i) {
            return Step::Over(i + 1);
        }
        let name = self.text[i + 1..]
            .bytes()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
            .count();
        let end = i + 1 + name;
        if separator(&self.text.as_bytes()[end..]) == 0 {
            return Step::Over(i + 1);
        }
        self.path(i, end, Root::Home)
    }

    fn variable(&self, i: usize) -> Step {
        let rest = &self.text[i..];
        if let Some(name) = VARIABLES.iter().find(|name| rest.starts_with(**name)) {
            let end = i + name.len();
            if separator(&self.text.as_bytes()[end..]) > 0 {
                return self.path(i, end, Root::Home);
            }
        }
        if separator(rest.as_bytes()) == 3 && self.is_boundary(i) {
            return self.absolute(i);
        }
        Step::Over(i + 1)
    }

    /// A path from the agent's folder into its state: private wherever it begins.
    fn state(&self, i: usize) -> Step {
        const STATE: &str = ".mono-agent";
        let end = i + STATE.len();
        let whole = self.text[i..].starts_with(STATE)
            && separator(&self.text.as_bytes()[end.min(self.text.len())..]) > 0;
        if !whole {
            return Step::Over(i + 1);
        }
        let lead = self.text[..i]
            .bytes()
            .rev()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'/' | b'_' | b'-'));
        let from = i - lead.count();
        self.path(from, i, Root::Known)
    }

    fn is_network(&self, i: usize) -> bool {
        if !self.is_boundary(i) {
            return false;
        }
        let rest = self.text[i..].trim_start_matches('\\');
        let slashes = self.text.len() - i - rest.len();
        let name = |text: &str| {
            text.bytes()
                .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$' | b'-' | b'?'))
                .count()
        };
        let server = name(rest);
        if !matches!(slashes, 2 | 4) || server == 0 {
            return false;
        }
        let after = &rest[server..];
        let share = after.trim_start_matches('\\');
        after.len() > share.len() && name(share) > 0
    }

    /// `scheme://…`: the web's addresses stay, `file:` is a path, and others are looked into.
    fn address(&self, colon: usize) -> Step {
        let scheme = self.text[..colon]
            .bytes()
            .rev()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-'))
            .count();
        let name = self.text[colon - scheme..colon].to_ascii_lowercase();
        let host = colon + 3;
        if name.rsplit('+').next() == Some("file") {
            let authority = self.text[host..].find(['/', '\\', ' ', '"', '\'', '\n']).unwrap_or(0);
            return match self.path(colon - scheme, host + authority, Root::Absolute) {
                Step::Path(span) => Step::Path(span),
                Step::Over(_) => Step::Over(host),
            };
        }
        if scheme == 0 {
            return Step::Over(host);
        }
        let end = self.text[host..]
            .find(|c: char| {
                c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '<' | '>' | '`' | '\\' | '|')
            })
            .map_or(self.text.len(), |length| host + length);
        let path = self.text[host..end].find('/').map_or(end, |at| host + at);
        if !WEB.contains(&name.as_str()) {
            // What follows the host may be a path of this machine.
            return match path < end && path == host || self.names_a_home(path) {
                true => self.path(path, path, Root::Absolute),
                false => Step::Over(end),
            };
        }
        // An address may carry a path of this machine in what it asks.
        let asks = self.text[path..end].find(['?', '#']).map_or(end, |at| path + at);
        match (asks..end).find(|&i| {
            self.text.is_char_boundary(i) && separator(&self.text.as_bytes()[i..]) > 0 && self.names_a_home(i)
        }) {
            Some(at) => self.path(at, at, Root::Absolute),
            None => Step::Over(end),
        }
    }

    fn names_a_home(&self, i: usize) -> bool {
        if i >= self.text.len() {
            return false;
        }
        let rest = &self.text[i + separator(&self.text.as_bytes()[i..])..];
        ["home", "Users", "root"]
            .iter()
            .any(|tree| rest.strip_prefix(tree).is_some_and(|after| separator(after.as_bytes()) > 0))
    }

    /// Reads components from `at` on, and says what is shown in the place of the path that began at `from`.
    fn path(&self, from: usize, at: usize, root: Root) -> Step {
        let (parts, to) = self.parts(at, root);
        let end = harmless_end(root, &parts);
        let mut shown = HOST_PATH.to_owned();
        for part in end {
            // Writing into a text can't fail.
            let _ = write!(shown, "/{part}");
        }
        Step::Path(Span { from, to: to.max(at), shown })
    }

    fn parts(&self, at: usize, root: Root) -> (Vec<&'t str>, usize) {
        let bytes = self.text.as_bytes();
        let mut parts: Vec<&str> = Vec::new();
        let mut to = at;
        let mut begin = match root {
            Root::Network => at,
            _ => at + separators(&bytes[at..]),
        };
        loop {
            let mut end = self.part_end(begin);
            if end == begin {
                // A separator at the very end belongs to the path.
                let at_root = parts.is_empty() && root != Root::Absolute;
                return (parts, if at_root { to } else { begin });
            }
            if parts.len() < PARTS_MAX {
                parts.push(&self.text[begin..end]);
            }
            end = self.with_spaces(end, root, &parts);
            if let Some(last) = parts.last_mut() {
                *last = trimmed(&self.text[begin..end]);
            }
            to = end;
            let more = separators(&bytes[end..]);
            if more == 0 {
                let cut = self.text[begin..end].len() - trimmed(&self.text[begin..end]).len();
                return (parts, to - cut);
            }
            begin = end + more;
        }
    }

    /// The end of a component: an escaped space belongs to it.
    fn part_end(&self, begin: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = begin;
        while let Some(c) = self.after(at) {
            if c == '\\' && matches!(bytes.get(at + 1), Some(b' ' | b'(' | b')' | b'\'')) {
                at += 2;
            } else if is_part(c) && separator(&bytes[at..]) == 0 {
                at += c.len_utf8();
            } else {
                break;
            }
        }
        at
    }

    /// A name with spaces in it, where a path of this kind often has one.
    fn with_spaces(&self, end: usize, root: Root, parts: &[&str]) -> usize {
        let account = ends_with_account(root, parts);
        if !(account || root == Root::Drive) || self.after(end) != Some(' ') {
            return end;
        }
        let mut at = end;
        for _ in 0..MORE_WORDS_MAX {
            if self.after(at) != Some(' ') {
                return end;
            }
            let next = self.part_end(at + 1);
            if next == at + 1 {
                return end;
            }
            let closes = matches!(self.after(next), Some('"' | '\''));
            if separators(&self.text.as_bytes()[next..]) > 0 || (closes && account) {
                return next;
            }
            at = next;
        }
        end
    }
}

/// How many bytes all separators take that stand here.
fn separators(mut rest: &[u8]) -> usize {
    let whole = rest.len();
    loop {
        match separator(rest) {
            0 => return whole - rest.len(),
            width => rest = &rest[width..],
        }
    }
}

/// A component without the full stop of a sentence.
fn trimmed(part: &str) -> &str {
    let cut = part.trim_end_matches('.');
    if cut.is_empty() { part } else { cut }
}
