//! The indentation of a replacement whose search text was indented otherwise than the file.

use super::fold::is_space;

/// A new text with the file's indentation, where the search text named another one for the same lines.
/// `starts_line` = the match takes in the first line's own indentation. Without a rule that holds for every
/// line that was seen, the text stays as it was given.
pub(crate) fn fitted(old: &str, found: &str, new: &str, starts_line: bool) -> String {
    let skip = usize::from(!starts_line);
    let pairs: Vec<(&str, &str)> = old
        .lines()
        .zip(found.lines())
        .skip(skip)
        .filter(|(old, found)| !old.trim().is_empty() && !found.trim().is_empty())
        .map(|(old, found)| (indentation(old), indentation(found)))
        .collect();
    if pairs.iter().all(|(old, found)| old == found) {
        return new.to_owned();
    }
    let mut out = String::with_capacity(new.len() + 64);
    for (index, line) in new.split_inclusive('\n').enumerate() {
        if index < skip || line.trim().is_empty() {
            out.push_str(line);
            continue;
        }
        let given = indentation(line);
        match indent_for(given, &pairs) {
            Some(indent) => {
                out.push_str(&indent);
                out.push_str(&line[given.len()..]);
            }
            None => return new.to_owned(),
        }
    }
    out
}

/// The file's indentation for one of the new text: the one seen for the same indentation, or the nearest one
/// seen with what is added to it.
fn indent_for(given: &str, pairs: &[(&str, &str)]) -> Option<String> {
    let mut best: Option<(usize, String)> = None;
    for (old, found) in pairs {
        let Some(more) = given.strip_prefix(old) else { continue };
        if more.is_empty() && pairs.iter().any(|(other, file)| other == old && file != found) {
            // The same indentation stands for two in the file.
            return None;
        }
        if best.as_ref().is_none_or(|(len, _)| old.len() > *len) {
            best = Some((old.len(), format!("{found}{more}")));
        }
    }
    if let Some((_, indent)) = best {
        return Some(indent);
    }
    // Less than everything seen: what the file has more on its least indented line is taken as the offset.
    let (old, found) = pairs.iter().min_by_key(|(old, _)| old.len())?;
    match (found.strip_suffix(old), old.strip_suffix(found)) {
        (Some(offset), _) => Some(format!("{offset}{given}")),
        (_, Some(_)) => Some(given.to_owned()),
        _ => None,
    }
}

fn indentation(line: &str) -> &str {
    let text = line.trim_start_matches(is_space);
    &line[..line.len() - text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_was_given_without_indentation_gets_the_files() {
        let new = fitted("if a:\n  b()", "if a:\n        b()", "if a:\n  c()\n  d()", false);
        assert_eq!(new, "if a:\n        c()\n        d()");
        let new = fitted("  x\n    y", "\tx\n\t\ty", "  x\n    z\n      q\n", true);
        assert_eq!(new, "\tx\n\t\tz\n\t\t  q\n");
    }

    #[test]
    fn the_same_indentation_changes_nothing() {
        let new = fitted("  x = 1", "  x  =  1", " y", true);
        assert_eq!(new, " y");
    }

    #[test]
    fn without_one_rule_the_text_stays() {
        let new = fitted(" a\n b", "  a\n   b", " c", true);
        assert_eq!(new, " c");
    }
}
