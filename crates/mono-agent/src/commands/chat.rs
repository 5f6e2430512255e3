//! `chat`: turns by the line, until the end of the input.

use super::show::show;
use crate::answer::Failure;
use crate::args::{Chat, Place};
use crate::door::Door;
use host_app::{OpenOptions, People};
use host_channels::terminal::{LineRead, Lines, TerminalAsk, TerminalDesk, TerminalElicit};
use host_ports::CancellationToken;
use host_turn::Turn;
use host_vocab::ConversationId;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

const HELP: &str = "Type what you want to say. Ctrl-C ends a turn; Ctrl-D, /quit or /exit ends the chat.";

pub async fn run(place: &Place, chat: &Chat) -> Result<ExitCode, Failure> {
    let conversation = ConversationId::parse(chat.conversation.clone())
        .map_err(|error| Failure::usage(format!("--conversation: {error}")))?;
    let door = Door::open(place, chat.local, OpenOptions::default()).await?;
    let lines = Arc::new(Lines::of_stdin());
    let timeout = greet(&door).await;
    if lines.interactive() {
        eprintln!("{HELP}");
    }
    let people = People {
        ask: Arc::new(TerminalAsk::new(Arc::clone(&lines), timeout)),
        desk: Some(Arc::new(TerminalDesk::new(Arc::clone(&lines)))),
        elicit: Some(Arc::new(TerminalElicit::new(Arc::clone(&lines), timeout))),
    };
    loop {
        match lines.read("you> ").await {
            LineRead::End => break,
            LineRead::Interrupted => eprintln!("(Ctrl-D ends the chat)"),
            LineRead::Line(line) if line.trim().is_empty() => {}
            LineRead::Line(line) if matches!(line.trim(), "/quit" | "/exit") => break,
            LineRead::Line(line) if line.trim() == "/help" => eprintln!("{HELP}"),
            LineRead::Line(line) => {
                let turn =
                    Turn { source_detail: Some("chat".into()), ..Turn::terminal(conversation.clone(), line) };
                one(place, &door, turn, people.clone()).await?;
            }
        }
    }
    door.close().await;
    Ok(ExitCode::SUCCESS)
}

/// One turn; Ctrl-C ends it and not the chat.
async fn one(place: &Place, door: &Door, turn: Turn, people: People) -> Result<(), Failure> {
    let cancel = CancellationToken::new();
    let (events, stream) = host_run::channel(4_096);
    let turning = door.turn(turn, people, events, cancel.clone());
    let interrupted = async {
        while tokio::signal::ctrl_c().await.is_ok() {
            cancel.cancel();
        }
        std::future::pending::<()>().await;
    };
    let both = async { tokio::join!(turning, show(place, stream)) };
    tokio::select! {
        (outcome, ()) = both => outcome.map(|_| ()),
        () = interrupted => Ok(()),
    }
}

/// Says which agent and model this is; gives the time that a person has to approve.
async fn greet(door: &Door) -> Duration {
    match door {
        Door::Here(agent) => {
            eprintln!("{} on {} (in this process)", agent.name(), agent.model().reference);
            if let Some(note) = &agent.model().note {
                eprintln!("{note}");
            }
            agent.approval_timeout()
        }
        Door::Joined(client) => {
            if let Ok(status) = client.status().await {
                eprintln!(
                    "{} on {} (joined the running host, process {})",
                    status.name, status.model, status.pid
                );
            }
            // The host keeps its own time; this end only must not be quicker.
            Duration::from_secs(600)
        }
    }
}
