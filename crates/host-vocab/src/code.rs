//! Closed, machine-readable codes.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// One code of a closed list, in `snake_case`: what a program may compare, while the message beside
/// it is for people and may change.
///
/// Codes are made from literals by the crate that owns the operation; each tool lists the ones it can
/// answer with in its declaration, and a matrix in the repository prints them all.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Code(Cow<'static, str>);

impl Code {
    /// A code from a literal. It should be `snake_case`; the tests of each list check that.
    pub const fn new(code: &'static str) -> Self {
        Code(Cow::Borrowed(code))
    }

    /// The code as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is a lower-case ASCII identifier, as every code must be.
    pub fn is_well_formed(&self) -> bool {
        let s = self.as_str();
        !s.is_empty()
            && s.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            && s.as_bytes()[0].is_ascii_lowercase()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq<str> for Code {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Code {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}
