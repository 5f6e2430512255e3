//! Reading lines from a person or a pipe.

use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{BufRead, IsTerminal, Write};
use std::sync::mpsc;
use tokio::sync::{Mutex, oneshot};

/// The longest line that is taken from a pipe, in bytes; the rest of it is dropped and said.
const LINE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What came of reading a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineRead {
    /// A line, without its line feed.
    Line(String),
    /// Ctrl-C at the prompt.
    Interrupted,
    /// The end of the input.
    End,
}

struct Wanted {
    prompt: String,
    /// Whether what was typed for a question that is over may stand in this prompt.
    takes_leftover: bool,
    answer: oneshot::Sender<LineRead>,
}

/// The one reader of standard input. It lives on a thread of its own, because reading a terminal blocks;
/// only one question waits at a time, the others queue.
pub struct Lines {
    wanted: Mutex<mpsc::Sender<Wanted>>,
    interactive: bool,
    /// How the terminal was set before its lines were edited.
    before: Option<Termios>,
}

impl Lines {
    /// Starts reading standard input: with line editing on a terminal, plainly from a pipe.
    pub fn of_stdin() -> Self {
        let interactive = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        let before = if interactive { tcgetattr(std::io::stdin()).ok() } else { None };
        let (wanted, requests) = mpsc::channel::<Wanted>();
        std::thread::spawn(move || {
            if interactive { edit_lines(&requests) } else { plain_lines(&requests, std::io::stdin().lock()) }
        });
        Lines { wanted: Mutex::new(wanted), interactive, before }
    }

    /// Reads from anything, without prompts; for tests and scripts.
    pub fn of_reader(reader: impl BufRead + Send + 'static) -> Self {
        let (wanted, requests) = mpsc::channel::<Wanted>();
        std::thread::spawn(move || plain_lines(&requests, reader));
        Lines { wanted: Mutex::new(wanted), interactive: false, before: None }
    }

    /// Whether a person sits there.
    pub fn interactive(&self) -> bool {
        self.interactive
    }

    /// Shows a prompt (on a terminal) and waits for a line. What was typed for a question that was over by
    /// then stands in the prompt, to be sent or changed.
    pub async fn read(&self, prompt: &str) -> LineRead {
        self.ask(prompt, true).await
    }

    /// The same for an answer that must be meant for this question.
    pub async fn read_fresh(&self, prompt: &str) -> LineRead {
        self.ask(prompt, false).await
    }

    async fn ask(&self, prompt: &str, takes_leftover: bool) -> LineRead {
        let (answer, line) = oneshot::channel();
        let wanted = self.wanted.lock().await;
        if wanted.send(Wanted { prompt: prompt.to_owned(), takes_leftover, answer }).is_err() {
            return LineRead::End;
        }
        line.await.unwrap_or(LineRead::End)
    }
}

/// A question may still be open when the chat ends; the terminal goes back to what it was.
impl Drop for Lines {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _best_effort = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// Passes Ctrl-C on to whoever listens for it: the editor takes it as a key, and it is meant for the turn.
pub(super) fn interrupt_turn() {
    let _best_effort = kill_process(getpid(), Signal::INT);
}

fn plain_lines(requests: &mpsc::Receiver<Wanted>, mut reader: impl BufRead) {
    for wanted in requests {
        let mut line = Vec::new();
        let read = std::io::Read::take(&mut reader, LINE_BYTES_MAX).read_until(b'\n', &mut line);
        let answer = match read {
            Ok(0) | Err(_) => LineRead::End,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                LineRead::Line(text.trim_end_matches(['\n', '\r']).to_owned())
            }
        };
        // Whoever asked may be gone (an approval that timed out); the line is theirs all the same.
        let _ = wanted.answer.send(answer);
    }
}

fn edit_lines(requests: &mpsc::Receiver<Wanted>) {
    let Ok(mut editor) = rustyline::DefaultEditor::new() else {
        return plain_lines(requests, std::io::stdin().lock());
    };
    let mut leftover = String::new();
    for wanted in requests {
        let _ = std::io::stdout().flush();
        let kept = if wanted.takes_leftover { std::mem::take(&mut leftover) } else { String::new() };
        let answer = match editor.readline_with_initial(&wanted.prompt, (&kept, "")) {
            Ok(line) => {
                let _ = editor.add_history_entry(line.as_str());
                LineRead::Line(line)
            }
            Err(rustyline::error::ReadlineError::Interrupted) => LineRead::Interrupted,
            Err(_) => LineRead::End,
        };
        match wanted.answer.send(answer) {
            Ok(()) => {}
            Err(LineRead::Line(line)) => leftover = line,
            // Nobody waits at this prompt any more, so Ctrl-C was meant for what is going on now.
            Err(LineRead::Interrupted) => interrupt_turn(),
            Err(LineRead::End) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_of_a_pipe_come_one_by_one() {
        let lines = Lines::of_reader(std::io::Cursor::new(b"one\r\n\xff two\nthree".to_vec()));
        assert_eq!(lines.read("> ").await, LineRead::Line("one".into()));
        assert_eq!(lines.read("> ").await, LineRead::Line("\u{fffd} two".into()));
        assert_eq!(lines.read("> ").await, LineRead::Line("three".into()));
        assert_eq!(lines.read("> ").await, LineRead::End);
        assert_eq!(lines.read("> ").await, LineRead::End);
    }
}
