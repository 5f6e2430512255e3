//! What holds for every edit of every text.

use super::fold::Likeness;
use super::lines::Lines;
use super::patch::patch;
use super::plan::{Original, PlanError, Replacement, Wanted, apply};
use proptest::prelude::*;

fn want(old: &str, new: &str) -> Wanted {
    Wanted { old: old.to_owned(), new: new.to_owned(), all: false, near: None }
}

fn plan(body: &[u8], wanted: &[Wanted]) -> Result<Vec<Replacement>, PlanError> {
    Original::new(body).plan(wanted)
}

/// A text with everything that the matcher looks at.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a", "b", "ab", "x = 'y'", " ", "  ", "\t", "\n", "\r\n", "\r", "“", "”", "\"", "–", "-", "ﬂ", "é",
        "\u{feff}", "\u{a0}", "(", ")", "{", "}", ",", "fn", "_", "\u{200b}", "m²",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    // FIL-4: bytes outside of the matches never change, whatever is looked for
    #[test]
    fn nothing_outside_of_a_match_changes(body in texts(), old in texts(), new in texts(), all in any::<bool>()) {
        let wanted = [Wanted { all, ..want(&old, &new) }];
        if let Ok(replacements) = plan(body.as_bytes(), &wanted) {
            let after = apply(body.as_bytes(), &replacements);
            let (mut before_at, mut after_at) = (0, 0);
            for replacement in &replacements {
                let same = replacement.range.start - before_at;
                prop_assert_eq!(&body.as_bytes()[before_at..replacement.range.start], &after[after_at..after_at + same]);
                prop_assert_eq!(&after[after_at + same..after_at + same + replacement.text.len()], &replacement.text[..]);
                before_at = replacement.range.end;
                after_at += same + replacement.text.len();
                prop_assert!(body.is_char_boundary(replacement.range.start));
                prop_assert!(body.is_char_boundary(replacement.range.end));
            }
            prop_assert_eq!(&body.as_bytes()[before_at..], &after[after_at..]);
            // and the way back is there
            let back: Vec<Replacement> = {
                let mut shift = 0_isize;
                replacements.iter().map(|r| {
                    let start = r.range.start.checked_add_signed(shift).unwrap();
                    shift += r.text.len() as isize - r.range.len() as isize;
                    let text = body.as_bytes()[r.range.clone()].to_vec();
                    Replacement { edit: 0, range: start..start + r.text.len(), text, likeness: Likeness::Exact }
                }).collect()
            };
            prop_assert_eq!(apply(&after, &back), body.as_bytes());
            let lines = Lines::new(body.as_bytes());
            prop_assert!(patch("f", body.as_bytes(), &lines, &replacements).text.starts_with("--- a/f\n"));
        }
    }

    // FIL-4: a piece of the text itself is found exactly, or said to be ambiguous
    #[test]
    fn a_piece_of_the_text_is_found(body in texts(), from in 0_usize..200, len in 1_usize..30) {
        let from = body.floor_char_boundary(from.min(body.len()));
        let to = body.ceil_char_boundary((from + len).min(body.len()));
        let old = &body[from..to];
        if old.is_empty() {
            return Ok(());
        }
        match plan(body.as_bytes(), &[want(old, "Q9")]) {
            Ok(replacements) => {
                prop_assert_eq!(replacements.len(), 1);
                prop_assert_eq!(replacements[0].likeness, Likeness::Exact);
                prop_assert_eq!(replacements[0].range.clone(), from..to);
            }
            Err(PlanError::Ambiguous { places, .. }) => prop_assert!(places.len() > 1),
            Err(other) => prop_assert!(false, "{:?}", other),
        }
    }

    // any bytes at all: no panic
    #[test]
    fn bytes_that_are_no_text(body in prop::collection::vec(any::<u8>(), 0..80), old in texts(), new in texts()) {
        if let Ok(replacements) = plan(&body, &[Wanted { all: true, ..want(&old, &new) }]) {
            let _ = apply(&body, &replacements);
            let _ = patch("f", &body, &Lines::new(&body), &replacements);
        }
    }

    // the patch tells the truth: applied by its own rules to the old text it gives the new one
    #[test]
    fn the_patch_says_what_was_done(body in "([ab]{0,2}\n){0,12}[ab]{0,2}", edits in prop::collection::vec(("[ab\n]{1,3}", "[cd\n]{0,3}"), 1..3)) {
        let wanted: Vec<Wanted> = edits.iter().map(|(old, new)| Wanted { all: true, ..want(old, new) }).collect();
        if let Ok(replacements) = plan(body.as_bytes(), &wanted) {
            let lines = Lines::new(body.as_bytes());
            let made = patch("f", body.as_bytes(), &lines, &replacements);
            let after = String::from_utf8(apply(body.as_bytes(), &replacements)).unwrap();
            prop_assert_eq!(patched(&body, &made.text), after, "{}", made.text);
        }
    }
}

/// A small `patch`.
fn patched(old: &str, patch: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    let mut last = ' ';
    for line in patch.lines().skip(2) {
        let (sign, text) = line.split_at(1);
        match sign {
            "@" => {
                let (from, _) = line.trim_start_matches("@@ -").split_once(',').unwrap();
                let start = from.parse::<usize>().unwrap().saturating_sub(1).min(old.len());
                out.extend(old[at..start].iter().map(ToString::to_string));
                at = start;
            }
            "\\" if last == '-' => {}
            "\\" => {
                let ended = out.pop().unwrap();
                out.push(ended.strip_suffix('\n').unwrap().to_owned());
            }
            "+" => out.push(format!("{text}\n")),
            _ => {
                assert_eq!(old[at].trim_end_matches('\n'), text);
                if sign == " " {
                    out.push(format!("{text}\n"));
                }
                at += 1;
            }
        }
        last = sign.chars().next().unwrap();
    }
    out.extend(old[at..].iter().map(ToString::to_string));
    out.concat()
}

// FIL-4: never a guess
#[test]
fn several_equally_good_places_are_an_error() {
    for (body, old) in
        [("a b\na  b\n", "a   b"), ("x\nx\n", "x"), ("aaa", "aa"), ("f( a )\nf(a )\n", "f( a)")]
    {
        assert!(
            matches!(plan(body.as_bytes(), &[want(old, "z")]), Err(PlanError::Ambiguous { .. })),
            "{body:?}"
        );
    }
}

#[test]
fn an_exact_place_wins_over_a_like_one() {
    let replacements = plan(b"a  b\na b\n", &[want("a b", "z")]).unwrap();
    assert_eq!((replacements[0].range.clone(), replacements[0].likeness), (5..8, Likeness::Exact));
}
