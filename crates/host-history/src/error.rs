//! Why a view was not made.

use host_ports::log::LogError;

/// Why a view was not made. What is not there, what is somebody else's and what is still running all fail
/// alike (T9-07).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// An argument is wrong or over its limit; the text names both.
    #[error("{0}")]
    Input(String),
    /// The cursor is forged, stale, of another scope, or of another question.
    #[error("this cursor can't be used here; ask again without a cursor")]
    Cursor,
    /// Nothing of that id can be seen from here.
    #[error("there is nothing of that id among the settled history of this conversation")]
    NotFound,
    /// The log could not be read.
    #[error("the history can't be read at present: {0}")]
    Log(#[from] LogError),
}

impl HistoryError {
    /// The code of a tool's answer.
    pub const fn code(&self) -> &'static str {
        match self {
            HistoryError::Input(_) => "invalid_input",
            HistoryError::Cursor => "invalid_cursor",
            HistoryError::NotFound => "not_found",
            HistoryError::Log(_) => "history_unavailable",
        }
    }

    /// All codes.
    pub const CODES: &'static [&'static str] =
        &["invalid_input", "invalid_cursor", "not_found", "history_unavailable"];
}
