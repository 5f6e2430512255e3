//! What is never stored: secrets, and characters that hide or move things (REM-4, T10-05, T10-07).

use crate::normal;
use host_redact::{Redactor, VALUE_CHARS_MIN, is_credential_variable};
use host_vocab::{Secret, text::is_bidi_control};
use std::sync::Arc;

/// Why a text is not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It holds a secret or something that looks like one.
    Secret,
    /// It holds characters that are not stored.
    Unsafe(&'static str),
}

/// Judges texts before they are written, on every way into memory. Cheap to share.
#[derive(Clone)]
pub struct Refusal {
    redactor: Arc<Redactor>,
    values: Arc<[Secret]>,
}

impl Refusal {
    /// With the environment that the host resolved: the values of its credential-named variables are never
    /// stored. `redactor` knows the shapes, and values from elsewhere.
    pub fn new<N: AsRef<str>, V: AsRef<str>>(
        redactor: Arc<Redactor>,
        environment: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let values = environment
            .into_iter()
            .filter(|(name, _)| is_credential_variable(name.as_ref()))
            .map(|(_, value)| bare(value.as_ref()))
            .filter(|value| value.chars().count() >= VALUE_CHARS_MIN)
            .map(Secret::new)
            .collect();
        Refusal { redactor, values }
    }

    /// Judges a normalised text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, text: &str) -> Result<(), Refused> {
        if let Some(what) = unsafe_characters(text) {
            return Err(Refused::Unsafe(what));
        }
        if self.holds_secret(text) { Err(Refused::Secret) } else { Ok(()) }
    }

    /// Whether a text holds a secret or looks like it.
    pub fn holds_secret(&self, text: &str) -> bool {
        if self.redactor.finds(text) {
            return true;
        }
        let bare = bare(text);
        (bare != text && self.redactor.finds(&bare))
            || self.values.iter().any(|value| bare.contains(value.expose()))
            || assigns_credential(&bare)
    }
}

impl Refusal {
    /// A text without its secrets: known values and shapes are replaced where they stand; a sentence that still
    /// gives a credential goes as a whole. For text that is kept for the capture of memories (T10-07).
    pub fn scrubbed(&self, text: &str) -> String {
        let text = self.redactor.text(text).into_inner();
        if !self.holds_secret(&text.replace(host_redact::REDACTED, " ")) {
            return text;
        }
        let mut out = String::with_capacity(text.len());
        for sentence in text.split_inclusive(['\n', '.', '!', '?', ';', '。', '！', '？']) {
            if self.holds_secret(&normal(sentence).replace(host_redact::REDACTED, " ")) {
                out.push_str(" [omitted: a secret] ");
            } else {
                out.push_str(sentence);
            }
        }
        // A secret that stands over the end of a sentence.
        if self.holds_secret(&normal(&out).replace(host_redact::REDACTED, " ")) {
            return "[omitted: a secret]".to_owned();
        }
        out
    }
}

/// The domain in which texts and configured values are compared: NFKC without invisible characters, one kind
/// of space, no case.
fn bare(text: &str) -> String {
    let seen: String = text.chars().filter(|c| !is_invisible(*c)).collect();
    normal(&seen).to_lowercase()
}

/// Characters that show nothing. Joiners are a part of words and pictures in some scripts, so they may be
/// stored, but they don't hide a secret.
fn is_invisible(c: char) -> bool {
    is_hidden(c)
        || matches!(c, '\u{200c}' | '\u{200d}' | '\u{34f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
        || (c.is_control() && !c.is_whitespace())
}

/// Invisible characters that no writing needs.
fn is_hidden(c: char) -> bool {
    is_bidi_control(c)
        || matches!(
            c,
            '\u{200b}' | '\u{ad}' | '\u{180e}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}'
                | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// What of a text can't be stored or shown.
pub(crate) fn unsafe_characters(text: &str) -> Option<&'static str> {
    if text.is_ascii() {
        return text.bytes().any(|byte| byte < b' ' || byte == 0x7f).then_some("control characters");
    }
    text.chars().find_map(|c| match c {
        _ if c.is_control() => Some("control characters"),
        '\u{2028}' | '\u{2029}' => Some("line breaks"),
        _ if is_bidi_control(c) => Some("characters that change the direction of text"),
        _ if is_hidden(c) => Some("invisible characters"),
        _ => None,
    })
}

/// Words that name a credential; a longer one of the same beginning comes first.
const NAMES: &[&str] = &[
    "password",
    "passwords",
    "passphrase",
    "passwd",
    "passcode",
    "pwd",
    "secret key",
    "secret",
    "api key",
    "api-key",
    "api_key",
    "apikey",
    "access key",
    "access-key",
    "access_key",
    "access token",
    "auth token",
    "token",
    "private key",
    "private-key",
    "private_key",
    "privatekey",
    "credential",
    "credentials",
    "authorization",
    "cookie",
    "bearer",
    "passwort",
    "kennwort",
    "contraseña",
    "senha",
    "mot de passe",
    "wachtwoord",
    "пароль",
    "密码",
    "密碼",
    "口令",
    "密钥",
    "パスワード",
    "비밀번호",
];

/// What stands between the name and the value in a sentence.
const VERBS: &[&str] =
    &["is", "was", "are", "equals", "ist", "lautet", "es", "est", "é", "=>", "->", "→", "是", "为", "は"];

/// What may be glued to a name: `tokens`, `tokenValue`; a `tokenizer` is something else.
const ENDS: &[&str] = &["", "s", "es", "value", "key", "string", "text", "prod", "dev", "test"];

/// Words after such a verb that tell about a credential instead of giving it.
const TELLING: &[&str] = &[
    "a",
    "an",
    "the",
    "in",
    "on",
    "at",
    "by",
    "for",
    "from",
    "with",
    "kept",
    "stored",
    "saved",
    "managed",
    "held",
    "not",
    "never",
    "no",
    "now",
    "only",
    "required",
    "needed",
    "missing",
    "unknown",
    "set",
    "read",
    "rotated",
    "changed",
    "expired",
    "expiring",
    "valid",
    "invalid",
    "empty",
    "wrong",
    "shared",
    "secret",
    "hidden",
    "encrypted",
    "hashed",
    "optional",
    "forbidden",
    "allowed",
    "redacted",
    "[redacted]",
    "too",
    "very",
    "always",
    "still",
    "also",
    "being",
    "reset",
    "revoked",
    "provided",
    "available",
    "used",
    "asked",
    "sent",
    "what",
    "longer",
    "short",
    "long",
    "counted",
    "cheap",
    "expensive",
    "limited",
    "case",
    "nicht",
    "im",
    "in",
    "der",
];

/// Whether a text gives a credential by name: `password = x`, `"apiKey": "x"`, `the db password is x`.
/// `text` is in lower case.
fn assigns_credential(text: &str) -> bool {
    NAMES.iter().any(|name| {
        text.match_indices(name).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            // `tokenizer: x` and `keyword: x` are no credentials, `db_password: x` is one.
            let begins = !before.is_some_and(|c| c.is_ascii_alphanumeric()) || name.len() > 6;
            begins && assigns(&text[at + name.len()..])
        })
    })
}

/// Whether what follows a name gives it a value.
fn assigns(rest: &str) -> bool {
    // The rest of the name (`_prod`, `s`, a number) and a closing quote.
    let name_end =
        rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))).unwrap_or(rest.len());
    let (tail, after) = rest.split_at(name_end);
    let glued = VERBS.iter().find_map(|verb| {
        let value = tail.strip_prefix(verb)?;
        (!verb.is_ascii() && !value.is_empty()).then_some(value)
    });
    if let Some(value) = glued {
        return gives(value);
    }
    let word_end = tail.find(|c: char| !c.is_alphabetic()).unwrap_or(tail.len());
    if tail.len() > 24 || !ENDS.contains(&&tail[..word_end]) {
        return false;
    }
    let after = after.trim_start_matches(['"', '\'', '`', ']', ')']).trim_start();
    for sign in [":=", "==", "=>", "->", "→", "=", ":"] {
        if let Some(value) = after.strip_prefix(sign) {
            let value = value.trim_start().trim_start_matches(['"', '\'', '`', '(', '[']);
            return !value.is_empty()
                && !value.starts_with("redacted]")
                && !value.starts_with("//")
                && gives_by_sign(value);
        }
    }
    // Up to three words between the name and the verb: "the password for prod is x".
    let words: Vec<&str> = after.split_whitespace().take(6).collect();
    words
        .iter()
        .take(4)
        .position(|word| VERBS.contains(word))
        .is_some_and(|at| words.get(at + 1).is_some_and(|value| gives(value)))
}

/// After `=` or `:` everything is a value, but a lone word that tells.
fn gives_by_sign(value: &str) -> bool {
    let word = value.split_whitespace().next().unwrap_or_default();
    let tells = TELLING.contains(&word) && value.split_whitespace().count() > 1;
    !word.is_empty() && !tells
}

fn gives(value: &str) -> bool {
    let word =
        value.trim_matches(|c: char| matches!(c, '"' | '\'' | '`' | '.' | ',' | ';' | '!' | '?' | '(' | ')'));
    !word.is_empty() && !TELLING.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal() -> Refusal {
        let environment = [
            ("DB_PASSWORD", "Tr0ub4dor"),
            ("SERVICE_KEEP_RECENT_TOKENS", "8000"),
            ("HOME", "/home/ada"),
            ("SECRET_FILE", "/run/the-file"),
            ("api_key_env", "OTHER_NAME"),
            ("SHORT_TOKEN", "abc"),
            ("WIDE_SECRET", "Ｐａｓｓ～Ｗｏｒｄ"),
        ];
        Refusal::new(Arc::new(Redactor::default()), environment)
    }

    // REM-4, T10-07
    #[test]
    fn secrets_are_refused_in_every_form() {
        let it = refusal();
        for text in [
            "prod db password is hunter2 and key sk-test-abc123def456ghi789",
            "the login is Tr0ub4dor for now",
            "the login is TR0UB4DOR for now",
            "the login is Ｔｒ０ｕｂ４ｄｏｒ for now",
            "the login is Tr0u\u{200d}b4dor for now",
            "we keep 8000 of them",
            "it says pass~word somewhere",
            "key sk-proj-abcdefghijklmnop1234567890",
            "KEY SK-PROJ-ABCDEFGHIJKLMNOP1234567890",
            "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
            "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz",
            "xoxb-1234567890-abcdefghij",
            "XAPP-1-A123-456-abcdef0",
            "AKIAIOSFODNN7EXAMPLE",
            "akiaiosfodnn7example",
            "Authorization: Bearer abcdef0123456789abcdef",
            "send Basic dXNlcjpwYXNzd29yZA== as header",
            "bot 123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc",
            "password=swordfish",
            "Password : swordfish",
            "\"apiKey\": \"swordfish\"",
            "DB_PASSWORD=x",
            "the password for prod is swordfish",
            "Das Passwort lautet Schwertfisch",
            "пароль: рыба",
            "密码是鱼鱼鱼",
            "pass\u{200d}word=swordfish",
        ] {
            let text = normal(text);
            assert_eq!(it.check(&text), Err(Refused::Secret), "{text}");
        }
        // The redactor's own values count as well.
        let known = Refusal::new(Arc::new(Redactor::new([Secret::new("from-a-file")])), [("A", "b")]);
        assert_eq!(known.check("it is from-a-file"), Err(Refused::Secret));
    }

    // REM-4
    #[test]
    fn facts_about_secrets_are_no_secrets() {
        let it = refusal();
        for text in [
            "Ada prefers tea over coffee",
            "The password is stored in the vault",
            "The token budget is counted per run",
            "Ada's home is /home/ada, the file is /run/the-file, see OTHER_NAME and abc",
            "Rotate the API key every quarter",
            "The tokenizer: wordllama",
            "Meeting at 10:30 about the secret santa",
            "周五上午在三楼评审预算方案",
            "Family 👨\u{200d}👩\u{200d}👧 likes می\u{200c}خواهم",
        ] {
            assert_eq!(it.check(&normal(text)), Ok(()), "{text}");
        }
    }

    // REM-4, T10-05
    #[test]
    fn characters_that_hide_or_move_are_refused() {
        let it = refusal();
        for text in [
            "a\u{1b}[2Jb",
            "a\u{202e}b",
            "a\u{2066}b",
            "a\u{200b}b",
            "\u{feff}a",
            "a\u{7f}",
            "a\u{9b}1m",
            "a\u{e0041}b",
            "a\u{0}b",
            "a\u{61c}b",
            "so\u{ad}ft",
        ] {
            assert!(matches!(it.check(&normal(text)), Err(Refused::Unsafe(_))), "{text:?}");
        }
    }
}
