//! `ProposeRestart`: a person is shown that a restart would help, and decides (RES-1).
//!
//! `{"reason": "The new server in mcp.json is only read at the start."}`

use host_ports::replies::ReplyDesk;
use host_surface::{Admitted, Belongs, Decl, Tool, ToolError, ToolOutput};
use host_vocab::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// The longest reason, in characters.
const REASON_CHARS_MAX: usize = 280;

/// The tool. It holds the reply of its run, and restarts nothing.
pub struct ProposeRestart {
    desk: Arc<dyn ReplyDesk>,
}

impl ProposeRestart {
    /// For one run's reply.
    pub fn new(desk: Arc<dyn ReplyDesk>) -> Self {
        ProposeRestart { desk }
    }
}

/// The arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposeRestartInput {
    /// Why, in one line of at most 280 characters.
    #[serde(default)]
    pub reason: Option<String>,
}

impl Tool for ProposeRestart {
    const DECL: Decl = Decl {
        name: "ProposeRestart",
        about: "Proposes to the person that this agent be restarted, such as for changed settings. Nothing is restarted by it: \
                the person decides after your answer. Then write your reply as ordinary text.",
        effects: &[Effect::Presents],
        belongs: Belongs::Lists,
        codes: &["invalid_reason"],
    };
    type Input = ProposeRestartInput;

    async fn run(&self, call: Admitted<ProposeRestartInput>) -> Result<ToolOutput, ToolError> {
        let reason = call.input.reason.map(|it| it.trim().to_owned()).filter(|it| !it.is_empty());
        if let Some(reason) = &reason
            && (reason.chars().count() > REASON_CHARS_MAX || reason.chars().any(char::is_control))
        {
            let why = format!("reason: one line of at most {REASON_CHARS_MAX} characters");
            return Err(ToolError::new("invalid_reason", why));
        }
        self.desk.propose_restart(reason);
        let text = "A restart is proposed under your answer; nothing was restarted. Now write your reply as ordinary text.";
        Ok(ToolOutput::text(text).with_structured(json!({"proposed": true})))
    }
}
