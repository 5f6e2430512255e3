//! The durable form of a fact.

use crate::{Fact, Scope};
use host_redact::{Clean, Redactor};
use serde_json::Value;

/// An event on its way into the log: redacted, without a sequence yet.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// When it happened, in Unix milliseconds.
    pub at: i64,
    /// What it belongs to.
    pub scope: Scope,
    /// The kind, from [`Fact::kind`].
    pub kind: &'static str,
    /// The version of the body's form.
    pub version: u16,
    /// The body without its `kind`, redacted.
    pub body: Clean<Value>,
}

impl NewEvent {
    /// The event of a fact, through the redactor: the only way from a fact to the log.
    pub fn of(fact: &Fact, scope: Scope, at: i64, redactor: &Redactor) -> Self {
        let mut body = serde_json::to_value(fact).unwrap_or(Value::Null);
        if let Some(map) = body.as_object_mut() {
            map.shift_remove("kind");
        }
        NewEvent { at, scope, kind: fact.kind(), version: Fact::VERSION, body: redactor.value(body) }
    }
}

/// An event as the log gives it back, brought up to the current version.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEvent {
    /// Its place in the log, from 1, without gaps except where retention removed a prefix.
    pub seq: u64,
    /// When it happened, in Unix milliseconds.
    pub at: i64,
    /// What it belongs to.
    pub scope: Scope,
    /// The fact itself; `None` where the kind is of a newer program (the body is kept in the log).
    pub fact: Option<Fact>,
    /// The kind as stored.
    pub kind: String,
    /// The body as stored, upcast, without its kind.
    pub body: Value,
}

impl StoredEvent {
    /// Puts a stored row together again.
    pub fn from_row(seq: u64, at: i64, scope: Scope, kind: String, body: Value) -> Self {
        let mut whole = body.clone();
        if let Some(map) = whole.as_object_mut() {
            map.insert("kind".into(), Value::String(kind.clone()));
        }
        let fact = serde_json::from_value(whole).ok();
        StoredEvent { seq, at, scope, fact, kind, body }
    }
}
