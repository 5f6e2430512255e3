//! The lines of a text by their bytes.

use std::ops::Range;

/// Where each line begins.
#[derive(Debug)]
pub(crate) struct Lines {
    starts: Vec<usize>,
    len: usize,
}

impl Lines {
    pub(crate) fn new(text: &[u8]) -> Self {
        let starts = std::iter::once(0).chain(memchr::memchr_iter(b'\n', text).map(|at| at + 1));
        let mut starts: Vec<usize> = starts.collect();
        if starts.len() > 1 && starts.last() == Some(&text.len()) {
            starts.pop();
        }
        Lines { starts, len: text.len() }
    }

    /// How many there are; an empty text has one empty line.
    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// The number of the line that holds a byte, from 1.
    pub(crate) fn number(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).max(1)
    }

    /// Where the line begins that holds a byte.
    pub(crate) fn start_of(&self, at: usize) -> usize {
        self.starts[self.number(at) - 1]
    }

    /// Where the line ends that holds a byte, its line end included.
    pub(crate) fn end_of(&self, at: usize) -> usize {
        self.range(self.number(at)).end
    }

    /// The bytes of a line by its number, its line end included.
    pub(crate) fn range(&self, number: usize) -> Range<usize> {
        let start = self.starts.get(number - 1).copied().unwrap_or(self.len);
        start..self.starts.get(number).copied().unwrap_or(self.len)
    }

    /// The bytes from some lines before a range to some after it.
    pub(crate) fn around(&self, range: &Range<usize>, lines: usize) -> Range<usize> {
        let first = self.number(range.start).saturating_sub(lines).max(1);
        let last = (self.number(range.end.max(range.start + 1) - 1) + lines).min(self.count());
        self.range(first).start..self.range(last).end
    }
}
