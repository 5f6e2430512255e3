//! `Remember`: one stated fact, kept for good.
//!
//! `{"text": "Ada prefers tea in the morning"}`

use host_ports::memory::{FACT_CHARS_MAX, Remember, RememberError, Remembered};
use host_surface::{Admitted, Belongs, Decl, Tool, ToolError, ToolOutput};
use host_vocab::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// The tool.
pub struct RememberTool {
    memory: Arc<dyn Remember>,
}

impl RememberTool {
    /// Over a memory that takes facts. Offer it only where one does (REM-2).
    pub fn new(memory: Arc<dyn Remember>) -> Self {
        RememberTool { memory }
    }
}

/// What to keep.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RememberInput {
    /// One fact as a sentence that stands by itself, without secrets; at most 500 characters.
    pub text: String,
}

impl Tool for RememberTool {
    const DECL: Decl = Decl {
        name: "Remember",
        about: "Store one stated fact in long-term memory: a preference, a decision, a name, a date. Say it as \
                one sentence of at most 500 characters that can be understood without this conversation. A \
                successful result means that MemoryRecall finds it from now on. Never store passwords, keys or \
                other secrets. Memory only grows: a change is a new fact that says so.",
        effects: &[Effect::Remembers],
        belongs: Belongs::Lists,
        codes: &[
            "empty_text",
            "text_too_long",
            "unsafe_text",
            "secret_refused",
            "forgotten",
            "superseded",
            "legacy_layout",
            "conflict",
            "unsupported",
            "not_stored",
            "durable_unindexed",
            "outcome_unknown",
        ],
    };
    type Input = RememberInput;

    async fn run(&self, call: Admitted<RememberInput>) -> Result<ToolOutput, ToolError> {
        match self.memory.remember(&call.input.text).await {
            Ok(done) => Ok(stored(&done)),
            Err(err) => Err(refused(err)),
        }
    }
}

fn stored(done: &Remembered) -> ToolOutput {
    let how = match (done.duplicate, done.recovered) {
        (true, _) => "Already stored",
        (_, true) => "Stored (an earlier attempt was completed)",
        _ => "Stored",
    };
    let value = serde_json::to_value(done).unwrap_or_else(|_| json!({}));
    ToolOutput::text(format!("{how}: {}", done.text)).with_structured(value.clone()).with_outcome(value)
}

/// A refusal or a failure in words that say what is there now and what to do (REM-4, REM-5).
fn refused(err: RememberError) -> ToolError {
    match err {
        RememberError::Empty => ToolError::new("empty_text", "Not stored: the text is empty."),
        RememberError::TooLong { chars } => ToolError::new(
            "text_too_long",
            format!("Not stored: {chars} characters; a fact has at most {FACT_CHARS_MAX}. Say it shorter, or as several facts."),
        ),
        RememberError::Unsafe { what } => ToolError::new(
            "unsafe_text",
            format!("Not stored: the text holds {what}. Write it again in plain characters."),
        ),
        RememberError::Secret => ToolError::new(
            "secret_refused",
            "Not stored: the text holds a secret or something that looks like one. Restate the fact without it.",
        ),
        RememberError::Forgotten => ToolError::new(
            "forgotten",
            "Not stored: an operator had this fact forgotten on purpose; it can't be stored again through this tool.",
        ),
        RememberError::Superseded => ToolError::new(
            "superseded",
            "Not stored: this fact was superseded. State what holds now, with its date and source.",
        ),
        RememberError::LegacyLayout { date } => ToolError::new(
            "legacy_layout",
            format!("Not stored: {date} is still kept in the old layout, and a new file would hide it. An operator has to move {date}.md into the folder daily first."),
        ),
        RememberError::Conflict { id } => ToolError::new(
            "conflict",
            format!("Not stored: the id {id} conflicts with its canonical text. An operator has to look at it."),
        ),
        RememberError::Unsupported => ToolError::new("unsupported", "Not stored: this memory takes no facts."),
        RememberError::NotStored { why } => ToolError::new(
            "not_stored",
            format!("Not stored: {why}. Nothing was written; try again later, in any words."),
        )
        .retry_later(),
        RememberError::Unindexed { place, .. } => ToolError::new(
            "durable_unindexed",
            format!("The fact is durable in {place}, but not indexed yet. Retry with the identical wording; that completes it. Other words would store a second fact."),
        )
        .retry_later(),
        RememberError::Uncertain => ToolError::new(
            "outcome_unknown",
            "Whether the fact was stored is not known. Retry with the identical wording: it is stored once at most.",
        )
        .effect_unknown(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_ports::BoxFuture;
    use host_testkit::TestSurface;

    struct Fixed(Result<Remembered, RememberError>);

    impl Remember for Fixed {
        fn remember<'a>(&'a self, _text: &'a str) -> BoxFuture<'a, Result<Remembered, RememberError>> {
            Box::pin(async { self.0.clone() })
        }
    }

    // REM-1
    #[tokio::test]
    async fn the_result_echoes_what_is_stored() {
        let done = Remembered {
            id: "RM-1".into(),
            text: "Ada prefers tea".into(),
            duplicate: false,
            recovered: false,
            bytes_written: 10,
            source: "daily/2026-09-03.md".into(),
        };
        let it = TestSurface::of(RememberTool::new(Arc::new(Fixed(Ok(done))))).await;
        let settled = it.call("Remember", json!({"text": " Ada  prefers tea"})).await;
        assert_eq!(settled.text(), "Stored: Ada prefers tea");
        // The input is strict.
        for bad in [json!({}), json!({"text": 1}), json!({"text": "x", "about": "y"})] {
            assert_eq!(it.call("Remember", bad).await.code.as_str(), "invalid_arguments");
        }
    }

    // REM-4, REM-5, REM-6
    #[tokio::test]
    async fn every_failure_says_what_is_there_and_what_to_do() {
        let place = || "daily/2026-09-03.md".to_owned();
        let cases = [
            (RememberError::Empty, "empty_text", "Not stored"),
            (RememberError::TooLong { chars: 501 }, "text_too_long", "501"),
            (RememberError::Unsafe { what: "control characters" }, "unsafe_text", "control characters"),
            (RememberError::Secret, "secret_refused", "Restate the fact without"),
            (RememberError::Forgotten, "forgotten", "Not stored"),
            (RememberError::Superseded, "superseded", "date and source"),
            (RememberError::LegacyLayout { date: "2026-09-03".into() }, "legacy_layout", "2026-09-03"),
            (RememberError::Conflict { id: "RM-1".into() }, "conflict", "conflicts with its canonical text"),
            (RememberError::Unsupported, "unsupported", "takes no facts"),
            (RememberError::NotStored { why: "no space is left on the disk" }, "not_stored", "Not stored"),
            (
                RememberError::Unindexed { id: "RM-1".into(), text: "x".into(), place: place() },
                "durable_unindexed",
                "identical wording",
            ),
            (RememberError::Uncertain, "outcome_unknown", "identical wording"),
        ];
        for (err, code, words) in cases {
            let unknown = err == RememberError::Uncertain;
            let it = TestSurface::of(RememberTool::new(Arc::new(Fixed(Err(err))))).await;
            let settled = it.call("Remember", json!({"text": "x"})).await;
            if !unknown {
                assert_eq!(settled.code.as_str(), code);
            }
            assert!(settled.text().contains(words), "{}", settled.text());
        }
    }
}
