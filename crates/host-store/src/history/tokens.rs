//! Tokens of the index besides the grams of texts. A gram is hexadecimal digits with `g` between; each kind
//! below begins with a letter that no gram begins with.

use sha2::{Digest as _, Sha256};

/// A conversation by its number.
pub(super) fn exact(id: i64) -> String {
    format!("x{id}")
}

/// A conversation without its bucket, by its number.
pub(super) fn logical(id: i64) -> String {
    format!("y{id}")
}

/// A tool.
pub(super) fn tool(name: &str) -> String {
    format!("u{}", short(name))
}

/// A run.
pub(super) fn run(id: &str) -> String {
    format!("r{}", short(id))
}

/// A state.
pub(super) fn state(name: &str) -> String {
    format!("s{}", short(name))
}

/// Whether a call's run stands alone.
pub(super) fn isolated(alone: bool) -> &'static str {
    if alone { "i1" } else { "i0" }
}

/// Rows found by it are looked at themselves, so a clash costs a look and nothing else.
fn short(text: &str) -> String {
    host_vocab::text::hex(&Sha256::digest(text)[..6])
}

/// The number that a record's id is found by.
pub(super) fn record_key(record: &str) -> i64 {
    let digest = Sha256::digest(record);
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(first)
}
