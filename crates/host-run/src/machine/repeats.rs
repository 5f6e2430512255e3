//! The brake on a model that asks for the same again and again.
//!
//! What counts is a step that repeats the one before it in every call, argument and result, and that took no
//! time to speak of: a model that waits for something with the same question is left alone.

use super::calls::Calls;
use host_vocab::Block;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// From the third time on the model is told.
const TOLD_FROM: u32 = 3;
/// At this many times it is asked for its answer, with tools off.
const TIMES_MAX: u32 = 8;
/// A step that took this long, in milliseconds, waited for something.
const WAITED_MS: u64 = 2_000;

/// How often the newest step was repeated.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    newest: Option<u64>,
    times: u32,
}

/// What the brake says of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Brake {
    /// Go on.
    Off,
    /// Go on, and tell the model.
    Tell(u32),
    /// No more calls in this run.
    Stop(u32),
}

impl Repeats {
    /// Takes note of a step whose calls all settled.
    pub(super) fn note(&mut self, calls: &Calls) -> Brake {
        if calls.took_ms() >= WAITED_MS {
            *self = Repeats::default();
            return Brake::Off;
        }
        let step = Some(fingerprint(calls));
        self.times = if self.newest == step { self.times + 1 } else { 1 };
        self.newest = step;
        match self.times {
            TIMES_MAX.. => Brake::Stop(self.times),
            TOLD_FROM.. => Brake::Tell(self.times),
            _ => Brake::Off,
        }
    }
}

/// Calls and results without the ids, which differ each time.
fn fingerprint(calls: &Calls) -> u64 {
    let mut hash = DefaultHasher::new();
    for (order, result) in calls.settled_pairs() {
        (&order.name, &order.arguments, result.is_error).hash(&mut hash);
        serde_json::to_string(&result.content).unwrap_or_default().hash(&mut hash);
    }
    hash.finish()
}

/// What the model is told beside the result.
pub(super) fn told(times: u32) -> Block {
    Block::text(format!(
        "(note by the host: this is the same call with the same result for the {times}th time; do something else, \
         or answer)"
    ))
}
