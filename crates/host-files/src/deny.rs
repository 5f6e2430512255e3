//! Names that are never written (SBX-1, `denyWrite`).

use crate::config::FilesError;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::path::Path;
use unicode_normalization::UnicodeNormalization as _;

/// Compiled patterns. Both they and the paths are folded first, so that no other case, Unicode form or
/// invisible character of a protected name gets through to a file system that takes them for one.
#[derive(Debug)]
pub(crate) struct DenyWrite {
    set: GlobSet,
    patterns: Vec<String>,
    of_glob: Vec<usize>,
}

impl DenyWrite {
    pub(crate) fn new(patterns: &[String]) -> Result<Self, FilesError> {
        let mut set = GlobSetBuilder::new();
        let mut of_glob = Vec::new();
        for (index, pattern) in patterns.iter().enumerate() {
            let bad = |why: String| FilesError::Pattern { pattern: pattern.clone(), why };
            let trimmed = pattern.trim_end_matches('/').trim_start_matches("./");
            if trimmed.is_empty() {
                return Err(bad("an empty pattern protects nothing".to_owned()));
            }
            let whole = fold(trimmed.strip_suffix("/**").unwrap_or(trimmed));
            let anywhere = if whole.starts_with('/') { whole } else { format!("**/{whole}") };
            for glob in [anywhere.clone(), format!("{anywhere}/**")] {
                let glob = GlobBuilder::new(&glob)
                    .literal_separator(true)
                    .backslash_escape(true)
                    .build()
                    .map_err(|err| bad(err.kind().to_string()))?;
                set.add(glob);
                of_glob.push(index);
            }
        }
        let set = set.build().map_err(|err| FilesError::Pattern {
            pattern: patterns.join(", "),
            why: err.kind().to_string(),
        })?;
        Ok(DenyWrite { set, patterns: patterns.to_vec(), of_glob })
    }

    /// The pattern that protects a path, if one does. `below_root` is the path below its root, `whole` the
    /// absolute one (for patterns that are absolute).
    pub(crate) fn pattern_for(&self, below_root: &Path, whole: &Path) -> Option<&str> {
        let below = fold(&below_root.to_string_lossy());
        let whole = fold(&whole.to_string_lossy());
        let hit = |index: &usize| self.patterns.get(self.of_glob[*index]);
        let below_hits = self.set.matches(&below);
        let found = below_hits.iter().find_map(hit);
        let absolute = || {
            let hits = self.set.matches(&whole);
            hits.iter().filter_map(hit).find(|pattern| pattern.starts_with('/'))
        };
        found.or_else(absolute).map(String::as_str)
    }
}

/// One form for all spellings of a name: compatibility-composed, lower case, without characters that are
/// ignored for display, and without the dots and spaces at a segment's end that some file systems drop.
fn fold(text: &str) -> String {
    let plain: String =
        text.nfkc().flat_map(char::to_lowercase).filter(|c| !is_ignorable(*c)).nfkc().collect();
    let trim = |segment: &str| {
        let trimmed = segment.trim_end_matches([' ', '.']);
        if trimmed.is_empty() { segment.to_owned() } else { trimmed.to_owned() }
    };
    plain.split('/').map(trim).collect::<Vec<_>>().join("/")
}

fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FilesConfig;

    fn denied(path: &str) -> bool {
        let patterns: Vec<String> = FilesConfig::DENY_WRITE.iter().map(ToString::to_string).collect();
        let deny = DenyWrite::new(&patterns).unwrap();
        deny.pattern_for(Path::new(path), &Path::new("/w").join(path)).is_some()
    }

    // SBX-6: case and Unicode variants of a protected name
    #[test]
    fn every_spelling_of_a_protected_name() {
        for path in [
            ".env",
            "a/b/.env",
            ".ENV",
            ".Env.local",
            ".env.production",
            ".env/x",
            "．env",
            ".e\u{200b}nv",
            ".env.",
            ".env ",
            ".git/config",
            "sub/.GIT/Config",
            ".git/hooks",
            ".git/hooks/pre-commit",
            "x/.git/hooks/a/b",
            ".g\u{200d}it/hooks/x",
            ".ｇit/config",
            ".\u{212a}".replace('\u{212a}', "env").as_str(),
        ] {
            assert!(denied(path), "{path:?}");
        }
        for path in ["env", ".envrc", ".git/configs", ".git/hook", "a.env", "config", "hooks/x"] {
            assert!(!denied(path), "{path:?}");
        }
    }

    #[test]
    fn an_absolute_pattern_is_not_taken_for_a_relative_one() {
        let deny = DenyWrite::new(&["/w/keep/**".to_owned()]).unwrap();
        assert!(deny.pattern_for(Path::new("keep/a"), Path::new("/w/keep/a")).is_some());
        assert!(deny.pattern_for(Path::new("w/keep/a"), Path::new("/x/w/keep/a")).is_none());
    }

    #[test]
    fn a_broken_pattern_is_named() {
        let err = DenyWrite::new(&["a[".to_owned()]).unwrap_err();
        assert!(err.to_string().contains("`a[`"), "{err}");
        assert!(DenyWrite::new(&["/".to_owned()]).is_err());
    }
}
