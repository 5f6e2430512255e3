//! `tools` and `explain`.

use crate::answer::{Failure, print};
use crate::args::{OnChannel, Place};
use crate::door::Door;
use host_app::operator::protocol::Request;
use host_app::{AgentError, OpenOptions};
use host_ports::model::ToolSpec;
use host_surface::Explanation;
use host_vocab::text;
use serde_json::json;
use std::process::ExitCode;

/// The agent as its settings stand now; through the running host where that has the same ones, so that its
/// servers needn't be started a second time.
async fn open(place: &Place) -> Result<Door, Failure> {
    let options = OpenOptions { needs_model: false, fresh_definitions: true, ..OpenOptions::default() };
    Door::open_as_set(place, options).await
}

/// Why there is no surface; a channel that isn't there is the caller's slip.
pub fn sealed(error: &AgentError) -> Failure {
    match error {
        AgentError::Channel { .. } => Failure::usage(error.to_string()),
        AgentError::Surface(_) | AgentError::Log(_) => Failure::system(error),
    }
}

pub async fn tools(place: &Place, on: &OnChannel) -> Result<ExitCode, Failure> {
    let door = open(place).await?;
    let shown = match &door {
        Door::Here(agent) => agent
            .tool_specs(&on.channel)
            .await
            .map(|specs| json!({"tools": specs.as_ref(), "prompt": agent.system_prompt(&on.channel)}))
            .map_err(|error| sealed(&error)),
        Door::Joined(client) => {
            client.ask(Request::Tools { channel: on.channel.clone() }).await.map_err(Failure::from)
        }
    };
    door.close().await;
    let shown = shown?;
    let specs: Vec<ToolSpec> = serde_json::from_value(shown["tools"].clone()).unwrap_or_default();
    let prompt = shown["prompt"].as_str().unwrap_or_default().len();
    let tools: Vec<_> = specs
        .iter()
        .map(|spec| {
            json!({"name": spec.name, "description": spec.description, "inputSchema": spec.input_schema})
        })
        .collect();
    let weight: usize = tools.iter().map(|tool| tool.to_string().len()).sum();
    let answer = json!({"tools": tools, "promptBytes": weight + prompt, "toolBytes": weight});
    print(place, &answer, || {
        let mut lines: Vec<String> = specs
            .iter()
            .map(|spec| format!("{:<28} {}", spec.name, text::one_line(&spec.description, 100)))
            .collect();
        let whole = weight + prompt;
        lines.push(format!("\n{} tools, {weight} bytes; the whole prompt has {whole} bytes", specs.len()));
        lines.join("\n")
    });
    Ok(ExitCode::SUCCESS)
}

pub async fn explain(place: &Place, on: &OnChannel) -> Result<ExitCode, Failure> {
    let door = open(place).await?;
    let explained = match &door {
        Door::Here(agent) => agent.explain(&on.channel).await.map_err(|error| sealed(&error)),
        Door::Joined(client) => {
            let answer = client.ask(Request::Explain { channel: on.channel.clone() }).await;
            answer.map_err(Failure::from).and_then(|it| serde_json::from_value(it).map_err(Failure::system))
        }
    };
    door.close().await;
    let explained: Explanation = explained?;
    print(place, &explained, || explained.to_string());
    Ok(ExitCode::SUCCESS)
}
