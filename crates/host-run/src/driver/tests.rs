//! The driver over fakes of all ports.

mod kit;
mod runs;
mod sessions;
mod trouble;
