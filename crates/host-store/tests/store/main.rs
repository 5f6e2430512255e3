//! The store, tested whole: on real files, with real processes, full disks and power cuts.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    missing_docs,
    reason = "tests stand outside the rules of the host's own code"
)]

mod corpus;
mod disk_full;
mod events;
mod power;
mod power_vfs;
mod processes;
mod recovery;
mod refusals;
mod runs;
mod search;
mod speed;
mod torn;
mod vault;
