//! A tool of your own, in an agent that a program builds.
//!
//! `cargo run -p host-app --example custom_tool`
//!
//! Nothing here needs a key: the model is a script of two lines. In a real program give
//! `AgentBuilder::model` something that `host_model::build` made.
#![allow(clippy::disallowed_methods, reason = "an example is a program of its own, with a folder of its own")]

use host_app::{Agent, People, SystemClock};
use host_model::Scripted;
use host_policy::{KnownNames, PolicyInput, create_tool_policy};
use host_ports::CancellationToken;
use host_run::EventSink;
use host_store::{Durability, EventLog, OpenOptions, PromptVault};
use host_surface::{Admitted, Belongs, Decl, Tool, ToolError, ToolOutput};
use host_turn::Turn;
use host_vocab::{ConversationId, Effect, ToolName};
use serde_json::json;
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

/// A tool is a struct that holds all that it needs. There is no context to fetch things from, so a reader
/// sees here what the tool can reach: this table.
struct Stock {
    shelves: BTreeMap<String, u32>,
}

/// The input. Field docs are what the model reads, and unknown fields are refused before `run` is called.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct StockInput {
    /// What to look for, such as `bolts`.
    item: String,
}

impl Tool for Stock {
    const DECL: Decl = Decl {
        name: "Stock",
        about: "Tells how many pieces of an item are in stock.",
        // All that it can do to the world, in the nearest kinds. Kinds that only read let calls run side by
        // side; a tool that leaves one out can do harm that nobody expects of it.
        effects: &[Effect::ReadsWorkspace],
        // Which switch it answers to: the allow and deny lists, like every other tool.
        belongs: Belongs::Lists,
        // Every code that it can fail with.
        codes: &["unknown_item"],
    };
    type Input = StockInput;

    /// Only the gate can make an `Admitted`, so no code path reaches this without policy, schema, approval
    /// and a record.
    async fn run(&self, call: Admitted<StockInput>) -> Result<ToolOutput, ToolError> {
        let item = &call.input.item;
        match self.shelves.get(item) {
            Some(count) => Ok(ToolOutput::text(format!("{count} {item} in stock"))
                .with_structured(json!({"item": item, "count": count}))),
            // Written for the model: what went wrong, and the way out.
            None => Err(ToolError::new("unknown_item", "no such item; the items are bolts and nuts")),
        }
    }
}

/// What the model "says": a line for each request. `expect` checks what the tool gave.
const SCRIPT: &str = r#"
{"toolCalls": [{"name": "Stock", "arguments": {"item": "bolts"}}]}
{"text": "There are 42 bolts.", "expect": [{"tool": "Stock", "contains": "42 bolts"}]}
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // The log and the prompts may be any `impl Log` and `impl Sessions`; these are the host's own.
    let folder = tempfile::tempdir()?;
    let store = folder.path().join("log");
    let log = Arc::new(EventLog::open(OpenOptions::new(&store))?);
    let prompts = Arc::new(PromptVault::open(&store, Durability::Process)?);

    // A library that gives no policy gets none of the tools that the lists gate, so this one is named.
    // A name that nobody registered would be an error; `plugin_tools` makes ours known.
    let policy = create_tool_policy(PolicyInput {
        allowed: Some(vec!["Stock".to_owned()]),
        known: KnownNames { plugin_tools: vec![ToolName::parse("Stock")?], ..KnownNames::default() },
        ..PolicyInput::default()
    })?;

    let shelves = BTreeMap::from([("bolts".to_owned(), 42), ("nuts".to_owned(), 7)]);
    let agent = Agent::builder()
        .name("storekeeper")
        .identity("You answer questions on the stock.")
        .model(Arc::new(Scripted::parse("script", SCRIPT, Arc::new(SystemClock))?))
        .tool(Stock { shelves })
        .policy(policy)
        .log(log.clone())
        .sessions(prompts)
        .build()?;

    println!("{}", agent.explain("terminal").await?);

    let turn = Turn::terminal(ConversationId::parse("terminal:example")?, "How many bolts are there?");
    let outcome = agent.run(turn, People::nobody(), EventSink::default(), CancellationToken::new()).await;
    println!("{}: {}", outcome.ending.status(), outcome.reply.text);

    // Everything that happened is in the log: the run, the call's start and its end.
    for event in host_ports::log::Log::run_events(log.as_ref(), &outcome.run, 0, 100).await? {
        println!("{:>3} {}", event.seq, event.kind);
    }
    agent.close().await;
    Ok(())
}
