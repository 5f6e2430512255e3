//! What must not leave: the one redactor in front of the log (RUN-9, QUA-5).
//!
//! Stage 1 stands here. It is the only way to make a [`Clean`] value, and the log takes nothing else. A text
//! that comes in pieces goes through a [`StreamRedactor`].

mod clean;
mod names;
mod redactor;
mod shapes;
mod stream;
mod values;
mod view;
mod walk;

pub use clean::Clean;
pub use names::{is_credential_variable, is_sensitive_key};
pub use redactor::{REDACTED, Redactor};
pub use stream::StreamRedactor;
pub use values::VALUE_CHARS_MIN;
pub use walk::{DEPTH_MAX, ITEMS_MAX, KEYS_MAX, NODES_MAX};
