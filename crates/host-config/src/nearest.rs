//! The nearest known name, for what was misspelled.

/// A name without case, `_` and `-`, by which spellings of one name are the same.
pub fn fold(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '.')).flat_map(char::to_lowercase).collect()
}

/// The known name nearest to what was written, if any is near enough to be meant. A name that differs
/// only in case, `_` or `-` always wins; beyond that about one slip in three characters is forgiven.
pub fn nearest<'k>(written: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if written.len() > 200 {
        return None;
    }
    let folded = fold(written);
    let mut best: Option<(usize, &str)> = None;
    for name in known {
        let candidate = fold(name);
        if candidate == folded {
            return Some(name);
        }
        let distance = strsim::damerau_levenshtein(&folded, &candidate);
        let longest = folded.chars().count().max(candidate.chars().count());
        let near = distance * 3 <= longest;
        if near && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, name));
        }
    }
    best.map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_not_near() {
        let known = ["command", "args", "env", "cwd", "url", "allowedTools"];
        assert_eq!(nearest("commnad", known), Some("command"));
        assert_eq!(nearest("allowed_tools", known), Some("allowedTools"));
        assert_eq!(nearest("ALLOWED-TOOLS", known), Some("allowedTools"));
        assert_eq!(nearest("arg", known), Some("args"));
        assert_eq!(nearest("zebra", known), None);
        assert_eq!(nearest("", known), None);
    }
}
