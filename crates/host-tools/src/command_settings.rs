//! What the operator sets for the tools that run commands.

use host_ports::commands::OutputRule;
use host_surface::{ToolError, codes};
use std::collections::BTreeMap;
use std::time::Duration;

/// The settings that `Exec`, `Bash` and `NodeRepl` share. A call may only lower its bounds.
#[derive(Debug, Clone)]
pub struct CommandSettings {
    /// The variables that are copied from the host's environment, by the names of `hostEnvPassthrough`
    /// (EXE-7). Nothing else of it reaches a command.
    pub environment: BTreeMap<String, String>,
    /// The longest that a command may take, in milliseconds, and what a call gets that asks for nothing.
    pub timeout_ms_max: u64,
    /// The most characters of both streams together that a result shows.
    pub output_chars_max: usize,
    /// Where set, results follow EXE-2 instead: inline up to a threshold, else files and previews by lines.
    pub output: Option<OutputRule>,
    /// Whether results name the files of kept output by path (EXE-2) rather than by id.
    pub shows_paths: bool,
}

impl Default for CommandSettings {
    fn default() -> Self {
        CommandSettings {
            environment: BTreeMap::new(),
            timeout_ms_max: 120_000,
            output_chars_max: 20_000,
            output: None,
            shows_paths: false,
        }
    }
}

/// The fewest characters that a call may ask for.
const OUTPUT_CHARS_MIN: usize = 200;

impl CommandSettings {
    /// The deadline of a call.
    pub(crate) fn timeout(&self, asked_ms: Option<u64>) -> Result<Duration, ToolError> {
        let ms = asked_ms.unwrap_or(self.timeout_ms_max);
        if ms == 0 || ms > self.timeout_ms_max {
            let most = self.timeout_ms_max;
            return Err(wrong(format!(
                "timeout_ms is {ms}; it must be between 1 and {most}, the configured bound"
            )));
        }
        Ok(Duration::from_millis(ms))
    }

    /// How a call's output is given back.
    pub(crate) fn output(&self, asked_chars: Option<usize>) -> Result<OutputRule, ToolError> {
        let chars = asked_chars.unwrap_or(self.output_chars_max);
        if asked_chars.is_some() && !(OUTPUT_CHARS_MIN..=self.output_chars_max).contains(&chars) {
            let most = self.output_chars_max;
            return Err(wrong(format!(
                "max_output_chars is {chars}; it must be between {OUTPUT_CHARS_MIN} and {most}, the configured bound"
            )));
        }
        Ok(match (&self.output, asked_chars) {
            (Some(rule), None) => rule.clone(),
            _ => OutputRule {
                inline_bytes_max: chars,
                preview_chars_max: Some(chars),
                ..OutputRule::default()
            },
        })
    }
}

fn wrong(message: String) -> ToolError {
    ToolError::new(codes::INVALID_ARGUMENTS, message)
}
