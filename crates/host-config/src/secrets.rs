//! What looks like a secret, so that it is never printed and its place is named.

/// Words that mark the name of a secret, compared without case, `_` and `-`.
const NAME_WORDS: &[&str] = &[
    "token",
    "password",
    "passwd",
    "authorization",
    "apikey",
    "accesskey",
    "cookie",
    "credential",
    "privatekey",
    "clientsecret",
    "bearer",
    "secret",
];

/// The beginnings of well-known tokens, with the least number of characters that follow.
const PREFIXES: &[(&str, usize)] = &[
    ("sk-", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 10),
    ("xoxa-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("hf_", 20),
    ("npm_", 30),
    ("gsk_", 20),
    ("eyJ", 40),
];

/// Whether a name (of a key, a header, a variable) says that its value is a secret. Names of names and
/// of places (`…Env`, `…_PATH`, `…File`, `…Dir`) don't, nor do numbers of tokens (`…Tokens`).
pub fn is_secret_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    const HARMLESS_ENDS: &[&str] =
        &["env", "env_var", "_path", "_file", "_dir", "tokens", "path", "file", "dir"];
    if HARMLESS_ENDS.iter().any(|end| lower.ends_with(end)) && !lower.ends_with("_api_tokens") {
        return false;
    }
    let folded: String = lower.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '.')).collect();
    NAME_WORDS.iter().any(|word| folded.contains(word))
}

/// Whether a text holds the shape of a token, a private key, or a URL with a password in it.
pub fn looks_secret(text: &str) -> bool {
    if text.contains("PRIVATE KEY-----") {
        return true;
    }
    let is_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '+' | '=');
    text.split(|c: char| !is_token(c)).any(|word| {
        PREFIXES.iter().any(|(prefix, least)| {
            word.match_indices(prefix).any(|(at, _)| {
                let starts = word[..at].chars().next_back().is_none_or(|c| !c.is_ascii_alphanumeric());
                starts && word.len() - at - prefix.len() >= *least
            })
        })
    }) || has_url_password(text)
}

/// Whether a text holds `scheme://user:password@host`.
pub fn has_url_password(text: &str) -> bool {
    text.match_indices("://").any(|(at, _)| {
        let authority = &text[at + 3..];
        let end = authority.find(['/', '?', '#', ' ', '"']).unwrap_or(authority.len());
        authority[..end].rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    })
}

/// Whether a header value is a credential as it stands: a scheme with something behind it, or a token.
pub fn is_credential_header(name: &str, value: &str) -> bool {
    let value = value.trim();
    let after_scheme = ["bearer ", "basic ", "token "].iter().find_map(|scheme| {
        let head = value.get(..scheme.len())?;
        head.eq_ignore_ascii_case(scheme).then(|| value[scheme.len()..].trim())
    });
    let secret = after_scheme.unwrap_or(value);
    if secret.is_empty() || is_placeholder(secret) {
        return false;
    }
    after_scheme.is_some() || is_secret_name(name) || looks_secret(value)
}

/// Whether a text is nothing but a reference that somebody hoped would be expanded.
fn is_placeholder(text: &str) -> bool {
    crate::mcp::placeholder(text).is_some_and(|found| found.len() == text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_shapes() {
        for name in
            ["botToken", "API_KEY", "x-api-key", "Authorization", "client-secret", "AWS_SECRET_ACCESS_KEY"]
        {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["apiKeyEnv", "keepRecentTokens", "summaryMaxTokens", "TOKEN_PATH", "model", "LOG_LEVEL"]
        {
            assert!(!is_secret_name(name), "{name}");
        }
        assert!(looks_secret("sk-proj-0123456789abcdef0123"));
        assert!(looks_secret("x=ghp_0123456789abcdefghij0123456789abcdef"));
        assert!(looks_secret("https://u:p@host/x"));
        assert!(!looks_secret("task-management-is-a-long-word"));
        assert!(!looks_secret("https://host/a@b:c"));
        assert!(is_credential_header("Authorization", "Bearer abc"));
        assert!(is_credential_header("X-Api-Key", "abc"));
        assert!(!is_credential_header("Authorization", "Bearer ${T}"));
        assert!(!is_credential_header("X-Trace", "on"));
    }
}
