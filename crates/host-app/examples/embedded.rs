//! An agent's folder inside your own program: the same settings, tools, sandbox and log as the command line.
//!
//! `cargo run -p host-app --example embedded -- [FOLDER]` explains the folder's tools and calls one of them.
//! With `--ask "…"` as well it runs a turn on the model that the folder's config names.
#![allow(clippy::disallowed_methods, reason = "an example is a program of its own, at the edge")]

use host_app::{Agent, OpenOptions, People, Whereabouts, load_agent};
use host_ports::CancellationToken;
use host_run::{EventStream, RunEvent, channel};
use host_surface::Arguments;
use host_turn::Turn;
use host_vocab::{ConversationId, RunId};
use serde_json::json;
use std::error::Error;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    match runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(embedded())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn embedded() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let prompt = arguments.iter().position(|arg| arg == "--ask").and_then(|at| arguments.get(at + 1));
    let here = std::env::current_dir()?;
    let folder = match arguments.first().filter(|arg| !arg.starts_with("--")) {
        Some(named) => here.join(named),
        None => here,
    };

    // The environment is read once, here, and passed down; nothing below looks at it.
    let utf8 =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    let env = std::env::vars_os().filter_map(utf8).collect();
    let loaded = load_agent(&Whereabouts { folder, config: None, env_file: None, env });
    // Loading never fails. What is wrong comes as findings, each with its place and a hint; the fatal ones make
    // `Agent::open` refuse.
    for finding in loaded.findings.iter().filter(|it| !it.fatal) {
        eprintln!("note: {}", finding.diagnostic);
    }
    // Without a prompt no model is needed, and none is looked for.
    let options = OpenOptions { needs_model: prompt.is_some(), ..OpenOptions::default() };
    let agent = Agent::open(loaded, options).await?;

    let result = match prompt {
        Some(prompt) => turn(&agent, prompt).await,
        None => look(&agent).await,
    };
    // In order: servers are ended, what waits for the log is written, the log is closed.
    agent.close().await;
    result
}

/// What the agent could do, and one call through the same gate that a run uses.
async fn look(agent: &Agent) -> Result<(), Box<dyn Error>> {
    println!("{}: tools are {}", agent.name(), agent.policy_line());
    print!("{}", agent.explain("terminal").await?);
    let arguments = Arguments::Value(json!({"path": "."}));
    let cancel = CancellationToken::new();
    let settled = agent.call("terminal", "ListDir", arguments, People::nobody(), cancel).await?;
    println!("ListDir: {} ({})\n{}", settled.how.as_str(), settled.code, settled.text());
    Ok(())
}

/// One turn, shown while it goes.
async fn turn(agent: &Agent, prompt: &str) -> Result<(), Box<dyn Error>> {
    println!("asking {}", agent.model().reference);
    // The listener is bounded: a slow one loses events and is told how many, and never holds the run up.
    let (events, stream) = channel(1_024);
    let mut turn = Turn::terminal(ConversationId::parse(format!("terminal:{}", RunId::fresh()))?, prompt);
    // It stands alone: it neither reads nor extends a conversation.
    turn.isolated = true;
    let run = agent.run(turn, People::nobody(), events, CancellationToken::new());
    let (outcome, ()) = tokio::join!(run, show(stream));
    println!("\n{} in {} ms", outcome.ending.status(), outcome.duration_ms);
    Ok(())
}

async fn show(mut events: EventStream) {
    while let Some(event) = events.recv().await {
        match event {
            RunEvent::TextDelta { text } => print!("{text}"),
            RunEvent::CallStarted { name, arguments, .. } => println!("[{name} {arguments}]"),
            RunEvent::CallSettled { settled, code, .. } => println!("[{settled}: {code}]"),
            _ => {}
        }
    }
}
