//! Definitions that outlive the process (MCP-16).

use crate::definition::Definitions;
use host_ports::BoxFuture;
use std::collections::HashMap;
use std::sync::Mutex;

/// The most bytes of one entry.
pub const ENTRY_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Where definitions are kept between processes, by the digest of the server's entry (64 hex digits). An
/// entry that can't be read counts as absent; one that can't be written is lost without harm.
pub trait DefinitionCache: Send + Sync {
    /// The bytes kept under a digest, at most [`ENTRY_BYTES_MAX`].
    fn load<'a>(&'a self, digest: &'a str) -> BoxFuture<'a, Option<Vec<u8>>>;
    /// Keeps bytes under a digest in place of what was there.
    fn store<'a>(&'a self, digest: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, ()>;
}

/// A cache that lives as long as its process.
#[derive(Debug, Default)]
pub struct MemoryCache(Mutex<HashMap<String, Vec<u8>>>);

impl DefinitionCache for MemoryCache {
    fn load<'a>(&'a self, digest: &'a str) -> BoxFuture<'a, Option<Vec<u8>>> {
        let found = self.0.lock().unwrap_or_else(|broken| broken.into_inner()).get(digest).cloned();
        Box::pin(async move { found })
    }

    fn store<'a>(&'a self, digest: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, ()> {
        self.0.lock().unwrap_or_else(|broken| broken.into_inner()).insert(digest.to_owned(), bytes);
        Box::pin(async {})
    }
}

/// An entry with the time of its making.
#[derive(serde::Serialize, serde::Deserialize)]
pub(crate) struct Entry {
    /// Unix milliseconds.
    pub(crate) at: i64,
    pub(crate) definitions: Definitions,
}

/// Now, in Unix milliseconds.
pub(crate) fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
