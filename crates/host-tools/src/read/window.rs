//! A part of a text: some lines, each with its number.

use super::note;
use host_ports::CancellationToken;
use host_ports::files::OpenedFile;
use host_surface::{ToolError, codes};
use host_vocab::text;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};

/// The longest line that is shown whole, in characters.
const LINE_CHARS_MAX: usize = 2_000;
/// How far into a large file a part may begin, in bytes.
const SCAN_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Which part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) skip: u64,
    pub(super) lines_max: usize,
    pub(super) chars_max: usize,
}

/// Some lines of a text in memory with their numbers, as many as there is room for, at least one.
pub(super) fn numbered(text: &str, window: &Window) -> String {
    let total = text.lines().count() as u64;
    if window.skip >= total {
        return past_the_end(total, window);
    }
    let mut out = String::new();
    let mut chars = 0;
    let mut number = window.skip;
    let skip = usize::try_from(window.skip).unwrap_or(usize::MAX);
    for line in text.lines().skip(skip).take(window.lines_max) {
        if !push_line(&mut out, &mut chars, number + 1, line, None, window) {
            break;
        }
        number += 1;
    }
    if window.skip > 0 || number < total {
        note(&mut out, window.skip + 1, number, Some(total));
    } else {
        out.truncate(out.trim_end_matches('\n').len());
    }
    out
}

/// Some lines as they are; what is cut is said after them.
pub(super) fn raw(text: &str, window: &Window) -> String {
    let mut out = String::new();
    let mut chars = 0;
    let mut number = window.skip;
    let lines = text.split_inclusive('\n');
    let total = lines.clone().count() as u64;
    if window.skip >= total {
        return past_the_end(total, window);
    }
    let skip = usize::try_from(window.skip).unwrap_or(usize::MAX);
    for line in lines.skip(skip).take(window.lines_max) {
        let more = line.chars().count();
        if chars + more > window.chars_max {
            if chars == 0 {
                out.extend(line.chars().take(window.chars_max));
                let left = more - window.chars_max;
                let _ = writeln!(out, "\n[… {left} more characters of line {}]", number + 1);
                number += 1;
            }
            break;
        }
        out.push_str(line);
        chars += more;
        number += 1;
    }
    if number < total && number < window.skip.saturating_add(window.lines_max as u64) {
        if !out.ends_with('\n') {
            out.push('\n');
        }
        note(&mut out, window.skip + 1, number, Some(total));
    }
    out
}

/// Some lines of a file that is too large to be in memory; never more than a line's shown part is.
pub(super) fn streamed(
    opened: &mut OpenedFile,
    window: &Window,
    raw: bool,
    cancel: &CancellationToken,
) -> Result<String, ToolError> {
    let shown = opened.shown.clone();
    let failed = |_| ToolError::new("io_error", format!("{shown} can't be read"));
    let mut reader = BufReader::with_capacity(256 * 1024, &mut opened.file);
    let lines = skip_lines(&mut reader, window.skip, &shown, cancel)?;
    if lines < window.skip {
        return Ok(past_the_end(lines, window));
    }
    let mut out = String::new();
    let mut chars = 0;
    let mut number = window.skip;
    let keep = if raw { window.chars_max.saturating_mul(4) } else { (LINE_CHARS_MAX + 1) * 4 };
    let mut ended = false;
    while number < window.skip.saturating_add(window.lines_max as u64) {
        if cancel.is_cancelled() {
            return Err(ToolError::new(codes::ABORTED, "the turn was cancelled"));
        }
        let Some((line, bytes)) = next_line(&mut reader, keep).map_err(failed)? else {
            ended = true;
            break;
        };
        let line = if number == 0 { line.trim_start_matches('\u{feff}').to_owned() } else { line };
        let whole_bytes = (bytes > line.len() as u64).then_some(bytes);
        let pushed = if raw {
            let room = chars + line.chars().count() < window.chars_max || chars == 0;
            if room {
                out.extend(line.chars().take(window.chars_max));
                out.push('\n');
                chars += line.chars().count() + 1;
            }
            room
        } else {
            push_line(&mut out, &mut chars, number + 1, &line, whole_bytes, window)
        };
        if !pushed {
            break;
        }
        number += 1;
    }
    if number == window.skip {
        return Ok(past_the_end(number, window));
    }
    note(&mut out, window.skip + 1, number, ended.then_some(number));
    Ok(out)
}

/// Passes over lines; gives how many there were.
fn skip_lines(
    reader: &mut impl BufRead,
    skip: u64,
    shown: &str,
    cancel: &CancellationToken,
) -> Result<u64, ToolError> {
    let (mut lines, mut bytes) = (0, 0_u64);
    while lines < skip {
        if cancel.is_cancelled() {
            return Err(ToolError::new(codes::ABORTED, "the turn was cancelled"));
        }
        if bytes > SCAN_BYTES_MAX {
            let message = format!("{shown}: that line lies more than {SCAN_BYTES_MAX} bytes into the file");
            return Err(ToolError::new("too_large", message));
        }
        let buffer =
            reader.fill_buf().map_err(|_| ToolError::new("io_error", format!("{shown} can't be read")))?;
        if buffer.is_empty() {
            break;
        }
        let left = usize::try_from(skip - lines).unwrap_or(usize::MAX);
        let mut used = buffer.len();
        let mut found = 0;
        for at in memchr::memchr_iter(b'\n', buffer) {
            found += 1;
            if found == left {
                used = at + 1;
                break;
            }
        }
        lines += found as u64;
        bytes += used as u64;
        reader.consume(used);
    }
    Ok(lines)
}

/// The next line without its end, at most `keep` bytes of it, and how many it has.
fn next_line(reader: &mut impl BufRead, keep: usize) -> std::io::Result<Option<(String, u64)>> {
    let mut kept: Vec<u8> = Vec::new();
    let mut bytes = 0_u64;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            if bytes == 0 {
                return Ok(None);
            }
            break;
        }
        let end = memchr::memchr(b'\n', buffer);
        let part = &buffer[..end.unwrap_or(buffer.len())];
        kept.extend_from_slice(&part[..part.len().min(keep - kept.len().min(keep))]);
        bytes += part.len() as u64;
        let used = end.map_or(buffer.len(), |at| at + 1);
        reader.consume(used);
        if end.is_some() {
            break;
        }
        if bytes > SCAN_BYTES_MAX {
            break;
        }
    }
    let mut line = String::from_utf8_lossy(&kept).into_owned();
    if line.ends_with('\r') {
        line.pop();
        bytes -= 1;
    }
    Ok(Some((line, bytes)))
}

/// Adds one numbered line; `false` = there is no room, and it isn't the first.
fn push_line(
    out: &mut String,
    chars: &mut usize,
    number: u64,
    line: &str,
    whole_bytes: Option<u64>,
    window: &Window,
) -> bool {
    let most = LINE_CHARS_MAX.min(window.chars_max.saturating_sub(100).max(100));
    let count = if line.len() > most { line.chars().count() } else { line.len().min(most) };
    let long = count > most || whole_bytes.is_some();
    let part = if long { first_chars(line, most) } else { line };
    let size = if line.len() > most { part.chars().count() } else { part.len() } + 8;
    if *chars > 0 && *chars + size > window.chars_max {
        return false;
    }
    *chars += size;
    let _ = write!(out, "{number}\t{}", printable(part));
    if long {
        let left = match whole_bytes {
            Some(bytes) => format!("{} more bytes", bytes - part.len() as u64),
            None => format!("{} more characters", count - part.chars().count()),
        };
        let _ = write!(out, " [… {left} in this line; raw shows it, Grep finds places in it]");
    }
    out.push('\n');
    true
}

fn first_chars(line: &str, chars: usize) -> &str {
    line.char_indices().nth(chars).map_or(line, |(at, _)| &line[..at])
}

/// A line without what would break it up or hide in it; almost always the line itself.
fn printable(line: &str) -> std::borrow::Cow<'_, str> {
    let harmless = line.bytes().all(|byte| matches!(byte, 0x20..0x7f | b'\t'));
    if harmless { line.into() } else { text::printable(line).into() }
}

fn past_the_end(total: u64, window: &Window) -> String {
    format!("[the file has {total} lines; line {} is past its end]", window.skip.saturating_add(1))
}
