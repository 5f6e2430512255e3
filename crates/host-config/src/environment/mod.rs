//! The environment: variables, `.env` files, and what they set.

mod dotenv;
mod variables;

pub use dotenv::{BadLine, Dotenv, dotenv};
pub(crate) use variables::{check_names, read_variable};

use std::collections::BTreeMap;

/// Variables by name. What the process was started with; read once at the edge and passed down.
pub type Environment = BTreeMap<String, String>;

/// Whether a text may be the name of a variable: letters, digits and `_`, not beginning with a digit.
pub fn is_name(text: &str) -> bool {
    text.len() <= 256
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !text.is_empty()
        && !text.as_bytes()[0].is_ascii_digit()
}
