//! From the edits of one call to the replacements that they come to, or to the reason why none is made.

use super::fold::{Folded, Likeness};
use super::indent;
use super::lines::Lines;
use crate::shape::LineEnd;
use memchr::memmem;
use std::ops::Range;

/// How far from an anchor a place may be, in lines.
pub(crate) const NEAR_LINES: usize = 15;
/// The most places that one edit may replace.
const PLACES_MAX: usize = 10_000;

/// One edit as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) old: String,
    pub(crate) new: String,
    pub(crate) all: bool,
    pub(crate) near: Option<String>,
}

/// One replacement. Nothing outside of the range changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replacement {
    pub(crate) edit: usize,
    pub(crate) range: Range<usize>,
    pub(crate) text: Vec<u8>,
    pub(crate) likeness: Likeness,
}

/// Why a call's edits can't be made. Edits are counted from 0; lines from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PlanError {
    #[error("edit {edit}: old_string is empty")]
    Empty { edit: usize },
    #[error("edit {edit}: old_string is not in the file")]
    NotFound { edit: usize },
    #[error("edit {edit}: old_string is at several places")]
    Ambiguous { edit: usize, places: Vec<Range<usize>>, likeness: Likeness },
    #[error("edit {edit}: the text of `near` is not in the file")]
    NoAnchor { edit: usize },
    #[error("edit {edit}: old_string is not within {NEAR_LINES} lines of `near`")]
    NotNear { edit: usize, anchor_line: usize },
    #[error("edit {edit}: old_string is at more than {PLACES_MAX} places")]
    TooMany { edit: usize },
    #[error("edits {first} and {second} overlap")]
    Overlap { first: usize, second: usize, line: usize },
    #[error("the edits change nothing")]
    Nothing,
}

/// A text that edits are matched against, folded as far as was needed.
pub(crate) struct Original<'a> {
    pub(crate) body: &'a [u8],
    pub(crate) lines: Lines,
    folded: [Option<Folded>; 3],
    line_end: LineEnd,
}

struct Hits {
    places: Vec<Range<usize>>,
    likeness: Likeness,
}

impl<'a> Original<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Original { body, lines: Lines::new(body), folded: [None, None, None], line_end: LineEnd::of(body) }
    }

    /// All replacements in order of their place. Every edit is matched against the original.
    pub(crate) fn plan(&mut self, wanted: &[Wanted]) -> Result<Vec<Replacement>, PlanError> {
        let mut all = Vec::new();
        for (edit, want) in wanted.iter().enumerate() {
            if want.old.is_empty() {
                return Err(PlanError::Empty { edit });
            }
            let hits = self.hits(edit, want)?;
            for range in hits.places {
                let text = self.replacement(want, &range, hits.likeness);
                all.push(Replacement { edit, range, text, likeness: hits.likeness });
            }
        }
        all.sort_by_key(|replacement| (replacement.range.start, replacement.range.end));
        for pair in all.windows(2) {
            if pair[1].range.start < pair[0].range.end {
                let (first, second) = (pair[0].edit.min(pair[1].edit), pair[0].edit.max(pair[1].edit));
                let line = self.lines.number(pair[1].range.start);
                return Err(PlanError::Overlap { first, second, line });
            }
        }
        all.retain(|replacement| self.body[replacement.range.clone()] != replacement.text[..]);
        if all.is_empty() { Err(PlanError::Nothing) } else { Ok(all) }
    }

    fn hits(&mut self, edit: usize, want: &Wanted) -> Result<Hits, PlanError> {
        let windows = match &want.near {
            Some(near) => Some(self.windows(edit, near)?),
            None => None,
        };
        for likeness in std::iter::once(Likeness::Exact).chain(Likeness::FOLDED) {
            let mut places = self.find(&want.old, likeness, want.all);
            if let Some(windows) = &windows {
                places.retain(|place| {
                    windows.iter().any(|window| place.start < window.end && window.start < place.end)
                });
            }
            match places.len() {
                0 => {}
                1 => return Ok(Hits { places, likeness }),
                count if count > PLACES_MAX => return Err(PlanError::TooMany { edit }),
                _ if want.all => return Ok(Hits { places, likeness }),
                _ => return Err(PlanError::Ambiguous { edit, places, likeness }),
            }
        }
        Err(match windows {
            Some(windows) => {
                let anchor = windows.first().map_or(0, |window| window.start);
                PlanError::NotNear { edit, anchor_line: self.lines.number(anchor) }
            }
            None => PlanError::NotFound { edit },
        })
    }

    /// Every place of a text. Where one place is wanted, hits that overlap each other count as several.
    fn find(&mut self, needle: &str, likeness: Likeness, all: bool) -> Vec<Range<usize>> {
        if likeness == Likeness::Exact {
            return find_all(self.body, needle.as_bytes(), all).map(|at| at..at + needle.len()).collect();
        }
        let no_returns = || memchr::memchr(b'\r', self.body).is_none() && !needle.contains('\r');
        if likeness == Likeness::LineEnds && no_returns() {
            // Without carriage returns this step is the exact one again.
            return Vec::new();
        }
        let folded_needle = Folded::new(needle.as_bytes(), likeness).bytes;
        if folded_needle.iter().all(|byte| *byte == b'\n') {
            return Vec::new();
        }
        let body = self.body;
        let slot = &mut self.folded[likeness as usize - 1];
        let hay = slot.get_or_insert_with(|| Folded::new(body, likeness));
        let places: Vec<Range<usize>> = find_all(&hay.bytes, &folded_needle, all)
            .map(|at| widened(body, hay.original(at, folded_needle.len()), needle))
            .collect();
        places
    }

    fn windows(&mut self, edit: usize, near: &str) -> Result<Vec<Range<usize>>, PlanError> {
        for likeness in std::iter::once(Likeness::Exact).chain(Likeness::FOLDED) {
            if near.is_empty() {
                break;
            }
            let anchors = self.find(near, likeness, true);
            if !anchors.is_empty() {
                return Ok(anchors
                    .into_iter()
                    .map(|anchor| self.lines.around(&anchor, NEAR_LINES))
                    .collect());
            }
        }
        Err(PlanError::NoAnchor { edit })
    }

    fn replacement(&self, want: &Wanted, range: &Range<usize>, likeness: Likeness) -> Vec<u8> {
        let found = &self.body[range.clone()];
        let fitted = match likeness {
            Likeness::Exact | Likeness::LineEnds => want.new.clone(),
            Likeness::Space | Likeness::Words => {
                let starts_line = self.lines.start_of(range.start) == range.start;
                indent::fitted(&want.old, &String::from_utf8_lossy(found), &want.new, starts_line)
            }
        };
        // Someone who writes carriage returns in the search text means the ends as they are.
        if want.old.contains('\r') || !fitted.contains('\n') {
            return fitted.into_bytes();
        }
        self.line_end_at(range).applied_to(&fitted).into_bytes()
    }

    /// The line end of the match itself, else of the line that it begins in, else of most lines.
    fn line_end_at(&self, range: &Range<usize>) -> LineEnd {
        let line = self.lines.start_of(range.start)..self.lines.end_of(range.end.max(range.start + 1) - 1);
        let text = &self.body[line];
        match memchr::memchr(b'\n', text) {
            Some(at) if at > 0 && text[at - 1] == b'\r' => LineEnd::CrLf,
            Some(_) => LineEnd::Lf,
            None => self.line_end,
        }
    }
}

fn find_all<'h>(hay: &'h [u8], needle: &'h [u8], all: bool) -> impl Iterator<Item = usize> + 'h {
    let finder = memmem::Finder::new(needle).into_owned();
    let step = if all { needle.len() } else { 1 };
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = finder.find(hay.get(from..)?)? + from;
        from = at + step;
        Some(at)
    })
    .take(PLACES_MAX + 1)
}

/// White space at the ends of a search text is not compared, but it stands for what the file has there.
fn widened(body: &[u8], mut range: Range<usize>, needle: &str) -> Range<usize> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    if needle.starts_with([' ', '\t']) {
        let before = body[..range.start].iter().rev().take_while(|byte| is_blank(byte)).count();
        range.start -= before;
    }
    if needle.ends_with([' ', '\t']) {
        range.end += body[range.end..].iter().take_while(|byte| is_blank(byte)).count();
    }
    range
}

/// A text with its replacements made; they are in order and don't overlap.
pub(crate) fn apply(body: &[u8], replacements: &[Replacement]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 256);
    let mut at = 0;
    for replacement in replacements {
        out.extend_from_slice(&body[at..replacement.range.start]);
        out.extend_from_slice(&replacement.text);
        at = replacement.range.end;
    }
    out.extend_from_slice(&body[at..]);
    out
}
