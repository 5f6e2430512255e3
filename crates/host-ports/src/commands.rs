//! Short-lived commands: run, collect, and leave nothing behind (EXE-2..7, TOO-3).

use crate::kept::Kept;
use crate::{BoxFuture, CancellationToken};
use host_vocab::{CallId, RunId};
use std::collections::BTreeMap;
use std::time::Duration;

/// The permissions of the empty files that an engine puts where a protected name doesn't exist. No person
/// makes an empty file with just these (the sticky bit means nothing on a file), so it can be told from one.
pub const STAND_IN_MODE: u32 = 0o1400;

/// What to run.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// The run it belongs to.
    pub run: RunId,
    /// The call it belongs to.
    pub call: CallId,
    /// Program and arguments; no shell. A name without `/` is looked up in the sandbox's own `PATH`.
    pub argv: Vec<String>,
    /// The whole environment beside the sandbox's own `PATH`, `HOME`, `TMPDIR`, `LANG`.
    pub env: BTreeMap<String, String>,
    /// Where to start, relative to the workspace or absolute; `None` = the workspace.
    pub cwd: Option<String>,
    /// What it reads; empty = nothing.
    pub stdin: Vec<u8>,
    /// The one deadline over spawn, stdin, drain and exit.
    pub timeout: Duration,
    /// How output is given back.
    pub output: OutputRule,
}

/// How output is given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputRule {
    /// Up to this many bytes of both streams together come back whole.
    pub inline_bytes_max: usize,
    /// Whether short output comes back whole at all (EXE-1 `inline`).
    pub inline: bool,
    /// Preview lines from the start, where output was kept apart.
    pub preview_head: usize,
    /// Preview lines from the end.
    pub preview_tail: usize,
    /// The most characters of one preview line.
    pub preview_line_chars_max: usize,
    /// Where set, the preview is not by lines but by characters: this many of both streams together, 60 % of
    /// each from its start and 40 % from its end.
    pub preview_chars_max: Option<usize>,
    /// The most bytes both streams may print before the command is stopped (`output_limit`); `None` = any.
    pub total_bytes_max: Option<u64>,
}

impl Default for OutputRule {
    fn default() -> Self {
        OutputRule {
            inline_bytes_max: 16_384,
            inline: true,
            preview_head: 20,
            preview_tail: 20,
            preview_line_chars_max: 1_000,
            preview_chars_max: None,
            total_bytes_max: None,
        }
    }
}

macro_rules! command_codes {
    ($($(#[$doc:meta])* $variant:ident = $text:literal),+ $(,)?) => {
        /// How a command came out: the closed list of TOO-3.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum CommandCode {
            $($(#[$doc])* #[serde(rename = $text)] $variant),+
        }
        impl CommandCode {
            /// All of them.
            pub const ALL: &[CommandCode] = &[$(CommandCode::$variant),+];
            /// The code as text.
            pub const fn as_str(self) -> &'static str {
                match self { $(CommandCode::$variant => $text),+ }
            }
        }
    };
}

command_codes! {
    /// It ended with exit code 0.
    Ok = "ok",
    /// The shell command is empty or holds a NUL.
    InvalidCommand = "invalid_command",
    /// The program's name is empty or holds NUL, CR or LF.
    InvalidExecutable = "invalid_executable",
    /// Too many arguments, or one with a NUL.
    InvalidArgs = "invalid_args",
    /// The working directory is outside every root.
    WorkdirDenied = "workdir_denied",
    /// The working directory isn't there.
    WorkdirNotFound = "workdir_not_found",
    /// No engine can enforce the policy.
    SandboxPrepareFailed = "sandbox_prepare_failed",
    /// The deadline passed.
    Timeout = "timeout",
    /// The turn was cancelled.
    Aborted = "aborted",
    /// It printed more than it may.
    OutputLimit = "output_limit",
    /// It could not be started.
    SpawnError = "spawn_error",
    /// It ended with another exit code.
    NonzeroExit = "nonzero_exit",
    /// A signal ended it.
    Signal = "signal",
    /// It wrote a name that `denyWrite` protects; what it made is in quarantine (SBX-1).
    DeniedWrite = "denied_write",
    /// Something of it could not be ended.
    CleanupFailed = "cleanup_failed",
}

/// How it came out (TOO-3, EXE-2).
#[derive(Debug, Clone, PartialEq)]
pub struct CommandOutcome {
    /// The code.
    pub code: CommandCode,
    /// A line that says what went wrong and what to do; empty for `ok`.
    pub message: String,
    /// The exit code, where it exited.
    pub exit_code: Option<i32>,
    /// The signal's number, where one ended it.
    pub signal: Option<i32>,
    /// From spawn to the end of its tree.
    pub duration: Duration,
    /// Bytes that it wrote to stdout.
    pub stdout_bytes: u64,
    /// Bytes that it wrote to stderr.
    pub stderr_bytes: u64,
    /// Standard output, whole or as a preview, valid UTF-8 (EXE-6).
    pub stdout: String,
    /// Standard error, likewise.
    pub stderr: String,
    /// Whether something is left out of `stdout` or `stderr`.
    pub truncated: bool,
    /// Whether kept files could not be written, so that the previews are all there is (EXE-4).
    pub fallback_inline: bool,
    /// Files with the whole output, where it was kept: stdout then stderr.
    pub kept: Vec<Kept>,
}

/// Running commands under the agent's sandbox.
pub trait Commands: Send + Sync {
    /// Runs one to its end. Returns by the deadline at the latest (plus one second of clean-up), with every
    /// process of the call gone (EXE-5).
    fn run(&self, spec: CommandSpec, cancel: CancellationToken) -> BoxFuture<'_, CommandOutcome>;

    /// Why commands can't run here (`sandbox_prepare_failed`), if they can't; used to withhold nothing, but
    /// to say it in `tools` and `status`.
    fn blocked(&self) -> Option<String>;
}
