//! Every benchmark of the project: `host-bench list | NAME | all [--json]`, and `host-bench gen DIR [RUNS]
//! [CONVERSATIONS]`, which writes the same generated history that the `history` benchmark uses (5 calls a run), and
//! its events as JSON lines beside the log.
//!
//! Each row stands beside a named peer or the raw operation, measured in the same run. Nothing here is
//! asserted: figures go into the notes with their machine and date.

#![allow(clippy::disallowed_methods, reason = "measurements start processes and open files of their own")]

mod files;
mod gate;
mod history;
mod mcp;
mod memory;
mod process;
mod row;
mod sandbox;

use row::Row;
use std::process::ExitCode;

struct Bench {
    name: &'static str,
    about: &'static str,
    run: fn() -> Vec<Row>,
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "gate",
        about: "one in-process call through the gate, with and without the record",
        run: gate::run,
    },
    Bench {
        name: "process",
        about: "a fresh process: --help, the first answer, memory, sizes",
        run: process::run,
    },
    Bench {
        name: "sandbox",
        about: "a command in its sandbox beside the raw operation; memory under much output",
        run: sandbox::run,
    },
    Bench {
        name: "history",
        about: "questions over generated history, small and large, beside rg (HOST_BENCH_RUNS=100000: 1,000,000 records)",
        run: history::run,
    },
    Bench {
        name: "files",
        about: "Grep, Glob, Read and Edit beside rg, fdfind and the raw operation",
        run: files::run,
    },
    Bench {
        name: "mcp",
        about: "MCP servers: a call beside a bare rmcp client, 5,000 tools, cold start, what 1,000 runs leave behind",
        run: mcp::run,
    },
    Bench {
        name: "memory",
        about: "long-term memory of 100,000 facts: rebuild, recall, Remember beside an fsync, resident memory",
        run: memory::run,
    },
];

fn main() -> ExitCode {
    let mut asked = std::env::args_os().skip(1);
    let first = asked.next().unwrap_or_default();
    if first == memory::CHILD {
        memory::child(std::path::Path::new(&asked.next().unwrap_or_default()));
        return ExitCode::SUCCESS;
    }
    if first == mcp::SERVER {
        let mut number = || asked.next().and_then(|it| it.to_str()?.parse().ok()).unwrap_or(0);
        mcp::serve(number(), number());
        return ExitCode::SUCCESS;
    }
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    let json = names.iter().any(|it| it == "--json");
    names.retain(|it| it != "--json");
    if names.first().is_some_and(|it| it == "gen") {
        return generate(&names[1..]);
    }
    let chosen: Vec<&Bench> = match names.first().map(String::as_str) {
        None | Some("list") => {
            for bench in BENCHES {
                println!("{:<10} {}", bench.name, bench.about);
            }
            return ExitCode::SUCCESS;
        }
        Some("all") => BENCHES.iter().collect(),
        Some(_) => BENCHES.iter().filter(|bench| names.iter().any(|name| name == bench.name)).collect(),
    };
    if chosen.is_empty() {
        eprintln!("error: no benchmark has that name; `host-bench list` shows them");
        return ExitCode::from(2);
    }
    let rows: Vec<Row> = chosen.iter().flat_map(|bench| (bench.run)()).collect();
    if json {
        println!("{}", serde_json::to_string_pretty(&rows).unwrap_or_default());
    } else {
        row::print(&rows);
    }
    ExitCode::SUCCESS
}

fn generate(names: &[String]) -> ExitCode {
    let number = |at: usize, default: u64| match names.get(at) {
        None => Some(default),
        Some(text) => text.parse::<u64>().ok().filter(|it| *it > 0),
    };
    let (Some(dir), Some(runs), Some(conversations)) = (names.first(), number(1, 10_000), number(2, 100))
    else {
        eprintln!("error: host-bench gen DIR [RUNS] [CONVERSATIONS]");
        return ExitCode::from(2);
    };
    let (write, index) = history::generate(std::path::Path::new(dir), runs, 5, conversations);
    println!(
        "{runs} runs, {} records in {dir}: {write:.1} µs to write an event, {index:.1} µs to index it",
        runs * 10
    );
    ExitCode::SUCCESS
}
