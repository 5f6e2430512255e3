//! `completions SHELL`.

use crate::answer::write_out;
use crate::args::Cli;
use clap::CommandFactory as _;
use std::process::ExitCode;

pub fn run(shell: clap_complete::Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "mono-agent", &mut script);
    write_out(&String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}
