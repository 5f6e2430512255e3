//! Approvals by a line: `y`, `n` or `a` (always).

use super::lines::{LineRead, Lines, interrupt_turn};
use host_ports::BoxFuture;
use host_ports::ask::{ApprovalAnswer, ApprovalRequest, Ask, Questionnaire, QuestionsAnswer};
use host_ports::replies::Shows;
use host_vocab::text;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

/// How much of the arguments is shown, in characters.
const SHOWN_ARGUMENT_CHARS_MAX: usize = 2_000;

/// How long a turn has to take notice of Ctrl-C before the answer is a plain no.
const INTERRUPT_GRACE: Duration = Duration::from_secs(5);

/// Asks on the terminal. Nobody at a terminal = nobody to ask; no answer in time, an empty line or the end
/// of the input = no (TOO-9).
pub struct TerminalAsk {
    lines: Arc<Lines>,
    timeout: Duration,
}

impl TerminalAsk {
    /// Asks through these lines, and waits this long.
    pub fn new(lines: Arc<Lines>, timeout: Duration) -> Self {
        TerminalAsk { lines, timeout }
    }
}

impl Ask for TerminalAsk {
    fn shows(&self) -> Shows {
        Shows { questions: self.lines.interactive(), ..Shows::default() }
    }

    fn questions(&self, asked: Questionnaire) -> BoxFuture<'_, QuestionsAnswer> {
        Box::pin(async move {
            if !self.lines.interactive() {
                return QuestionsAnswer::NobodyToAsk;
            }
            super::questions::ask(&self.lines, &asked).await
        })
    }

    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move {
            if !self.lines.interactive() {
                return ApprovalAnswer::NoAsker;
            }
            eprint!("{}", question(&request));
            let _ = std::io::stderr().flush();
            let prompt = match &request.always {
                Some(_) => "Allow it? [y]es, [a]lways, [n]o: ",
                None => "Allow it? [y]es, [n]o: ",
            };
            match tokio::time::timeout(self.timeout, self.lines.read_fresh(prompt)).await {
                Err(_) => {
                    eprintln!("\n(no answer in time: denied)");
                    ApprovalAnswer::TimedOut
                }
                Ok(LineRead::Line(line)) => match answer(&line) {
                    ApprovalAnswer::ApprovedAlways if request.always.is_none() => ApprovalAnswer::Denied,
                    answered => answered,
                },
                Ok(LineRead::Interrupted) => {
                    interrupted().await;
                    ApprovalAnswer::Denied
                }
                Ok(LineRead::End) => ApprovalAnswer::Denied,
            }
        })
    }
}

/// Ctrl-C at the question is meant for the whole turn, whose own listener is told; the question is withdrawn
/// while this waits.
async fn interrupted() {
    interrupt_turn();
    tokio::time::sleep(INTERRUPT_GRACE).await;
}

/// The question as a person reads it: bounded, and without characters that could rewrite the screen.
fn question(request: &ApprovalRequest) -> String {
    let arguments = serde_json::to_string_pretty(request.arguments.for_renderer()).unwrap_or_default();
    let shown: String = text::printable(&arguments).chars().take(SHOWN_ARGUMENT_CHARS_MAX).collect();
    let cut = if shown.chars().count() < arguments.chars().count() { "\n  [… cut]" } else { "" };
    let indented = shown.replace('\n', "\n  ");
    let always = match &request.always {
        Some(rule) => format!("  (always = {})\n", text::one_line(rule, 500)),
        None => String::new(),
    };
    format!(
        "\nThe agent wants to call {} ({}):\n  {indented}{cut}\n{always}",
        request.tool,
        text::one_line(&request.rule, 120)
    )
}

/// Only a clear yes is one.
fn answer(line: &str) -> ApprovalAnswer {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => ApprovalAnswer::Approved,
        "a" | "always" => ApprovalAnswer::ApprovedAlways,
        _ => ApprovalAnswer::Denied,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_vocab::{CallId, ConversationId, RunId, ToolName, Untrusted};
    use serde_json::json;

    fn request(arguments: serde_json::Value) -> ApprovalRequest {
        ApprovalRequest {
            conversation: ConversationId::parse("terminal:x").unwrap(),
            run: RunId::fresh(),
            call: CallId::fresh(),
            tool: ToolName::parse("Bash").unwrap(),
            arguments: Untrusted::new(arguments),
            rule: "tools.approvals.rules[0]".into(),
            always: None,
        }
    }

    // TOO-9
    #[test]
    fn only_a_clear_yes_is_a_yes() {
        for yes in ["y", "Y", " yes "] {
            assert_eq!(answer(yes), ApprovalAnswer::Approved);
        }
        for no in ["", "n", "no", "yep", "y y", "ok", "\u{1b}[Ay"] {
            assert_eq!(answer(no), ApprovalAnswer::Denied, "{no:?}");
        }
    }

    // POL-7, TOO-9: nobody at the terminal is a no.
    #[tokio::test]
    async fn a_pipe_is_nobody_to_ask() {
        let lines = Arc::new(Lines::of_reader(std::io::Cursor::new(b"y\n".to_vec())));
        let ask = TerminalAsk::new(lines, Duration::from_secs(5));
        assert_eq!(ask.approve(request(json!({}))).await, ApprovalAnswer::NoAsker);
    }

    #[test]
    fn arguments_cannot_rewrite_the_question() {
        let shown = question(&request(json!({"command": "a\u{1b}[2Jb\u{202e}", "long": "x".repeat(9_000)})));
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'));
        assert!(shown.len() < 4_000 && shown.contains("[… cut]"));
    }
}
