//! What is asked of `SessionHistory`.

use crate::error::HistoryError;
use crate::fold::terms;
use crate::limits::{CHUNK_BYTES_MAX, CURSOR_BYTES_MAX, FILTER_VALUE_BYTES_MAX, FILTER_VALUES_MAX};
use crate::runs::limit;
use serde_json::{Value, json};

/// The states that a call can end in.
pub(super) const STATES: [&str; 8] =
    ["success", "rejected", "error", "exit_nonzero", "timeout", "signal", "cancelled", "interrupted"];

/// The arguments as they came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallArguments {
    /// `search` or `get`; may be left out for a search.
    pub action: Option<String>,
    /// Words that all must occur.
    pub query: Option<String>,
    /// Any of these tools.
    pub tools: Option<Vec<String>>,
    /// Any of these states.
    pub states: Option<Vec<String>>,
    /// Any of these runs.
    pub run_ids: Option<Vec<String>>,
    /// Begun at or after, in Unix milliseconds.
    pub from_ms: Option<i64>,
    /// Begun at or before.
    pub to_ms: Option<i64>,
    /// How many.
    pub limit: Option<i64>,
    /// Whether runs that stand alone count.
    pub include_isolated: Option<bool>,
    /// Which record.
    pub record_id: Option<String>,
    /// Which call, by the provider's id.
    pub tool_call_id: Option<String>,
    /// Which kept output of the record.
    pub artifact_id: Option<String>,
    /// Where to go on.
    pub cursor: Option<String>,
    /// How much of a record at once.
    pub chunk_bytes: Option<i64>,
}

#[derive(Debug, PartialEq)]
pub(super) enum Asked {
    Search(Search),
    Get(Get),
}

#[derive(Debug, PartialEq)]
pub(super) struct Search {
    pub(super) query: Option<String>,
    pub(super) terms: Vec<String>,
    pub(super) tools: Vec<String>,
    pub(super) states: Vec<String>,
    pub(super) runs: Vec<String>,
    pub(super) from_ms: Option<i64>,
    pub(super) to_ms: Option<i64>,
    pub(super) isolated: bool,
    pub(super) limit: usize,
    pub(super) limit_given: bool,
    pub(super) cursor: Option<String>,
}

impl Search {
    /// What must be the same for a cursor to count.
    pub(super) fn question(&self) -> Value {
        json!([self.terms, self.tools, self.states, self.runs, self.from_ms, self.to_ms, self.isolated])
    }

    /// The arguments that ask it again.
    pub(super) fn arguments(&self, cursor: &str) -> Value {
        let mut map = serde_json::Map::new();
        map.insert("action".into(), "search".into());
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                map.insert(name.into(), value);
            }
        };
        let list = |values: &[String]| (!values.is_empty()).then(|| json!(values));
        put("query", self.query.as_ref().map(|query| json!(query)));
        put("tools", list(&self.tools));
        put("states", list(&self.states));
        put("runIds", list(&self.runs));
        put("fromMs", self.from_ms.map(Value::from));
        put("toMs", self.to_ms.map(Value::from));
        put("includeIsolated", self.isolated.then_some(Value::Bool(true)));
        put("limit", self.limit_given.then(|| self.limit.into()));
        put("cursor", Some(cursor.into()));
        Value::Object(map)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Record { id: String, artifact: Option<String> },
    Call(String),
    Cursor(String),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Get {
    pub(super) wanted: Wanted,
    pub(super) isolated: bool,
    /// As given; a cursor has its own.
    pub(super) chunk_bytes: Option<usize>,
}

fn wrong<T>(why: impl Into<String>) -> Result<T, HistoryError> {
    Err(HistoryError::Input(why.into()))
}

impl Asked {
    pub(super) fn of(arguments: &CallArguments) -> Result<Self, HistoryError> {
        let names_a_record = arguments.record_id.is_some() || arguments.tool_call_id.is_some();
        match arguments.action.as_deref().map(str::trim).filter(|action| !action.is_empty()) {
            None if names_a_record => wrong("action: give \"get\" with recordId or toolCallId"),
            None | Some("search") if names_a_record || arguments.artifact_id.is_some() => {
                wrong("action search: takes no recordId, toolCallId or artifactId; use action get")
            }
            None | Some("search") => Ok(Asked::Search(search(arguments)?)),
            Some("get") => Ok(Asked::Get(get(arguments)?)),
            Some(_) => wrong("action: one of search, get"),
        }
    }
}

fn text(given: &Option<String>) -> Option<String> {
    given.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn cursor(arguments: &CallArguments) -> Result<Option<String>, HistoryError> {
    match text(&arguments.cursor) {
        Some(cursor) if cursor.len() > CURSOR_BYTES_MAX => Err(HistoryError::Cursor),
        cursor => Ok(cursor),
    }
}

fn search(arguments: &CallArguments) -> Result<Search, HistoryError> {
    if arguments.chunk_bytes.is_some() {
        return wrong("chunkBytes: only with action get");
    }
    let query = text(&arguments.query);
    let terms = query.as_deref().map(terms).transpose()?.unwrap_or_default();
    if query.is_some() && terms.is_empty() {
        return wrong("query: there is no word in it");
    }
    let states = list("states", &arguments.states)?;
    if let Some(state) = states.iter().find(|state| !STATES.contains(&state.as_str())) {
        let shown = host_vocab::text::one_line(state, 60);
        return wrong(format!("states: {shown:?} is none; there are {}", STATES.join(", ")));
    }
    if let (Some(from), Some(to)) = (arguments.from_ms, arguments.to_ms)
        && from > to
    {
        return wrong("fromMs: it lies behind toMs");
    }
    Ok(Search {
        terms,
        query,
        tools: list("tools", &arguments.tools)?,
        states,
        runs: list("runIds", &arguments.run_ids)?,
        from_ms: arguments.from_ms,
        to_ms: arguments.to_ms,
        isolated: arguments.include_isolated.unwrap_or(false),
        limit: limit(arguments.limit)?,
        limit_given: arguments.limit.is_some(),
        cursor: cursor(arguments)?,
    })
}

/// The different values of a filter, in order. An empty list filters nothing.
fn list(name: &str, given: &Option<Vec<String>>) -> Result<Vec<String>, HistoryError> {
    let given = given.as_deref().unwrap_or_default();
    if given.len() > FILTER_VALUES_MAX {
        return wrong(format!(
            "{name}: at most {FILTER_VALUES_MAX} values are taken, and this has {}",
            given.len()
        ));
    }
    if given.iter().any(|value| value.len() > FILTER_VALUE_BYTES_MAX) {
        return wrong(format!("{name}: a value has at most {FILTER_VALUE_BYTES_MAX} bytes"));
    }
    let mut values: Vec<String> = given.to_vec();
    values.sort();
    values.dedup();
    Ok(values)
}

fn get(arguments: &CallArguments) -> Result<Get, HistoryError> {
    let filters = arguments.query.is_some()
        || arguments.tools.is_some()
        || arguments.states.is_some()
        || arguments.run_ids.is_some()
        || arguments.from_ms.is_some()
        || arguments.to_ms.is_some()
        || arguments.limit.is_some();
    if filters {
        return wrong("action get: takes no filters; use action search");
    }
    let chunk_bytes = match arguments.chunk_bytes {
        None => None,
        Some(bytes) => match usize::try_from(bytes) {
            Ok(bytes) if (1..=CHUNK_BYTES_MAX).contains(&bytes) => Some(bytes),
            _ => {
                return wrong(format!(
                    "chunkBytes: a number from 1 to {CHUNK_BYTES_MAX}, and this is {bytes}"
                ));
            }
        },
    };
    let (record, call, artifact) =
        (text(&arguments.record_id), text(&arguments.tool_call_id), text(&arguments.artifact_id));
    let wanted = match (record, call, cursor(arguments)?, artifact) {
        (Some(id), None, None, artifact) => Wanted::Record { id, artifact },
        (None, Some(call), None, None) => Wanted::Call(call),
        (None, None, Some(cursor), None) => Wanted::Cursor(cursor),
        (None, None, None, _) => return wrong("action get: give a recordId, a toolCallId or a cursor"),
        (_, _, _, Some(_)) => {
            return wrong("artifactId: give it with the recordId that names it, and nothing else");
        }
        _ => return wrong("action get: give one of recordId, toolCallId and cursor"),
    };
    Ok(Get { wanted, isolated: arguments.include_isolated.unwrap_or(false), chunk_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(arguments: CallArguments) -> String {
        Asked::of(&arguments).expect_err("it is wrong").to_string()
    }

    // HIS-3, HIS-4: an input over its limit is an error that names it.
    #[test]
    fn limits_are_named() {
        let some = |text: &str| Some(text.to_owned());
        let many = || Some((0..21).map(|n| n.to_string()).collect::<Vec<_>>());
        let get = || CallArguments { action: some("get"), ..CallArguments::default() };
        for (arguments, place) in [
            (CallArguments { limit: Some(11), ..CallArguments::default() }, "limit"),
            (CallArguments { limit: Some(0), ..CallArguments::default() }, "limit"),
            (CallArguments { query: Some("a".repeat(513)), ..CallArguments::default() }, "512"),
            (CallArguments { tools: many(), ..CallArguments::default() }, "tools: at most 20"),
            (CallArguments { states: many(), ..CallArguments::default() }, "states: at most 20"),
            (CallArguments { run_ids: many(), ..CallArguments::default() }, "runIds: at most 20"),
            (
                CallArguments { states: Some(vec!["failed".into()]), ..CallArguments::default() },
                "exit_nonzero",
            ),
            (CallArguments { from_ms: Some(2), to_ms: Some(1), ..CallArguments::default() }, "fromMs"),
            (CallArguments { action: some("list"), ..CallArguments::default() }, "search, get"),
            (CallArguments { record_id: some("x"), ..CallArguments::default() }, "get"),
            (get(), "recordId"),
            (CallArguments { record_id: some("x"), chunk_bytes: Some(8193), ..get() }, "8192"),
            (CallArguments { record_id: some("x"), chunk_bytes: Some(0), ..get() }, "chunkBytes"),
            (CallArguments { record_id: some("x"), tool_call_id: some("y"), ..get() }, "one of"),
            (CallArguments { record_id: some("x"), query: some("y"), ..get() }, "filters"),
            (CallArguments { artifact_id: some("x"), ..get() }, "recordId"),
        ] {
            let said = why(arguments);
            assert!(said.contains(place), "{said}");
        }
    }

    #[test]
    fn nothing_is_a_search_of_everything_in_scope() {
        // HIS-3, T9-07: empty filters filter nothing, and widen nothing either.
        let empty =
            CallArguments { tools: Some(vec![]), query: Some("  ".into()), ..CallArguments::default() };
        let (Ok(Asked::Search(a)), Ok(Asked::Search(b))) =
            (Asked::of(&CallArguments::default()), Asked::of(&empty))
        else {
            panic!("no search")
        };
        assert_eq!(a, b);
        assert_eq!(a.limit, 5);
    }
}
