//! `completions SHELL`.

use crate::args::Cli;
use clap::CommandFactory as _;
use std::process::ExitCode;

pub fn run(shell: clap_complete::Shell) -> ExitCode {
    clap_complete::generate(shell, &mut Cli::command(), "mono-agent", &mut std::io::stdout());
    ExitCode::SUCCESS
}
