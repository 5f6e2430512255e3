//! The terminal in line mode: reading lines, asking for approvals, sitting at the operator's desk, and
//! showing a run as it goes.

mod approval;
mod desk;
mod lines;
mod render;

pub use approval::TerminalAsk;
pub use desk::TerminalDesk;
pub use lines::{LineRead, Lines};
pub use render::{Piece, Renderer, Style};
