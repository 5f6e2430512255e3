//! Two runs side by side, without what differs by nature: ids and times.

use host_event::StoredEvent;
use host_redact::REDACTED;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::HashMap;

/// The most events of a run that are compared one with another, between what both begin and end with; more are cut,
/// and said to be.
pub const EVENTS_MAX: usize = 2000;

/// How two runs differ.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// Whether they are the same but for ids and times.
    pub same: bool,
    /// How many events of both are alike.
    pub alike: usize,
    /// Where they differ, in order.
    pub changes: Vec<Change>,
    /// Whether one of them had more events than are compared.
    pub cut: bool,
}

/// One event that only one of the runs has, or that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The kind of the event.
    pub kind: String,
    /// As the first run has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Value>,
    /// As the second run has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second: Option<Value>,
}

/// Compares the events of two runs. Show the result through a [`crate::View`] where it leaves the host.
pub fn diff(first: &[StoredEvent], second: &[StoredEvent]) -> Difference {
    let (a, b) = (normal(first), normal(second));
    let shorter = a.len().min(b.len());
    let head = a.iter().zip(&b).take_while(|(a, b)| a.text == b.text).count();
    let tail =
        a.iter().rev().zip(b.iter().rev()).take(shorter - head).take_while(|(a, b)| a.text == b.text).count();
    let (a, b) = (&a[head..a.len() - tail], &b[head..b.len() - tail]);
    let cut = a.len() > EVENTS_MAX || b.len() > EVENTS_MAX;
    let steps = script(&a[..a.len().min(EVENTS_MAX)], &b[..b.len().min(EVENTS_MAX)]);
    let mut difference = Difference { cut, alike: head + tail, ..Difference::default() };
    let mut pending: Vec<&Line> = Vec::new();
    for step in steps {
        match step {
            Step::Both => {
                flush(&mut pending, &mut difference);
                difference.alike += 1;
            }
            Step::First(line) => pending.push(line),
            Step::Second(line) => {
                let pair = pending.iter().position(|old| old.kind == line.kind);
                let first = pair.map(|at| pending.remove(at).value.clone());
                difference.changes.push(Change {
                    kind: line.kind.clone(),
                    first,
                    second: Some(line.value.clone()),
                });
            }
        }
    }
    flush(&mut pending, &mut difference);
    difference.same = difference.changes.is_empty() && !cut;
    difference
}

fn flush(pending: &mut Vec<&Line>, difference: &mut Difference) {
    difference.changes.extend(pending.drain(..).map(|line| Change {
        kind: line.kind.clone(),
        first: Some(line.value.clone()),
        second: None,
    }));
}

/// The body of each event without ids and times; ids of calls become their place among the run's calls. Two
/// runs are replays of each other when these are equal, byte for byte.
pub fn normalised(events: &[StoredEvent]) -> Vec<String> {
    normal(events).into_iter().map(|line| line.text).collect()
}

struct Line {
    kind: String,
    value: Value,
    text: String,
}

fn normal(events: &[StoredEvent]) -> Vec<Line> {
    let mut calls: HashMap<String, usize> = HashMap::new();
    let mut named = |id: &str| {
        let next = calls.len();
        format!("call-{}", calls.entry(id.to_owned()).or_insert(next))
    };
    events
        .iter()
        .map(|event| {
            let mut body = event.body.clone();
            if let Some(map) = body.as_object_mut() {
                for gone in ["incarnation", "durationMs", "askedAt", "argumentsDigest"] {
                    map.shift_remove(gone);
                }
                if let Some(outcome) = map.get_mut("outcome").and_then(Value::as_object_mut) {
                    outcome.shift_remove("durationMs");
                }
                // The size is that of the text before it was redacted, and the log no longer has that text.
                let redacted = |part: &str| map.get(part).is_some_and(|it| it.to_string().contains(REDACTED));
                if redacted("content") || redacted("structured") {
                    map.shift_remove("originalBytes");
                }
                if let Some(kept) = map.get_mut("kept").and_then(Value::as_array_mut) {
                    kept.iter_mut().for_each(|id| *id = Value::String("kept".into()));
                }
                if let Some(calls) = map.get_mut("calls").and_then(Value::as_array_mut) {
                    for call in calls {
                        if let Some(id) = call.get_mut("id") {
                            *id = Value::String(named(id.as_str().unwrap_or_default()));
                        }
                    }
                }
            }
            let call = event.scope.call.as_ref().map(|id| named(id.as_str()));
            let value = json!({"kind": event.kind, "call": call, "body": body});
            Line { kind: event.kind.clone(), text: value.to_string(), value }
        })
        .collect()
}

enum Step<'a> {
    Both,
    First(&'a Line),
    Second(&'a Line),
}

/// The shortest way from one to the other that keeps the longest common part.
fn script<'a>(a: &'a [Line], b: &'a [Line]) -> Vec<Step<'a>> {
    let width = b.len() + 1;
    let mut common = vec![0_u16; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i * width + j] = if a[i].text == b[j].text {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut steps) = (0, 0, Vec::new());
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i].text == b[j].text {
            steps.push(Step::Both);
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || (i < a.len() && common[(i + 1) * width + j] >= common[i * width + j + 1]) {
            steps.push(Step::First(&a[i]));
            i += 1;
        } else {
            steps.push(Step::Second(&b[j]));
            j += 1;
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_event::Scope;

    fn event(kind: &str, body: Value) -> StoredEvent {
        StoredEvent::from_row(1, 0, Scope::default(), kind.to_owned(), body)
    }

    // SRC-1
    #[test]
    fn only_what_counts_differs() {
        let a = [
            event("run_started", json!({"incarnation": "x", "userInput": "hi"})),
            event("model_answered", json!({"text": "a", "calls": [{"id": "c1", "name": "Read"}]})),
            event("call_settled", json!({"tool": "Exec", "outcome": {"exitCode": 0, "durationMs": 4}})),
            event("run_settled", json!({"status": "succeeded", "durationMs": 3})),
        ];
        let mut b = a.clone();
        b[0].body["incarnation"] = "y".into();
        b[1].body["calls"][0]["id"] = "c9".into();
        b[2].body["outcome"]["durationMs"] = 5.into();
        b[3].body["durationMs"] = 99.into();
        assert!(diff(&a, &b).same);
        b[2].body["outcome"]["exitCode"] = 1.into();
        assert_eq!(diff(&a, &b).changes.len(), 1);
        b[2].body["outcome"]["exitCode"] = 0.into();
        b[1].body["text"] = "b".into();
        let found = diff(&a, &b);
        assert!(!found.same && found.alike == 3);
        assert_eq!(found.changes.len(), 1);
        assert_eq!(found.changes[0].first.as_ref().map(|it| it["body"]["text"].clone()), Some("a".into()));
        assert_eq!(found.changes[0].second.as_ref().map(|it| it["body"]["text"].clone()), Some("b".into()));
        let shorter = diff(&a, &b[..1]);
        assert_eq!((shorter.alike, shorter.changes.len()), (1, 3));
        assert_eq!((diff(&a, &[]).changes.len(), diff(&[], &[]).same), (4, true));
    }

    #[test]
    fn long_runs_are_compared_where_they_differ() {
        let long: Vec<StoredEvent> =
            (0..5_000).map(|n| event("warning", json!({"code": "x", "message": n.to_string()}))).collect();
        let same = diff(&long, &long);
        assert!(same.same && same.alike == 5_000 && !same.cut);
        let mut other = long.clone();
        other[4_000].body["message"] = "other".into();
        let one = diff(&long, &other);
        assert_eq!((one.alike, one.changes.len(), one.cut), (4_999, 1, false));
        for event in &mut other {
            event.body["code"] = "y".into();
        }
        let all = diff(&long, &other);
        assert!(all.cut && !all.same && all.changes.len() <= 2 * EVENTS_MAX);
    }
}
