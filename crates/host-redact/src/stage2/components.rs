//! The components of a path, and which of them may be shown.

use crate::is_sensitive_key;

/// How many bytes a separator takes here, 0 where there is none: `/`, `\`, both escaped for JSON, and the
/// percent forms.
pub(super) fn separator(rest: &[u8]) -> usize {
    match rest {
        [b'\\', b'/' | b'\\', ..] => 2,
        [b'/' | b'\\', ..] => 1,
        [b'%', b'2', b'F' | b'f', ..] | [b'%', b'5', b'C' | b'c', ..] => 3,
        _ => 0,
    }
}

/// Whether a character may stand in a component that nothing quotes.
pub(super) fn is_part(c: char) -> bool {
    !(c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '/' | '\\'
                | '"'
                | '\''
                | '`'
                | '<'
                | '>'
                | '|'
                | '*'
                | '?'
                | ':'
                | ';'
                | ','
                | '('
                | ')'
                | '['
                | ']'
                | '{'
                | '}'
                | '&'
                | '='
                | '!'
                | '#'
                | '$'
        )
        || matches!(c, '\u{2018}'..='\u{201f}' | '…' | '。' | '、' | '，' | '：' | '）' | '」' | '』'))
}

/// What a path begins with, and so how many of its components belong to the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Root {
    /// `/…`: the first component says which tree of the machine it is, and homes take one more.
    Absolute,
    /// `C:\…`: like that.
    Drive,
    /// `\\server\share\…`.
    Network,
    /// `~/…`, `$HOME/…`: what follows is below it already.
    Home,
    /// The token itself, or one of the host's own roots.
    Known,
}

/// The harmless end of a path: at most two components, in their order.
pub(super) fn harmless_end<'t>(root: Root, parts: &[&'t str]) -> Vec<&'t str> {
    if parts.iter().any(|part| is_private(part)) {
        return Vec::new();
    }
    let (rooted, account) = rooted(root, parts);
    let rest = parts.get(rooted..).unwrap_or_default();
    let hidden =
        |part: &&&str| is_sensitive(part) || account.is_some_and(|name| part.eq_ignore_ascii_case(name));
    let mut end: Vec<&str> = rest.iter().rev().take(2).take_while(|part| !hidden(part)).copied().collect();
    end.reverse();
    end
}

/// How many components are the root's, and the account's name where there is one among them.
fn rooted<'t>(root: Root, parts: &[&'t str]) -> (usize, Option<&'t str>) {
    let first = parts.first().map(|part| part.to_ascii_lowercase()).unwrap_or_default();
    let second = parts.get(1).map(|part| part.to_ascii_lowercase()).unwrap_or_default();
    match root {
        Root::Known | Root::Home => (0, None),
        Root::Network => (2, None),
        Root::Absolute | Root::Drive => match (first.as_str(), second.as_str()) {
            ("home" | "users" | "documents and settings" | "media" | "volumes", _) => {
                (2, parts.get(1).copied())
            }
            ("var" | "usr" | "export" | "private" | "mnt", "home" | "users") => (3, parts.get(2).copied()),
            ("run" | "mnt", "user" | "c" | "d") if second == "user" => (3, parts.get(2).copied()),
            // A drive of Windows below /mnt.
            ("mnt", _)
                if second.len() == 1 && parts.get(2).is_some_and(|it| it.eq_ignore_ascii_case("users")) =>
            {
                (4, parts.get(3).copied())
            }
            _ => (1, None),
        },
    }
}

/// Whether these components end with an account's name, which may hold spaces.
pub(super) fn ends_with_account(root: Root, parts: &[&str]) -> bool {
    matches!(root, Root::Absolute | Root::Drive)
        && matches!(rooted(root, parts), (count, Some(_)) if count == parts.len())
}

/// A folder of the agent's own state: nothing below it is shown.
fn is_private(part: &str) -> bool {
    let part = part.to_ascii_lowercase();
    matches!(part.as_str(), ".mono-agent" | "tool-output")
}

/// A component that says more than a name should.
fn is_sensitive(part: &str) -> bool {
    let lower = part.to_ascii_lowercase();
    let known = matches!(
        lower.as_str(),
        "." | ".."
            | ".ssh"
            | ".aws"
            | ".gnupg"
            | ".kube"
            | ".netrc"
            | ".pgpass"
            | "artifacts"
            | "id_rsa"
            | "id_ed25519"
    );
    known
        || is_sensitive_key(part)
        || lower.contains("passwd")
        || part.contains('@')
        || part.contains('%')
        || part.chars().count() > 100
        || (lower.starts_with("run-") && is_random(&lower[4..]))
        || is_random(&lower)
}

/// A long name with many digits, such as a hash or an id.
fn is_random(name: &str) -> bool {
    name.len() >= 24
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        && name.bytes().filter(u8::is_ascii_digit).count() * 5 >= name.len()
}
