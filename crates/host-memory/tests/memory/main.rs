//! Memory on real files and a real index.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests look at the files and start processes"
)]

mod crash;
mod fixture;
mod journal;
mod labelled;
mod parallel;
mod poison;
mod recall;
mod remember;
mod remote;
mod speed;
mod upkeep;
