//! Tools for endpoints that carry no tool calls: the answer is constrained by a schema to one object, a
//! tool's shape or `respond` (ENG-2).

mod decode;
mod examples;
mod prompt;
mod relevance;
mod shape;

pub(crate) use decode::ConstrainedDecoder;
pub(crate) use prompt::write;

use serde::{Deserialize, Serialize};

/// How much a model in schema mode is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SchemaMode {
    /// The most tools that one request offers; those whose words are nearest to the person's are taken.
    pub tools_max: usize,
    /// Whether a tool that has no word in common with the person's text is left out even where there is room.
    pub relevant_only: bool,
    /// The most characters of a tool's description, on one line.
    pub description_chars_max: usize,
    /// Whether arguments that may be left out are left out of the shape.
    pub required_only: bool,
    /// The most characters of the system prompt that are sent.
    pub system_chars_max: usize,
    /// The most characters of earlier turns that are sent.
    pub history_chars_max: usize,
    /// The most bytes of one result that are sent.
    pub result_bytes_max: usize,
    /// The most tokens of one answer.
    pub output_tokens_max: u32,
}

/// Windows up to this size get the small form.
const SMALL_WINDOW: u64 = 8_192;

impl SchemaMode {
    /// What fits a context window, in tokens.
    pub fn for_window(window: u64) -> Self {
        if window <= SMALL_WINDOW {
            SchemaMode {
                tools_max: 2,
                relevant_only: true,
                description_chars_max: 80,
                required_only: true,
                system_chars_max: 0,
                history_chars_max: 600,
                result_bytes_max: usize::try_from(window).unwrap_or(4_096),
                output_tokens_max: 400,
            }
        } else {
            SchemaMode {
                tools_max: 24,
                relevant_only: false,
                description_chars_max: 240,
                required_only: false,
                system_chars_max: 100_000,
                history_chars_max: usize::try_from(window).unwrap_or(usize::MAX).saturating_mul(2),
                result_bytes_max: 65_536,
                output_tokens_max: 4_096,
            }
        }
    }

    /// Whether this is the form for small models.
    fn is_small(&self) -> bool {
        self.required_only
    }
}

impl Default for SchemaMode {
    fn default() -> Self {
        SchemaMode::for_window(SMALL_WINDOW)
    }
}
