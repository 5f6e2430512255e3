//! A run on the terminal: the answer goes to standard output, everything else to standard error.

use host_run::RunEvent;
use host_vocab::text;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Whether colour may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Escape codes for dim and bold text.
    Colour,
    /// Plain text.
    Plain,
}

/// What to write where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A piece of the answer, for standard output.
    Answer(String),
    /// A line about what goes on, for standard error, with its line feed.
    Activity(String),
}

/// Turns events into pieces. It remembers the names of calls and whether the answer stands at the start
/// of a line.
#[derive(Debug)]
pub struct Renderer {
    style: Style,
    names: HashMap<String, String>,
    noticed: HashSet<String>,
    mid_line: bool,
}

impl Renderer {
    /// A renderer in this style.
    pub fn new(style: Style) -> Self {
        Renderer { style, names: HashMap::new(), noticed: HashSet::new(), mid_line: false }
    }

    /// The pieces of one event.
    pub fn pieces(&mut self, event: &RunEvent) -> Vec<Piece> {
        match event {
            RunEvent::TextDelta { text } => {
                let shown = text::printable(text);
                self.mid_line = !shown.ends_with('\n');
                vec![Piece::Answer(shown)]
            }
            RunEvent::CallStarted { id, name, arguments } => {
                self.names.insert(id.clone(), name.clone());
                self.activity(&format!("→ {} {}", text::one_line(name, 64), arguments_line(arguments)))
            }
            RunEvent::CallProgress { message, .. } => {
                self.activity(&format!("  {}", text::one_line(message, 100)))
            }
            RunEvent::CallSettled { id, settled, code, duration_ms, preview, .. } => {
                let name = self.names.remove(id).unwrap_or_default();
                let first = text::one_line(preview.lines().next().unwrap_or_default(), 100);
                let line = match settled.as_str() {
                    "done" => format!("✓ {name} {duration_ms} ms"),
                    other => format!("✗ {name} {other} ({code}): {first}"),
                };
                self.activity(&line)
            }
            RunEvent::Status { message, state, .. } => {
                self.activity(&format!("  {} ({state})", text::one_line(message, 100)))
            }
            RunEvent::Notice { text } => self.notice(text),
            RunEvent::Warning { message, .. } => {
                self.activity(&format!("warning: {}", text::one_line(message, 300)))
            }
            RunEvent::Retry { model, wait_ms, failure_kind, .. } => {
                self.activity(&format!("{model}: {failure_kind}; trying again in {wait_ms} ms"))
            }
            RunEvent::Failover { from, to, failure_kind } => {
                self.activity(&format!("{from}: {failure_kind}; going on with {to}"))
            }
            RunEvent::Compaction { applied: true, tokens_before, tokens_after, .. } => self.activity(
                &format!("the prompt was shortened from about {tokens_before} to {tokens_after} tokens"),
            ),
            RunEvent::Lagged { missed } => {
                self.activity(&format!("({missed} lines of activity were left out)"))
            }
            RunEvent::RunSettled { .. } => self.end(event),
            _ => Vec::new(),
        }
    }

    fn end(&mut self, event: &RunEvent) -> Vec<Piece> {
        let RunEvent::RunSettled { status, failure_kind, error, partial, notices, .. } = event else {
            return Vec::new();
        };
        let mut pieces = Vec::new();
        if self.mid_line {
            self.mid_line = false;
            pieces.push(Piece::Answer("\n".to_owned()));
        }
        if *partial {
            pieces.extend(self.activity("(the answer above is only a part)"));
        }
        for notice in notices {
            pieces.extend(self.notice(notice));
        }
        if status != "succeeded" {
            let kind = failure_kind.as_deref().map(|kind| format!(" ({kind})")).unwrap_or_default();
            let why =
                error.as_deref().map(|error| format!(": {}", text::one_line(error, 600))).unwrap_or_default();
            pieces.extend(self.activity(&format!("the run {status}{kind}{why}")));
        }
        pieces
    }

    /// The end of a run repeats what was said on the way; people read it once.
    fn notice(&mut self, notice: &str) -> Vec<Piece> {
        if !self.noticed.insert(notice.to_owned()) {
            return Vec::new();
        }
        self.activity(&format!("note: {}", text::one_line(notice, 300)))
    }

    fn activity(&mut self, line: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        if self.mid_line {
            self.mid_line = false;
            pieces.push(Piece::Answer("\n".to_owned()));
        }
        pieces.push(Piece::Activity(match self.style {
            Style::Colour => format!("\u{1b}[2m{line}\u{1b}[0m\n"),
            Style::Plain => format!("{line}\n"),
        }));
        pieces
    }
}

/// Arguments on one line, short values alone.
fn arguments_line(arguments: &Value) -> String {
    let Value::Object(map) = arguments else { return text::one_line(&arguments.to_string(), 80) };
    let shown: Vec<String> = map
        .iter()
        .map(|(key, value)| {
            let value = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            format!("{}={}", text::one_line(key, 30), text::one_line(&value, 60))
        })
        .collect();
    text::one_line(&shown.join(" "), 160)
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_turn::Usage;
    use host_vocab::RunId;
    use serde_json::json;

    fn play(events: &[RunEvent]) -> String {
        let mut renderer = Renderer::new(Style::Plain);
        let mut out = String::new();
        for piece in events.iter().flat_map(|event| renderer.pieces(event)) {
            match piece {
                Piece::Answer(text) => out.push_str(&text),
                Piece::Activity(line) => out.push_str(&format!("| {line}")),
            }
        }
        out
    }

    #[test]
    fn a_run_with_a_call() {
        let run = RunId::parse("r1").unwrap();
        let shown = play(&[
            RunEvent::TextDelta { text: "Let me look.".into() },
            RunEvent::CallStarted {
                id: "c".into(),
                name: "Read".into(),
                arguments: json!({"file_path": "a\nb"}),
            },
            RunEvent::CallSettled {
                id: "c".into(),
                settled: "refused".into(),
                code: "tool_denied".into(),
                duration_ms: 0,
                preview: "not in this run\u{1b}[2J".into(),
                rule: None,
                result_bytes: None,
            },
            RunEvent::TextDelta { text: "No".into() },
            RunEvent::TextDelta { text: "pe\u{1b}[31m.".into() },
            RunEvent::RunSettled {
                run,
                status: "failed".into(),
                failure_kind: Some("timeout".into()),
                error: Some("too slow".into()),
                text: "Nope.".into(),
                partial: true,
                usage: Usage::default(),
                duration_ms: 5,
                notices: vec!["a fall-back answered".into()],
            },
        ]);
        insta::assert_snapshot!(shown, @r"
        Let me look.
        | → Read file_path=a b
        | ✗ Read refused (tool_denied): not in this run�[2J
        Nope�[31m.
        | (the answer above is only a part)
        | note: a fall-back answered
        | the run failed (timeout): too slow
        ");
    }
}
