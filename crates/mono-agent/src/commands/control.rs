//! `status`, `stop`, `restart`: through the socket of the running host.

use crate::answer::{Failure, print};
use crate::args::Place;
use crate::door::{client, load, state_here};
use host_app::operator::protocol::{Request, Status};
use host_app::operator::{Client, ClientError};
use serde_json::json;
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn of(place: &Place) -> Result<Client, Failure> {
    Ok(client(&state_here(place)?))
}

pub async fn status(place: &Place) -> Result<ExitCode, Failure> {
    match of(place)?.status().await {
        Ok(status) => {
            print(place, &status, || text(&status));
            Ok(ExitCode::SUCCESS)
        }
        Err(ClientError::Connect(error)) => {
            print(place, &json!({"ok": false, "running": false, "reason": error.to_string()}), || {
                error.to_string()
            });
            Ok(ExitCode::from(1))
        }
        Err(error) => Err(error.into()),
    }
}

fn text(status: &Status) -> String {
    let mut lines = vec![
        format!("{} is running: process {}, generation {}", status.name, status.pid, status.generation),
        format!("model     {}", status.model),
        format!("sandbox   {}", status.sandbox),
        format!("runs      {} now", status.active_runs),
    ];
    lines.extend(status.channels.iter().map(|it| format!("{:<9} {}: {}", it.name, it.state, it.detail)));
    for server in status.servers.as_array().into_iter().flatten() {
        let word = |key: &str| server[key].as_str().unwrap_or("-").to_owned();
        lines.push(format!(
            "mcp       {} {}, {} of {} tools",
            word("name"),
            word("state"),
            server["offered"],
            server["advertised"]
        ));
    }
    lines.join("\n")
}

pub async fn stop(place: &Place) -> Result<ExitCode, Failure> {
    let client = of(place)?;
    match client.ask(Request::Stop).await {
        Ok(_) => gone(&client).await?,
        // It hangs: its supervisor is told to end, and it is killed.
        Err(ClientError::Silent { pid: Some(pid) }) => {
            host_sandbox::supervisor::end_silent(pid).map_err(Failure::system)?;
            eprintln!("the host (process {pid}) did not answer and was killed");
        }
        Err(error) => return Err(error.into()),
    }
    print(place, &json!({"ok": true, "stopped": true}), || "stopped".to_owned());
    Ok(ExitCode::SUCCESS)
}

/// Waits for the host to be gone: it ends running turns first.
async fn gone(client: &Client) -> Result<(), Failure> {
    let until = Instant::now() + Duration::from_secs(40);
    while client.is_running().await {
        if Instant::now() > until {
            return Err(Failure::system("the host was told to stop and is still there; see mono-agent logs"));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

pub async fn restart(place: &Place, clear_sessions: bool) -> Result<ExitCode, Failure> {
    // A host that goes down for a config that it can't read would not come back.
    let loaded = load(place)?;
    drop(loaded);
    let client = of(place)?;
    let before = client.status().await?.generation;
    let mut result = client.ask(Request::Restart { clear_sessions }).await?;
    result["ok"] = json!(true);
    let until = Instant::now() + Duration::from_secs(90);
    loop {
        match client.status().await {
            Ok(status) if status.generation > before => break,
            _ if Instant::now() > until => {
                return Err(Failure::system("the host did not come back in time; see mono-agent logs"));
            }
            _ => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    print(place, &result, || {
        let cleared = &result["clearedSessions"];
        if clear_sessions {
            format!("restarted; {cleared} sessions were forgotten")
        } else {
            "restarted".to_owned()
        }
    });
    Ok(ExitCode::SUCCESS)
}
