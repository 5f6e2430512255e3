//! What must not leave: the one redactor in front of the log (RUN-9, QUA-5).
//!
//! Stage 1 stands here. It is the only way to make a [`Clean`] value, and the log takes nothing else.

mod clean;
mod redactor;

pub use clean::Clean;
pub use redactor::Redactor;
