//! The web tools through the gate, over real connections to fakes on this machine.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "web/fetch.rs"]
mod fetch;
#[path = "web/pages.rs"]
mod pages;
#[path = "web/place.rs"]
mod place;
#[path = "web/search.rs"]
mod search;
