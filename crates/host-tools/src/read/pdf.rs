//! The text of PDF files, page by page.

use super::{ReadInput, whole_text};
use crate::file_access::{counted, failed};
use host_ports::files::OpenedFile;
use host_surface::{ToolError, ToolOutput};
use lopdf::{Document, LoadOptions};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// The largest PDF that is taken apart, in bytes.
const PDF_BYTES_MAX: u64 = 20 * 1024 * 1024;
/// The most that one stream of it may unpack to, in bytes.
const STREAM_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most text that is taken from it, in bytes.
const TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How long it may take.
const TIME_MAX: Duration = Duration::from_secs(10);

/// The text of all pages, or the part of it that was asked for.
pub(super) fn read(opened: &mut OpenedFile, input: &ReadInput) -> Result<ToolOutput, ToolError> {
    let content = opened.read_whole(PDF_BYTES_MAX).map_err(failed)?;
    let unreadable = |why: &str| {
        ToolError::new(
            "unsupported_media",
            format!("{} is a PDF of {} bytes; {why}", opened.shown, opened.bytes),
        )
    };
    let Some((text, count)) = text_of(&content) else {
        return Err(unreadable("it is broken, encrypted, or of a form that can't be taken apart"));
    };
    if !has_text(&text) {
        let why = format!("its {} hold no text (perhaps scanned pictures)", counted(count, "page"));
        return Err(unreadable(&why));
    }
    Ok(whole_text(opened, text.as_bytes(), input))
}

/// The text of all pages, each under a line with its number, and how many pages there are. `None` = it is
/// broken, encrypted, or of a form that can't be taken apart.
pub(crate) fn text_of(content: &[u8]) -> Option<(String, usize)> {
    // Other people's files through other people's parser: what breaks in it is the file's fault, not ours.
    catch_unwind(AssertUnwindSafe(|| pages(content))).unwrap_or(None)
}

/// Whether there is more in such a text than the numbers of its pages.
pub(crate) fn has_text(text: &str) -> bool {
    !text.lines().all(|line| line.is_empty() || line.starts_with("--- page "))
}

fn pages(content: &[u8]) -> Option<(String, usize)> {
    let until = Instant::now() + TIME_MAX;
    let options = LoadOptions::with_max_decompressed_size(STREAM_BYTES_MAX);
    let document = Document::load_mem_with_options(content, options).ok()?;
    if document.is_encrypted() {
        return None;
    }
    let mut out = String::new();
    let pages = document.get_pages();
    for (done, number) in pages.keys().enumerate() {
        if out.len() > TEXT_BYTES_MAX || Instant::now() > until {
            let _ = writeln!(out, "[{} more pages were left out]", pages.len() - done);
            break;
        }
        let _ = writeln!(out, "--- page {number} ---");
        match document.extract_text_with_limit(&[*number], STREAM_BYTES_MAX) {
            Ok(text) => {
                let _ = writeln!(out, "{}", host_vocab::text::prefix(text.trim_end(), TEXT_BYTES_MAX));
            }
            Err(_) => out.push_str("[the text of this page can't be read]\n"),
        }
    }
    Some((out, pages.len()))
}
