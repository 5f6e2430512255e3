//! What a search of the log's full text may ask.

use host_ports::log::LogError;
use host_vocab::ConversationId;

/// The longest query in bytes.
const QUERY_BYTES_MAX: usize = 512;
/// The most words of a query.
const WORDS_MAX: usize = 16;

/// Whose events are searched. There is no default: nothing given is never everything (T9-07).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchScope {
    /// Those of one conversation; with `rollover` its daily buckets count as one (RUN-7).
    Conversation {
        /// Which one.
        id: ConversationId,
        /// Whether daily buckets are ignored.
        rollover: bool,
    },
    /// Every one, for the operator alone.
    Everything,
}

/// Why a search was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// There is no word in the query.
    #[error("the query is empty")]
    Empty,
    /// A word is too short for the index.
    #[error("the word '{word}' has fewer than three characters; use a longer one")]
    ShortWord {
        /// The word.
        word: String,
    },
    /// The query is over its bound.
    #[error("a query has at most {QUERY_BYTES_MAX} bytes and {WORDS_MAX} words")]
    TooLong,
    /// The log or the index failed.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// Every word as a phrase, all of them needed. Quoted, so that nothing in a word is an operator.
pub(crate) fn pattern(query: &str) -> Result<String, SearchError> {
    if query.len() > QUERY_BYTES_MAX {
        return Err(SearchError::TooLong);
    }
    // A NUL would end the pattern in the middle of a word.
    let words: Vec<&str> =
        query.split(|c: char| c.is_whitespace() || c == '\0').filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        return Err(SearchError::Empty);
    }
    if words.len() > WORDS_MAX {
        return Err(SearchError::TooLong);
    }
    if let Some(word) = words.iter().find(|word| word.chars().count() < 3) {
        return Err(SearchError::ShortWord { word: (*word).to_owned() });
    }
    Ok(words
        .iter()
        .map(|word| format!("\"{}\"", word.replace('"', "\"\"")))
        .collect::<Vec<_>>()
        .join(" AND "))
}
