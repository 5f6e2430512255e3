//! The part of a text that one answer shows.

/// The part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) text: String,
    /// What is not shown and how to get it.
    pub(super) note: Option<String>,
}

/// There is no such line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BeyondTheEnd {
    pub(super) lines: usize,
}

/// Takes whole lines from one on, up to a number of lines and characters. A line that is longer than all of
/// the room is cut.
pub(super) fn window(
    text: &str,
    start_line: usize,
    lines_max: usize,
    chars_max: usize,
) -> Result<Window, BeyondTheEnd> {
    let lines: Vec<&str> = text.lines().collect();
    if start_line > lines.len().max(1) {
        return Err(BeyondTheEnd { lines: lines.len() });
    }
    let mut out = String::new();
    let mut room = chars_max;
    let mut shown = 0;
    let mut cut = None;
    for line in lines.iter().skip(start_line - 1).take(lines_max) {
        let chars = line.chars().count();
        if chars + 1 > room {
            if shown == 0 {
                out.extend(line.chars().take(room));
                cut = Some(chars - room.min(chars));
                shown = 1;
            }
            break;
        }
        room -= chars + 1;
        out.push_str(line);
        out.push('\n');
        shown += 1;
    }
    let last = start_line - 1 + shown;
    let mut notes = Vec::new();
    if let Some(missing) = cut.filter(|it| *it > 0) {
        notes.push(format!(
            "line {start_line} goes on for {missing} characters; raise max_output_chars to see more"
        ));
    }
    if start_line > 1 || last < lines.len() {
        let next =
            if last < lines.len() { format!("; go on with start_line {}", last + 1) } else { String::new() };
        notes.push(format!("lines {start_line}–{last} of {}{next}", lines.len()));
    }
    Ok(Window { text: out, note: (!notes.is_empty()).then(|| format!("[{}]", notes.join("; "))) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_part_says_what_is_missing() {
        let text = "one\ntwo\nthree\nfour";
        let shown = |start, lines, chars| {
            let it = window(text, start, lines, chars).unwrap();
            (it.text, it.note.unwrap_or_default())
        };
        assert_eq!(shown(1, 99, 99), ("one\ntwo\nthree\nfour\n".to_owned(), String::new()));
        assert_eq!(
            shown(2, 2, 99),
            ("two\nthree\n".to_owned(), "[lines 2–3 of 4; go on with start_line 4]".to_owned())
        );
        assert_eq!(shown(4, 2, 99).1, "[lines 4–4 of 4]");
        assert_eq!(shown(1, 99, 9).0, "one\ntwo\n");
        assert!(shown(3, 1, 3).1.starts_with("[line 3 goes on for 2 characters"));
        assert_eq!(window(text, 5, 1, 9), Err(BeyondTheEnd { lines: 4 }));
        assert_eq!(window("", 1, 1, 9).unwrap().text, "");
    }

    proptest! {
        // TOO-4: going on from line to line shows all of it.
        #[test]
        fn nothing_is_lost_between_parts(text in "([a-zé]{0,6}\n){0,12}", lines in 1usize..5, chars in 8usize..30) {
            let (mut all, mut next) = (String::new(), 1);
            while let Ok(part) = window(&text, next, lines, chars) {
                prop_assert!(part.text.chars().count() <= chars);
                all.push_str(&part.text);
                next += part.text.lines().count().max(1);
            }
            prop_assert_eq!(all, text);
        }
    }
}
