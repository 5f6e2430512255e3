//! What goes out.

use crate::part::Part;
use serde::{Deserialize, Serialize};

/// The answer of one run: text and parts (REP-1).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reply {
    /// The answer's text, as the model wrote it.
    pub text: String,
    /// Files, quick replies and other parts. Valid text and earlier parts stand, whatever happens to a later one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// Notes of the host for people, such as that a fall-back model answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}
