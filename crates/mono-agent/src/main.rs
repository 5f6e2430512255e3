//! The command line: what was typed becomes one call of the host, and its answer becomes text or JSON.

mod answer;
mod args;
mod commands;
mod door;
mod past;

use answer::Failure;
use args::{Cli, Command};
use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return mistyped(&error),
    };
    let json = cli.place.json;
    match dispatch(cli) {
        Ok(code) => code,
        Err(failure) => failure.tell(json),
    }
}

/// Help that was asked for, or what is wrong with the command line: in words, and as JSON where that was
/// asked for.
fn mistyped(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let json = std::env::args_os().skip(1).take_while(|it| it != "--").any(|it| it == "--json");
    if !json {
        let _ = error.print();
        return ExitCode::from(2);
    }
    let rendered = error.render().to_string();
    let text = rendered.trim();
    let (what, usage) = text.split_once("\n\n").unwrap_or((text, ""));
    let what = what.strip_prefix("error: ").unwrap_or(what);
    let usage = usage.lines().map(str::trim).filter(|line| !line.is_empty());
    Failure::usage(what.lines().map(str::trim).collect::<Vec<_>>().join(" ")).hints(usage).tell(true)
}

fn dispatch(cli: Cli) -> Result<ExitCode, Failure> {
    let place = &cli.place;
    match cli.command {
        Command::Completions { shell } => Ok(commands::completions::run(shell)),
        Command::Init(init) => commands::init::run(place, &init),
        Command::Config { schema, reference } => commands::config::run(place, schema, reference),
        Command::Logs(logs) => commands::logs::run(place, &logs),
        Command::Supervise(host) => commands::host::supervise(place, &host),
        Command::Start(start) => commands::host::start(place, &start),
        Command::Host(host) => on_threads(commands::host::run(place, &host)),
        Command::Chat(chat) => on_threads(commands::chat::run(place, &chat)),
        Command::Run(run) => on_threads(commands::run::run(place, &run)),
        Command::Stop => on_one_thread(commands::control::stop(place)),
        Command::Restart { clear_sessions } => {
            on_one_thread(commands::control::restart(place, clear_sessions))
        }
        Command::Status => on_one_thread(commands::control::status(place)),
        Command::Web(web) => on_threads(commands::web::run(place, &web)),
        Command::Validate => on_threads(commands::validate::run(place)),
        Command::Tools(on) => on_threads(commands::tools::tools(place, &on)),
        Command::Explain(on) => on_threads(commands::tools::explain(place, &on)),
        Command::Call(call) => on_threads(commands::call::run(place, call)),
        Command::ConformanceClient { url } => on_threads(commands::mcp::conformance_client(url)),
        Command::Mcp(mcp) => on_threads(commands::mcp::run(place, &mcp)),
        Command::Runs { verb } => on_threads(commands::runs::run(place, verb)),
        Command::Metrics(report) => {
            eprintln!("note: `metrics` is called `runs report` now");
            on_threads(commands::runs::run(place, Some(args::Runs::Report(report))))
        }
        Command::AuditRuns => {
            eprintln!("note: `audit-runs` is called `runs audit` now");
            on_threads(commands::runs::run(place, Some(args::Runs::Audit)))
        }
        Command::Sessions { verb } => on_threads(commands::sessions::run(place, verb)),
        Command::Approvals { verb } => on_one_thread(commands::approvals::run(place, verb)),
        Command::Audit(audit) => commands::audit::run(place, &audit),
        Command::Memory(memory) => on_threads(commands::memory::run(place, &memory)),
        Command::Sandbox(sandbox) => on_threads(commands::sandbox::run(place, &sandbox)),
    }
}

/// Runs a verb that works: with as many threads as the machine has processors, at most four.
fn on_threads<F: Future<Output = Result<ExitCode, Failure>>>(verb: F) -> Result<ExitCode, Failure> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(4);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    on(builder.worker_threads(threads), verb)
}

/// Runs a verb that only asks.
fn on_one_thread<F: Future<Output = Result<ExitCode, Failure>>>(verb: F) -> Result<ExitCode, Failure> {
    on(&mut tokio::runtime::Builder::new_current_thread(), verb)
}

fn on<F>(builder: &mut tokio::runtime::Builder, verb: F) -> Result<ExitCode, Failure>
where
    F: Future<Output = Result<ExitCode, Failure>>,
{
    let runtime = builder.enable_all().build().map_err(Failure::system)?;
    let code = runtime.block_on(verb);
    // Reading standard input can't be called off; nothing else may hold the end up either.
    runtime.shutdown_background();
    code
}
