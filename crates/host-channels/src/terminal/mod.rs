//! The terminal in line mode: reading lines, asking for approvals and for what servers want to know, sitting at the operator's desk, and
//! showing a run as it goes.

mod approval;
mod desk;
mod elicit;
mod lines;
mod questions;
mod render;

pub use approval::TerminalAsk;
pub use desk::TerminalDesk;
pub use elicit::TerminalElicit;
pub use lines::{LineRead, Lines};
pub use render::{Piece, Renderer, Style};
