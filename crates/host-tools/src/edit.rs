//! Replaces pieces of a text file (FIL-4, FIL-5).
//!
//! `{"file_path":"src/main.rs","old_string":"let x = 1;","new_string":"let x = 2;"}`
//!
//! A search text is looked for as it is; then with other line ends; then with other white space, quotes and
//! dashes. The first of these steps with a hit decides, more than one hit is an error that shows them, and
//! only the bytes of the match change. All edits of a call are made, or none.

mod explain;
mod fold;
mod indent;
#[cfg(test)]
mod laws;
mod lines;
mod patch;
mod plan;
mod prepared;

use crate::file_access::{WRITE_CODES, blocking, counted, failed, failed_with_hint, is_binary};
use crate::shape::{body_start, bom_len};
use host_ports::files::{Expect, FileError, Files};
use host_surface::{Admitted, Belongs, Decl, Tool, ToolError, ToolOutput};
use host_vocab::{ConversationId, Effect};
use patch::Patch;
use plan::{Original, Replacement, Wanted};
use prepared::{Prepared, PreparedEdits};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// The largest file that is edited, in bytes.
const EDIT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The most edits of one call.
const EDITS_MAX: usize = 200;

/// The tool.
pub struct EditTool {
    files: Arc<dyn Files>,
    prepared: Arc<PreparedEdits>,
}

impl EditTool {
    /// Over the agent's files.
    pub fn new(files: Arc<dyn Files>) -> Self {
        EditTool { files, prepared: Arc::default() }
    }
}

/// What to change. One edit flat, several in `edits`, or a previewed one by `apply`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditInput {
    /// File to edit.
    file_path: String,
    /// Text to replace, copied from the file without line numbers.
    old_string: Option<String>,
    /// Text to put there, literally.
    new_string: Option<String>,
    /// Replace every occurrence.
    replace_all: Option<bool>,
    /// Some text within 15 lines of the place, to tell it from others.
    near: Option<String>,
    /// Several edits, all matched against the original file.
    edits: Option<Vec<OneEdit>>,
    /// Only preview; returns an applyId.
    #[serde(rename = "dryRun")]
    dry_run: Option<bool>,
    /// The applyId of a preview to write (once).
    apply: Option<String>,
}

/// One of several edits.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneEdit {
    old_string: String,
    new_string: String,
    replace_all: Option<bool>,
    near: Option<String>,
}

/// What a call asks for, once its fields make sense together.
enum Ask {
    Edits { wanted: Vec<Wanted>, dry_run: bool },
    Apply(String),
}

impl Tool for EditTool {
    const DECL: Decl = Decl {
        name: "Edit",
        about: "Replace text in a file. Finds old_string exactly, else with other white space, quotes or line ends; \
                several matches are an error unless replace_all. All edits apply or none.",
        effects: &[Effect::ReadsWorkspace, Effect::WritesWorkspace],
        belongs: Belongs::Lists,
        codes: WRITE_CODES,
    };
    type Input = EditInput;

    async fn run(&self, call: Admitted<EditInput>) -> Result<ToolOutput, ToolError> {
        let files = Arc::clone(&self.files);
        let prepared = Arc::clone(&self.prepared);
        let conversation = call.context.conversation.clone();
        blocking(move || {
            let path = call.input.file_path.clone();
            match asked(call.input)? {
                Ask::Apply(id) => apply(files.as_ref(), &prepared, &conversation, &path, &id),
                Ask::Edits { wanted, dry_run } => {
                    let edit = prepare(files.as_ref(), conversation, &path, &wanted)?;
                    if dry_run { Ok(preview(&prepared, edit)) } else { write(files.as_ref(), &path, &edit) }
                }
            }
        })
        .await
    }
}

fn asked(input: EditInput) -> Result<Ask, ToolError> {
    let invalid = |why: &str| Err(ToolError::new("invalid_edit", why));
    let flat = input.old_string.is_some() || input.new_string.is_some();
    let many = input.edits.is_some();
    if let Some(id) = input.apply {
        if flat || many || input.dry_run == Some(true) {
            return invalid("`apply` writes the previewed edit as it is: give file_path and apply alone");
        }
        return Ok(Ask::Apply(id));
    }
    let wanted = match (input.old_string, input.new_string, input.edits) {
        (Some(old), Some(new), None) => {
            vec![Wanted { old, new, all: input.replace_all.unwrap_or(false), near: input.near }]
        }
        (None, None, Some(edits)) if !edits.is_empty() => {
            if input.near.is_some() || input.replace_all.is_some() {
                return invalid("with `edits`, `near` and `replace_all` go into each edit");
            }
            edits
                .into_iter()
                .map(|one| Wanted {
                    old: one.old_string,
                    new: one.new_string,
                    all: one.replace_all.unwrap_or(false),
                    near: one.near,
                })
                .collect()
        }
        (None, None, _) => return invalid("give old_string and new_string, or at least one of `edits`"),
        (_, _, Some(_)) => return invalid("give old_string and new_string, or `edits`, not both"),
        (None, Some(_), None) => return invalid("old_string is missing"),
        (Some(_), None, None) => return invalid("new_string is missing; give \"\" to delete the text"),
    };
    if wanted.len() > EDITS_MAX {
        return invalid("at most 200 edits a call");
    }
    let wanted = wanted.into_iter().map(without_bom).collect();
    Ok(Ask::Edits { wanted, dry_run: input.dry_run.unwrap_or(false) })
}

/// The file's own mark stays where it is, so that it is no part of what is looked for or put in at its start.
fn without_bom(mut wanted: Wanted) -> Wanted {
    if let Some(old) = wanted.old.strip_prefix('\u{feff}') {
        let new = wanted.new.strip_prefix('\u{feff}').unwrap_or(&wanted.new).to_owned();
        wanted = Wanted { old: old.to_owned(), new, ..wanted };
    }
    wanted
}

/// Reads the file and finds every place; nothing is written.
fn prepare(
    files: &dyn Files,
    conversation: ConversationId,
    path: &str,
    wanted: &[Wanted],
) -> Result<Prepared, ToolError> {
    let mut opened = files.open(path).map_err(|err| {
        let missing = matches!(err, FileError::NotFound { .. });
        let mut error = failed_with_hint(files, err);
        if missing {
            error.message.push_str("; use Write to create a file");
        }
        error
    })?;
    let before = opened.read_whole(EDIT_BYTES_MAX).map_err(failed)?;
    let shown = opened.shown;
    if is_binary(&before[..before.len().min(8_192)]) || before.contains(&0) {
        return Err(ToolError::new("binary_file", format!("{shown} is no text; it can't be edited")));
    }
    let mark = bom_len(&before);
    let start = mark + body_start(&shown, &before[mark..]);
    let body = &before[start..];
    let mut original = Original::new(body);
    let replacements = match original.plan(wanted) {
        Ok(replacements) => replacements,
        Err(err) => {
            let first_line = memchr::memchr_iter(b'\n', &before[..start]).count() + 1;
            return Err(explain::explain(&shown, &original, wanted, first_line, &err));
        }
    };
    let patch = patch::patch(&shown, body, &original.lines, &replacements);
    let mut after = before[..start].to_vec();
    after.extend_from_slice(&plan::apply(body, &replacements));
    let notes = notes(&replacements, wanted.len());
    Ok(Prepared {
        conversation,
        place: opened.place,
        shown,
        after,
        before,
        report: report(&patch, replacements.len(), &notes),
        patch,
    })
}

/// Which edits were found by likeness alone.
fn notes(replacements: &[Replacement], edits: usize) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for replacement in replacements {
        let Some(differs) = replacement.likeness.note() else { continue };
        let which = if edits > 1 { format!(" of edit {}", replacement.edit) } else { String::new() };
        let note = format!("The match{which} is approximate ({differs}); check the lines below.");
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

fn report(patch: &Patch, places: usize, notes: &[String]) -> String {
    let mut report = format!(
        "{} replaced; {} added, {} removed",
        counted(places, "place"),
        counted(patch.added, "line"),
        patch.removed
    );
    for note in notes {
        report.push('\n');
        report.push_str(note);
    }
    report
}

fn preview(prepared: &PreparedEdits, edit: Prepared) -> ToolOutput {
    let shown = edit.shown.clone();
    let (report, patch) = (edit.report.clone(), edit.patch.clone());
    let id = prepared.keep(edit);
    let text = format!(
        "previewed {shown}, nothing is written: {report}\nTo write it: apply \"{id}\" (once, while the file is \
         unchanged).\n{}",
        patch.text
    );
    ToolOutput::text(text).with_structured(json!({
        "file": shown, "change": "previewed", "applyId": id, "lines_added": patch.added, "lines_removed": patch.removed,
    }))
}

fn apply(
    files: &dyn Files,
    prepared: &PreparedEdits,
    conversation: &ConversationId,
    path: &str,
    id: &str,
) -> Result<ToolOutput, ToolError> {
    let unknown = || {
        let why = "no such applyId: it was used, belongs to another file or conversation, or is from before a \
                   restart; make a new dryRun";
        ToolError::new("unknown_apply_id", why)
    };
    let place: Option<PathBuf> = match files.open(path) {
        Ok(opened) => Some(opened.place),
        Err(FileError::NotFound { .. }) => None,
        Err(other) => return Err(failed(other)),
    };
    let shown_place = place.as_deref();
    let edit = prepared.take(id, conversation, path, shown_place).ok_or_else(unknown)?;
    write(files, path, &edit)
}

fn write(files: &dyn Files, path: &str, edit: &Prepared) -> Result<ToolOutput, ToolError> {
    let expect = Expect::Content { place: &edit.place, content: &edit.before };
    let written = files.write(path, &edit.after, expect).map_err(failed)?;
    let patch = &edit.patch;
    let text = format!("updated {}: {}\n{}", written.shown, edit.report, patch.text);
    Ok(ToolOutput::text(text).with_structured(json!({
        "file": written.shown, "change": "updated", "lines_added": patch.added, "lines_removed": patch.removed,
    })))
}
