//! The console over a fake agent and rows in memory.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "what can't be set up fails the test")]

#[path = "console/kit.rs"]
mod kit;
#[path = "console/safety.rs"]
mod safety;
#[path = "console/turns.rs"]
mod turns;
