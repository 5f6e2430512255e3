//! What is asked of `RunHistory`.

use crate::error::HistoryError;
use crate::limits::{CURSOR_BYTES_MAX, LIMIT_DEFAULT, LIMIT_MAX, QUERY_BYTES_MAX};

/// The arguments as they came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunArguments {
    /// `list`, `search` or `inspect`; may be left out.
    pub action: Option<String>,
    /// What to search.
    pub query: Option<String>,
    /// Which run.
    pub run_id: Option<String>,
    /// Where to go on.
    pub cursor: Option<String>,
    /// How many.
    pub limit: Option<i64>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Question {
    List,
    Search(String),
    Inspect(String),
}

/// Arguments that make sense.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) question: Question,
    pub(super) cursor: Option<String>,
    pub(super) limit: usize,
    pub(super) limit_given: bool,
}

impl Asked {
    pub(super) fn of(arguments: &RunArguments) -> Result<Self, HistoryError> {
        let wrong = |why: &str| Err(HistoryError::Input(why.to_owned()));
        let given = |text: &Option<String>| {
            text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let (query, run, cursor) =
            (given(&arguments.query), given(&arguments.run_id), given(&arguments.cursor));
        if cursor.as_ref().is_some_and(|cursor| cursor.len() > CURSOR_BYTES_MAX) {
            return Err(HistoryError::Cursor);
        }
        if let Some(query) = query.as_ref().filter(|query| query.len() > QUERY_BYTES_MAX) {
            return Err(HistoryError::Input(format!(
                "query: at most {QUERY_BYTES_MAX} bytes of UTF-8 are taken, and this has {}",
                query.len()
            )));
        }
        let question = match (given(&arguments.action).as_deref(), query, run) {
            (_, Some(_), Some(_)) => return wrong("query and runId: give one of them, not both"),
            (None | Some("list"), None, None) => Question::List,
            (None | Some("search"), Some(query), None) => Question::Search(query),
            (None | Some("inspect"), None, Some(run)) => Question::Inspect(run),
            (Some("search"), None, _) => return wrong("action search: give a query"),
            (Some("inspect"), _, None) => return wrong("action inspect: give a runId"),
            (Some("list"), ..) => return wrong("action list: takes neither query nor runId"),
            (Some(_), ..) => return wrong("action: one of list, search, inspect"),
        };
        let limit = limit(arguments.limit)?;
        Ok(Asked { question, cursor, limit, limit_given: arguments.limit.is_some() })
    }
}

/// A page's size.
///
/// # Errors
/// Names the range.
pub(crate) fn limit(given: Option<i64>) -> Result<usize, HistoryError> {
    match given {
        None => Ok(LIMIT_DEFAULT),
        Some(limit) => {
            usize::try_from(limit).ok().filter(|limit| (1..=LIMIT_MAX).contains(limit)).ok_or_else(|| {
                HistoryError::Input(format!("limit: a number from 1 to {LIMIT_MAX}, and this is {limit}"))
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(action: &str, query: &str, run: &str, limit: Option<i64>) -> Result<Asked, String> {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let arguments =
            RunArguments { action: some(action), query: some(query), run_id: some(run), cursor: None, limit };
        Asked::of(&arguments).map_err(|error| error.to_string())
    }

    // RUN-2
    #[test]
    fn shorthand_and_explicit_actions() {
        assert_eq!(asked("", "", "", None).unwrap().question, Question::List);
        assert_eq!(asked("list", " ", "", Some(10)).unwrap().limit, 10);
        assert_eq!(asked("", "a", "", None).unwrap().question, Question::Search("a".into()));
        assert_eq!(asked("search", "a", "", None).unwrap().limit, 5);
        assert_eq!(asked("inspect", "", "r", None).unwrap().question, Question::Inspect("r".into()));
        for (action, query, run, limit, place) in [
            ("search", "", "", None, "query"),
            ("inspect", "", "", None, "runId"),
            ("", "a", "r", None, "not both"),
            ("list", "a", "", None, "list"),
            ("LIST", "", "", None, "action"),
            ("", "", "", Some(0), "limit"),
            ("", "", "", Some(11), "limit"),
            ("", "", "", Some(-1), "limit"),
            ("", "", "", Some(50), "10"),
        ] {
            let why = asked(action, query, run, limit).unwrap_err();
            assert!(why.contains(place), "{why}");
        }
    }
}
