//! `mcp list`, `mcp add`, `mcp remove`, `mcp test NAME`.

mod edit;
mod login;

use crate::answer::{Failure, print};
use crate::args::{Mcp, Place};
use crate::door::{Door, load};
use host_app::{Agent, OpenOptions};
use host_vocab::text;
use serde_json::{Value, json};
use std::process::ExitCode;

pub async fn run(place: &Place, mcp: &Mcp) -> Result<ExitCode, Failure> {
    match mcp {
        Mcp::Add(add) => return edit::add(place, add).await,
        Mcp::Remove { name } => return edit::remove(place, name).await,
        Mcp::Login(asked) => return login::run(place, asked).await,
        Mcp::List { local } => {
            let loaded = load(place)?;
            if let Some(client) = Door::running(place, &loaded, *local).await? {
                let servers = client.status().await?.servers;
                return Ok(show(place, servers, &declared(&loaded), "host"));
            }
        }
        Mcp::Test { .. } => {}
    }
    let loaded = load(place)?;
    let apart = declared(&loaded);
    let options = OpenOptions { needs_model: false, ..OpenOptions::default() };
    let agent = Agent::open(loaded, options).await?;
    let code = match mcp {
        Mcp::Test { name } => test(place, &agent, name).await,
        _ => Ok(list(place, &agent, apart).await),
    };
    agent.close().await;
    code
}

/// Entries that are no servers: those that can't be used, and those that are switched off.
#[derive(Default)]
struct Apart {
    broken: Vec<(String, String)>,
    disabled: Vec<String>,
}

fn declared(loaded: &host_config::Loaded) -> Apart {
    let Some(spec) = &loaded.spec else { return Apart::default() };
    let broken = spec.mcp.broken.iter().map(|it| (it.name.clone(), it.reasons.join("; ")));
    let disabled = spec.mcp.servers.iter().filter(|it| it.disabled).map(|it| it.name.to_string());
    Apart { broken: broken.collect(), disabled: disabled.collect() }
}

async fn list(place: &Place, agent: &Agent, mut apart: Apart) -> ExitCode {
    let mut servers = Value::Array(Vec::new());
    if let Some(pool) = agent.servers() {
        pool.discover().await;
        servers = serde_json::to_value(pool.status()).unwrap_or_default();
    }
    apart.broken = agent.broken_servers();
    show(place, servers, &apart, "here")
}

/// Prints the states; `from` says whose they are: a running host's, or of servers that were started to look.
fn show(place: &Place, servers: Value, apart: &Apart, from: &str) -> ExitCode {
    let rows = servers.as_array().cloned().unwrap_or_default();
    let all_well = apart.broken.is_empty() && rows.iter().all(|it| it["error"].is_null());
    let answer =
        json!({"servers": servers, "broken": apart.broken, "disabled": apart.disabled, "from": from});
    print(place, &answer, || {
        let mut lines: Vec<String> = rows.iter().flat_map(lines_of).collect();
        lines.extend(apart.broken.iter().map(|(name, why)| format!("{name:<20} broken       {why}")));
        lines.extend(apart.disabled.iter().map(|name| format!("{name:<20} disabled     by its entry")));
        if lines.is_empty() {
            lines.push("no MCP server is declared; mono-agent mcp add NAME … declares one".to_owned());
        }
        lines.join("\n")
    });
    if all_well { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// A server on a line, and a line for each tool that it has and the model doesn't get.
fn lines_of(it: &Value) -> Vec<String> {
    let word = |key: &str| it[key].as_str().unwrap_or_default();
    let count = |key: &str| it[key].as_u64().unwrap_or_default();
    let head = format!(
        "{:<20} {:<12} {} of {} tools offered",
        word("name"),
        word("state"),
        count("offered"),
        count("advertised")
    );
    let head = match (it["error"].as_str(), it["revision"].as_str()) {
        (Some(error), _) => format!("{head}: {}", text::one_line(error, 400)),
        (None, Some(revision)) => format!("{head}, protocol {revision} ({})", word("era")),
        (None, None) => head,
    };
    let left_out = it["leftOut"].as_array().into_iter().flatten();
    let left_out = left_out.map(|it| {
        let part = |key: &str| text::one_line(it[key].as_str().unwrap_or_default(), 200);
        format!("  {} is left out: {}", part("tool"), part("why"))
    });
    std::iter::once(head).chain(left_out).collect()
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
