//! Finds files by the pattern of their path.
//!
//! `{"pattern":"src/**/*.rs"}`

use crate::file_access::{SEARCH_CODES, blocking, counted, failed};
use crate::search::{self, CHARS_DEFAULT, EXCLUDED, SEARCH_MS_MAX};
use host_ports::CancellationToken;
use host_ports::files::{FileError, Files, Visit};
use host_surface::{Admitted, Belongs, Decl, Tool, ToolError, ToolOutput};
use host_vocab::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// The most paths that are kept to be put in order.
const FOUND_MAX: usize = 500_000;

/// The tool.
pub struct GlobTool {
    files: Arc<dyn Files>,
}

impl GlobTool {
    /// Over the agent's files.
    pub fn new(files: Arc<dyn Files>) -> Self {
        GlobTool { files }
    }
}

/// What to find.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GlobInput {
    /// Such as `**/*.rs` or `src/*.{ts,tsx}`; without a slash it holds at any depth.
    pattern: String,
    /// Folder to look in; default: the workspace.
    path: Option<String>,
    /// Most paths; default 100.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
    /// Paths to skip.
    offset: Option<usize>,
    /// Same as limit.
    #[schemars(range(min = 1, max = 1000))]
    max_matches: Option<usize>,
    /// Most characters; default 16000.
    #[schemars(range(min = 200, max = 262144))]
    max_output_chars: Option<usize>,
}

impl Tool for GlobTool {
    const DECL: Decl = Decl {
        name: "Glob",
        about: "Find files by path pattern, newest first. Hidden files are included; what .gitignore names is not.",
        effects: &[Effect::ReadsWorkspace],
        belongs: Belongs::Lists,
        codes: SEARCH_CODES,
    };
    type Input = GlobInput;

    async fn run(&self, call: Admitted<GlobInput>) -> Result<ToolOutput, ToolError> {
        let files = Arc::clone(&self.files);
        blocking(move || find(files.as_ref(), &call.input, &call.context.cancel)).await
    }
}

fn find(files: &dyn Files, input: &GlobInput, cancel: &CancellationToken) -> Result<ToolOutput, ToolError> {
    let matcher = search::glob(&input.pattern)?;
    let limit = search::limit(input.limit, input.max_matches)?;
    let until = Instant::now() + Duration::from_millis(SEARCH_MS_MAX);
    let found: Mutex<Vec<(SystemTime, Vec<u8>)>> = Mutex::default();
    let count = AtomicUsize::new(0);
    let visitor = || -> Visit<'_> {
        let mut own = OnDrop { own: Vec::new(), all: &found };
        let (matcher, count) = (&matcher, &count);
        Box::new(move |file| {
            if Instant::now() > until {
                return ControlFlow::Break(());
            }
            if matcher.is_match(Path::new(OsStr::from_bytes(file.path)))
                && let Ok(modified) = file.file.modified()
            {
                if count.fetch_add(1, Ordering::Relaxed) >= FOUND_MAX {
                    return ControlFlow::Break(());
                }
                own.own.push((modified, file.path.to_vec()));
            }
            ControlFlow::Continue(())
        })
    };
    let spec = search::everywhere(input.path.as_deref());
    let walked = files.walk(&spec, cancel, &visitor).map_err(failed)?;
    if walked.one_file {
        return Err(failed(FileError::NotFolder { shown: walked.shown }));
    }
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let total = found.len();
    let offset = input.offset.unwrap_or(0);
    let mut out = String::new();
    let paths = found.iter().skip(offset).take(limit).map(|(_, path)| search::joined(&walked.shown, path));
    let shown = search::fill(&mut out, paths, input.max_output_chars.unwrap_or(CHARS_DEFAULT));
    if total == 0 {
        out.push_str("No files found.\n");
    } else if offset >= total {
        let _ = writeln!(out, "[{} in all; offset {offset} is past the end]", counted(total, "file"));
    } else if shown < total {
        let next = offset + shown;
        let more = if next < total { format!("; next: offset {next}") } else { String::new() };
        let _ = writeln!(out, "[{}–{next} of {} shown{more}]", offset + 1, counted(total, "file"));
    }
    if walked.stopped {
        out.push_str(
            "[the search was stopped by its bound of time or number; narrow the pattern or `path`]\n",
        );
    } else if walked.bounded {
        out.push_str("[some folders are too deep or too many and were left out; narrow `path`]\n");
    }
    let _ = write!(out, "[not searched: {}, and what .gitignore and .ignore name]", EXCLUDED.join(", "));
    Ok(ToolOutput::text(out))
}

/// One thread's results, which join the others when the thread is done.
struct OnDrop<'a> {
    own: Vec<(SystemTime, Vec<u8>)>,
    all: &'a Mutex<Vec<(SystemTime, Vec<u8>)>>,
}

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.own);
    }
}
