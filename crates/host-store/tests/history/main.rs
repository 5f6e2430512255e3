//! The views of `host-history` over a real log.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    missing_docs,
    reason = "tests stand outside the rules of the host's own code"
)]

mod audit;
mod calls;
mod forms;
mod full_disk;
mod measure;
mod past;
mod people;
mod retention;
mod runs;
mod secrets;
mod words;
