//! What Glob and Grep share: where they look, and how much of what they find is shown.

use host_ports::files::WalkSpec;
use host_surface::ToolError;
use host_vocab::text;

/// Folders that are never searched; the answer says so.
pub(crate) const EXCLUDED: [&str; 7] = [".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", ".venv"];
/// How long one search may take, in milliseconds.
pub(crate) const SEARCH_MS_MAX: u64 = 15_000;
/// How many results are shown where the call doesn't say.
pub(crate) const RESULTS_DEFAULT: usize = 100;
/// How many characters are shown where the call doesn't say.
pub(crate) const CHARS_DEFAULT: usize = 16_000;

/// Everything below a folder but [`EXCLUDED`] and what ignore files leave out.
pub(crate) fn everywhere(path: Option<&str>) -> WalkSpec {
    WalkSpec {
        path: path.unwrap_or(".").to_owned(),
        hidden: true,
        ignore_files: true,
        exclude_folders: EXCLUDED.iter().map(ToString::to_string).collect(),
        depth_max: 128,
        entries_max: 10_000_000,
        threads: std::thread::available_parallelism().map_or(2, |cores| cores.get().min(4)),
    }
}

/// `limit` or its other name; both must agree.
pub(crate) fn limit(limit: Option<usize>, other: Option<usize>) -> Result<usize, ToolError> {
    match (limit, other) {
        (Some(a), Some(b)) if a != b => {
            Err(ToolError::new("invalid_range", "max_matches is another name of the limit; give one of them"))
        }
        (a, b) => Ok(a.or(b).unwrap_or(RESULTS_DEFAULT)),
    }
}

/// A path below the walk's start as a path to show, which every file tool takes.
pub(crate) fn joined(start: &str, below: &[u8]) -> String {
    let below = text::one_line(&String::from_utf8_lossy(below), 4_096);
    if start == "." { below } else { format!("{start}/{below}") }
}

/// A glob whose `*` stays in one segment; without a slash it holds for names at any depth.
pub(crate) fn glob(pattern: &str) -> Result<globset::GlobMatcher, ToolError> {
    let bad = |why: String| Err(ToolError::new("invalid_pattern", why));
    let shown = text::one_line(pattern, 200);
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    if pattern.is_empty() {
        return bad("the pattern is empty; `**/*` finds every file".to_owned());
    }
    if pattern.starts_with('/') || pattern.starts_with('~') || pattern.split('/').any(|part| part == "..") {
        return bad(format!("{shown}: a pattern is relative; give the folder in `path`"));
    }
    let anywhere = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
    let anywhere = if anywhere.ends_with('/') { format!("{anywhere}**") } else { anywhere };
    match globset::GlobBuilder::new(&anywhere).literal_separator(true).build() {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(err) => bad(format!("{shown}: {}", err.kind())),
    }
}

/// Lines one after the other, as many as a number of characters has room for; gives how many.
pub(crate) fn fill(out: &mut String, lines: impl Iterator<Item = String>, chars_max: usize) -> usize {
    let mut chars = 0;
    let mut shown = 0;
    for line in lines {
        let more = line.chars().count() + 1;
        if chars + more > chars_max {
            if shown == 0 {
                out.extend(line.chars().take(chars_max));
                out.push('\n');
                shown = 1;
            }
            break;
        }
        out.push_str(&line);
        out.push('\n');
        chars += more;
        shown += 1;
    }
    shown
}
