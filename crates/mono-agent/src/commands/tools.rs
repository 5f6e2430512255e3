//! `tools` and `explain`.

use crate::answer::{Failure, print};
use crate::args::{OnChannel, Place};
use crate::door::load;
use host_app::{Agent, AgentError, OpenOptions};
use host_vocab::text;
use serde_json::json;
use std::process::ExitCode;

/// These verbs always look at the settings as they are now, not at what a running host was started with.
async fn open(place: &Place) -> Result<Agent, Failure> {
    let options = OpenOptions { needs_model: false, fresh_definitions: true, ..OpenOptions::default() };
    Ok(Agent::open(load(place)?, options).await?)
}

pub fn sealed(error: &AgentError) -> Failure {
    Failure::system(error)
}

pub async fn tools(place: &Place, on: &OnChannel) -> Result<ExitCode, Failure> {
    let agent = open(place).await?;
    let specs = agent.tool_specs(&on.channel).await;
    let prompt = agent.system_prompt(&on.channel);
    agent.close().await;
    let specs = specs.map_err(|error| sealed(&error))?;
    let tools: Vec<_> = specs
        .iter()
        .map(|spec| {
            json!({"name": spec.name, "description": spec.description, "inputSchema": spec.input_schema})
        })
        .collect();
    let weight: usize = tools.iter().map(|tool| tool.to_string().len()).sum();
    let answer = json!({"tools": tools, "promptBytes": weight + prompt.len(), "toolBytes": weight});
    print(place, &answer, || {
        let mut lines: Vec<String> = specs
            .iter()
            .map(|spec| format!("{:<28} {}", spec.name, text::one_line(&spec.description, 100)))
            .collect();
        lines.push(format!(
            "\n{} tools, {weight} bytes; the whole prompt has {} bytes",
            specs.len(),
            weight + prompt.len()
        ));
        lines.join("\n")
    });
    Ok(ExitCode::SUCCESS)
}

pub async fn explain(place: &Place, on: &OnChannel) -> Result<ExitCode, Failure> {
    let agent = open(place).await?;
    let explained = agent.explain(&on.channel).await;
    agent.close().await;
    let explained = explained.map_err(|error| sealed(&error))?;
    print(place, &explained, || explained.to_string());
    Ok(ExitCode::SUCCESS)
}
