//! What a server asks in the middle of a call, on the terminal: a form by the line, or an address (MCP-14).

use super::lines::{LineRead, Lines};
use crate::form::{Field, Form, filled};
use host_ports::BoxFuture;
use host_ports::elicit::{Elicit, ElicitAnswer, ElicitRequest, Wanted};
use host_vocab::text;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// How often a field is asked again.
const TRIES_MAX: usize = 5;
/// How much of the server's words is shown, in characters.
const MESSAGE_CHARS_MAX: usize = 2_000;

/// Asks on the terminal. Nobody at a terminal = declined; no answer in time = cancelled.
pub struct TerminalElicit {
    lines: Arc<Lines>,
    timeout: Duration,
}

impl TerminalElicit {
    /// Asks through these lines, and waits this long for the whole.
    pub fn new(lines: Arc<Lines>, timeout: Duration) -> Self {
        TerminalElicit { lines, timeout }
    }
}

impl Elicit for TerminalElicit {
    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitAnswer> {
        Box::pin(async move {
            if !self.lines.interactive() {
                return ElicitAnswer::Declined;
            }
            let asking = ask(&self.lines, &request);
            match tokio::time::timeout(self.timeout, asking).await {
                Ok(answer) => answer,
                Err(_) => {
                    eprintln!("\n(no answer in time: the server is told that you cancelled)");
                    ElicitAnswer::Cancelled
                }
            }
        })
    }
}

async fn ask(lines: &Lines, request: &ElicitRequest) -> ElicitAnswer {
    eprint!("{}", head(request));
    match request.wanted.for_renderer() {
        Wanted::Visit(url) => visit(lines, url).await,
        Wanted::Form(schema) => match Form::read(schema) {
            Some(form) => fill(lines, &form).await,
            None => {
                eprintln!("(its form can't be shown here: declined)");
                ElicitAnswer::Declined
            }
        },
    }
}

/// Who asks, and the server's words: bounded, and set apart from ours.
fn head(request: &ElicitRequest) -> String {
    let said: String =
        text::printable(request.message.for_renderer()).chars().take(MESSAGE_CHARS_MAX).collect();
    format!("\nThe MCP server {} asks:\n  | {}\n", request.server, said.replace('\n', "\n  | "))
}

/// An address is shown whole and opened by nobody but the person.
async fn visit(lines: &Lines, url: &url::Url) -> ElicitAnswer {
    eprint!("{}", address(url));
    match lines.read("Will you go there? [y]es, [n]o: ").await {
        LineRead::Line(line) if is_yes(&line) => ElicitAnswer::Accepted(Value::Null),
        LineRead::Line(_) => ElicitAnswer::Declined,
        LineRead::Interrupted | LineRead::End => ElicitAnswer::Cancelled,
    }
}

fn address(url: &url::Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let mut out =
        format!("It wants you to open this address yourself, in a browser:\n  {url}\n  host: {host}\n");
    if host.split('.').any(|label| label.starts_with("xn--")) {
        out += "  note: the host's name has letters that can look like others\n";
    }
    if url.scheme() == "http" {
        out += "  note: the connection is not encrypted\n";
    }
    out
}

async fn fill(lines: &Lines, form: &Form) -> ElicitAnswer {
    eprintln!("Fill in, or /no to decline. The server sees what you send; give it no password.");
    let mut values = Vec::new();
    for field in &form.fields {
        match field_value(lines, field).await {
            Ok(value) => values.push((field.name.clone(), value)),
            Err(end) => return end,
        }
    }
    let content = filled(values);
    let shown = serde_json::to_string_pretty(&content).unwrap_or_default();
    eprintln!("To be sent:\n  {}", text::printable(&shown).replace('\n', "\n  "));
    match lines.read("Send it? [y]es, [n]o: ").await {
        LineRead::Line(line) if is_yes(&line) => ElicitAnswer::Accepted(content),
        LineRead::Line(_) => ElicitAnswer::Declined,
        LineRead::Interrupted | LineRead::End => ElicitAnswer::Cancelled,
    }
}

async fn field_value(lines: &Lines, field: &Field) -> Result<Option<Value>, ElicitAnswer> {
    eprint!("{}", about(field));
    let prompt = format!("{} ({}): ", field.title, field.takes());
    for _ in 0..TRIES_MAX {
        match lines.read(&prompt).await {
            LineRead::Line(line) if matches!(line.trim(), "/no" | "/decline") => {
                return Err(ElicitAnswer::Declined);
            }
            LineRead::Line(line) => match field.understand(&line) {
                Ok(value) => return Ok(value),
                Err(why) => eprintln!("  {why}"),
            },
            LineRead::Interrupted | LineRead::End => return Err(ElicitAnswer::Cancelled),
        }
    }
    Err(ElicitAnswer::Cancelled)
}

fn about(field: &Field) -> String {
    let mut out = String::new();
    if !field.about.is_empty() {
        out += &format!("  {}\n", field.about);
    }
    for (index, choice) in field.kind.choices().iter().enumerate() {
        out += &format!("  {}. {}\n", index + 1, choice.title);
    }
    out
}

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_vocab::{CallId, ConversationId, RunId, ServerName, Untrusted};
    use serde_json::json;

    fn request(wanted: Wanted) -> ElicitRequest {
        ElicitRequest {
            conversation: ConversationId::parse("terminal:x").unwrap(),
            run: RunId::fresh(),
            call: CallId::fresh(),
            server: ServerName::parse("shop").unwrap(),
            message: Untrusted::new("Who\u{1b}[2J are\nyou?".to_owned()),
            wanted: Untrusted::new(wanted),
        }
    }

    fn lines(typed: &str) -> Lines {
        Lines::of_reader(std::io::Cursor::new(typed.as_bytes().to_vec()))
    }

    fn form() -> Wanted {
        Wanted::Form(json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"}, "size": {"type": "integer", "default": 3}}}))
    }

    // MCP-14
    #[tokio::test]
    async fn a_form_is_filled_in_by_the_line() {
        let it = request(form());
        let sent = json!({"name": "Ada", "size": 3});
        assert_eq!(ask(&lines("\nAda\nbig\n\ny\n"), &it).await, ElicitAnswer::Accepted(sent));
        for (typed, answer) in [
            ("Ada\n\nn\n", ElicitAnswer::Declined),
            ("/no\n", ElicitAnswer::Declined),
            ("Ada\n", ElicitAnswer::Cancelled),
            ("\n\n\n\n\n\n", ElicitAnswer::Cancelled),
        ] {
            assert_eq!(ask(&lines(typed), &it).await, answer, "{typed:?}");
        }
    }

    // MCP-14
    #[tokio::test]
    async fn an_address_is_shown_whole_and_wants_a_clear_yes() {
        let url = url::Url::parse("http://ex\u{e4}mple.com/a?b=c").unwrap();
        let shown = address(&url);
        assert!(
            shown.contains("http://xn--exmple-cua.com/a?b=c") && shown.contains("look like others"),
            "{shown}"
        );
        assert!(shown.contains("not encrypted"));
        let it = request(Wanted::Visit(url));
        assert_eq!(ask(&lines("yes\n"), &it).await, ElicitAnswer::Accepted(Value::Null));
        assert_eq!(ask(&lines("\n"), &it).await, ElicitAnswer::Declined);
        assert_eq!(ask(&lines(""), &it).await, ElicitAnswer::Cancelled);
    }

    // MCP-14: a pipe is nobody to ask.
    #[tokio::test]
    async fn a_pipe_declines() {
        let elicit = TerminalElicit::new(Arc::new(lines("y\ny\n")), Duration::from_secs(5));
        assert_eq!(elicit.elicit(request(form())).await, ElicitAnswer::Declined);
    }

    #[test]
    fn a_servers_words_cannot_rewrite_the_screen() {
        let shown = head(&request(form()));
        assert!(
            !shown.contains('\u{1b}') && shown.contains("\n  | you?") && shown.contains("shop"),
            "{shown}"
        );
    }
}
