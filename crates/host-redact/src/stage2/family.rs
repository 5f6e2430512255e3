//! Which numbers may stay under a key that names a credential (RUN-9).

use crate::is_sensitive_key;

/// What becomes of a value under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// The key names no credential.
    Plain,
    /// A number may stay: `credential`, `private_key`, `bearer`.
    NumbersStay,
    /// Nothing stays: `apiKey`, `token`, `client_secret`, `password`, `authorization`, `cookie`, `secret`.
    NothingStays,
}

const NOTHING_STAYS: [&str; 7] =
    ["apikey", "token", "clientsecret", "password", "authorization", "cookie", "secret"];

/// The family of a key. One that belongs to both goes by the stricter.
pub(super) fn of(key: &str) -> Family {
    if !is_sensitive_key(key) {
        return Family::Plain;
    }
    let plain: String = key.chars().filter(|c| !matches!(c, '_' | '-')).collect::<String>().to_lowercase();
    if NOTHING_STAYS.iter().any(|part| plain.contains(part)) {
        Family::NothingStays
    } else {
        Family::NumbersStay
    }
}
