//! A command's outcome as a tool's result: exit line, both streams, the outcome record (TOO-3).

use crate::command_settings::CommandSettings;
use host_ports::commands::{CommandCode, CommandOutcome};
use host_surface::{ToolError, ToolOutput};
use host_vocab::Block;
use serde_json::{Value, json};

/// Every code that a command can settle with, for the tools' declarations.
pub(crate) const COMMAND_CODES: &[&str] = &{
    let mut names = [""; CommandCode::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = CommandCode::ALL[index].as_str();
        index += 1;
    }
    names
};

/// Ends a call with an outcome. `note` is a line for the model on how it called.
pub(crate) fn settle(
    outcome: CommandOutcome,
    settings: &CommandSettings,
    note: Option<&str>,
) -> Result<ToolOutput, ToolError> {
    let mut sections = Vec::new();
    for (label, text) in [("STDOUT", &outcome.stdout), ("STDERR", &outcome.stderr)] {
        if !text.is_empty() {
            sections.push(format!("{label}:\n{}", text.strip_suffix('\n').unwrap_or(text)));
        }
    }
    sections.extend(where_the_rest_is(&outcome, settings));
    sections.extend(note.map(str::to_owned));
    let head = match outcome.code {
        CommandCode::Ok => "ok: exit code 0".to_owned(),
        code => format!("{}: {}", code.as_str(), outcome.message),
    };
    let whole = outcome.stdout_bytes + outcome.stderr_bytes;
    let failed = outcome.code != CommandCode::Ok;
    let mut text = sections.join("\n\n");
    if !failed {
        text = if text.is_empty() { head.clone() } else { format!("{head}\n\n{text}") };
    } else if !text.is_empty() {
        text = format!("Partial output:\n\n{text}");
    }
    let output = ToolOutput {
        content: if text.is_empty() { Vec::new() } else { vec![Block::text(text)] },
        structured: Some(structured(&outcome)),
        outcome: Some(record(&outcome)),
        whole_bytes: outcome.truncated.then_some(whole),
        kept: outcome.kept,
    };
    if failed { Err(ToolError::new(outcome.code.as_str(), head).with_partial(output)) } else { Ok(output) }
}

/// Which files hold the whole output, or why none does.
fn where_the_rest_is(outcome: &CommandOutcome, settings: &CommandSettings) -> Option<String> {
    if outcome.kept.is_empty() {
        return outcome.truncated.then(|| {
            let whole = outcome.stdout_bytes + outcome.stderr_bytes;
            format!("[output shortened: {whole} bytes in all; the rest was not kept]")
        });
    }
    let mut lines = Vec::new();
    for (kept, stream) in outcome.kept.iter().zip(["stdout", "stderr"]) {
        let place = if settings.shows_paths { &kept.path } else { &kept.id };
        let dropped = match kept.dropped_bytes {
            0 => String::new(),
            dropped => format!(", {dropped} more over the limit and not kept"),
        };
        lines.push(format!("[{stream}: {} bytes, kept as {place}{dropped}]", kept.bytes));
    }
    Some(lines.join("\n"))
}

/// What a program reads: everything in it stands in the text too, so that a model is told nothing twice.
fn structured(outcome: &CommandOutcome) -> Value {
    json!({
        "code": outcome.code.as_str(),
        "exitCode": outcome.exit_code,
        "signal": outcome.signal,
        "stdout": outcome.stdout.strip_suffix('\n').unwrap_or(&outcome.stdout),
        "stderr": outcome.stderr.strip_suffix('\n').unwrap_or(&outcome.stderr),
    })
}

/// The outcome record; it never holds the command.
fn record(outcome: &CommandOutcome) -> Value {
    json!({
        "status": if outcome.code == CommandCode::Ok { "ok" } else { "error" },
        "code": outcome.code.as_str(),
        "retryable": false,
        "attempts": 1,
        "exitCode": outcome.exit_code,
        "signal": outcome.signal,
        "durationMs": u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
        "bytes": outcome.stdout_bytes + outcome.stderr_bytes,
        "stdoutBytes": outcome.stdout_bytes,
        "stderrBytes": outcome.stderr_bytes,
        "truncated": outcome.truncated,
        "timedOut": outcome.code == CommandCode::Timeout,
        "fallbackInline": outcome.fallback_inline,
    })
}
