//! What must not leave: the one redactor in front of the log (RUN-9, QUA-5).
//!
//! Stage 1 stands in front of the log. It is the only way to make a [`Clean`] value, and the log takes nothing else. A text
//! that comes in pieces goes through a [`StreamRedactor`].
//! Stage 2, the [`Sanitiser`], stands in front of every view of the past.

mod arguments;
mod clean;
mod names;
mod redactor;
mod shapes;
mod stage2;
mod stream;
mod values;
mod view;
mod walk;

pub use arguments::{recorded, recorded_text};
pub use clean::Clean;
pub use names::{is_credential_variable, is_sensitive_key, secrets_within};
pub use redactor::{REDACTED, Redactor};
pub use stage2::{HOST_PATH, Omission, Sanitiser};
pub use stream::StreamRedactor;
pub use values::VALUE_CHARS_MIN;
pub use walk::{DEPTH_MAX, ITEMS_MAX, KEYS_MAX, NODES_MAX};
