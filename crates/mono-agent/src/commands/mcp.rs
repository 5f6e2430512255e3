//! `mcp list`, `mcp test NAME`.

use crate::answer::{Failure, print};
use crate::args::{Mcp, Place};
use crate::door::load;
use host_app::{Agent, OpenOptions};
use host_vocab::text;
use serde_json::json;
use std::process::ExitCode;

pub async fn run(place: &Place, mcp: &Mcp) -> Result<ExitCode, Failure> {
    let options = OpenOptions { needs_model: false, ..OpenOptions::default() };
    let agent = Agent::open(load(place)?, options).await?;
    let code = match mcp {
        Mcp::List => list(place, &agent).await,
        Mcp::Test { name } => test(place, &agent, name).await,
    };
    agent.close().await;
    code
}

async fn list(place: &Place, agent: &Agent) -> Result<ExitCode, Failure> {
    let Some(pool) = agent.servers() else { return Ok(ExitCode::SUCCESS) };
    pool.discover().await;
    let servers = pool.status();
    let broken = agent.broken_servers();
    let all_well = broken.is_empty() && servers.iter().all(|it| it.error.is_none());
    print(place, &json!({"servers": servers, "broken": broken}), || {
        let mut lines: Vec<String> = servers
            .iter()
            .map(|it| {
                let state = it.state.as_str();
                let head =
                    format!("{:<20} {state:<12} {} of {} tools offered", it.name, it.offered, it.advertised);
                match (&it.error, &it.revision) {
                    (Some(error), _) => format!("{head}: {}", text::one_line(error, 200)),
                    (None, Some(revision)) => format!("{head}, protocol {revision}"),
                    (None, None) => head,
                }
            })
            .collect();
        lines.extend(broken.iter().map(|(name, why)| format!("{name:<20} broken       {why}")));
        if lines.is_empty() {
            lines.push("no MCP server is declared (tools.mcpConfigPath, tools.mcpServers)".to_owned());
        }
        lines.join("\n")
    });
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

async fn test(place: &Place, agent: &Agent, name: &str) -> Result<ExitCode, Failure> {
    let broken = agent.broken_servers();
    if let Some((_, why)) = broken.iter().find(|(broken, _)| broken == name) {
        return Err(Failure::system(format!("the MCP server {name} can't be used: {why}")));
    }
    let report = match agent.servers() {
        Some(pool) => pool.test(name).await,
        None => None,
    };
    let Some(report) = report else {
        let known: Vec<String> = agent
            .servers()
            .map(|pool| pool.status().into_iter().map(|it| it.name).collect())
            .unwrap_or_default();
        return Err(Failure::usage(format!(
            "no MCP server is named {name}; declared are: {}",
            known.join(", ")
        )));
    };
    print(place, &report, || {
        let mut lines = vec![match &report.error {
            Some(error) => format!("{name}: {error}"),
            None => format!(
                "{name}: {} in {} ms, protocol {} ({}), {} tools",
                report.server.as_deref().unwrap_or("connected"),
                report.took_ms,
                report.revision.as_deref().unwrap_or("unknown"),
                report.era.unwrap_or("unknown"),
                report.advertised
            ),
        }];
        lines.extend(report.tools.iter().map(|tool| format!("  {tool}")));
        lines.extend(report.left_out.iter().map(|it| format!("  {} is left out: {}", it.tool, it.why)));
        if !report.stderr_tail.is_empty() {
            lines.push(format!("its stderr ends with: {}", text::one_line(&report.stderr_tail, 400)));
        }
        lines.join("\n")
    });
    Ok(if report.error.is_none() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The hidden verb that the public conformance suite starts (tests/conformance/).
pub async fn conformance_client(url: String) -> Result<ExitCode, Failure> {
    if std::env::var_os("MONO_AGENT_LOG").is_some() {
        let filter = tracing_subscriber::EnvFilter::from_env("MONO_AGENT_LOG");
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    }
    let context = std::env::var_os("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context = serde_json::from_str(&context.to_string_lossy()).unwrap_or_default();
    let revision = std::env::var_os("MCP_CONFORMANCE_PROTOCOL_VERSION").unwrap_or_default();
    let revision = revision.to_string_lossy();
    let lines = host_app::conformance_client(&url, &revision, &context).await.map_err(Failure::system)?;
    for line in lines {
        println!("{line}");
    }
    Ok(ExitCode::SUCCESS)
}
