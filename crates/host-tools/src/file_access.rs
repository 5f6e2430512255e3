//! What the file tools share: the blocking thread, and the words for what went wrong.

use host_ports::files::{FileError, Files, OUTSIDE};
use host_surface::{ToolError, codes};

/// How many names of a folder are compared with one that isn't there.
const HINT_ENTRIES_MAX: usize = 2_000;

/// The codes of [`FileError`], for the declarations of tools that read.
pub(crate) const READ_CODES: &[&str] = &[
    "path_denied",
    "invalid_path",
    "not_found",
    "is_directory",
    "not_a_directory",
    "special_file",
    "too_large",
    "permission_denied",
    "io_error",
    "binary_file",
    "unsupported_media",
    "invalid_range",
];

/// The codes of tools that write.
pub(crate) const WRITE_CODES: &[&str] = &[
    "path_denied",
    "invalid_path",
    "not_found",
    "is_directory",
    "not_a_directory",
    "special_file",
    "too_large",
    "permission_denied",
    "io_error",
    "binary_file",
    "read_only",
    "write_denied",
    "file_changed",
    "no_space",
    "invalid_edit",
    "no_match",
    "ambiguous_match",
    "overlapping_edits",
    "nothing_changed",
    "unknown_apply_id",
];

/// The codes of tools that search.
pub(crate) const SEARCH_CODES: &[&str] = &[
    "path_denied",
    "invalid_path",
    "not_found",
    "is_directory",
    "not_a_directory",
    "special_file",
    "permission_denied",
    "io_error",
    "invalid_pattern",
    "invalid_range",
];

/// Does work that blocks on a thread made for it.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(err) => match err.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(ToolError::new(codes::ABORTED, "the host is stopping")),
        },
    }
}

/// A fault of the port as the model is told of it.
pub(crate) fn failed(err: FileError) -> ToolError {
    let (code, message) = match &err {
        FileError::Outside { shown } => ("path_denied", format!("{shown}: {OUTSIDE}")),
        FileError::BadPath { .. } => ("invalid_path", err.to_string()),
        FileError::NotFound { .. } => ("not_found", err.to_string()),
        FileError::Folder { shown } => ("is_directory", format!("{shown} is a folder, not a file")),
        FileError::NotFolder { .. } => ("not_a_directory", err.to_string()),
        FileError::Special { .. } => ("special_file", err.to_string()),
        FileError::ReadOnly { .. } => ("read_only", err.to_string()),
        FileError::Denied { .. } => ("write_denied", err.to_string()),
        FileError::Exists { .. } | FileError::Changed { .. } => {
            ("file_changed", format!("{err}; read the file again before you change it"))
        }
        FileError::TooLarge { .. } => ("too_large", err.to_string()),
        FileError::Permission { .. } => ("permission_denied", err.to_string()),
        FileError::NoSpace { .. } => ("no_space", err.to_string()),
        FileError::Cancelled => (codes::ABORTED, "the turn was cancelled".to_owned()),
        FileError::Io { .. } => ("io_error", err.to_string()),
    };
    ToolError::new(code, message)
}

/// The same, with a name of the folder that may have been meant where nothing is there.
pub(crate) fn failed_with_hint(files: &dyn Files, err: FileError) -> ToolError {
    let FileError::NotFound { shown } = &err else { return failed(err) };
    let hint = nearest_name(files, shown).map(|name| format!("; did you mean {name}?")).unwrap_or_default();
    ToolError::new("not_found", format!("{err}{hint}"))
}

fn nearest_name(files: &dyn Files, shown: &str) -> Option<String> {
    let (folder, name) = shown.rsplit_once('/').unwrap_or((".", shown));
    let folder = if folder.is_empty() { "/" } else { folder };
    let entries = files.list(folder, HINT_ENTRIES_MAX).ok()?.entries;
    let wanted = name.to_lowercase();
    let scored =
        entries.iter().map(|entry| (strsim::jaro_winkler(&entry.name.to_lowercase(), &wanted), entry));
    let (score, entry) = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let near = host_vocab::text::one_line(&entry.name, 255);
    (score > 0.85).then(|| if folder == "." { near } else { format!("{folder}/{near}") })
}

/// Whether bytes are no text: a NUL, or a tenth of control characters in a sample of the beginning.
pub(crate) fn is_binary(sample: &[u8]) -> bool {
    let control = |b: &&u8| matches!(b, 0..=8 | 11 | 14..=26 | 28..=31 | 127);
    sample.contains(&0) || (!sample.is_empty() && sample.iter().filter(control).count() * 10 >= sample.len())
}

/// `1 line`, `2 lines`.
pub(crate) fn counted(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}
