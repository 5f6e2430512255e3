//! Evaluates JavaScript in a child that keeps its state between the calls of one run.
//!
//! `{"code": "const rows = await load(); rows.length"}`

mod child;

use crate::command_settings::CommandSettings;
use child::{Answer, Broken, Child};
use host_ports::CancellationToken;
use host_ports::spawn::{Spawn, SpawnError};
use host_surface::{Admitted, Belongs, Decl, Tool, ToolError, ToolOutput};
use host_vocab::{Block, Effect, text};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// A JavaScript session (TOO-2). One instance belongs to one run: dropping it ends the child.
pub struct NodeReplTool {
    spawn: Arc<dyn Spawn>,
    workspace: PathBuf,
    settings: CommandSettings,
    child: Arc<Mutex<Option<Child>>>,
}

/// What the model sends.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// JavaScript: several lines, top-level await and require of installed packages work. The value of the last
    /// expression comes back.
    code: String,
}

impl NodeReplTool {
    /// Built with the port, the workspace where it starts, and the operator's bounds.
    pub fn new(spawn: Arc<dyn Spawn>, workspace: PathBuf, settings: CommandSettings) -> Self {
        NodeReplTool { spawn, workspace, settings, child: Arc::default() }
    }

    async fn evaluate(
        &self,
        slot: &mut Option<Child>,
        code: &str,
        cancel: &CancellationToken,
    ) -> Result<Answer, Failure> {
        let timeout = Duration::from_millis(self.settings.timeout_ms_max);
        let work = async {
            if slot.is_none() {
                let env = self.settings.environment.clone();
                *slot = Some(Child::start(self.spawn.as_ref(), self.workspace.clone(), env).await?);
            }
            match slot.as_mut() {
                Some(child) => child.evaluate(code).await.map_err(Failure::Broken),
                None => Err(Failure::Broken(Broken::Exit)),
            }
        };
        tokio::select! {
            answer = work => answer,
            () = cancel.cancelled() => Err(Failure::Aborted),
            () = tokio::time::sleep(timeout) => Err(Failure::Timeout),
        }
    }
}

/// Why there is no answer.
enum Failure {
    Start(SpawnError),
    Broken(Broken),
    Aborted,
    Timeout,
}

impl From<SpawnError> for Failure {
    fn from(error: SpawnError) -> Self {
        Failure::Start(error)
    }
}

const RESET: &str = "The session was reset: its variables are gone.";

impl Failure {
    fn into_error(self, settings: &CommandSettings) -> ToolError {
        let reset = |code, what: String| ToolError::new(code, format!("{what} {RESET}"));
        match self {
            Failure::Start(SpawnError::NotFound(_)) => ToolError::new(
                "spawn_error",
                "Node.js is not installed where the sandbox can see it (no `node` in PATH).",
            ),
            Failure::Start(SpawnError::Sandbox(why)) => ToolError::new("sandbox_prepare_failed", why),
            Failure::Start(SpawnError::Failed(why)) => {
                ToolError::new("spawn_error", format!("Node.js could not be started: {why}."))
            }
            Failure::Broken(Broken::Exit) => {
                reset("process_exit", "The Node.js process ended during the evaluation.".to_owned())
            }
            Failure::Broken(Broken::Protocol) => {
                let what = "The Node.js process wrote past its console (to descriptor 1), which only the host may read.";
                reset("protocol_error", what.to_owned())
            }
            Failure::Broken(Broken::Overflow) => {
                reset("output_limit", "The code printed more than 8 MiB.".to_owned())
            }
            Failure::Aborted => reset("aborted", "The turn was cancelled.".to_owned()),
            Failure::Timeout => {
                let ms = settings.timeout_ms_max;
                reset("timeout", format!("The evaluation took longer than {ms} ms."))
            }
        }
    }
}

impl Tool for NodeReplTool {
    const DECL: Decl = Decl {
        name: "NodeRepl",
        about: "Evaluate JavaScript in a Node.js session of this run. Variables, imports and the last value (_) stay \
                between calls; console output and the value of the last expression come back. A time-out, a \
                cancelled turn or more than 8 MiB of output resets the session, and the result says so.",
        effects: &[Effect::Executes, Effect::ReadsWorkspace, Effect::WritesWorkspace, Effect::ReachesNetwork],
        belongs: Belongs::Lists,
        codes: &[
            "ok",
            "invalid_code",
            "busy",
            "aborted",
            "timeout",
            "protocol_error",
            "output_limit",
            "evaluation_error",
            "process_exit",
            "closed",
            "spawn_error",
            "sandbox_prepare_failed",
        ],
    };
    type Input = Input;

    async fn run(&self, call: Admitted<Input>) -> Result<ToolOutput, ToolError> {
        if call.input.code.trim().is_empty() {
            return Err(ToolError::new("invalid_code", "code is empty; send JavaScript"));
        }
        let Ok(mut slot) = Arc::clone(&self.child).try_lock_owned() else {
            let message = "an evaluation is already running in this session; wait for it";
            return Err(ToolError::new("busy", message).retry_later());
        };
        let begun = Instant::now();
        // The child is put back only after an answer: whatever else happens, also being dropped, ends it.
        let mut child = slot.take();
        let result = self.evaluate(&mut child, &call.input.code, &call.context.cancel).await;
        match result {
            Ok(answer) => {
                *slot = child;
                settle(answer, begun.elapsed(), &self.settings)
            }
            Err(failure) => {
                if let Some(child) = child {
                    child.end().await;
                }
                Err(failure.into_error(&self.settings))
            }
        }
    }
}

fn settle(answer: Answer, took: Duration, settings: &CommandSettings) -> Result<ToolOutput, ToolError> {
    let (failed, value) = match (answer.error, answer.value) {
        (Some(error), _) => (true, error),
        (None, value) => (false, value.unwrap_or_default()),
    };
    let mut sections = Vec::new();
    for (label, printed) in [("STDOUT", &answer.stdout), ("STDERR", &answer.stderr)] {
        if !printed.is_empty() {
            sections.push(format!("{label}:\n{}", printed.strip_suffix('\n').unwrap_or(printed)));
        }
    }
    if !failed {
        sections.push(if sections.is_empty() { value.clone() } else { format!("VALUE:\n{value}") });
    }
    let whole = sections.join("\n\n");
    let cut = text::head_tail(&whole, settings.output_chars_max, "print less at once");
    let code = if failed { "evaluation_error" } else { "ok" };
    let output = ToolOutput {
        content: if cut.text.is_empty() { Vec::new() } else { vec![Block::text(cut.text)] },
        outcome: Some(json!({
            "status": if failed { "error" } else { "ok" },
            "code": code,
            "retryable": false,
            "attempts": 1,
            "durationMs": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            "bytes": whole.len(),
            "truncated": cut.omitted_bytes > 0,
            "timedOut": false,
        })),
        whole_bytes: (cut.omitted_bytes > 0).then_some(whole.len() as u64),
        ..ToolOutput::default()
    };
    if failed {
        let shown = text::head_tail(&value, settings.output_chars_max, "").text;
        Err(ToolError::new(code, format!("{shown}\n(the session keeps its variables)")).with_partial(output))
    } else {
        Ok(output)
    }
}
