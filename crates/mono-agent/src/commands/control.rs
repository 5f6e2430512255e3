//! `status`, `stop`, `restart`: through the socket of the running host, and through its supervisor where no host
//! answers (ENG-9).

use super::standing::{Standing, failed, generation};
use crate::answer::{Failure, print};
use crate::args::Place;
use crate::door::{client, load, state_here};
use host_app::StateFolder;
use host_app::operator::protocol::{Request, Status};
use host_app::operator::{Client, ClientError};
use host_http::ConnectError;
use host_sandbox::supervisor::{Holder, Tell};
use host_vocab::{Code, Diagnostic, Kind};
use serde::Serialize;
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long `stop` waits: a host has 30 seconds, then its supervisor kills it.
const STOP_MAX: Duration = Duration::from_secs(45);
/// How long `restart` waits.
const RESTART_MAX: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(25);

/// A host that answers: what `status --json` and `start --json` print.
#[derive(Serialize)]
pub struct Running {
    #[serde(flatten)]
    status: Status,
    /// The process that brings it back.
    supervisor: Option<u32>,
}

impl Running {
    /// What a host said, with who keeps it.
    pub fn new(status: Status, supervisor: Option<u32>) -> Self {
        Running { status, supervisor }
    }

    /// The first line for people.
    pub fn line(&self) -> String {
        let below = self.supervisor.map(|pid| format!(" below supervisor {pid}")).unwrap_or_default();
        let Status { name, pid, generation, .. } = &self.status;
        format!("{name} is running: process {pid}{below}, generation {generation}")
    }

    fn text(&self) -> String {
        let status = &self.status;
        let mut lines = vec![
            self.line(),
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
}

pub async fn status(place: &Place) -> Result<ExitCode, Failure> {
    let state = state_here(place)?;
    match client(&state).status().await {
        Ok(status) => {
            let running = Running::new(status, Standing::of(&state)?.supervisor_pid());
            print(place, &running, || running.text());
            Ok(ExitCode::SUCCESS)
        }
        Err(ClientError::Connect(ConnectError::NotRunning)) => {
            let absent = Standing::of(&state)?.absent();
            print(place, &absent, || absent.text());
            Ok(ExitCode::from(1))
        }
        Err(error) => Err(error.into()),
    }
}

pub async fn stop(place: &Place) -> Result<ExitCode, Failure> {
    let state = state_here(place)?;
    let client = client(&state);
    let found = Standing::of(&state)?;
    let silent = match client.ask(Request::Stop).await {
        Ok(_) => None,
        Err(error @ ClientError::Connect(ConnectError::NotRunning)) if found.is_none() => {
            return Err(not_running(error, &found));
        }
        Err(ClientError::Silent { pid }) => Some(pid),
        // Between two hosts, on its way up or down, or of another version: its supervisor ends it all the same.
        Err(_) if !found.is_none() => None,
        Err(error) => return Err(error.into()),
    };
    // The supervisor first, so that it doesn't bring a host back; it kills a host that takes too long.
    let holders = [&found.supervisor, &found.host];
    if let Some(first) = holders.iter().find_map(|it| it.as_ref()) {
        first.tell(Tell::End).map_err(failed)?;
    }
    if let Some(pid) = silent {
        kill(&found, pid)?;
    }
    gone(&state, &client, &found).await?;
    print(place, &json!({"ok": true, "stopping": true, "stopped": true}), || "stopped".to_owned());
    Ok(ExitCode::SUCCESS)
}

fn not_running(error: ClientError, found: &Standing) -> Failure {
    let mut failure = Failure::from(error);
    if let Some(first) = failure.diagnostics.first_mut() {
        first.message.push_str(&found.why_not());
    }
    failure
}

/// Kills a host that listens and says nothing.
fn kill(found: &Standing, pid: Option<u32>) -> Result<(), Failure> {
    let Some(host) = &found.host else {
        let pid = pid.map_or_else(|| "?".to_owned(), |pid| pid.to_string());
        let message =
            format!("the process {pid} listens on the agent's socket, is not its host, and does not answer");
        let found = Diagnostic::new(Kind::Environment, Code::new("silent"), message);
        return Err(Failure::of(found.hint(format!("`kill -9 {pid}` ends it"))));
    };
    host.tell(Tell::Kill).map_err(failed)?;
    eprintln!("the host ({}) did not answer and was killed", found.processes());
    Ok(())
}

/// Waits until host and supervisor are gone: running turns end first.
async fn gone(state: &StateFolder, client: &Client, found: &Standing) -> Result<(), Failure> {
    let until = Instant::now() + STOP_MAX;
    let ended = |it: &Option<Holder>| it.as_ref().is_none_or(Holder::is_gone);
    loop {
        let left = Standing::of(state)?;
        // A host that was just started when its supervisor was told is seen by its lock alone.
        if ended(&found.supervisor) && ended(&found.host) && left.is_none() && !client.is_running().await {
            return Ok(());
        }
        if Instant::now() > until {
            return Err(still_there(&left));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn still_there(left: &Standing) -> Failure {
    let message = format!(
        "the agent was told to stop and is still there after {} s: {}",
        STOP_MAX.as_secs(),
        left.processes()
    );
    let pids = [&left.supervisor, &left.host].into_iter().flatten().filter_map(Holder::pid);
    let pids = pids.map(|pid| pid.to_string()).collect::<Vec<_>>().join(" ");
    let mut found = Diagnostic::new(Kind::Environment, Code::new("still_stopping"), message)
        .hint("`mono-agent stop` waits for it again, `mono-agent logs` shows what it is at");
    if !pids.is_empty() {
        found = found.hint(format!(
            "`kill -9 {pids}` ends it at once; what it was doing is then marked as interrupted"
        ));
    }
    Failure::of(found)
}

pub async fn restart(place: &Place, clear_sessions: bool) -> Result<ExitCode, Failure> {
    // A host that goes down for a config that it can't read would not come back.
    drop(load(place)?);
    let state = state_here(place)?;
    let client = client(&state);
    let found = Standing::of(&state)?;
    let result = match client.status().await {
        Ok(status) => {
            let result = client.ask(Request::Restart { clear_sessions }).await?;
            back(&client, &found, status.generation).await?;
            result
        }
        Err(ClientError::Connect(ConnectError::NotRunning)) if found.supervisor.is_some() => {
            start_now(&state, &client, &found, clear_sessions).await?
        }
        Err(error @ ClientError::Connect(ConnectError::NotRunning)) => {
            return Err(not_running(error, &found));
        }
        Err(error) => return Err(error.into()),
    };
    let mut answer = json!({"ok": true, "restarting": true, "clearedSessions": 0, "clearedBytes": 0});
    for key in ["clearedSessions", "clearedBytes"] {
        answer[key] = result[key].clone();
    }
    print(place, &answer, || {
        if clear_sessions {
            format!("restarted; {} sessions were forgotten", answer["clearedSessions"])
        } else {
            "restarted".to_owned()
        }
    });
    Ok(ExitCode::SUCCESS)
}

/// Has a supervisor that waits start the next host at once. Sessions are forgotten by the host that comes up.
async fn start_now(
    state: &StateFolder,
    client: &Client,
    found: &Standing,
    clear_sessions: bool,
) -> Result<Value, Failure> {
    let before = match (&found.supervisor, found.waits()) {
        (Some(supervisor), true) => {
            let before = generation(state);
            supervisor.tell(Tell::StartNow).map_err(failed)?;
            before
        }
        // It is on its way up already.
        _ => generation(state).saturating_sub(1),
    };
    back(client, found, before).await?;
    if clear_sessions {
        return Ok(client.ask(Request::Forget { conversation: None }).await?);
    }
    Ok(json!({"clearedSessions": 0, "clearedBytes": 0}))
}

/// Waits for a host of a later generation.
async fn back(client: &Client, found: &Standing, before: u64) -> Result<(), Failure> {
    let until = Instant::now() + RESTART_MAX;
    loop {
        if client.status().await.is_ok_and(|status| status.generation > before) {
            return Ok(());
        }
        if found.supervisor.as_ref().is_some_and(Holder::is_gone) {
            let last =
                found.supervisor.as_ref().and_then(Holder::note::<host_sandbox::supervisor::SupervisorNote>);
            let how = last.and_then(|it| it.last_exit).unwrap_or_else(|| "an unknown end".to_owned());
            let message = format!("the host did not come back: it ended with {how}");
            let found = Diagnostic::new(Kind::Environment, Code::new("not_back"), message);
            return Err(Failure::of(
                found.hint("`mono-agent logs` says why; `mono-agent start` tries it again"),
            ));
        }
        if Instant::now() > until {
            return Err(Failure::system("the host did not come back in time; see mono-agent logs"));
        }
        tokio::time::sleep(PAUSE).await;
    }
}
