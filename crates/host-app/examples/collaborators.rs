//! Two agents of one program: the editor asks the lawyer.
//!
//! `cargo run -p host-app --example collaborators`
//!
//! Nothing here needs a key: both models are scripts. The lawyer works under its own policy, with its own log.
#![allow(clippy::disallowed_methods, reason = "an example is a program of its own, with a folder of its own")]

use host_app::{Agent, AgentResponder, People, SystemClock};
use host_model::Scripted;
use host_ports::CancellationToken;
use host_run::EventSink;
use host_store::{Durability, EventLog, OpenOptions, PromptVault};
use host_tools::{COLLABORATOR_CALLS_DEFAULT, Collaborator, Collaborators};
use host_turn::Turn;
use host_vocab::ConversationId;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

const LAWYER: &str = r#"{"text": "One sentence may be quoted if you name the source."}"#;
const EDITOR: &str = r#"
{"toolCalls": [{"name": "AskCollaborator", "arguments": {"collaborator": "lawyer", "prompt": "May we quote it?"}}]}
{"text": "Yes, one sentence, with its source.", "expect": [{"tool": "AskCollaborator", "contains": "name the source"}]}
"#;

fn agent(name: &str, script: &str, folder: &Path, others: Collaborators) -> Result<Agent, Box<dyn Error>> {
    let store = folder.join(name);
    Ok(Agent::builder()
        .name(name)
        .model(Arc::new(Scripted::parse(name, script, Arc::new(SystemClock))?))
        .log(Arc::new(EventLog::open(OpenOptions::new(&store))?))
        .sessions(Arc::new(PromptVault::open(&store, Durability::Process)?))
        .collaborators(others)
        .build()?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let lawyer = agent("lawyer", LAWYER, folder.path(), Collaborators::default())?;
    let ask = Collaborator::new("lawyer", Arc::new(AgentResponder::new(lawyer.clone())))
        .described("The lawyer", "knows what may be printed");
    let ask = Collaborators::new(vec![ask], COLLABORATOR_CALLS_DEFAULT)?;
    let editor = agent("editor", EDITOR, folder.path(), ask)?;

    let turn = Turn::terminal(ConversationId::parse("terminal:example")?, "May we print the first sentence?");
    let outcome = editor.run(turn, People::nobody(), EventSink::default(), CancellationToken::new()).await;
    println!("{}: {}", outcome.ending.status(), outcome.reply.text);
    editor.close().await;
    lawyer.close().await;
    Ok(())
}
