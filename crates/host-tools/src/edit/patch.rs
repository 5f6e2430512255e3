//! The unified patch of some replacements, made from what they touch and not from a comparison of whole
//! files: what it shows is what was done.

use super::lines::Lines;
use super::plan::Replacement;
use std::fmt::Write as _;

/// Lines of context around a change.
const CONTEXT: usize = 3;
/// The longest patch that is shown, in bytes.
const PATCH_BYTES_MAX: usize = 16_000;
/// The longest line that is shown, in bytes.
const LINE_BYTES_MAX: usize = 500;

/// A patch with what it adds and removes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Patch {
    pub(crate) text: String,
    pub(crate) added: usize,
    pub(crate) removed: usize,
    /// The first line that changes, from 1.
    pub(crate) first_line: usize,
}

/// Some whole lines of the original and what stands in their place.
struct Change {
    /// Numbers of lines, from 1; the end is not part of it.
    first: usize,
    end: usize,
    new: Vec<u8>,
}

/// Makes the patch; the replacements are in order and don't overlap.
pub(crate) fn patch(shown: &str, body: &[u8], lines: &Lines, replacements: &[Replacement]) -> Patch {
    let changes: Vec<Change> = changes(body, lines, replacements)
        .into_iter()
        .filter_map(|change| trimmed(body, lines, change))
        .collect();
    let name = shown.trim_start_matches('/');
    let mut out =
        Patch { text: format!("--- a/{name}\n+++ b/{name}\n"), added: 0, removed: 0, first_line: 0 };
    out.first_line = changes.first().map_or(1, |change| change.first);
    let mut shift = 0_isize;
    let mut rest = changes.as_slice();
    while !rest.is_empty() {
        let mut together = 1;
        while together < rest.len() && rest[together].first <= rest[together - 1].end + CONTEXT * 2 {
            together += 1;
        }
        let (hunk, others) = rest.split_at(together);
        write_hunk(&mut out, body, lines, hunk, &mut shift);
        rest = others;
    }
    if out.text.len() > PATCH_BYTES_MAX {
        let more = out.text.len() - PATCH_BYTES_MAX;
        let cut = host_vocab::text::prefix(&out.text, PATCH_BYTES_MAX);
        let whole_lines = cut.rfind('\n').map_or(cut, |at| &cut[..=at]).to_owned();
        out.text = format!("{whole_lines}[… about {more} more bytes of the patch are not shown …]\n");
    }
    out
}

/// Replacements by the whole lines that they touch; those that touch the same line are one change.
fn changes(body: &[u8], lines: &Lines, replacements: &[Replacement]) -> Vec<Change> {
    let mut out: Vec<Change> = Vec::new();
    let mut index = 0;
    while index < replacements.len() {
        let start = lines.start_of(replacements[index].range.start);
        let mut new = Vec::new();
        let mut at = start;
        let mut end;
        loop {
            let replacement = &replacements[index];
            new.extend_from_slice(&body[at..replacement.range.start]);
            new.extend_from_slice(&replacement.text);
            at = replacement.range.end;
            let line_is_whole =
                at > start && body[at - 1] == b'\n' && (new.is_empty() || new.ends_with(b"\n"));
            end = if line_is_whole || at == body.len() { at } else { lines.end_of(at) };
            index += 1;
            if replacements.get(index).is_none_or(|next| next.range.start >= end) {
                break;
            }
        }
        new.extend_from_slice(&body[at..end]);
        let first = lines.number(start);
        let after = if end == body.len() { lines.count() + 1 } else { lines.number(end) };
        out.push(Change { first, end: after, new });
    }
    out
}

/// The same change without the lines at its ends that stay as they are.
fn trimmed(body: &[u8], lines: &Lines, change: Change) -> Option<Change> {
    let Change { mut first, mut end, new } = change;
    let mut new_lines: Vec<&[u8]> = new.split_inclusive(|byte| *byte == b'\n').collect();
    while first < end && new_lines.first().is_some_and(|line| **line == body[lines.range(first)]) {
        first += 1;
        new_lines.remove(0);
    }
    while first < end && new_lines.last().is_some_and(|line| **line == body[lines.range(end - 1)]) {
        end -= 1;
        new_lines.pop();
    }
    if first == end && new_lines.is_empty() {
        return None;
    }
    Some(Change { first, end, new: new_lines.concat() })
}

fn write_hunk(out: &mut Patch, body: &[u8], lines: &Lines, hunk: &[Change], shift: &mut isize) {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return };
    let has_lines = if body.is_empty() { 0 } else { lines.count() };
    let from = first.first.saturating_sub(CONTEXT).max(1);
    let to = (last.end + CONTEXT).min(has_lines + 1);
    let mut text = String::new();
    let mut at = from;
    let (mut added, mut removed) = (0, 0);
    for change in hunk {
        for number in at..change.first {
            write_line(&mut text, ' ', &body[lines.range(number)]);
        }
        for number in change.first..change.end.min(has_lines + 1) {
            write_line(&mut text, '-', &body[lines.range(number)]);
            removed += 1;
        }
        for line in change.new.split_inclusive(|byte| *byte == b'\n') {
            write_line(&mut text, '+', line);
            added += 1;
        }
        at = change.end;
    }
    for number in at..to {
        write_line(&mut text, ' ', &body[lines.range(number)]);
    }
    let old_count = to.saturating_sub(from);
    let new_count = old_count + added - removed;
    let new_from = from.saturating_add_signed(*shift);
    let _ = writeln!(out.text, "@@ -{from},{old_count} +{new_from},{new_count} @@");
    out.text.push_str(&text);
    out.added += added;
    out.removed += removed;
    *shift += isize::try_from(added).unwrap_or(0) - isize::try_from(removed).unwrap_or(0);
}

fn write_line(out: &mut String, sign: char, line: &[u8]) {
    let (text, ended) = match line.strip_suffix(b"\n") {
        Some(text) => (text.strip_suffix(b"\r").unwrap_or(text), true),
        None => (line, false),
    };
    let text = String::from_utf8_lossy(text);
    let shown = host_vocab::text::prefix(&text, LINE_BYTES_MAX);
    out.push(sign);
    out.push_str(shown);
    if shown.len() < text.len() {
        let _ = write!(out, " [… {} more bytes]", text.len() - shown.len());
    }
    out.push('\n');
    if !ended {
        out.push_str("\\ No newline at end of file\n");
    }
}
