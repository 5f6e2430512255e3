//! One thread's search through files that were opened for it.

use super::OutputMode;
use super::found::Line;
use grep_matcher::{LineTerminator, Matcher as _};
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};
use host_vocab::text;
use std::fs::File;
use std::io::{self, Read as _};

/// Files up to this size are read whole, in bytes.
const WHOLE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The most memory that one longer file or line may take, in bytes.
const HEAP_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The most bytes of one line that are shown.
const LINE_BYTES_MAX: usize = 500;
/// The most lines that one file may give.
const FILE_LINES_MAX: usize = 5_000;

/// Searches one file after the other with the same buffers.
pub(super) struct Scanner<'m> {
    matcher: &'m RegexMatcher,
    searcher: Searcher,
    mode: OutputMode,
    buffer: Vec<u8>,
}

impl<'m> Scanner<'m> {
    pub(super) fn new(matcher: &'m RegexMatcher, mode: OutputMode, context: usize, multiline: bool) -> Self {
        // The matcher's own line end must be the searcher's, else it refuses to search.
        let line_end = if multiline { LineTerminator::byte(b'\n') } else { LineTerminator::crlf() };
        let searcher = SearcherBuilder::new()
            .line_terminator(line_end)
            .line_number(mode == OutputMode::Content)
            .before_context(context)
            .after_context(context)
            .multi_line(multiline)
            .binary_detection(BinaryDetection::quit(0))
            .memory_map(MmapChoice::never())
            .heap_limit(Some(HEAP_BYTES_MAX))
            .build();
        Scanner { matcher, searcher, mode, buffer: vec![0; 64 * 1024] }
    }

    /// What a file has; `None` = nothing, or it is no text. A file that can't be read to its end has what
    /// was found up to there.
    pub(super) fn scan(&mut self, file: &File) -> Option<(Vec<Line>, usize)> {
        let mut hits =
            Hits { matcher: self.matcher, mode: self.mode, lines: Vec::new(), count: 0, binary: false };
        let mut file = file;
        let Ok((len, whole)) = read(&mut file, &mut self.buffer) else { return None };
        let read = &self.buffer[..len];
        let wide = read.starts_with(b"\xff\xfe") || read.starts_with(b"\xfe\xff");
        if !wide && memchr::memchr(0, read).is_some() {
            return None;
        }
        if whole {
            let _ = self.searcher.search_slice(self.matcher, read, &mut hits);
        } else {
            let both = io::Cursor::new(read.to_vec()).chain(file);
            let _ = self.searcher.search_reader(self.matcher, both, &mut hits);
        }
        if hits.count == 0 || hits.binary { None } else { Some((hits.lines, hits.count)) }
    }
}

/// Reads up to [`WHOLE_BYTES_MAX`] bytes; says how many, and whether that is all.
fn read(file: &mut &File, buffer: &mut Vec<u8>) -> io::Result<(usize, bool)> {
    let mut len = 0;
    loop {
        if len == buffer.len() {
            if len >= WHOLE_BYTES_MAX {
                return Ok((len, false));
            }
            buffer.resize((len * 4).min(WHOLE_BYTES_MAX), 0);
        }
        match file.read(&mut buffer[len..]) {
            Ok(0) => return Ok((len, true)),
            Ok(more) => len += more,
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            Err(err) => return Err(err),
        }
    }
}

struct Hits<'m> {
    matcher: &'m RegexMatcher,
    mode: OutputMode,
    lines: Vec<Line>,
    count: usize,
    binary: bool,
}

impl Hits<'_> {
    fn push(&mut self, number: Option<u64>, bytes: &[u8], matched: bool) {
        for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            if self.lines.len() >= FILE_LINES_MAX {
                return;
            }
            let number = number.unwrap_or(0) + index as u64;
            let at = if matched && line.len() > LINE_BYTES_MAX {
                self.matcher.find(line).ok().flatten().map_or(0, |found| found.start())
            } else {
                0
            };
            self.lines.push(Line { number, text: shown(line, at), matched });
        }
    }
}

/// A line to show; of a long one, what is around the match.
fn shown(line: &[u8], at: usize) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= LINE_BYTES_MAX {
        return text::printable(&String::from_utf8_lossy(line));
    }
    let from = at.saturating_sub(LINE_BYTES_MAX / 4).min(line.len() - LINE_BYTES_MAX);
    let part = String::from_utf8_lossy(&line[from..from + LINE_BYTES_MAX]);
    let before = if from > 0 { "… " } else { "" };
    let after = if from + LINE_BYTES_MAX < line.len() { " …" } else { "" };
    format!(
        "{before}{}{after} [line of {} bytes]",
        text::printable(part.trim_matches('\u{fffd}')),
        line.len()
    )
}

impl Sink for Hits<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.count += 1;
        match self.mode {
            OutputMode::FilesWithMatches => Ok(false),
            OutputMode::Count => Ok(true),
            OutputMode::Content => {
                self.push(found.line_number(), found.bytes(), true);
                Ok(self.lines.len() < FILE_LINES_MAX)
            }
        }
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        self.push(context.line_number(), context.bytes(), false);
        Ok(self.lines.len() < FILE_LINES_MAX)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}
