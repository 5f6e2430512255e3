//! What a model is told when its edits can't be made: the place, what is there, and the way out.

use super::lines::Lines;
use super::plan::{NEAR_LINES, Original, PlanError, Wanted};
use host_surface::ToolError;
use host_vocab::text;
use std::collections::HashMap;
use std::fmt::Write as _;

/// How many places are shown.
const PLACES_SHOWN: usize = 5;
/// How many lines are compared in search of what was meant.
const COMPARED_LINES_MAX: usize = 20_000;
/// The longest line that is shown, in characters.
const LINE_CHARS_MAX: usize = 160;

/// The error of the tool for one of the plan.
pub(crate) fn explain(
    shown: &str,
    original: &Original<'_>,
    wanted: &[Wanted],
    first_line: usize,
    err: &PlanError,
) -> ToolError {
    let Original { body, lines, .. } = original;
    let which = |edit: usize| if wanted.len() > 1 { format!("edit {edit}: ") } else { String::new() };
    let none = "Nothing was written.";
    match err {
        PlanError::Empty { edit } => {
            let message =
                format!("{}old_string is empty; use Write to create or replace a whole file", which(*edit));
            ToolError::new("invalid_edit", message)
        }
        PlanError::NotFound { edit } => {
            let mut message = format!("{}old_string is not in {shown}. {none}", which(*edit));
            let near = nearest(body, lines, &wanted[*edit].old);
            if near.is_empty() {
                message.push_str(" No line of the file is like it; read the file again.");
            } else {
                message.push_str(" The lines that are most like it:\n");
                push_lines(&mut message, body, lines, &near, first_line);
            }
            ToolError::new("no_match", message)
        }
        PlanError::Ambiguous { edit, places, .. } => {
            let count = places.len();
            let mut message = format!(
                "{}old_string is at {count} equally good places in {shown}. {none} Give more of the text around \
                 the place, or `near`, or replace_all for all of them:\n",
                which(*edit)
            );
            let numbers: Vec<usize> =
                places.iter().take(PLACES_SHOWN).map(|place| lines.number(place.start)).collect();
            push_lines(&mut message, body, lines, &numbers, first_line);
            if count > PLACES_SHOWN {
                let _ = writeln!(message, "… and {} more", count - PLACES_SHOWN);
            }
            ToolError::new("ambiguous_match", message)
        }
        PlanError::NoAnchor { edit } => {
            let message = format!("{}the text of `near` is not in {shown}. {none}", which(*edit));
            ToolError::new("no_match", message)
        }
        PlanError::NotNear { edit, anchor_line } => {
            let line = anchor_line + first_line - 1;
            let message = format!(
                "{}`near` is in {shown}, but old_string is not within {NEAR_LINES} lines of it (looked from line \
                 {line}). {none}",
                which(*edit)
            );
            ToolError::new("no_match", message)
        }
        PlanError::TooMany { .. } => ToolError::new("ambiguous_match", format!("{err}. {none}")),
        PlanError::Overlap { first, second, line } => {
            let line = line + first_line - 1;
            let message = format!("edits {first} and {second} overlap at line {line}; make them one. {none}");
            ToolError::new("overlapping_edits", message)
        }
        PlanError::Nothing => {
            let message = format!("the text would stay as it is: old and new are the same. {none}");
            ToolError::new("nothing_changed", message)
        }
    }
}

fn push_lines(out: &mut String, body: &[u8], lines: &Lines, numbers: &[usize], first_line: usize) {
    for number in numbers {
        let line = String::from_utf8_lossy(&body[lines.range(*number)]);
        let _ = writeln!(out, "{}\t{}", number + first_line - 1, text::one_line(&line, LINE_CHARS_MAX));
    }
}

/// The numbers of up to three lines that are most like the first telling line of a text.
fn nearest(body: &[u8], lines: &Lines, old: &str) -> Vec<usize> {
    let telling = |line: &&str| line.chars().filter(|c| c.is_alphanumeric()).count() >= 3;
    let Some(line) = old.lines().find(telling).or_else(|| old.lines().find(|line| !line.trim().is_empty()))
    else {
        return Vec::new();
    };
    let wanted = Pairs::of(line.trim());
    let mut scored: Vec<(f32, usize)> = (1..=lines.count().min(COMPARED_LINES_MAX))
        .filter_map(|number| {
            let text = String::from_utf8_lossy(&body[lines.range(number)]);
            let score = wanted.likeness(&Pairs::of(text.trim()));
            (score >= 0.4).then_some((score, number))
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.truncate(3);
    scored.into_iter().map(|(_, number)| number).collect()
}

/// How often each pair of neighbouring characters is in a line.
struct Pairs {
    counts: HashMap<(char, char), u16>,
    total: usize,
}

impl Pairs {
    fn of(line: &str) -> Self {
        let mut pairs = Pairs { counts: HashMap::new(), total: 0 };
        let mut chars = line.chars().filter(|c| !c.is_whitespace()).take(200);
        let Some(mut before) = chars.next() else { return pairs };
        for c in chars {
            *pairs.counts.entry((before, c)).or_default() += 1;
            pairs.total += 1;
            before = c;
        }
        pairs
    }

    /// Twice what two lines share of all that they have: 0 to 1.
    fn likeness(&self, other: &Pairs) -> f32 {
        let (small, large) = (self.total.min(other.total), self.total.max(other.total));
        if small == 0 || large > small * 4 {
            return 0.0;
        }
        let shared: usize = self
            .counts
            .iter()
            .map(|(pair, count)| usize::from(*count.min(other.counts.get(pair).unwrap_or(&0))))
            .sum();
        #[expect(clippy::cast_precision_loss, reason = "at most 200 pairs a line")]
        let score = (2 * shared) as f32 / (self.total + other.total) as f32;
        score
    }
}
