//! `start`, and the two hidden verbs below it: the supervisor and the host itself (ENG-9).

use super::control::Running;
use super::standing::{self, Standing};
use super::web::Serving;
use crate::answer::{Failure, print};
use crate::args::{HostArgs, Place, Start};
use crate::door::{client, load, state, state_here, whereabouts};
use host_app::operator::{Client, ClientError, ServeEnd, serve};
use host_app::{Agent, OpenOptions, StateFolder};
use host_config::{Loaded, Severity, not_built_yet};
use host_http::{BindError, ConnectError, HostEntry, HostRegistry, LocalSocket};
use host_ports::CancellationToken;
use host_sandbox::supervisor::{
    Detached, RESTART_EXIT_CODE, Seat, SeatError, Supervised, SupervisedEnd, start_detached,
    supervise as keep_running,
};
use host_vocab::{Code, Diagnostic, Kind};
use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A log file moves on at this size.
const LOG_BYTES_MAX: u64 = 5 * 1024 * 1024;
/// How many old log files stay.
const LOG_GENERATIONS: u32 = 3;
/// How long a detached host may take to answer.
const READY_MAX: Duration = Duration::from_secs(60);
/// How long a host waits for one before it that is still ending.
const FREE_MAX: Duration = Duration::from_secs(40);

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
    if start.detach { detach(place, start, &state) } else { foreground(place, start, &state) }
}

/// What must hold before anything is started, so that the reason is told here and not in a log.
fn preflight(loaded: &Loaded, state: &StateFolder) -> Result<(), Failure> {
    for finding in loaded.findings.iter().filter(|it| it.severity == Severity::Warning) {
        eprintln!("warning: {}", finding.diagnostic);
    }
    for part in loaded.spec.iter().flat_map(not_built_yet) {
        eprintln!("warning: {}: read, not run: {}", part.place, part.what);
    }
    host_files::state::ensure_private_dir(state.root()).map_err(Failure::system)?;
    if let Some(kept) = Standing::of(state)?.kept_already() {
        return Err(kept);
    }
    match runtime()?.block_on(client(state).status()) {
        Err(ClientError::Connect(ConnectError::NotRunning) | ClientError::Gone) => Ok(()),
        Ok(_) => Err(already_running()),
        Err(error) => Err(error.into()),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::system)
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

fn foreground(place: &Place, start: &Start, state: &StateFolder) -> Result<ExitCode, Failure> {
    let more: &[&str] = if place.json { &["--supervised", "--json"] } else { &["--supervised"] };
    keep(state, again(place, "__host", start, more), place.json)
}

/// Keeps a host running, from this process. With `tell_ready` its first answer goes to standard output.
fn keep(state: &StateFolder, args: Vec<OsString>, tell_ready: bool) -> Result<ExitCode, Failure> {
    host_files::state::ensure_private_dir(&state.run()).map_err(Failure::system)?;
    let seat = match Seat::take(&state.supervisor_seat()) {
        Ok(seat) => seat,
        // Another one was quicker.
        Err(SeatError::Held { .. }) => {
            return Err(Standing::of(state)?.kept_already().unwrap_or_else(already_running));
        }
        Err(error) => return Err(standing::failed(error)),
    };
    let program = std::env::current_exe().map_err(Failure::system)?;
    let client = client(state);
    let ready = async {
        if tell_ready {
            say_ready(&client).await;
        }
        std::future::pending::<()>().await;
    };
    let end = runtime()?.block_on(async {
        tokio::select! {
            end = keep_running(Supervised { program, args }, &seat) => Some(end),
            () = ready => None,
        }
    });
    seat.keep_to_the_end();
    match end {
        None => Ok(ExitCode::SUCCESS),
        Some(Ok(SupervisedEnd::Ended(code))) => Ok(ExitCode::from(code)),
        Some(Ok(SupervisedEnd::GaveUp { crashes, last_exit })) => {
            let message = format!(
                "the host crashed {crashes} times in a row (last exit: {last_exit}) and is not started any more; the \
                 lines above say why"
            );
            Err(Failure::of(Diagnostic::new(Kind::Environment, Code::new("crashes"), message)))
        }
        Some(Err(error)) => Err(Failure::system(error)),
    }
}

/// Prints how the host is as soon as it answers.
async fn say_ready(client: &Client) {
    loop {
        if let Ok(status) = client.status().await {
            let line = serde_json::to_string(&Running::new(status, Some(std::process::id())));
            // Nobody reads it any more: no reason to end.
            let _ = writeln!(std::io::stdout(), "{}", line.unwrap_or_default());
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The hidden verb of a detached supervisor. What it and its host say on standard output is for `start`.
pub fn supervise(place: &Place, host: &HostArgs) -> Result<ExitCode, Failure> {
    let start = Start { detach: false, foreground: true, web_port: host.web_port };
    let args = again(place, "__host", &start, &["--supervised", "--log-file", "--json"]);
    keep(&state_here(place)?, args, false)
}

fn detach(place: &Place, start: &Start, state: &StateFolder) -> Result<ExitCode, Failure> {
    let log = state.host_log();
    let file = host_files::RotatingFile::open(&log, LOG_BYTES_MAX, LOG_GENERATIONS)
        .and_then(|file| file.into_file())
        .map_err(|error| unwritable(&log, &error))?;
    let program = std::env::current_exe().map_err(Failure::system)?;
    let args = again(place, "__supervise", start, &["--json"]);
    let mut begun = start_detached(&program, &args, file).map_err(Failure::system)?;
    let client = client(state);
    let runtime = runtime()?;
    let until = Instant::now() + READY_MAX;
    loop {
        let standing = Standing::of(state)?;
        if let Ok(status) = runtime.block_on(client.status()) {
            // Several starts at once end in one supervisor: it is named, whoever began it.
            let running = Running::new(status, standing.supervisor_pid());
            print(place, &running, || running.line());
            return Ok(ExitCode::SUCCESS);
        }
        let ended = begun.ended().map_err(Failure::system)?;
        if let Some(status) = ended.filter(|_| Standing::of(state).is_ok_and(|it| it.supervisor.is_none())) {
            return Err(why(&begun, status, &log));
        }
        if Instant::now() > until {
            let message = format!("the host does not answer yet: {}", standing.absent().reason);
            let found = Diagnostic::new(Kind::Environment, Code::new("not_ready"), message);
            return Err(Failure::of(found.hint("`mono-agent logs` says why, `mono-agent stop` ends it")));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A file of the host's that the system doesn't let it have.
fn unwritable(path: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure::system(format!("{}: {}", path.display(), host_files::state::in_words(error)))
}

/// Why a host that was just started is not there: in its own words, else in those of the log.
fn why(begun: &Detached, status: std::process::ExitStatus, log: &std::path::Path) -> Failure {
    let said = begun.said();
    if let Some(failure) = said.lines().rev().find_map(|line| Failure::told(line, status.code())) {
        return failure;
    }
    let tail = super::logs::tail(log, 5).join("\n  ");
    let tail = if tail.is_empty() { "nothing".to_owned() } else { format!("\n  {tail}") };
    Failure::system(format!("the host ended at once ({status}); its log {} says: {tail}", log.display()))
}

/// The hidden verb of the host itself.
pub async fn run(place: &Place, host: &HostArgs) -> Result<ExitCode, Failure> {
    let loaded = load(place)?;
    let Some(state) = state(&loaded) else { return Err(Failure::system("the agent has no state folder")) };
    log_to(&state, host.log_file)?;
    host_seat(&state).await?.keep_to_the_end();
    let socket =
        LocalSocket::bind(state.socket(host_files::state::user_id())).await.map_err(|error| match error {
            BindError::Running => already_running(),
            BindError::Failed(cause) => unwritable(state.socket(host_files::state::user_id()).path(), &cause),
            other => Failure::system(other),
        })?;
    let generation = next_generation(&state)?;
    let options = OpenOptions { generation, supervised: host.supervised, ..OpenOptions::default() };
    let agent = Arc::new(Agent::open(loaded, options).await?);
    if let Some(note) = &agent.model().note {
        tracing::warn!("{note}");
    }
    let entry = entry(&agent, &state);
    announce(place, &entry);
    agent.started().await;
    agent.recover().await;
    tracing::info!(agent = agent.name(), generation, model = %agent.model().reference, "the host is ready");
    let stop = terminated();
    let console = match host.web_port {
        Some(port) => Some(Serving::of_host(port, entry, state.root(), stop.child_token()).await?),
        None => None,
    };
    if let Some(console) = &console {
        tracing::info!(url = console.url(), "the web console is served");
        agent.serves_web(console.url());
    }
    let upkeep = CancellationToken::new();
    let keeping = tokio::spawn({
        let (agent, stop) = (Arc::clone(&agent), upkeep.clone());
        async move { agent.keep_up(stop).await }
    });
    let end = serve(Arc::clone(&agent), socket, stop.clone()).await;
    tracing::info!("the host ends");
    upkeep.cancel();
    stop.cancel();
    if let Some(console) = console {
        console.ended().await;
    }
    // Retention goes on from where it is at the next start.
    let _ended = tokio::time::timeout(Duration::from_secs(5), keeping).await;
    agent.stopped().await;
    agent.close().await;
    Ok(match end {
        ServeEnd::Stopped => ExitCode::SUCCESS,
        ServeEnd::Restart => ExitCode::from(RESTART_EXIT_CODE),
    })
}

/// This agent as consoles find it.
fn entry(agent: &Agent, state: &StateFolder) -> HostEntry {
    HostEntry {
        state: state.root().to_owned(),
        socket: state.socket(host_files::state::user_id()).path().to_owned(),
        name: agent.name().to_owned(),
        pid: std::process::id(),
        started_at: agent.started_at(),
    }
}

/// Lets the web console find this agent. That it can't is no reason not to run.
fn announce(place: &Place, entry: &HostEntry) {
    let Ok(env) = whereabouts(place).map(|at| at.env) else { return };
    let Some(home) = env.get("HOME").filter(|home| !home.is_empty()) else {
        tracing::warn!("HOME is not set, so `mono-agent web` can't find this agent; --web-port serves it");
        return;
    };
    if let Err(error) = HostRegistry::of_home(std::path::Path::new(home)).announce(entry) {
        tracing::warn!(%error, "this agent could not be announced; `mono-agent web` does not find it");
    }
}

/// Takes the place of this agent's host; one that is just ending is waited for.
async fn host_seat(state: &StateFolder) -> Result<Seat, Failure> {
    host_files::state::ensure_private_dir(&state.run()).map_err(Failure::system)?;
    let until = Instant::now() + FREE_MAX;
    loop {
        match Seat::take(&state.host_seat()) {
            Ok(seat) => return Ok(seat),
            Err(SeatError::Held { .. }) if Instant::now() < until => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(SeatError::Held { pid, .. }) => {
                let pid = pid.map_or_else(|| "elsewhere".to_owned(), |pid| pid.to_string());
                let message = format!("another host of this agent is still there (process {pid})");
                let found = Diagnostic::new(Kind::Environment, Code::new("already_running"), message);
                return Err(Failure::of(found.hint("`mono-agent stop` ends it")));
            }
            Err(error) => return Err(standing::failed(error)),
        }
    }
}

/// Fires when the process is told to end.
pub fn terminated() -> CancellationToken {
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
        Ok(_) => standing::generation(state),
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
            .map_err(|error| unwritable(&state.host_log(), &error))?;
        let writer = std::sync::Mutex::new(log);
        tracing_subscriber::fmt()
            .json()
            // What a full disk does not take is lost; complaining about it would fail in the same way.
            .log_internal_errors(false)
            .with_env_filter(filter)
            .with_writer(writer)
            .init();
    } else {
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .with_ansi(crate::answer::colour())
            .init();
    }
    Ok(())
}
