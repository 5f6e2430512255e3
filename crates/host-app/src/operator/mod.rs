//! The owner's way to a running host: the local socket, its protocol, both ends (ENG-9).

mod client;
mod people;
pub mod protocol;
mod server;
mod views;

pub use client::{Client, ClientError};
pub use server::{ServeEnd, serve};
pub use views::View;
