//! Every listening socket. Today that is one: the owner-only local socket of a running agent (ENG-9).

#![allow(clippy::disallowed_methods, reason = "this crate owns the listening sockets")]

mod address;
mod frames;
mod local;

pub use address::SocketAddress;
pub use frames::{FRAME_BYTES_MAX, FrameError, Frames, READ_FRAME_BYTES_MAX};
pub use local::{BindError, ConnectError, LocalFrames, LocalSocket, connect};
