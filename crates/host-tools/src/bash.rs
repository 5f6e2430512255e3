//! Runs shell syntax in a Bash that reads no profile and inherits nothing.
//!
//! `{"command": "ls *.rs | wc -l", "workdir": "src"}`

use crate::command_result::{COMMAND_CODES, settle};
use crate::command_settings::CommandSettings;
use host_ports::commands::{CommandCode, CommandSpec, Commands};
use host_surface::{Admitted, Belongs, Decl, Tool, ToolError, ToolOutput};
use host_vocab::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Variables that change what Bash does before the command is read.
const START_UP: &[&str] = &[
    "BASHOPTS",
    "BASH_COMPAT",
    "BASH_ENV",
    "BASH_XTRACEFD",
    "CDPATH",
    "ENV",
    "GLOBIGNORE",
    "POSIXLY_CORRECT",
    "PROMPT_COMMAND",
    "PS4",
    "SHELLOPTS",
];
/// Up to this, the old `timeout` means seconds.
const LEGACY_SECONDS_MAX: u64 = 600;
/// The shortest that the old `timeout` can ask for, in milliseconds.
const LEGACY_MS_MIN: u64 = 1000;
const LEGACY_NOTE: &str =
    "[timeout is an old name and will go; use timeout_ms, which is always milliseconds]";

/// Shell execution (TOO-2).
pub struct BashTool {
    commands: Arc<dyn Commands>,
    settings: CommandSettings,
}

/// What the model sends.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The command, in Bash syntax.
    command: String,
    /// Folder to start in; default: the workspace.
    #[serde(default)]
    workdir: Option<String>,
    /// A few words for people on what this is for.
    #[serde(default)]
    #[allow(dead_code, reason = "people read it in the recorded arguments")]
    description: Option<String>,
    /// Time limit in milliseconds.
    #[serde(default)]
    timeout_ms: Option<u64>,
    /// Old form of timeout_ms: up to 600 in seconds.
    #[serde(default)]
    timeout: Option<u64>,
    /// Most characters of output to show.
    #[serde(default)]
    max_output_chars: Option<usize>,
}

impl BashTool {
    /// Built with the port and the operator's bounds.
    pub fn new(commands: Arc<dyn Commands>, settings: CommandSettings) -> Self {
        BashTool { commands, settings }
    }
}

impl Tool for BashTool {
    const DECL: Decl = Decl {
        name: "Bash",
        about: "Run a command in Bash: pipes, globs and redirections work. Each call is a new shell in the workspace: \
                nothing of earlier calls remains, and nothing stays in the background. Output and exit code come back; \
                long output is shortened in the middle.",
        effects: &[Effect::Executes, Effect::ReadsWorkspace, Effect::WritesWorkspace, Effect::ReachesNetwork],
        belongs: Belongs::Lists,
        codes: COMMAND_CODES,
    };
    type Input = Input;

    async fn run(&self, call: Admitted<Input>) -> Result<ToolOutput, ToolError> {
        let input = call.input;
        if input.command.trim().is_empty() || input.command.contains('\0') {
            let message = "command must hold a command, without NUL characters";
            return Err(ToolError::new(CommandCode::InvalidCommand.as_str(), message));
        }
        let timeout_ms = input.timeout_ms.or(input.timeout.map(legacy_ms));
        let argv = ["/bin/bash", "--noprofile", "--norc", "-c", &input.command].map(str::to_owned).to_vec();
        let spec = CommandSpec {
            run: call.context.run.clone(),
            call: call.context.call.clone(),
            argv,
            env: environment(&self.settings.environment),
            cwd: input.workdir,
            stdin: Vec::new(),
            timeout: self.settings.timeout(timeout_ms)?,
            output: self.settings.output(input.max_output_chars)?,
        };
        let outcome = self.commands.run(spec, call.context.cancel.clone()).await;
        settle(outcome, &self.settings, input.timeout.map(|_| LEGACY_NOTE))
    }
}

fn legacy_ms(value: u64) -> u64 {
    let ms = if value <= LEGACY_SECONDS_MAX { value.saturating_mul(1000) } else { value };
    ms.max(LEGACY_MS_MIN)
}

/// What is passed on, less what would change the shell itself.
fn environment(passed: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let plain = |name: &str| !START_UP.contains(&name) && !name.starts_with("BASH_FUNC_");
    let mut env: BTreeMap<String, String> = passed
        .iter()
        .filter(|(name, _)| plain(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    env.insert("BASH_ENV".to_owned(), "/dev/null".to_owned());
    env.insert("ENV".to_owned(), "/dev/null".to_owned());
    env
}

#[cfg(test)]
mod tests {
    use super::*;

    // TOO-2
    #[test]
    fn the_old_timeout_means_seconds_up_to_600_and_is_at_least_one() {
        assert_eq!([0, 1, 600, 601, 5000].map(legacy_ms), [1000, 1000, 600_000, 1000, 5000]);
    }

    // TOO-2, EXE-7
    #[test]
    fn nothing_that_is_passed_on_changes_the_shell() {
        let passed = ["PS4", "BASH_FUNC_ls%%", "ENV", "BASH_ENV", "SHELLOPTS", "MINE"];
        let passed = passed.map(|name| (name.to_owned(), "x".to_owned())).into_iter().collect();
        let env = environment(&passed);
        assert_eq!(env.keys().collect::<Vec<_>>(), ["BASH_ENV", "ENV", "MINE"]);
        assert_eq!(env["BASH_ENV"], "/dev/null");
    }
}
