//! `start`, and the two hidden verbs below it: the supervisor and the host itself (ENG-9).

use crate::answer::{Failure, print};
use crate::args::{HostArgs, Place, Start};
use crate::door::{client, load, state};
use host_app::operator::{ServeEnd, serve};
use host_app::{Agent, OpenOptions, StateFolder};
use host_config::{Loaded, Severity, not_built_yet};
use host_http::{BindError, LocalSocket};
use host_ports::CancellationToken;
use host_sandbox::supervisor::{
    RESTART_EXIT_CODE, Supervised, SupervisedEnd, start_detached, supervise as keep_running,
};
use host_vocab::{Code, Diagnostic, Kind};
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A log file moves on at this size.
const LOG_BYTES_MAX: u64 = 5 * 1024 * 1024;
/// How many old log files stay.
const LOG_GENERATIONS: u32 = 3;
/// How long a detached host may take to answer.
const READY_MAX: Duration = Duration::from_secs(60);

pub fn start(place: &Place, start: &Start) -> Result<ExitCode, Failure> {
    let loaded = load(place)?;
    if !loaded.has_config {
        let missing = Diagnostic::new(
            Kind::Usage,
            Code::new("no_config"),
            "there is no mono-agent.config.json in this folder; a host that runs on needs one",
        );
        return Err(Failure::of(missing.hint("`mono-agent init` makes it; `mono-agent chat` works without")));
    }
    let Some(state) = state(&loaded) else { return Err(Failure::system("the agent has no state folder")) };
    preflight(&loaded, &state)?;
    if start.detach { detach(place, start, &state) } else { foreground(place, start) }
}

/// What must hold before anything is started, so that the reason is told here and not in a log.
fn preflight(loaded: &Loaded, state: &StateFolder) -> Result<(), Failure> {
    for finding in loaded.findings.iter().filter(|it| it.severity == Severity::Warning) {
        eprintln!("warning: {}", finding.diagnostic);
    }
    for part in loaded.spec.iter().flat_map(not_built_yet) {
        eprintln!("warning: {}: read, not run: {}", part.place, part.what);
    }
    let asked = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let running = asked.is_ok_and(|runtime| runtime.block_on(client(state).is_running()));
    if running {
        return Err(already_running());
    }
    host_files::state::ensure_private_dir(state.root()).map_err(Failure::system)
}

fn already_running() -> Failure {
    let message = "this agent is already running";
    Failure::of(
        Diagnostic::new(Kind::Environment, Code::new("already_running"), message)
            .hint("`mono-agent status` shows it, `mono-agent restart` brings it back anew"),
    )
}

/// This very command line with a hidden verb in place of the typed one.
fn again(place: &Place, verb: &str, start: &Start, more: &[&str]) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec![verb.into(), "--agent".into(), place.agent.clone().into()];
    for (flag, path) in [("--config", &place.config), ("--env-file", &place.env_file)] {
        if let Some(path) = path {
            args.extend([flag.into(), path.clone().into()]);
        }
    }
    if let Some(port) = start.web_port {
        args.extend(["--web-port".into(), port.to_string().into()]);
    }
    args.extend(more.iter().map(OsString::from));
    args
}

fn foreground(place: &Place, start: &Start) -> Result<ExitCode, Failure> {
    keep(again(place, "__host", start, &["--supervised"]))
}

fn keep(args: Vec<OsString>) -> Result<ExitCode, Failure> {
    let program = std::env::current_exe().map_err(Failure::system)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::system)?;
    let end = runtime
        .block_on(keep_running(Supervised { program, args, before_start: |_| {} }))
        .map_err(Failure::system)?;
    Ok(match end {
        SupervisedEnd::Ended(code) => ExitCode::from(code),
        SupervisedEnd::GaveUp => {
            eprintln!(
                "error: the host ended again and again and is not started any more; the lines above say why"
            );
            ExitCode::from(1)
        }
    })
}

/// The hidden verb of a detached supervisor.
pub fn supervise(place: &Place, host: &HostArgs) -> Result<ExitCode, Failure> {
    let start = Start { detach: false, foreground: true, web_port: host.web_port };
    keep(again(place, "__host", &start, &["--supervised", "--log-file"]))
}

fn detach(place: &Place, start: &Start, state: &StateFolder) -> Result<ExitCode, Failure> {
    let log = state.host_log();
    let file = host_files::RotatingFile::open(&log, LOG_BYTES_MAX, LOG_GENERATIONS)
        .and_then(|file| file.into_file())
        .map_err(|error| Failure::system(format!("{}: {error}", log.display())))?;
    let program = std::env::current_exe().map_err(Failure::system)?;
    let pid =
        start_detached(&program, &again(place, "__supervise", start, &[]), file).map_err(Failure::system)?;
    let client = client(state);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::system)?;
    let until = Instant::now() + READY_MAX;
    loop {
        if let Ok(status) = runtime.block_on(client.status()) {
            print(place, &status, || {
                format!("{} is running: process {} below supervisor {pid}", status.name, status.pid)
            });
            return Ok(ExitCode::SUCCESS);
        }
        if !host_sandbox::supervisor::is_alive(pid) {
            let tail = super::logs::tail(&log, 5).join("\n  ");
            return Err(Failure::system(format!("the host ended at once; its log says:\n  {tail}")));
        }
        if Instant::now() > until {
            return Err(Failure::system("the host does not answer yet; see mono-agent logs"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The hidden verb of the host itself.
pub async fn run(place: &Place, host: &HostArgs) -> Result<ExitCode, Failure> {
    let loaded = load(place)?;
    let Some(state) = state(&loaded) else { return Err(Failure::system("the agent has no state folder")) };
    log_to(&state, host.log_file)?;
    let socket =
        LocalSocket::bind(state.socket(host_files::state::user_id())).await.map_err(|error| match error {
            BindError::Running => already_running(),
            other => Failure::system(other),
        })?;
    let generation = next_generation(&state)?;
    let options = OpenOptions { generation, supervised: host.supervised, ..OpenOptions::default() };
    let agent = Arc::new(Agent::open(loaded, options).await?);
    if let Some(note) = &agent.model().note {
        tracing::warn!("{note}");
    }
    agent.started().await;
    agent.recover().await;
    tracing::info!(agent = agent.name(), generation, model = %agent.model().reference, "the host is ready");
    if let Some(port) = host.web_port {
        tracing::warn!(port, "the web console is not served by this version");
    }
    let upkeep = CancellationToken::new();
    let keeping = tokio::spawn({
        let (agent, stop) = (Arc::clone(&agent), upkeep.clone());
        async move { agent.keep_up(stop).await }
    });
    let end = serve(Arc::clone(&agent), socket, terminated()).await;
    tracing::info!("the host ends");
    upkeep.cancel();
    // Retention goes on from where it is at the next start.
    let _ended = tokio::time::timeout(Duration::from_secs(5), keeping).await;
    agent.stopped().await;
    agent.close().await;
    Ok(match end {
        ServeEnd::Stopped => ExitCode::SUCCESS,
        ServeEnd::Restart => ExitCode::from(RESTART_EXIT_CODE),
    })
}

fn terminated() -> CancellationToken {
    let stop = CancellationToken::new();
    let fired = stop.clone();
    tokio::spawn(async move {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut term) = signal(SignalKind::terminate()) else { return };
        tokio::select! {
            _ = term.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        fired.cancel();
    });
    stop
}

/// Counts the starts of this agent's host.
fn next_generation(state: &StateFolder) -> Result<u64, Failure> {
    let path = state.generation();
    let before = match host_files::state::read_bounded(&path, 64) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).trim().parse::<u64>().unwrap_or(0),
        Err(error) if error.is_not_found() => 0,
        Err(error) => return Err(Failure::system(error)),
    };
    let next = before + 1;
    if let Some(folder) = path.parent() {
        host_files::state::ensure_private_dir(folder).map_err(Failure::system)?;
    }
    host_files::state::write_atomic(&path, next.to_string().as_bytes(), 0o600).map_err(Failure::system)?;
    Ok(next)
}

/// JSON lines into the log file of a detached host, plain lines on standard error otherwise.
fn log_to(state: &StateFolder, file: bool) -> Result<(), Failure> {
    use tracing_subscriber::EnvFilter;
    // What the protocol's library says of itself at `info` (whole messages of servers) is not for a log.
    let filter =
        EnvFilter::try_from_env("MONO_AGENT_LOG").unwrap_or_else(|_| EnvFilter::new("info,rmcp=warn"));
    if file {
        let log = host_files::RotatingFile::open(&state.host_log(), LOG_BYTES_MAX, LOG_GENERATIONS)
            .map_err(|error| Failure::system(format!("the log file can't be opened: {error}")))?;
        let writer = std::sync::Mutex::new(log);
        tracing_subscriber::fmt().json().with_env_filter(filter).with_writer(writer).init();
    } else {
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .with_ansi(crate::answer::colour())
            .init();
    }
    Ok(())
}
