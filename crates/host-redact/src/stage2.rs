//! Stage 2: what a view of the past may show (RUN-8, RUN-9, HIS-7).
//!
//! Stage 1 has been before the log already. This one goes over every view of it: file system spans become
//! [`HOST_PATH`] with at most two harmless trailing components, in values and in keys; numbers under
//! credential keys go by family; prose that assigns a password or a secret is left out whole. It changes
//! what is shown and nothing else.

mod assignment;
mod components;
mod family;
mod opaque;
mod paths;
mod walk;

use serde_json::Value;
use std::borrow::Cow;

/// What stands in the place of a path's root.
pub const HOST_PATH: &str = "[host-path]";

/// At most this many rounds over one text; ordinary ones take two.
const ROUNDS_MAX: usize = 16;

/// What an omitted text was; the two say so in their sentinels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Omission {
    /// Something that the host or a model said.
    Diagnostic,
    /// What a tool was given or gave back.
    ToolResult,
}

impl Omission {
    /// The sentinel that stands in the place of the text.
    pub const fn sentinel(self) -> &'static str {
        match self {
            Omission::Diagnostic => "[diagnostic omitted: it may hold a credential]",
            Omission::ToolResult => "[tool result omitted: it may hold a credential]",
        }
    }
}

/// The projection sanitiser. Applying it twice gives what applying it once gives.
#[derive(Debug, Clone, Default)]
pub struct Sanitiser {
    roots: Vec<String>,
}

impl Sanitiser {
    /// A sanitiser that knows the host's own roots (agent folder, state folder, home). They are found
    /// wherever they stand, even glued to other text. One of fewer than two components is not looked for
    /// that way; as a path of its own it goes like every other.
    pub fn new(roots: impl IntoIterator<Item = String>) -> Self {
        let mut roots: Vec<String> = roots
            .into_iter()
            .map(|root| root.trim_end_matches(['/', '\\']).to_owned())
            .filter(|root| root.split(['/', '\\']).filter(|part| !part.is_empty()).count() >= 2)
            .collect();
        roots.sort_by_key(|root| std::cmp::Reverse(root.len()));
        roots.dedup();
        Sanitiser { roots }
    }

    /// A text without paths, opaque blobs and assigned secrets.
    pub fn text<'t>(&self, text: &'t str, omission: Omission) -> Cow<'t, str> {
        if assignment::is_in(text) {
            return Cow::Borrowed(omission.sentinel());
        }
        let mut clean = opaque::left_out(text);
        for _ in 0..ROUNDS_MAX {
            match paths::hidden(&clean, &self.roots) {
                None => return clean,
                Some(next) => clean = Cow::Owned(next),
            }
        }
        Cow::Borrowed(omission.sentinel())
    }

    /// A value without them, keys and strings of any depth. Keys that are safe keep their spelling; two that
    /// come out alike are told apart by a number.
    pub fn value(&self, mut value: Value, omission: Omission) -> Value {
        walk::value(self, &mut value, omission, 0);
        value
    }
}

#[cfg(test)]
mod tests;
