//! Runs one program with exact arguments; no shell reads them.
//!
//! `{"executable": "git", "args": ["log", "-1", "--format=%s"]}`

use crate::command_result::{COMMAND_CODES, settle};
use crate::command_settings::CommandSettings;
use host_ports::commands::{CommandCode, CommandSpec, Commands};
use host_surface::{Admitted, Belongs, Decl, Tool, ToolError, ToolOutput};
use host_vocab::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// The most arguments of one call.
const ARGS_MAX: usize = 256;

/// Direct execution (TOO-2).
pub struct ExecTool {
    commands: Arc<dyn Commands>,
    settings: CommandSettings,
}

/// What the model sends.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The program: a name looked up in PATH, or a path.
    executable: String,
    /// Its arguments, each passed exactly as it is; at most 256.
    #[serde(default)]
    args: Vec<String>,
    /// Folder to start in; default: the workspace.
    #[serde(default)]
    workdir: Option<String>,
    /// Time limit in milliseconds.
    #[serde(default)]
    timeout_ms: Option<u64>,
    /// Most characters of output to show.
    #[serde(default)]
    max_output_chars: Option<usize>,
    /// A few words for people on what this is for.
    #[serde(default)]
    #[allow(dead_code, reason = "people read it in the recorded arguments")]
    description: Option<String>,
}

impl ExecTool {
    /// Built with the port and the operator's bounds.
    pub fn new(commands: Arc<dyn Commands>, settings: CommandSettings) -> Self {
        ExecTool { commands, settings }
    }
}

impl Tool for ExecTool {
    const DECL: Decl = Decl {
        name: "Exec",
        about: "Run one program directly with exact arguments, without a shell: no pipes, no globs, no variables, \
                nothing to quote. Use Bash where shell syntax is needed. Output and exit code come back; long \
                output is shortened in the middle.",
        effects: &[Effect::Executes, Effect::ReadsWorkspace, Effect::WritesWorkspace, Effect::ReachesNetwork],
        belongs: Belongs::Lists,
        codes: COMMAND_CODES,
    };
    type Input = Input;

    async fn run(&self, call: Admitted<Input>) -> Result<ToolOutput, ToolError> {
        let input = call.input;
        check(&input)?;
        let mut argv = vec![input.executable];
        argv.extend(input.args);
        let spec = CommandSpec {
            run: call.context.run.clone(),
            call: call.context.call.clone(),
            argv,
            env: self.settings.environment.clone(),
            cwd: input.workdir,
            stdin: Vec::new(),
            timeout: self.settings.timeout(input.timeout_ms)?,
            output: self.settings.output(input.max_output_chars)?,
        };
        let outcome = self.commands.run(spec, call.context.cancel.clone()).await;
        settle(outcome, &self.settings, None)
    }
}

fn check(input: &Input) -> Result<(), ToolError> {
    let refuse = |code: CommandCode, message: String| Err(ToolError::new(code.as_str(), message));
    if input.executable.is_empty() || input.executable.contains(['\0', '\r', '\n']) {
        let message = "executable must be one program's name or path, without NUL or line breaks; put arguments in args";
        return refuse(CommandCode::InvalidExecutable, message.to_owned());
    }
    if input.args.len() > ARGS_MAX {
        let count = input.args.len();
        return refuse(
            CommandCode::InvalidArgs,
            format!("args has {count} entries; at most {ARGS_MAX} are passed"),
        );
    }
    if let Some(index) = input.args.iter().position(|argument| argument.contains('\0')) {
        return refuse(
            CommandCode::InvalidArgs,
            format!("args[{index}] holds a NUL character, which no program can be passed"),
        );
    }
    Ok(())
}
