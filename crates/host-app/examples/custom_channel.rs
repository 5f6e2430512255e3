//! A channel of your own: lines that come in over a Unix socket become turns, replies go back as lines.
//!
//! `cargo run -p host-app --example custom_channel` and, in another terminal, `nc -U /tmp/…/lines.sock`
//! (the program prints the path). `--demo` talks to itself once and ends.
#![allow(clippy::disallowed_methods, reason = "an example is a program of its own, with a folder of its own")]

use host_app::{Agent, People, SystemClock};
use host_model::Scripted;
use host_policy::ToolPolicy;
use host_ports::CancellationToken;
use host_run::EventSink;
use host_store::{Durability, EventLog, OpenOptions, PromptVault};
use host_turn::{Channel, Ending, Trigger, Turn};
use host_vocab::{ConversationId, text};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};

/// A line is bounded where it is read: a peer that sends no end of line fills no memory.
const LINE_BYTES_MAX: u64 = 16 * 1024;

/// One peer: a conversation of its own, one turn after the other.
async fn serve(agent: Agent, peer: UnixStream, number: u64) -> Result<(), Box<dyn Error>> {
    let (read, mut write) = peer.into_split();
    let mut read = BufReader::new(read);
    // The part before the colon names the channel. Every channel picks ids that its peers can't choose.
    let conversation = ConversationId::parse(format!("lines:{number}"))?;
    loop {
        let mut line = String::new();
        if (&mut read).take(LINE_BYTES_MAX).read_line(&mut line).await? == 0 {
            return Ok(());
        }
        if !line.ends_with('\n') {
            write.write_all(b"error: the line is too long or broke off\n").await?;
            return Ok(());
        }
        let turn = Turn {
            channel: Channel::new("lines"),
            // A program or person waits for the answer, but nobody here can be asked: see `People` below.
            trigger: Trigger::Request,
            sender: Some(format!("peer {number}")),
            ..Turn::terminal(conversation.clone(), line.trim_end())
        };
        // A channel that can show a question gives an `Ask` of its own here; nobody means that what asks is
        // denied. A run never fails with an error: what went wrong is in its ending, and in the log.
        let people = People::nobody();
        let outcome = agent.run(turn, people, EventSink::default(), CancellationToken::new()).await;
        let reply = match &outcome.ending {
            Ending::Succeeded => outcome.reply.text,
            Ending::Failed { error, .. } => format!("error: {error}"),
            other => format!("error: the turn was {}", other.status()),
        };
        // What a model wrote is not trusted: no control characters, no second line.
        write.write_all(format!("{}\n", text::one_line(&reply, 4_000)).as_bytes()).await?;
    }
}

/// Takes peers until the program ends.
async fn listen(agent: Agent, socket: UnixListener) {
    for number in 1.. {
        let Ok((peer, _)) = socket.accept().await else { return };
        let agent = agent.clone();
        tokio::spawn(async move {
            if let Err(error) = serve(agent, peer, number).await {
                eprintln!("peer {number}: {error}");
            }
        });
    }
}

/// An agent without tools that answers two lines.
fn agent(folder: &Path) -> Result<Agent, Box<dyn Error>> {
    let script = "{\"text\": \"Good morning.\"}\n{\"text\": \"Good night.\"}";
    Ok(Agent::builder()
        .name("porter")
        .model(Arc::new(Scripted::parse("script", script, Arc::new(SystemClock))?))
        .policy(ToolPolicy::fail_closed())
        .log(Arc::new(EventLog::open(OpenOptions::new(folder))?))
        .sessions(Arc::new(PromptVault::open(folder, Durability::Process)?))
        .build()?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let agent = agent(&folder.path().join("log"))?;
    // The folder is the owner's alone, and so is the socket in it.
    let path = folder.path().join("lines.sock");
    let socket = UnixListener::bind(&path)?;
    let listening = tokio::spawn(listen(agent.clone(), socket));
    if std::env::args().any(|arg| arg == "--demo") {
        demo(&path).await?;
    } else {
        println!("listening on {}; Ctrl-C ends it", path.display());
        tokio::signal::ctrl_c().await?;
    }
    listening.abort();
    agent.close().await;
    Ok(())
}

/// Talks to the channel as a peer would.
async fn demo(path: &Path) -> Result<(), Box<dyn Error>> {
    let (read, mut write) = UnixStream::connect(path).await?.into_split();
    let mut replies = BufReader::new(read).lines();
    for line in ["hello", "good bye"] {
        write.write_all(format!("{line}\n").as_bytes()).await?;
        println!("> {line}\n{}", replies.next_line().await?.unwrap_or_default());
    }
    Ok(())
}
