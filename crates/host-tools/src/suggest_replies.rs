//! `SuggestReplies`: quick replies under the answer (QUI-1). It never waits; `AskUser` does.
//!
//! `{"options": ["Yes, book it", "Show other dates"]}`

use host_ports::replies::ReplyDesk;
use host_surface::{Admitted, Belongs, Decl, Tool, ToolError, ToolOutput};
use host_vocab::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

const OPTIONS_MIN: usize = 2;
const OPTIONS_MAX: usize = 8;
/// The longest label, in characters.
const LABEL_CHARS_MAX: usize = 75;

/// The tool. It holds the reply of its run.
pub struct SuggestReplies {
    desk: Arc<dyn ReplyDesk>,
}

impl SuggestReplies {
    /// For one run's reply.
    pub fn new(desk: Arc<dyn ReplyDesk>) -> Self {
        SuggestReplies { desk }
    }
}

/// The arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuggestRepliesInput {
    /// 2 to 8 labels, each one line of at most 75 characters; a click sends the label as it stands.
    pub options: Vec<String>,
}

impl Tool for SuggestReplies {
    const DECL: Decl = Decl {
        name: "SuggestReplies",
        about: "Puts quick replies under your answer. The person may click one; it comes as their next message. This doesn't \
                wait: use AskUser where you can't go on without an answer. A later call takes the place of an earlier one.",
        effects: &[Effect::Presents],
        belongs: Belongs::Lists,
        codes: &["invalid_options"],
    };
    type Input = SuggestRepliesInput;

    async fn run(&self, call: Admitted<SuggestRepliesInput>) -> Result<ToolOutput, ToolError> {
        let options = labels(&call.input.options).map_err(|why| ToolError::new("invalid_options", why))?;
        self.desk.suggest(options.clone());
        let text = "The suggestions stand under your answer. Now write your reply as ordinary text.";
        Ok(ToolOutput::text(text).with_structured(json!({"options": options})))
    }
}

/// The labels, trimmed.
fn labels(options: &[String]) -> Result<Vec<String>, String> {
    if !(OPTIONS_MIN..=OPTIONS_MAX).contains(&options.len()) {
        return Err(format!("options: {OPTIONS_MIN} to {OPTIONS_MAX} labels, there are {}", options.len()));
    }
    let mut out: Vec<String> = Vec::new();
    for (n, option) in options.iter().enumerate() {
        let label = option.trim();
        let chars = label.chars().count();
        if chars == 0 || chars > LABEL_CHARS_MAX {
            return Err(format!("options[{n}]: 1 to {LABEL_CHARS_MAX} characters, it has {chars}"));
        }
        let odd = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        if label.chars().any(odd) {
            return Err(format!("options[{n}]: one line without control characters"));
        }
        if out.iter().any(|it| it == label) {
            return Err(format!("options[{n}]: the same label stands there twice"));
        }
        out.push(label.to_owned());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::labels;

    fn of(options: &[&str]) -> Result<Vec<String>, String> {
        labels(&options.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
    }

    // QUI-1
    #[test]
    fn two_to_eight_distinct_single_lines() {
        assert_eq!(of(&[" yes ", "no"]).unwrap(), ["yes", "no"]);
        assert!(of(&["a", &"x".repeat(75)]).is_ok());
        let bad: &[&[&str]] = &[
            &[],
            &["one"],
            &["1", "2", "3", "4", "5", "6", "7", "8", "9"],
            &["a", "a "],
            &["a", "  "],
            &["a", "b\nc"],
            &["a", "b\u{7}"],
            &["a", "b\u{2028}c"],
        ];
        for options in bad {
            assert!(of(options).is_err(), "{options:?}");
        }
        assert!(of(&["a", &"x".repeat(76)]).is_err());
    }
}
