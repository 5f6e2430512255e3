//! What all threads found, in one order.

use super::OutputMode;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

/// The most lines of all files that are kept.
pub(super) const LINES_MAX: usize = 100_000;

/// One line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) text: String,
    /// A match, or context.
    pub(super) matched: bool,
}

/// What one file has.
#[derive(Debug)]
pub(super) struct FileHits {
    pub(super) path: Vec<u8>,
    pub(super) lines: Vec<Line>,
    pub(super) count: usize,
}

#[derive(Debug, Default)]
struct State {
    files: Vec<FileHits>,
    lines: usize,
}

/// Bounded results of all threads.
#[derive(Debug, Default)]
pub(super) struct Collected(Mutex<State>);

impl Collected {
    /// Adds a file's; says to stop once there is no room for more.
    pub(super) fn add(&self, hits: FileHits) -> ControlFlow<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.lines += hits.lines.len().max(1);
        state.files.push(hits);
        if state.lines >= LINES_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// All files by their path.
    pub(super) fn in_order(self) -> Vec<FileHits> {
        let mut files = self.0.into_inner().unwrap_or_else(PoisonError::into_inner).files;
        files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        files
    }
}

/// The lines of the answer: `path`, `path:count`, or `path:line:text` with `path-line-text` for context and
/// `--` between parts of a file that don't follow each other.
pub(super) fn render(
    files: &[FileHits],
    mode: OutputMode,
    with_context: bool,
    shown_path: impl Fn(&[u8]) -> String,
) -> Vec<String> {
    let mut out = Vec::new();
    for file in files {
        let path = shown_path(&file.path);
        match mode {
            OutputMode::FilesWithMatches => out.push(path),
            OutputMode::Count => out.push(format!("{path}:{}", file.count)),
            OutputMode::Content => {
                let mut before = None;
                for line in &file.lines {
                    let follows = before.is_some_and(|before: u64| before + 1 == line.number);
                    if with_context && !follows && !out.is_empty() {
                        out.push("--".to_owned());
                    }
                    before = Some(line.number);
                    let sign = if line.matched { ':' } else { '-' };
                    out.push(format!("{path}{sign}{}{sign}{}", line.number, line.text));
                }
            }
        }
    }
    out
}
