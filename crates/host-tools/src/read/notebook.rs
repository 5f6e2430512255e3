//! Jupyter notebooks as text: cells in order, with what they printed.

use serde_json::Value;
use std::fmt::Write as _;

/// The largest notebook that is taken apart, in bytes; pictures in it make it large.
pub(super) const BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The most characters of one output that are shown.
const OUTPUT_CHARS_MAX: usize = 2_000;

/// The cells as text; `None` = this is no notebook.
pub(super) fn text_of(content: &[u8]) -> Option<String> {
    let notebook: Value = serde_json::from_slice(content).ok()?;
    let cells = notebook.get("cells")?.as_array()?;
    let mut out = String::new();
    for (index, cell) in cells.iter().enumerate() {
        let kind = cell.get("cell_type").and_then(Value::as_str).unwrap_or("cell");
        let _ = writeln!(out, "# cell {} ({kind})", index + 1);
        push_text(&mut out, &joined(cell.get("source")), usize::MAX);
        for output in cell.get("outputs").and_then(Value::as_array).into_iter().flatten() {
            push_output(&mut out, output);
        }
        out.push('\n');
    }
    Some(out)
}

fn push_output(out: &mut String, output: &Value) {
    out.push_str("# output\n");
    if let Some(text) = output.get("text") {
        push_text(out, &joined(Some(text)), OUTPUT_CHARS_MAX);
    }
    if let Some(error) = output.get("ename").and_then(Value::as_str) {
        let value = output.get("evalue").and_then(Value::as_str).unwrap_or_default();
        let _ = writeln!(out, "{error}: {value}");
    }
    for (media, data) in output.get("data").and_then(Value::as_object).into_iter().flatten() {
        if media == "text/plain" {
            push_text(out, &joined(Some(data)), OUTPUT_CHARS_MAX);
        } else {
            let _ = writeln!(out, "[{media}, {} characters, not shown]", joined(Some(data)).len());
        }
    }
}

fn push_text(out: &mut String, text: &str, chars_max: usize) {
    match text.char_indices().nth(chars_max) {
        Some((at, _)) => {
            let _ = writeln!(out, "{}\n[… {} more bytes]", &text[..at], text.len() - at);
        }
        None => {
            out.push_str(text);
            if !text.ends_with('\n') {
                out.push('\n');
            }
        }
    }
}

/// A text that is written as one string or as a list of lines.
fn joined(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}
