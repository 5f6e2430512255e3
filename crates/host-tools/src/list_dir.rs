//! Lists one folder.
//!
//! `{"path":"src"}`

use crate::file_access::{SEARCH_CODES, blocking, counted, failed};
use host_ports::files::{EntryKind, Files};
use host_surface::{Admitted, Belongs, Decl, Tool, ToolError, ToolOutput};
use host_vocab::{Effect, text};
use schemars::JsonSchema;
use serde::Deserialize;
use std::fmt::Write as _;
use std::sync::Arc;

/// The most entries of a folder that are read.
const ENTRIES_MAX: usize = 50_000;
/// How many are shown where the call doesn't say.
const SHOWN_DEFAULT: usize = 200;

/// The tool.
pub struct ListDirTool {
    files: Arc<dyn Files>,
}

impl ListDirTool {
    /// Over the agent's files.
    pub fn new(files: Arc<dyn Files>) -> Self {
        ListDirTool { files }
    }
}

/// What to list.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListDirInput {
    /// Folder; default: the workspace.
    path: Option<String>,
    /// Most entries; default 200.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
    /// Entries to skip.
    offset: Option<usize>,
}

impl Tool for ListDirTool {
    const DECL: Decl = Decl {
        name: "ListDir",
        about: "List a folder: names in order, folders with a slash, files with their size in bytes.",
        effects: &[Effect::ReadsWorkspace],
        belongs: Belongs::Lists,
        codes: SEARCH_CODES,
    };
    type Input = ListDirInput;

    async fn run(&self, call: Admitted<ListDirInput>) -> Result<ToolOutput, ToolError> {
        let files = Arc::clone(&self.files);
        blocking(move || list(files.as_ref(), &call.input)).await
    }
}

fn list(files: &dyn Files, input: &ListDirInput) -> Result<ToolOutput, ToolError> {
    let listing = files.list(input.path.as_deref().unwrap_or("."), ENTRIES_MAX).map_err(failed)?;
    let (offset, limit) = (input.offset.unwrap_or(0), input.limit.unwrap_or(SHOWN_DEFAULT));
    let total = listing.entries.len();
    if total == 0 {
        return Ok(ToolOutput::text(format!("{} is empty", listing.shown)));
    }
    if offset >= total {
        let message = format!("{} has {}; offset {offset} is past the end", listing.shown, entries(total));
        return Err(ToolError::new("invalid_range", message));
    }
    let mut out = String::new();
    for entry in listing.entries.iter().skip(offset).take(limit) {
        let name = text::one_line(&entry.name, 255);
        let _ = match (entry.kind, entry.bytes) {
            (EntryKind::Folder, _) => writeln!(out, "{name}/"),
            (EntryKind::Link, _) => writeln!(out, "{name}\tlink"),
            (EntryKind::Special, _) => writeln!(out, "{name}\tspecial"),
            (EntryKind::File, bytes) => writeln!(out, "{name}\t{}", bytes.unwrap_or(0)),
        };
    }
    let next = offset + limit;
    if next < total {
        let _ = writeln!(out, "[{offset}–{next} of {} shown; next: offset {next}]", entries(total));
    }
    if listing.more {
        let _ = writeln!(out, "[the folder has more than {ENTRIES_MAX} entries; use Glob with a pattern]");
    }
    Ok(ToolOutput::text(out))
}

fn entries(count: usize) -> String {
    if count == 1 { "1 entry".to_owned() } else { counted(count, "entrie") }
}
