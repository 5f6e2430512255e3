//! `run "prompt"`: one turn for scripts.

use super::show::show;
use crate::answer::Failure;
use crate::args::{Place, Run};
use crate::door::{Door, load, on_interrupt, state};
use host_app::{OpenOptions, People};
use host_channels::terminal::{Lines, TerminalAsk, TerminalDesk, TerminalElicit};
use host_turn::{Attachment, Turn};
use host_vocab::{ConversationId, RunId, limits};
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// The largest file that may be attached, in bytes.
const ATTACHMENT_BYTES_MAX: u64 = 20 * 1024 * 1024;

pub async fn run(place: &Place, run: &Run) -> Result<ExitCode, Failure> {
    let prompt = prompt(&run.prompt)?;
    let (conversation, isolated) = match &run.conversation {
        Some(named) => (named.clone(), false),
        None => (format!("terminal:{}", RunId::fresh()), true),
    };
    let conversation = ConversationId::parse(conversation)
        .map_err(|error| Failure::usage(format!("--conversation: {error}")))?;
    let attachments = attach(place, &run.attach)?;
    let door = Door::open(place, run.local, OpenOptions::default()).await?;
    let lines = Arc::new(Lines::of_stdin());
    let timeout = match &door {
        Door::Here(agent) => {
            if let Some(note) = agent.model().note.as_ref().filter(|_| !place.json) {
                eprintln!("{note}");
            }
            agent.approval_timeout()
        }
        Door::Joined(_) => Duration::from_secs(600),
    };
    let people = People {
        ask: Arc::new(TerminalAsk::new(Arc::clone(&lines), timeout)),
        desk: Some(Arc::new(TerminalDesk::new(Arc::clone(&lines)))),
        elicit: Some(Arc::new(TerminalElicit::new(lines, timeout))),
    };
    let turn = Turn {
        attachments,
        isolated,
        source_detail: Some("run".into()),
        ..Turn::terminal(conversation, prompt)
    };
    let (events, stream) = host_run::channel(4_096);
    let turning = door.turn(turn, people, events, on_interrupt());
    let (outcome, ()) = tokio::join!(turning, show(place, stream));
    door.close().await;
    let outcome = outcome?;
    Ok(if outcome["status"] == "succeeded" { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn prompt(typed: &str) -> Result<String, Failure> {
    let text = if typed == "-" {
        let mut text = String::new();
        std::io::stdin()
            .lock()
            .take(limits::TURN_TEXT_BYTES_MAX as u64 + 1)
            .read_to_string(&mut text)
            .map_err(|error| Failure::usage(format!("standard input can't be read: {error}")))?;
        text
    } else {
        typed.to_owned()
    };
    if text.len() > limits::TURN_TEXT_BYTES_MAX {
        return Err(Failure::usage(format!(
            "the prompt has more than {} bytes",
            limits::TURN_TEXT_BYTES_MAX
        )));
    }
    if text.trim().is_empty() {
        return Err(Failure::usage("the prompt is empty"));
    }
    Ok(text)
}

/// Stores what is attached below the agent's state, through descriptors, before anything else happens.
fn attach(place: &Place, files: &[std::path::PathBuf]) -> Result<Vec<Attachment>, Failure> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let loaded = load(place)?;
    let Some(state) = state(&loaded) else { return Ok(Vec::new()) };
    let turn = RunId::fresh();
    host_files::state::ensure_private_dir(state.root()).map_err(Failure::system)?;
    files.iter().map(|file| store(&state.attachments(), turn.as_str(), file)).collect()
}

fn store(folder: &Path, turn: &str, file: &Path) -> Result<Attachment, Failure> {
    host_files::attachment::store_file(folder, turn, file, ATTACHMENT_BYTES_MAX)
        .map_err(|error| Failure::system(format!("--attach {}: {error}", file.display())))
}
