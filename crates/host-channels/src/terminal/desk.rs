//! The operator's desk on the terminal: the person plays the model (ENG-5).

use super::lines::{LineRead, Lines};
use host_ports::BoxFuture;
use host_ports::model::{Message, ModelRequest, ToolCall};
use host_ports::operator::{OperatorDesk, OperatorMove};
use host_vocab::{blocks_text, text};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How much of a result is shown, in characters.
const SHOWN_RESULT_CHARS_MAX: usize = 4_000;

const HELP: &str = "\
You are the model. Type an answer, or one of:
  /call NAME {\"argument\": \"value\"}   call a tool (the arguments are JSON; none = {})
  /NAME {…}                           the same, shorter
  /tools                              what you may call
  /schema NAME                        the arguments of a tool
  /leave                              give up this turn
";

/// Shows the newest results and reads moves.
pub struct TerminalDesk {
    lines: Arc<Lines>,
    calls: AtomicU64,
}

impl TerminalDesk {
    /// A desk that reads from these lines.
    pub fn new(lines: Arc<Lines>) -> Self {
        TerminalDesk { lines, calls: AtomicU64::new(0) }
    }

    fn call(&self, name: &str, arguments: &str) -> OperatorMove {
        let id = format!("op{}", self.calls.fetch_add(1, Ordering::Relaxed));
        let arguments = if arguments.is_empty() { "{}" } else { arguments };
        OperatorMove::Call(vec![ToolCall {
            id,
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            raw: None,
        }])
    }
}

impl OperatorDesk for TerminalDesk {
    fn next_move(&self, request: &ModelRequest) -> BoxFuture<'_, OperatorMove> {
        let shown = newest(request);
        let request = request.clone();
        Box::pin(async move {
            eprint!("{shown}");
            loop {
                let line = match self.lines.read("model> ").await {
                    LineRead::Line(line) => line,
                    LineRead::Interrupted | LineRead::End => return OperatorMove::Leave,
                };
                match understand(&line, &request) {
                    Understood::Say(text) => return OperatorMove::Say(text),
                    Understood::Call(name, arguments) => return self.call(&name, &arguments),
                    Understood::Leave => return OperatorMove::Leave,
                    Understood::Show(text) => eprint!("{text}"),
                }
            }
        })
    }
}

#[derive(Debug, PartialEq)]
enum Understood {
    Say(String),
    Call(String, String),
    Show(String),
    Leave,
}

fn understand(line: &str, request: &ModelRequest) -> Understood {
    let Some(command) = line.trim().strip_prefix('/') else {
        return if line.trim().is_empty() {
            Understood::Show(HELP.to_owned())
        } else {
            Understood::Say(line.to_owned())
        };
    };
    let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let rest = rest.trim();
    match word {
        "leave" | "quit" => Understood::Leave,
        "tools" => Understood::Show(tools(request)),
        "schema" => Understood::Show(schema(request, rest)),
        "call" => match rest.split_once(char::is_whitespace) {
            Some((name, arguments)) => Understood::Call(name.to_owned(), arguments.trim().to_owned()),
            None if rest.is_empty() => Understood::Show(HELP.to_owned()),
            None => Understood::Call(rest.to_owned(), String::new()),
        },
        name if request.tools.iter().any(|tool| tool.name == name) => {
            Understood::Call(name.to_owned(), rest.to_owned())
        }
        _ => Understood::Show(HELP.to_owned()),
    }
}

fn tools(request: &ModelRequest) -> String {
    if request.tools.is_empty() {
        return "(no tools in this run)\n".to_owned();
    }
    let line = |name: &str, about: &str| format!("  {name:<20} {}\n", text::one_line(about, 90));
    request.tools.iter().map(|tool| line(&tool.name, &tool.description)).collect()
}

fn schema(request: &ModelRequest, name: &str) -> String {
    match request.tools.iter().find(|tool| tool.name == name) {
        Some(tool) => format!("{}\n", serde_json::to_string_pretty(&tool.input_schema).unwrap_or_default()),
        None => format!("there is no tool named {name}; /tools lists them\n"),
    }
}

/// What came in since the last move: the results of calls, or what was said.
fn newest(request: &ModelRequest) -> String {
    match request.messages.last() {
        Some(Message::ToolResults { results }) => results
            .iter()
            .map(|result| {
                let word = if result.is_error { "failed" } else { "answered" };
                let body: String = text::printable(&blocks_text(&result.content))
                    .chars()
                    .take(SHOWN_RESULT_CHARS_MAX)
                    .collect();
                format!("{} {word}:\n{body}\n", result.name)
            })
            .collect(),
        Some(Message::User { .. }) => {
            "(you play the model now; an empty line shows what you can do)\n".to_owned()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_ports::model::ToolSpec;
    use serde_json::json;

    fn request() -> ModelRequest {
        ModelRequest {
            system: String::new(),
            messages: Vec::new(),
            tools: Arc::from([ToolSpec {
                name: "Read".into(),
                description: "Reads.".into(),
                input_schema: Arc::new(json!({"type": "object"})),
            }]),
            effort: None,
            output_tokens_max: None,
            cache_key: None,
        }
    }

    // ENG-5
    #[test]
    fn moves() {
        let it = request();
        assert_eq!(understand("hello /x", &it), Understood::Say("hello /x".into()));
        let read = |arguments: &str| Understood::Call("Read".into(), arguments.into());
        assert_eq!(understand("/call Read {\"a\": 1}", &it), read("{\"a\": 1}"));
        assert_eq!(understand("/Read {\"a\": 1}", &it), read("{\"a\": 1}"));
        assert_eq!(understand("/Read", &it), read(""));
        // a tool that isn't offered can be tried, and the gate answers
        assert_eq!(understand("/call Write {}", &it), Understood::Call("Write".into(), "{}".into()));
        assert_eq!(understand("/leave", &it), Understood::Leave);
        assert!(matches!(understand("/Write {}", &it), Understood::Show(_)));
        assert!(matches!(understand("", &it), Understood::Show(_)));
        let Understood::Show(list) = understand("/tools", &it) else { panic!("a list") };
        assert!(list.contains("Read") && list.contains("Reads."));
    }
}
