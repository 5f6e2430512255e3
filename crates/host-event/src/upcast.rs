//! Old forms of bodies, brought up to the present one when they are read. The log itself is never rewritten.

use crate::{Fact, Scope, StoredEvent};
use serde_json::{Value, json};

/// One step: the body of `kind` from version `from` to `from + 1`.
struct Upcaster {
    kind: &'static str,
    from: u16,
    lift: fn(&mut Value),
}

/// All steps there are. A kind without a step for a version did not change in it.
const UPCASTERS: &[Upcaster] = &[
    Upcaster { kind: "run_started", from: 0, lift: run_started_0 },
    Upcaster { kind: "call_settled", from: 0, lift: call_settled_0 },
    Upcaster { kind: "run_settled", from: 0, lift: run_settled_0 },
];

/// Brings a body up to [`Fact::VERSION`]. A body of a newer program comes back as it is.
pub fn upcast(kind: &str, version: u16, mut body: Value) -> Value {
    for from in version..Fact::VERSION {
        for step in UPCASTERS.iter().filter(|step| step.kind == kind && step.from == from) {
            (step.lift)(&mut body);
        }
    }
    body
}

impl StoredEvent {
    /// Puts a stored row of any version together: upcast where it is older than this program, without a
    /// fact where it is newer (ENG-7).
    pub fn of_version(seq: u64, at: i64, scope: Scope, kind: String, version: u16, body: Value) -> Self {
        if version > Fact::VERSION {
            return StoredEvent { seq, at, scope, fact: None, kind, body };
        }
        let body = upcast(&kind, version, body);
        StoredEvent::from_row(seq, at, scope, kind, body)
    }
}

/// Before version 1 a run did not say whether it stood alone, nor what it could call.
fn run_started_0(body: &mut Value) {
    set_missing(body, "isolated", json!(false));
    set_missing(body, "offered", json!([]));
    set_missing(body, "withheld", json!([]));
}

/// Before version 1 a call's result was one text.
fn call_settled_0(body: &mut Value) {
    let Some(map) = body.as_object_mut() else { return };
    let text = map.shift_remove("text").and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default();
    let bytes = text.len();
    set_missing(body, "content", json!([{"type": "text", "text": text}]));
    set_missing(body, "originalBytes", json!(bytes));
    set_missing(body, "truncated", json!(false));
}

/// Before version 1 a run's end did not say what it used.
fn run_settled_0(body: &mut Value) {
    set_missing(body, "usage", json!({"inputTokens": 0, "outputTokens": 0}));
}

fn set_missing(body: &mut Value, key: &str, value: Value) {
    if let Some(map) = body.as_object_mut() {
        map.entry(key).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, version: u16, body: Value) -> StoredEvent {
        StoredEvent::of_version(1, 0, Scope::default(), kind.to_owned(), version, body)
    }

    #[test]
    fn every_old_form_becomes_a_fact() {
        let old = [
            ("run_started", json!({"incarnation":"i","source":"terminal","userInput":"hi","model":"m"})),
            ("call_settled", json!({"tool":"Read","settled":"done","code":"ok","text":"abc","durationMs":3})),
            ("run_settled", json!({"status":"succeeded","text":"bye","durationMs":9})),
            ("warning", json!({"code":"c","message":"m"})),
        ];
        for (kind, body) in old {
            let read = event(kind, 0, body);
            assert_eq!(read.fact.as_ref().map(Fact::kind), Some(kind), "{:?}", read.body);
        }
    }

    #[test]
    fn the_old_text_of_a_result_is_kept() {
        let read = event(
            "call_settled",
            0,
            json!({"tool":"Read","settled":"done","code":"ok","text":"äb","durationMs":3}),
        );
        let Some(Fact::CallSettled { content, original_bytes, .. }) = read.fact else { panic!("no fact") };
        assert_eq!(host_vocab::blocks_text(&content), "äb");
        assert_eq!(original_bytes, 3);
    }

    #[test]
    fn a_newer_body_is_kept_but_is_no_fact() {
        let body = json!({"code":"c","message":"m","x":1});
        let read = event("warning", Fact::VERSION + 1, body.clone());
        assert_eq!((read.fact, read.body), (None, body));
    }
}
