//! The patterns of approval rules. All of them take time linear in the text for one pattern part.

/// A text with `*` for any run of characters; `\*` and `\\` are literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wild {
    /// The literal parts between the stars.
    parts: Vec<String>,
}

impl Wild {
    pub(super) fn parse(pattern: &str) -> Self {
        let mut parts = vec![String::new()];
        let mut letters = pattern.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '*' => parts.push(String::new()),
                '\\' if matches!(letters.peek(), Some('*' | '\\')) => {
                    let escaped = letters.next().unwrap_or('\\');
                    push(&mut parts, escaped);
                }
                other => push(&mut parts, other),
            }
        }
        Wild { parts }
    }

    /// Whether it is `*` alone, which matches everything.
    pub(super) fn is_star(&self) -> bool {
        self.parts.len() > 1 && self.parts.iter().all(String::is_empty)
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let Some((first, rest)) = self.parts.split_first() else { return false };
        let Some((last, middle)) = rest.split_last() else { return text == first };
        let Some(mut left) = text.strip_prefix(first.as_str()) else { return false };
        for part in middle {
            let Some(at) = left.find(part.as_str()) else { return false };
            left = &left[at + part.len()..];
        }
        left.ends_with(last.as_str())
    }
}

fn push(parts: &mut [String], letter: char) {
    if let Some(last) = parts.last_mut() {
        last.push(letter);
    }
}

/// Matches a sequence whose pattern may hold `None` for any number of elements.
fn match_sequence<T>(pattern: &[Option<T>], items: usize, matches: impl Fn(&T, usize) -> bool) -> bool {
    let (mut p, mut i) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    loop {
        match pattern.get(p) {
            Some(None) => {
                back = Some((p, i));
                p += 1;
                continue;
            }
            Some(Some(one)) if i < items && matches(one, i) => {
                p += 1;
                i += 1;
                continue;
            }
            None if i == items => return true,
            _ => {}
        }
        match back {
            Some((star, from)) if from < items => {
                back = Some((star, from + 1));
                p = star + 1;
                i = from + 1;
            }
            _ => return false,
        }
    }
}

/// Matches the elements of a command. The program is compared as written; a rule that denies or asks also
/// compares its last path part, so that `/usr/bin/git` counts as `git`. A rule that allows doesn't:
/// `./git` is another program.
pub(super) fn match_argv(pattern: &[Option<Wild>], argv: &[String], strict: bool) -> bool {
    match_sequence(pattern, argv.len(), |wild, at| {
        let element = argv[at].as_str();
        if wild.matches(element) {
            // A star in an allowed program must not reach into another folder.
            return strict || at > 0 || wild.is_star() || same_folders(wild, element);
        }
        strict && at == 0 && element.rsplit('/').next().is_some_and(|base| wild.matches(base))
    })
}

fn same_folders(wild: &Wild, program: &str) -> bool {
    let slashes = |text: &str| text.matches('/').count();
    wild.parts.iter().map(|part| slashes(part)).sum::<usize>() == slashes(program)
}

/// A pattern for a path or an address: `*` stays in one part between slashes, `**` crosses them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathPattern {
    exact: Vec<Option<Wild>>,
    folded: Vec<Option<Wild>>,
    relative: bool,
}

impl PathPattern {
    pub(super) fn parse(pattern: &str) -> Self {
        let lower = pattern.to_lowercase();
        PathPattern {
            exact: segments(pattern),
            folded: segments(&lower),
            relative: !pattern.starts_with('/') && !pattern.contains("://"),
        }
    }

    /// For rules that allow: the text itself matches, and holds no step upwards.
    pub(super) fn surely_means(&self, text: &str) -> bool {
        !steps_up(text) && match_path(&self.exact, text)
    }

    /// For rules that deny or ask: the text, or its resolved form, or for a relative pattern any tail of
    /// it, matches without case.
    pub(super) fn may_mean(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        let resolved = resolve(&text);
        if match_path(&self.folded, &text) || match_path(&self.folded, &resolved) {
            return true;
        }
        self.relative
            && resolved.match_indices('/').any(|(at, _)| match_path(&self.folded, &resolved[at + 1..]))
    }
}

fn segments(pattern: &str) -> Vec<Option<Wild>> {
    pattern.split('/').map(|part| (part != "**").then(|| Wild::parse(part))).collect()
}

fn match_path(pattern: &[Option<Wild>], text: &str) -> bool {
    let parts: Vec<&str> = text.split('/').collect();
    match_sequence(pattern, parts.len(), |wild, at| wild.matches(parts[at]))
}

fn steps_up(text: &str) -> bool {
    let lower = text.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
    lower.split(['/', '\\']).any(|part| part == "..")
}

/// The path without `.`, `..` and doubled slashes, by its letters alone.
fn resolve(text: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let root = if text.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars() {
        for (pattern, text, yes) in [
            ("git *", "git status", true),
            ("git *", "git", false),
            ("*", "", true),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            (r"\*", "*", true),
            (r"\*", "x", false),
            (r"\\", r"\", true),
        ] {
            assert_eq!(Wild::parse(pattern).matches(text), yes, "{pattern} {text}");
        }
    }

    #[test]
    fn sequences_backtrack() {
        let pattern: Vec<Option<Wild>> =
            ["a", "**", "b", "**", "c"].iter().map(|p| (*p != "**").then(|| Wild::parse(p))).collect();
        let run = |words: &[&str]| {
            match_argv(&pattern, &words.iter().map(ToString::to_string).collect::<Vec<_>>(), true)
        };
        assert!(run(&["a", "b", "c"]));
        assert!(run(&["a", "x", "b", "b", "y", "c", "c"]));
        assert!(!run(&["a", "b"]));
        assert!(!run(&["a", "c", "b"]));
        assert!(!run(&[]));
    }

    #[test]
    fn paths() {
        let src = PathPattern::parse("src/**");
        assert!(src.surely_means("src/a/b"));
        assert!(!src.surely_means("src/../etc/passwd"));
        assert!(!src.surely_means("src/%2e%2e/x"));
        assert!(!src.surely_means("/other/src/a"));
        for text in ["src/a", "./src/a", "x/../src/a", "/work/src/a", "SRC/A", "//src//a"] {
            assert!(src.may_mean(text), "{text}");
        }
        assert!(!src.may_mean("/work/lib/a"));
        assert!(PathPattern::parse("https://*.example.com/**").may_mean("HTTPS://a.example.com/x/y"));
    }
}
