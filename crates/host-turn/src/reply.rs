//! What goes out.

use serde::{Deserialize, Serialize};

/// The answer of one run: text (parts come with rich replies).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reply {
    /// The answer's text, as the model wrote it.
    pub text: String,
    /// Notes of the host for people, such as that a fall-back model answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}
