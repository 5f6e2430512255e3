//! Names that say "what follows is secret": keys of values, and variables of the environment.

use aho_corasick::AhoCorasick;
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

#[cfg(test)]
mod tests {
    use super::*;

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
