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

/// The most pieces of a text that are folded one by one instead of all of it.
const WINDOWS_MAX: usize = 256;

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
        match self.reach(needle) {
            Some(windows) => self.find_within(&windows, needle, &folded_needle, likeness, all),
            None => self.find_anywhere(needle, &folded_needle, likeness, all),
        }
    }

    fn find_anywhere(
        &mut self,
        needle: &str,
        folded_needle: &[u8],
        likeness: Likeness,
        all: bool,
    ) -> Vec<Range<usize>> {
        let body = self.body;
        let slot = &mut self.folded[likeness as usize - 1];
        let hay = slot.get_or_insert_with(|| Folded::new(body, likeness));
        let places: Vec<Range<usize>> = find_all(&hay.bytes, folded_needle, all)
            .map(|at| widened(body, hay.original(at, folded_needle.len()), needle))
            .collect();
        places
    }

    /// The same, folding no more of the body than a match can lie in.
    fn find_within(
        &self,
        windows: &[Range<usize>],
        needle: &str,
        folded_needle: &[u8],
        likeness: Likeness,
        all: bool,
    ) -> Vec<Range<usize>> {
        let mut places = Vec::new();
        for window in windows {
            let hay = Folded::new(&self.body[window.clone()], likeness);
            places.extend(find_all(&hay.bytes, folded_needle, all).map(|at| {
                let found = hay.original(at, folded_needle.len());
                widened(self.body, found.start + window.start..found.end + window.start, needle)
            }));
            if places.len() > PLACES_MAX {
                break;
            }
        }
        places
    }

    /// The lines in which a match of a text can lie: folding neither breaks, joins nor respells a word of ASCII, and
    /// keeps every line break, so that a match has the text's longest word in it and as many lines. `None` = the
    /// word says too little.
    fn reach(&self, needle: &str) -> Option<Vec<Range<usize>>> {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let words = needle.as_bytes().split(|byte| !is_part(byte));
        let word = words.max_by_key(|word| word.len()).filter(|word| !word.is_empty())?;
        let breaks = memchr::memchr_iter(b'\n', needle.as_bytes()).count();
        let mut windows: Vec<Range<usize>> = Vec::new();
        let mut from = 0;
        let finder = memmem::Finder::new(word);
        while let Some(at) = finder.find(self.body.get(from..)?) {
            let at = from + at;
            let window = self.lines.around(&(at..at + word.len()), breaks);
            // What else of the word is on these last lines brings nothing new but more lines after them.
            from = if breaks == 0 { window.end } else { at + word.len() };
            match windows.last_mut() {
                Some(last) if window.start <= last.end => last.end = last.end.max(window.end),
                _ => windows.push(window),
            }
            if windows.len() > WINDOWS_MAX {
                return None;
            }
        }
        let bytes: usize = windows.iter().map(|window| window.len()).sum();
        (bytes <= self.body.len() / 4).then_some(windows)
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        // FIL-4: looking where a match can be finds what looking everywhere finds.
        #[test]
        fn a_search_near_the_word_misses_nothing(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "word", "wor", "d", " ", "  ", "\t", "\n", "\r\n", "\r", "“", "\"", "–", "-", "é", "\u{a0}", "(",
                ")", "_", "\u{200b}", "other", "\n  filler line of no use\n  filler line of no use\n",
            ]), 0..60),
            from in 0usize..50, count in 1usize..6, spaces in any::<bool>(), all in any::<bool>(),
        ) {
            let body = pieces.concat();
            let needle: String = pieces.iter().skip(from).take(count).copied().collect();
            let needle = if spaces { needle.replace(['(', ')'], " ( ").replace('\t', "  ") } else { needle };
            let mut original = Original::new(body.as_bytes());
            for likeness in Likeness::FOLDED {
                let folded = Folded::new(needle.as_bytes(), likeness).bytes;
                if folded.iter().all(|byte| *byte == b'\n') {
                    continue;
                }
                if let Some(windows) = original.reach(&needle) {
                    let near = original.find_within(&windows, &needle, &folded, likeness, all);
                    prop_assert_eq!(near, original.find_anywhere(&needle, &folded, likeness, all));
                }
            }
        }
    }
}
