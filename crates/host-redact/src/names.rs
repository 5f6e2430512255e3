//! Names that say "what follows is secret": keys of values, and variables of the environment.

use aho_corasick::AhoCorasick;
use host_vocab::Secret;
use std::sync::LazyLock;

/// Parts of a key, without case. A space, dot, slash or colon inside a name is not bridged, and benign
/// keys that hold such a part (`credentialType`) are redacted too: that is accepted.
const SENSITIVE_PARTS: [&str; 16] = [
    "token",
    "password",
    "authorization",
    "apikey",
    "api_key",
    "api-key",
    "cookie",
    "credential",
    "privatekey",
    "private_key",
    "private-key",
    "clientsecret",
    "client_secret",
    "client-secret",
    "bearer",
    "secret",
];

/// Parts of a variable's name (REM-4).
const VARIABLE_PARTS: [&str; 12] = [
    "apikey",
    "api_key",
    "api-key",
    "authorization",
    "cookie",
    "credential",
    "password",
    "privatekey",
    "private_key",
    "private-key",
    "secret",
    "token",
];

/// Ends of variables that hold a name or a place, not a secret (REM-4).
const PLACE_SUFFIXES: [&str; 5] = ["_ENV", "_ENV_VAR", "_PATH", "_FILE", "_DIR"];

fn automaton(parts: &[&str]) -> AhoCorasick {
    // Fixed short literals: building fails only over a size limit that these can't reach.
    AhoCorasick::builder().ascii_case_insensitive(true).build(parts).expect("a few short literals")
}

/// Whether a value under this key is replaced whatever it is, unless it is a number.
pub fn is_sensitive_key(key: &str) -> bool {
    static PARTS: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(&SENSITIVE_PARTS));
    key.len() >= 5 && PARTS.is_match(key)
}

/// Whether a variable of the environment is named like a credential (REM-4): `…_TOKENS` is, `…_TOKEN_FILE`
/// is not.
pub fn is_credential_variable(name: &str) -> bool {
    static PARTS: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(&VARIABLE_PARTS));
    let upper = name.to_ascii_uppercase();
    PARTS.is_match(name) && !PLACE_SUFFIXES.iter().any(|suffix| upper.ends_with(suffix))
}

/// What of a setting's value is a secret although its name doesn't say so: the password in an address
/// (`postgres://user:password@host`), and a value that looks drawn by lot: one word of twelve characters or more
/// with letters and digits, and no path, address or version. Ordinary words (`production`, `/srv/data`) are none: they
/// would go from every text.
pub fn secrets_within(value: &str) -> Vec<Secret> {
    let value = value.trim();
    if let Some((_, rest)) = value.split_once("://") {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let password =
            authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':')).map(|(_, it)| it);
        return password.filter(|it| !it.is_empty()).map(Secret::new).into_iter().collect();
    }
    let word = value.len() >= DRAWN_BYTES_MIN && !value.contains(char::is_whitespace);
    let kinds = value.bytes().any(|b| b.is_ascii_digit()) && value.bytes().any(|b| b.is_ascii_alphabetic());
    let path = value.contains("..")
        || value.starts_with(['/', '.', '~'])
        || value.contains(['\\', ',', '*', '$', '{']);
    let name = value.contains('.') && value.split('.').all(|part| part.len() < DRAWN_BYTES_MIN);
    if word && kinds && !path && !name { vec![Secret::new(value)] } else { Vec::new() }
}

/// The shortest value that is taken for one drawn by lot, in bytes.
const DRAWN_BYTES_MIN: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    // QUA-5: settings hold secrets under any name.
    #[test]
    fn secrets_of_values() {
        for (value, secret) in [
            ("postgres://app:s3cr3t-pw@db.example/x", Some("s3cr3t-pw")),
            ("https://example.org/a?b=c1", None),
            ("redis://:hunter22@h", Some("hunter22")),
            ("tokval-EEEE-555566", Some("tokval-EEEE-555566")),
            ("production", None),
            ("/srv/data/2026-11-30", None),
            ("eu-west-1", None),
            ("127.0.0.1:8080", None),
            ("example.org", None),
            ("3.11.0-beta.2", None),
            ("two words 12345678", None),
            ("", None),
        ] {
            let found = secrets_within(value);
            assert_eq!(found.first().map(Secret::expose), secret, "{value}");
        }
    }

    // RUN-9
    #[test]
    fn keys() {
        for key in [
            "token",
            "accessToken",
            "X-API-Key",
            "api_key",
            "apikey",
            "Set-Cookie",
            "credentialType",
            "PRIVATE-KEY",
            "clientSecret",
            "proxy-Authorization",
            "bearer",
            "user_password",
            "secrets",
        ] {
            assert!(is_sensitive_key(key), "{key}");
        }
        for key in ["api key", "api.key", "private/key", "tok", "key", "author", "pass", "", "public_key"] {
            assert!(!is_sensitive_key(key), "{key}");
        }
    }

    // REM-4
    #[test]
    fn variables() {
        for name in ["OPENAI_API_KEY", "db_password", "MAX_TOKENS", "SESSION_COOKIE", "MY_SECRET_ENVIRONMENT"]
        {
            assert!(is_credential_variable(name), "{name}");
        }
        for name in
            ["TOKEN_FILE", "SECRET_DIR", "api_key_env", "X_TOKEN_ENV_VAR", "PASSWORD_PATH", "HOME", "BEARER"]
        {
            assert!(!is_credential_variable(name), "{name}");
        }
    }
}
