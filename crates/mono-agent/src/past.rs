//! The way to an agent's past: opened for reading, whether or not a host runs.

use crate::answer::Failure;
use crate::args::{Page, Place};
use crate::door::{load, warn};
use host_app::Archive;
use host_history::HistoryError;
use host_ports::log::LogError;
use host_vocab::{Code, ConversationId, Diagnostic, Kind, text};

/// Beyond so many events it is said that the index is brought up first.
const BEHIND_TOLD: u64 = 20_000;

/// Opens the past of the agent; `None` where nothing was ever recorded.
pub fn open(place: &Place) -> Result<Option<Archive>, Failure> {
    let loaded = load(place)?;
    warn(&loaded);
    let Some(archive) = Archive::open(&loaded).map_err(Failure::of)? else { return Ok(None) };
    if archive.behind().is_ok_and(|behind| behind > BEHIND_TOLD) {
        eprintln!("note: the index of the log is brought up first; this may take a while");
    }
    match archive.catch_up() {
        Ok(()) => Ok(Some(archive)),
        // Not answered from an index that lacks something.
        Err(error) => Err(log_failed(error)),
    }
}

/// The past without its index: for what reads the log alone.
pub fn open_log(place: &Place) -> Result<Option<Archive>, Failure> {
    Archive::open(&load(place)?).map_err(Failure::of)
}

/// The size of a page.
pub fn limit(page: &Page) -> usize {
    usize::from(page.limit)
}

/// The log can't be read.
pub fn log_failed(error: LogError) -> Failure {
    let (code, hint) = match error {
        LogError::Damaged(_) => ("log_damaged", "`mono-agent audit verify` says where"),
        LogError::Full => ("history_unavailable", "make some room on the disk, here or for temporary files"),
        _ => ("history_unavailable", "try again; `mono-agent validate` looks at the whole"),
    };
    Failure::of(Diagnostic::new(Kind::Environment, Code::new(code), error.to_string()).hint(hint))
}

/// A view was not made, but for a run that isn't there.
pub fn not_shown(error: HistoryError) -> Failure {
    match error {
        HistoryError::Log(error) => log_failed(error),
        HistoryError::Cursor => Failure::of(
            Diagnostic::new(Kind::Usage, Code::new("invalid_cursor"), "this cursor can't be used here")
                .hint("a cursor goes on with the very question that gave it; ask again without --cursor"),
        ),
        other => Failure::of(Diagnostic::new(Kind::Usage, Code::new(other.code()), other.to_string())),
    }
}

/// There is no run of that id.
pub fn no_run(archive: Option<&Archive>, run: &str) -> Failure {
    let shown = text::one_line(run, 80);
    let mut diagnostic =
        Diagnostic::new(Kind::Usage, Code::new("not_found"), format!("no run {shown:?} is recorded"));
    let like = archive.and_then(|it| it.views().like(run).ok()).unwrap_or_default();
    if !like.is_empty() {
        diagnostic = diagnostic.hint(format!("did you mean {}?", like.join(", ")));
    }
    Failure::of(diagnostic.hint("`mono-agent runs list` shows them; old ones are removed by retention"))
}

/// What to tell where a view of one run was not made.
pub fn run_failed(archive: &Archive, run: &str, error: HistoryError) -> Failure {
    match error {
        HistoryError::NotFound => no_run(Some(archive), run),
        other => not_shown(other),
    }
}

/// A conversation as it was typed.
pub fn conversation(id: &str) -> Result<ConversationId, Failure> {
    ConversationId::parse(id)
        .map_err(|error| Failure::usage(format!("{:?}: {error}", text::one_line(id, 80))))
}
