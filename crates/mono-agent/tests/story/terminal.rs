//! A person at a terminal: `chat` on a pseudo-terminal that `script` makes.

use super::agent::{Agent, program};
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A shell line on a terminal, and what stands on its screen so far.
struct Screen {
    child: Child,
    shown: Arc<Mutex<String>>,
    read_to: usize,
}

impl Screen {
    fn of(agent: &Agent, line: &str) -> Self {
        let mut child = Command::new("script")
            .args(["-qefc", line, "/dev/null"])
            .current_dir(agent.path())
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let shown = Arc::new(Mutex::new(String::new()));
        let mut out = child.stdout.take().unwrap();
        let screen = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut bytes) {
                screen.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Screen { child, shown, read_to: 0 }
    }

    /// Waits until a text shows up behind what was waited for before.
    #[track_caller]
    fn shows(&mut self, text: &str) {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let shown = self.shown.lock().unwrap().clone();
            if let Some(at) = shown[self.read_to..].find(text) {
                self.read_to += at + text.len();
                return;
            }
            assert!(Instant::now() < until, "no {text:?} in {:?}", &shown[self.read_to..]);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn types(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// TOO-9: nobody answered in time; what is typed then is neither a late yes nor lost.
#[test]
fn what_is_typed_after_a_question_timed_out_stands_in_the_next_prompt() {
    let ask = json!([{"name": "Write", "arguments": {"file_path": "x", "content": "y"}}]);
    let agent = Agent::scripted(
        &[json!({"text": "", "toolCalls": ask}), json!({"text": "went on"}), json!({"text": "heard you"})],
        json!({"tools": {"approvals": {"timeoutMs": 300, "rules": [{"tool": "Write", "decision": "ask"}]}}}),
    );
    let mut screen = Screen::of(&agent, &format!("{} chat; stty -a", program().display()));
    screen.shows("you> ");
    screen.types("please write\r");
    screen.shows("Allow it?");
    screen.shows("no answer in time");
    screen.shows("went on");
    screen.types("y and hello\r");
    screen.shows("you> ");
    screen.shows("y and hello");
    screen.types("\r");
    screen.shows("heard you");
    screen.shows("you> ");
    screen.types("/quit\r");
    screen.shows(" icanon ");
    assert!(!agent.has("x"));
}

// TOO-9: Ctrl-C at the question ends the turn; it is not just a no, after which the model goes on.
#[test]
fn ctrl_c_at_a_question_ends_the_turn() {
    let ask = json!([{"name": "Write", "arguments": {"file_path": "x", "content": "y"}}]);
    let agent = Agent::scripted(
        &[json!({"text": "", "toolCalls": ask}), json!({"text": "went on"})],
        json!({"tools": {"approvals": {"rules": [{"tool": "Write", "decision": "ask"}]}}}),
    );
    let mut screen = Screen::of(&agent, &format!("{} chat", program().display()));
    screen.shows("you> ");
    screen.types("please write\r");
    screen.shows("Allow it?");
    screen.types("\u{3}");
    screen.shows("you> ");
    assert!(!screen.shown.lock().unwrap().contains("went on"));
    assert!(!agent.has("x"));
}
