//! Every listening socket: the owner-only local socket of a running agent (ENG-9), request-scoped addresses on the
//! loopback interface for outside runtimes (HIS-1), the one to which MCP servers post
//! their progress (CTX-4), and the web console's (WEB-4).

#![allow(clippy::disallowed_methods, reason = "this crate owns the listening sockets")]

mod address;
mod callback;
mod console;
mod frames;
mod local;
mod loopback;
mod progress;
mod registry;
mod request;

pub use address::SocketAddress;
pub use callback::CallbackListener;
pub use console::ConsoleListener;
pub use frames::{FRAME_BYTES_MAX, FrameError, Frames, READ_FRAME_BYTES_MAX};
pub use local::{BindError, ConnectError, LocalFrames, LocalSocket, connect};
pub use loopback::{Loopback, MESSAGE_BYTES_MAX};
pub use progress::{ProgressBridge, ProgressLedger, ProgressPost};
pub use registry::{HostEntry, HostRegistry};
