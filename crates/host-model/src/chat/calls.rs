//! Calls that come in fragments, as well as servers manage to number them.

use crate::content::{CALLS_MAX, CallIds, arguments_whole, too_many};
use host_ports::model::{AssistantPart, FinishReason, ModelError, ToolCall};
use host_turn::FailureKind;
use host_vocab::limits::ARGUMENT_BYTES_MAX;
use serde_json::Value;

/// A call on its way.
#[derive(Debug, Default)]
struct Draft {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    raw: Option<Value>,
}

/// The calls of one answer, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Draft>);

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes one fragment; gives the name when a call begins with it.
    ///
    /// Fragments belong together by `index`; where it is missing, by `id`; where that is missing too, a
    /// fragment with a name begins a call and one without goes on with the newest. A server that gives
    /// several whole calls one index is told apart by their ids.
    pub(super) fn take(&mut self, fragment: &Value) -> Result<Option<String>, ModelError> {
        let index = fragment.get("index").and_then(Value::as_u64);
        let id = fragment.get("id").and_then(Value::as_str).unwrap_or("");
        let function = fragment.get("function").unwrap_or(fragment);
        let name = function.get("name").and_then(Value::as_str).unwrap_or("");
        let at = self.place(index, id, name);
        let begins = at.is_none();
        let at = match at {
            Some(at) => at,
            None => {
                if self.0.len() >= CALLS_MAX {
                    return Err(too_many("calls"));
                }
                self.0.push(Draft { index, ..Draft::default() });
                self.0.len() - 1
            }
        };
        let draft = &mut self.0[at];
        if draft.id.is_empty() {
            id.clone_into(&mut draft.id);
        }
        let named_before = !draft.name.is_empty();
        if !named_before {
            name.clone_into(&mut draft.name);
        }
        match function.get("arguments") {
            Some(Value::String(text)) => draft.arguments.push_str(text),
            Some(whole @ Value::Object(_)) => draft.arguments = whole.to_string(),
            _ => {}
        }
        if let Some(extra) = fragment.get("extra_content") {
            draft.raw = Some(serde_json::json!({ "extra_content": extra }));
        }
        if draft.arguments.len() > ARGUMENT_BYTES_MAX {
            let why = format!("the arguments of a call are longer than {ARGUMENT_BYTES_MAX} bytes");
            return Err(ModelError::new(FailureKind::ServerError, why));
        }
        let name_is_new = !draft.name.is_empty() && (begins || !named_before);
        Ok(name_is_new.then(|| draft.name.clone()))
    }

    fn place(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        if let Some(index) = index {
            let at = self.0.iter().rposition(|draft| draft.index == Some(index))?;
            let another =
                !id.is_empty() && !name.is_empty() && !self.0[at].id.is_empty() && self.0[at].id != id;
            return (!another).then_some(at);
        }
        if !id.is_empty() {
            let known = self.0.iter().rposition(|draft| draft.id == id);
            // The same id again with a name and after whole arguments is the next call of a careless server.
            return known.filter(|at| name.is_empty() || !self.0[*at].is_whole());
        }
        if !name.is_empty() {
            return None;
        }
        self.0.len().checked_sub(1)
    }

    /// The calls as parts. What an output limit cut is half a call and is left out; `false` says so.
    pub(super) fn parts(self, reason: FinishReason) -> (Vec<AssistantPart>, bool) {
        let mut ids = CallIds::default();
        let mut all = true;
        let mut out = Vec::new();
        for draft in self.0 {
            let cut = reason != FinishReason::ToolCalls && reason != FinishReason::Stop;
            if draft.name.is_empty() || (cut && !arguments_whole(&draft.arguments)) {
                all = false;
                continue;
            }
            out.push(AssistantPart::Call(ToolCall {
                id: ids.unique(Some(&draft.id)),
                name: draft.name,
                arguments: if draft.arguments.trim().is_empty() { "{}".to_owned() } else { draft.arguments },
                raw: draft.raw,
            }));
        }
        (out, all)
    }
}

impl Draft {
    fn is_whole(&self) -> bool {
        !self.arguments.is_empty() && arguments_whole(&self.arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(fragments: &[Value]) -> Vec<(String, String, String)> {
        let mut calls = Calls::default();
        for fragment in fragments {
            calls.take(fragment).unwrap();
        }
        let (parts, _) = calls.parts(FinishReason::ToolCalls);
        parts
            .into_iter()
            .map(|part| match part {
                AssistantPart::Call(call) => (call.id, call.name, call.arguments),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.to_owned(), name.to_owned(), arguments.to_owned())
    }

    // ENG-2
    #[test]
    fn fragments_of_parallel_calls_and_gaps() {
        let out = read(&[
            json!({"index": 1, "id": "a", "function": {"name": "Read", "arguments": ""}}),
            json!({"index": 4, "id": "b", "function": {"name": "Grep", "arguments": "{\"p\""}}),
            json!({"index": 1, "function": {"arguments": "{\"x\":"}}),
            json!({"index": 4, "function": {"arguments": ":1}"}}),
            json!({"index": 1, "function": {"arguments": "2}"}}),
        ]);
        assert_eq!(out, [call("a", "Read", "{\"x\":2}"), call("b", "Grep", "{\"p\":1}")]);
    }

    // ENG-2
    #[test]
    fn no_index_no_id_and_arguments_as_an_object() {
        let out = read(&[
            json!({"function": {"name": "A", "arguments": "{\"x\""}}),
            json!({"function": {"arguments": ":1}"}}),
            json!({"function": {"name": "B", "arguments": {"y": 2}}}),
        ]);
        assert_eq!((out[0].1.as_str(), out[0].2.as_str()), ("A", "{\"x\":1}"));
        assert_eq!((out[1].1.as_str(), out[1].2.as_str()), ("B", "{\"y\":2}"));
        assert!(out[0].0.starts_with("call_") && out[0].0 != out[1].0);
    }

    // ENG-2
    #[test]
    fn one_index_or_one_id_for_all_calls() {
        let out = read(&[
            json!({"index": 0, "id": "a", "function": {"name": "A", "arguments": "{}"}}),
            json!({"index": 0, "id": "b", "function": {"name": "B", "arguments": "{}"}}),
        ]);
        assert_eq!(out, [call("a", "A", "{}"), call("b", "B", "{}")]);
        let out = read(&[
            json!({"id": "0", "function": {"name": "A", "arguments": "{}"}}),
            json!({"id": "0", "function": {"name": "B", "arguments": "{}"}}),
        ]);
        assert_eq!((out[0].1.as_str(), out[1].1.as_str()), ("A", "B"));
        assert_ne!(out[0].0, out[1].0);
        // A name that is repeated with every fragment is one call.
        let out = read(&[
            json!({"index": 0, "id": "a", "function": {"name": "A", "arguments": "{"}}),
            json!({"index": 0, "id": "a", "function": {"name": "A", "arguments": "}"}}),
        ]);
        assert_eq!(out, [call("a", "A", "{}")]);
    }

    // T12-07
    #[test]
    fn a_call_that_the_output_limit_cut_is_left_out() {
        let mut calls = Calls::default();
        calls
            .take(&json!({"index": 0, "id": "a", "function": {"name": "A", "arguments": "{\"x\": 1}"}}))
            .unwrap();
        calls
            .take(&json!({"index": 1, "id": "b", "function": {"name": "B", "arguments": "{\"x\": "}}))
            .unwrap();
        let (parts, all) = calls.parts(FinishReason::Length);
        assert_eq!((parts.len(), all), (1, false));
    }
}
