//! The sandbox's helper: a small program of its own that the host carries inside and starts from memory.
//!
//! `forker` waits for orders on its standard input and forks a process for each: that process becomes the
//! engine (`bwrap`), or is itself the root of the child's tree. `init` is process 1 of a namespace. Either way
//! the root of a tree starts the command, collects every orphan, ends the whole tree when it is told to or when
//! the host is gone, holds the tree to its bounds, and reports how the command really ended.
//!
//! It is apart from the host's program because it is started for every command: a program of forty megabytes
//! takes the loader longer than the whole sandbox does. It has one thread, so a fork of it is always whole.
#![allow(clippy::disallowed_methods, reason = "this program is a part of the crate that starts processes")]

mod command;
mod confine;
mod forker;
mod supervise;
mod system;
mod tree;
#[path = "../src/wire.rs"]
#[allow(dead_code, reason = "the host uses the other half of it")]
mod wire;

/// Exit code where it was started wrongly.
const USAGE: i32 = 2;

fn main() {
    let word = std::env::args().nth(1).unwrap_or_default();
    match word.as_str() {
        wire::FORKER_WORD => forker::main(),
        wire::INIT_WORD => supervise::init(),
        _ => {
            eprintln!("this is a part of mono-agent and not for direct use");
            std::process::exit(USAGE);
        }
    }
}
