//! Text from a model, a server, a file or the past.

use serde::{Deserialize, Serialize};

/// A value that someone else made. It has no `Display`: only a renderer that bounds and labels it may
/// turn it into something shown or prompted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Untrusted<T>(T);

impl<T> Untrusted<T> {
    /// Marks a value.
    pub const fn new(value: T) -> Self {
        Untrusted(value)
    }

    /// The value, for a renderer that bounds and labels it.
    pub fn for_renderer(&self) -> &T {
        &self.0
    }

    /// The value itself, for a renderer that bounds and labels it.
    pub fn into_renderer(self) -> T {
        self.0
    }
}
