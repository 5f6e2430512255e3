//! Reads one file of the workspace (FIL-1, FIL-2).
//!
//! `{"file_path":"src/main.rs","start_line":40,"limit":80}`

mod code_outline;
mod media;
mod notebook;
mod outline;
pub(crate) mod pdf;
mod window;

use crate::file_access::{READ_CODES, blocking, counted, failed, failed_with_hint, is_binary};
use crate::shape::bom_len;
use host_ports::CancellationToken;
use host_ports::files::{Files, OpenedFile};
use host_surface::{Admitted, Belongs, Decl, Tool, ToolError, ToolOutput};
use host_vocab::Effect;
use host_vocab::limits::{READ_FILE_BYTES_MAX, RESULT_BYTES_MAX};
use schemars::JsonSchema;
use serde::Deserialize;
use std::io::Read as _;
use std::sync::Arc;
use window::{Window, numbered};

/// How many characters are shown where the call doesn't say.
const CHARS_DEFAULT: usize = 16_000;
/// How many lines are shown where the call doesn't say.
const LINES_DEFAULT: usize = 2_000;
/// A text of more characters is shown as its outline, where it has one.
const OUTLINE_CHARS_MIN: usize = 6_000;
/// How much of a file its kind is told by, in bytes.
const SAMPLE_BYTES: usize = 8_192;

/// The tool.
pub struct ReadTool {
    files: Arc<dyn Files>,
}

impl ReadTool {
    /// Over the agent's files.
    pub fn new(files: Arc<dyn Files>) -> Self {
        ReadTool { files }
    }
}

/// What to read.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadInput {
    /// File to read.
    file_path: String,
    /// Lines to skip.
    offset: Option<u64>,
    /// First line, from 1; wins over offset.
    #[schemars(range(min = 1))]
    start_line: Option<u64>,
    /// Most lines; default 2000.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
    /// Most characters; default 16000.
    #[schemars(range(min = 200, max = 262144))]
    max_output_chars: Option<usize>,
    /// The text as it is: no line numbers, no outline.
    raw: Option<bool>,
}

impl Tool for ReadTool {
    const DECL: Decl = Decl {
        name: "Read",
        about: "Read a file: text with line numbers (a large one as an outline first), images, PDF text, notebooks. \
                Text over 262144 bytes needs start_line and limit.",
        effects: &[Effect::ReadsWorkspace],
        belongs: Belongs::Lists,
        codes: READ_CODES,
    };
    type Input = ReadInput;

    async fn run(&self, call: Admitted<ReadInput>) -> Result<ToolOutput, ToolError> {
        let files = Arc::clone(&self.files);
        blocking(move || read(files.as_ref(), &call.input, &call.context.cancel)).await
    }
}

fn read(files: &dyn Files, input: &ReadInput, cancel: &CancellationToken) -> Result<ToolOutput, ToolError> {
    let mut opened = files.open(&input.file_path).map_err(|err| failed_with_hint(files, err))?;
    let sample = sample(&mut opened)?;
    if sample.is_empty() {
        return Ok(ToolOutput::text(format!("{} is empty (0 bytes)", opened.shown)));
    }
    if let Some(output) = media::read(&mut opened, &sample, input)? {
        return Ok(output);
    }
    if is_binary(&sample) {
        let message = format!(
            "{} is no text ({}, {} bytes); it is not shown",
            opened.shown,
            media::describe(&sample),
            opened.bytes
        );
        return Err(ToolError::new("binary_file", message));
    }
    let raw = input.raw.unwrap_or(false);
    if !raw && opened.shown.ends_with(".ipynb") && opened.bytes <= notebook::BYTES_MAX {
        let content = opened.read_whole(notebook::BYTES_MAX).map_err(failed)?;
        if let Some(text) = notebook::text_of(&content) {
            return Ok(whole_text(&opened, text.as_bytes(), input));
        }
        opened.rewind().map_err(failed)?;
    }
    let part = input.offset.is_some() || input.start_line.is_some() || input.limit.is_some();
    if opened.bytes <= READ_FILE_BYTES_MAX {
        let content = opened.read_whole(READ_FILE_BYTES_MAX).map_err(failed)?;
        return Ok(whole(&opened, &content, input, part));
    }
    if !part {
        let message = format!(
            "{} has {} bytes; text over {READ_FILE_BYTES_MAX} bytes is not read at once, raw neither. Give \
             start_line and limit for a part of it (start_line 1, limit 200), or find the place with Grep",
            opened.shown, opened.bytes
        );
        return Err(ToolError::new("too_large", message));
    }
    let window = window_of(input);
    let text = window::streamed(&mut opened, &window, raw, cancel)?;
    Ok(ToolOutput::text(text))
}

/// The beginning of a file; the file is at its start again afterwards.
fn sample(opened: &mut OpenedFile) -> Result<Vec<u8>, ToolError> {
    let mut sample = Vec::with_capacity(SAMPLE_BYTES);
    let read = (&mut opened.file).take(SAMPLE_BYTES as u64).read_to_end(&mut sample);
    read.map_err(|_| ToolError::new("io_error", format!("{} can't be read", opened.shown)))?;
    opened.rewind().map_err(failed)?;
    Ok(sample)
}

fn window_of(input: &ReadInput) -> Window {
    let skip = input.start_line.map(|line| line - 1).or(input.offset).unwrap_or(0);
    let raw = input.raw.unwrap_or(false);
    let chars_default = if raw { RESULT_BYTES_MAX } else { CHARS_DEFAULT };
    let lines_default = if raw { usize::MAX } else { LINES_DEFAULT };
    Window {
        skip,
        lines_max: input.limit.unwrap_or(lines_default),
        chars_max: input.max_output_chars.unwrap_or(chars_default),
    }
}

/// A text that was made from a file of another kind: as lines, never as an outline.
fn whole_text(opened: &OpenedFile, text: &[u8], input: &ReadInput) -> ToolOutput {
    let part = input.offset.is_some() || input.start_line.is_some() || input.limit.is_some();
    if part || input.raw.unwrap_or(false) {
        return whole(opened, text, input, part);
    }
    ToolOutput::text(numbered(&String::from_utf8_lossy(text), &window_of(input)))
}

/// A text that is in memory: all of it, its outline, or a part.
fn whole(opened: &OpenedFile, content: &[u8], input: &ReadInput, part: bool) -> ToolOutput {
    let text = String::from_utf8_lossy(&content[bom_len(content)..]);
    let raw = input.raw.unwrap_or(false);
    if raw && !part && input.max_output_chars.is_none() {
        return ToolOutput::text(text);
    }
    if !raw && !part && text.len() > OUTLINE_CHARS_MIN && text.chars().count() > OUTLINE_CHARS_MIN {
        let sections = outline::sections(&opened.shown, &text);
        if !sections.is_empty() {
            return ToolOutput::text(outline::render(&opened.shown, &text, &sections));
        }
    }
    let window = window_of(input);
    let mut out = if raw { window::raw(&text, &window) } else { numbered(&text, &window) };
    if matches!(text, std::borrow::Cow::Owned(_)) {
        out.push_str("\n[some bytes are no UTF-8 and are shown as \u{fffd}]");
    }
    ToolOutput::text(out)
}

/// `[lines 1–20 of 300 shown; next: start_line 21]`.
fn note(out: &mut String, first: u64, last: u64, total: Option<u64>) {
    let of = total.map(|total| format!(" of {}", counted(usize::try_from(total).unwrap_or(0), "line")));
    let next = last + 1;
    let more = if total.is_some_and(|total| next > total) {
        String::new()
    } else {
        format!("; next: start_line {next}")
    };
    out.push_str(&format!("[lines {first}–{last}{} shown{more}]", of.unwrap_or_default()));
}
