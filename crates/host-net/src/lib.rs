//! Every outbound connection.
//!
//! [`NetHttp`] is the host's only HTTP client: rustls with the ring provider, no automatic redirects, no
//! cookies, no proxy from the environment. It is built at the first request, so a process that never
//! connects pays nothing. [`Egress`] decides on names and *resolved* addresses before a connection opens,
//! so a name that changes its address between check and use gains nothing.

#![allow(clippy::disallowed_methods, reason = "this crate is where connections go out")]

mod address;
mod client;
mod egress;
mod fault;
mod redirect;
mod tls;

pub use address::{AddressKind, classify};
pub use client::{NetHttp, NetSettings};
pub use egress::{Egress, PublicOnly};
