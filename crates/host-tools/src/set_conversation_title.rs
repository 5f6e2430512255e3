//! `SetConversationTitle`: a better name for the whole conversation (TIT-1).
//!
//! `{"title": "A week in Oslo"}`

use host_ports::replies::ReplyDesk;
use host_surface::{Admitted, Belongs, Decl, Tool, ToolError, ToolOutput};
use host_vocab::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// The longest title, in characters.
const TITLE_CHARS_MAX: usize = 80;

/// The tool. It proposes; whether a title changes is decided by whoever keeps the conversation.
pub struct SetConversationTitle {
    desk: Arc<dyn ReplyDesk>,
}

impl SetConversationTitle {
    /// For one run's conversation.
    pub fn new(desk: Arc<dyn ReplyDesk>) -> Self {
        SetConversationTitle { desk }
    }
}

/// The arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetConversationTitleInput {
    /// The title: one line of at most 80 characters.
    pub title: String,
}

impl Tool for SetConversationTitle {
    const DECL: Decl = Decl {
        name: "SetConversationTitle",
        about: "Proposes a title for this conversation: a short name of the whole of it, refined as a better one emerges, never \
                the status of a step. A person's own title always stands.",
        effects: &[Effect::Presents],
        belongs: Belongs::Lists,
        codes: &["invalid_title"],
    };
    type Input = SetConversationTitleInput;

    async fn run(&self, call: Admitted<SetConversationTitleInput>) -> Result<ToolOutput, ToolError> {
        let title = normal(&call.input.title).map_err(|why| ToolError::new("invalid_title", why))?;
        self.desk.title(&call.context.call, title.clone());
        Ok(ToolOutput::text("The title is proposed.").with_structured(json!({"proposedTitle": title})))
    }
}

/// The title with plain single spaces.
fn normal(title: &str) -> Result<String, String> {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let odd = |c: char| c.is_control() || host_vocab::text::is_bidi_control(c);
    if title.chars().any(odd) {
        return Err("title: no control characters".to_owned());
    }
    match title.chars().count() {
        0 => Err("title: at least one character".to_owned()),
        chars if chars > TITLE_CHARS_MAX => {
            Err(format!("title: at most {TITLE_CHARS_MAX} characters, it has {chars}"))
        }
        _ => Ok(title),
    }
}

#[cfg(test)]
mod tests {
    use super::normal;

    // TIT-1
    #[test]
    fn white_space_is_normalised_then_bounded() {
        assert_eq!(normal("  A \n week\tin   Oslo ").unwrap(), "A week in Oslo");
        assert!(normal(&"é".repeat(80)).is_ok());
        for bad in ["", "   ", &"x".repeat(81), "a\u{7}b", "a\u{202e}b"] {
            assert!(normal(bad).is_err(), "{bad:?}");
        }
    }
}
