//! Searches the contents of files, with ripgrep's own crates and no other program.
//!
//! `{"pattern":"fn main","type":"rust","output_mode":"content"}`

mod found;
mod scan;

use crate::file_access::{SEARCH_CODES, blocking, counted, failed};
use crate::search::{self, CHARS_DEFAULT, EXCLUDED, SEARCH_MS_MAX};
use found::{Collected, FileHits, LINES_MAX, render};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use host_ports::CancellationToken;
use host_ports::files::{Files, Visit};
use host_surface::{Admitted, Belongs, Decl, Tool, ToolError, ToolOutput};
use host_vocab::{Effect, text};
use ignore::types::{Types, TypesBuilder};
use scan::Scanner;
use schemars::JsonSchema;
use serde::Deserialize;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The tool.
pub struct GrepTool {
    files: Arc<dyn Files>,
}

impl GrepTool {
    /// Over the agent's files.
    pub fn new(files: Arc<dyn Files>) -> Self {
        GrepTool { files }
    }
}

/// What to search for.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrepInput {
    /// Regular expression (Rust syntax).
    pattern: String,
    /// Folder or file; default: the workspace.
    path: Option<String>,
    /// Only files whose path matches, such as `*.rs`; a leading ! leaves them out.
    glob: Option<String>,
    /// Only files of a type, such as rust, py, ts.
    #[serde(rename = "type")]
    file_type: Option<String>,
    /// Default: files_with_matches.
    output_mode: Option<OutputMode>,
    /// Lines around each match (content).
    #[schemars(range(min = 0, max = 20))]
    context: Option<usize>,
    case_insensitive: Option<bool>,
    /// Let matches span lines; dot matches line ends.
    multiline: Option<bool>,
    /// Most lines of output; default 100.
    #[schemars(range(min = 1, max = 1000))]
    head_limit: Option<usize>,
    /// Lines of output to skip.
    offset: Option<usize>,
    /// Same as head_limit.
    #[schemars(range(min = 1, max = 1000))]
    max_matches: Option<usize>,
    /// Default 16000.
    #[schemars(range(min = 200, max = 262144))]
    max_output_chars: Option<usize>,
}

/// What is told of each file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputMode {
    #[allow(missing_docs, reason = "a doc would be one more text for the model")]
    FilesWithMatches,
    #[allow(missing_docs, reason = "a doc would be one more text for the model")]
    Content,
    #[allow(missing_docs, reason = "a doc would be one more text for the model")]
    Count,
}

impl Tool for GrepTool {
    const DECL: Decl = Decl {
        name: "Grep",
        about: "Search file contents by regular expression. Hidden files are searched; binary files and what \
                .gitignore names are not.",
        effects: &[Effect::ReadsWorkspace],
        belongs: Belongs::Lists,
        codes: SEARCH_CODES,
    };
    type Input = GrepInput;

    async fn run(&self, call: Admitted<GrepInput>) -> Result<ToolOutput, ToolError> {
        let files = Arc::clone(&self.files);
        blocking(move || grep(files.as_ref(), &call.input, &call.context.cancel)).await
    }
}

fn grep(files: &dyn Files, input: &GrepInput, cancel: &CancellationToken) -> Result<ToolOutput, ToolError> {
    let multiline = input.multiline.unwrap_or(false);
    let mode = input.output_mode.unwrap_or(OutputMode::FilesWithMatches);
    let context = input.context.unwrap_or(0);
    if context > 0 && mode != OutputMode::Content {
        return Err(ToolError::new("invalid_range", "`context` needs output_mode \"content\""));
    }
    let limit = search::limit(input.head_limit, input.max_matches)?;
    let matcher = matcher(&input.pattern, input.case_insensitive.unwrap_or(false), multiline)?;
    let filter = PathFilter::new(input.glob.as_deref(), input.file_type.as_deref())?;
    let until = Instant::now() + Duration::from_millis(SEARCH_MS_MAX);
    let collected = Collected::default();
    let visitor = || -> Visit<'_> {
        let mut scanner = Scanner::new(&matcher, mode, context, multiline);
        let (filter, collected) = (&filter, &collected);
        Box::new(move |found| {
            if Instant::now() > until {
                return ControlFlow::Break(());
            }
            if !filter.takes(found.path) {
                return ControlFlow::Continue(());
            }
            let Ok(file) = found.file.open() else { return ControlFlow::Continue(()) };
            match scanner.scan(&file) {
                Some((lines, count)) => collected.add(FileHits { path: found.path.to_vec(), lines, count }),
                None => ControlFlow::Continue(()),
            }
        })
    };
    let spec = search::everywhere(input.path.as_deref());
    let walked = files.walk(&spec, cancel, &visitor).map_err(failed)?;
    let shown_path = |below: &[u8]| {
        if walked.one_file { walked.shown.clone() } else { search::joined(&walked.shown, below) }
    };
    let hits = collected.in_order();
    let lines = render(&hits, mode, context > 0, shown_path);
    let total = lines.len();
    let offset = input.offset.unwrap_or(0);
    let mut out = String::new();
    let shown = search::fill(
        &mut out,
        lines.into_iter().skip(offset).take(limit),
        input.max_output_chars.unwrap_or(CHARS_DEFAULT),
    );
    let next = offset + shown;
    if total == 0 {
        out.push_str("No matches found.\n");
        let _ =
            writeln!(out, "[not searched: {}, and what .gitignore and .ignore name]", EXCLUDED.join(", "));
    } else if offset >= total {
        let _ = writeln!(out, "[{} in all; offset {offset} is past the end]", counted(total, "line"));
    } else if next < total {
        let _ =
            writeln!(out, "[{}–{next} of {} shown; next: offset {next}]", offset + 1, counted(total, "line"));
    }
    if walked.stopped {
        let _ = writeln!(
            out,
            "[the search was stopped after {} s or {LINES_MAX} lines and is not complete; narrow the pattern or \
             `path`]",
            SEARCH_MS_MAX / 1_000
        );
    } else if walked.bounded {
        out.push_str("[some folders are too deep or too many and were left out; narrow `path`]\n");
    }
    out.truncate(out.trim_end_matches('\n').len());
    Ok(ToolOutput::text(out))
}

fn matcher(pattern: &str, case_insensitive: bool, multiline: bool) -> Result<RegexMatcher, ToolError> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(case_insensitive).multi_line(true).dot_matches_new_line(multiline);
    if !multiline {
        builder.line_terminator(Some(b'\n')).crlf(true);
    }
    builder.build(pattern).map_err(|err| {
        let hint = if !multiline && pattern.contains("\\n") {
            " (for a match over lines, set multiline)"
        } else {
            ""
        };
        let why = err.to_string();
        let why = text::prefix(&why, 800);
        ToolError::new("invalid_pattern", format!("the pattern is no valid regular expression{hint}: {why}"))
    })
}

/// Which files are opened at all.
struct PathFilter {
    glob: Option<(globset::GlobMatcher, bool)>,
    types: Option<Types>,
}

impl PathFilter {
    fn new(glob: Option<&str>, file_type: Option<&str>) -> Result<Self, ToolError> {
        let glob = match glob {
            None => None,
            Some(pattern) => match pattern.strip_prefix('!') {
                Some(inverted) => Some((search::glob(inverted)?, false)),
                None => Some((search::glob(pattern)?, true)),
            },
        };
        let types = match file_type {
            None => None,
            Some(name) => {
                let mut builder = TypesBuilder::new();
                builder.add_defaults().select(name);
                let unknown = || {
                    let shown = text::one_line(name, 40);
                    let why = format!(
                        "{shown}: no such file type; known are rust, py, js, ts, go, java, c, cpp, md, json, yaml, toml … or use `glob`"
                    );
                    ToolError::new("invalid_pattern", why)
                };
                Some(builder.build().map_err(|_| unknown())?)
            }
        };
        Ok(PathFilter { glob, types })
    }

    fn takes(&self, path: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(path));
        let by_glob = self.glob.as_ref().is_none_or(|(glob, wanted)| glob.is_match(path) == *wanted);
        by_glob && self.types.as_ref().is_none_or(|types| !types.matched(path, false).is_ignore())
    }
}
