//! Creates a file or replaces all of it (FIL-6).
//!
//! `{"file_path":"notes/today.md","content":"# Today\n"}`

use crate::file_access::{WRITE_CODES, blocking, counted, failed};
use crate::shape::{BOM, LineEnd, bom_len, front_matter_len, has_front_matter, line_count};
use host_ports::files::{Expect, FileError, Files};
use host_surface::{Admitted, Belongs, Decl, Tool, ToolError, ToolOutput};
use host_vocab::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// The largest old file whose lines are compared, in bytes.
const COMPARED_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The tool.
pub struct WriteTool {
    files: Arc<dyn Files>,
}

impl WriteTool {
    /// Over the agent's files.
    pub fn new(files: Arc<dyn Files>) -> Self {
        WriteTool { files }
    }
}

/// What to write.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteInput {
    /// File to write; missing folders are made.
    file_path: String,
    /// All of its new text; may be empty.
    content: String,
}

impl Tool for WriteTool {
    const DECL: Decl = Decl {
        name: "Write",
        about: "Create a file or replace all of its text. To change a part of a file, use Edit.",
        effects: &[Effect::ReadsWorkspace, Effect::WritesWorkspace],
        belongs: Belongs::Lists,
        codes: WRITE_CODES,
    };
    type Input = WriteInput;

    async fn run(&self, call: Admitted<WriteInput>) -> Result<ToolOutput, ToolError> {
        let files = Arc::clone(&self.files);
        blocking(move || write(files.as_ref(), &call.input)).await
    }
}

fn write(files: &dyn Files, input: &WriteInput) -> Result<ToolOutput, ToolError> {
    let (shown, old) = match files.open(&input.file_path) {
        Ok(mut opened) => match opened.read_whole(COMPARED_BYTES_MAX) {
            Ok(old) => (opened.shown, Some(old)),
            Err(FileError::TooLarge { .. }) => (opened.shown, None),
            Err(other) => return Err(failed(other)),
        },
        Err(FileError::NotFound { shown }) => (shown, None),
        // What may be written but not read is replaced without a look at it.
        Err(FileError::Permission { shown }) => (shown, None),
        Err(other) => return Err(failed(other)),
    };
    let (content, kept) = shaped(&shown, old.as_deref(), &input.content);
    let written = files.write(&input.file_path, &content, Expect::Any).map_err(failed)?;
    let (added, removed) = difference(old.as_deref().unwrap_or_default(), &content);
    let change = if written.created { "created" } else { "updated" };
    let mut text = format!("{change} {}: {}", written.shown, counted(line_count(&content), "line"));
    if !written.created {
        text.push_str(&format!(" now; {added} added, {removed} removed"));
    }
    text.push_str(&format!(" ({} bytes)", content.len()));
    if !kept.is_empty() {
        text.push_str(&format!("\nkept from the old file: {}", kept.join(", ")));
    }
    let mut summary = json!({ "file": written.shown, "change": change });
    if !written.created {
        summary["lines_added"] = added.into();
        summary["lines_removed"] = removed.into();
    }
    Ok(ToolOutput::text(text).with_structured(summary))
}

/// The new content with what the old file keeps: its byte order mark, its line ends, its front matter.
fn shaped(shown: &str, old: Option<&[u8]>, content: &str) -> (Vec<u8>, Vec<&'static str>) {
    let mut kept = Vec::new();
    let Some(old) = old else { return (content.as_bytes().to_vec(), kept) };
    let mark = bom_len(old);
    let given = content.strip_prefix('\u{feff}').unwrap_or(content);
    let mut out = Vec::with_capacity(content.len() + 64);
    if mark > 0 {
        out.extend_from_slice(BOM);
        if given.len() == content.len() {
            kept.push("byte order mark");
        }
    } else if given.len() < content.len() {
        out.extend_from_slice(BOM);
    }
    let front = if has_front_matter(shown) { front_matter_len(&old[mark..]) } else { 0 };
    if front > 0 && front_matter_len(given.as_bytes()) == 0 {
        out.extend_from_slice(&old[mark..mark + front]);
        kept.push("front matter");
    }
    if !content.contains('\r') && content.contains('\n') && LineEnd::CrLf.is_everywhere(old) {
        out.extend_from_slice(LineEnd::CrLf.applied_to(given).as_bytes());
        kept.push("CRLF line ends");
    } else {
        out.extend_from_slice(given.as_bytes());
    }
    (out, kept)
}

/// Lines added and removed, where what is the same at both ends is left out.
fn difference(old: &[u8], new: &[u8]) -> (usize, usize) {
    let old: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    let new: Vec<&[u8]> = new.split_inclusive(|byte| *byte == b'\n').collect();
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    (new.len() - tail, old.len() - tail)
}
