//! The agent's files. `host-files` opens them; the file tools use this port and nothing else.

/// Placeholder for the port's shape; see `host-files`.
pub trait Files: Send + Sync {}
