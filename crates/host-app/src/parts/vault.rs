//! Tokens of MCP servers on disk, for their owner alone (MCP-15).

use host_files::state::{self, ProcessLock};
use host_mcp::TokenVault;
use host_ports::BoxFuture;
use std::path::PathBuf;

/// The largest grant that is read, in bytes.
const GRANT_BYTES_MAX: u64 = 256 * 1024;

/// One file for each server, 0600, in a folder of 0700.
pub(crate) struct FileVault {
    pub(crate) folder: PathBuf,
}

impl FileVault {
    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, state::StateError> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err("the store of tokens broke off".to_owned()),
    }
}

impl TokenVault for FileVault {
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, String>> {
        let path = self.path(key);
        Box::pin(blocking(move || match state::read_bounded(&path, GRANT_BYTES_MAX) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }))
    }

    fn save<'a>(&'a self, key: &'a str, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), String>> {
        let (folder, path) = (self.folder.clone(), self.path(key));
        Box::pin(blocking(move || {
            state::ensure_private_dir(&folder)?;
            state::write_atomic(&path, &bytes, 0o600)
        }))
    }

    fn clear<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), String>> {
        let path = self.path(key);
        Box::pin(blocking(move || state::remove_file(&path)))
    }

    fn lock<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Box<dyn Send>, String>> {
        let (folder, path) = (self.folder.clone(), self.folder.join(format!("{key}.lock")));
        Box::pin(blocking(move || {
            state::ensure_private_dir(&folder)?;
            ProcessLock::wait(&path).map(|lock| Box::new(lock) as Box<dyn Send>)
        }))
    }
}
