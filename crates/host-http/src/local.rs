//! The owner-only local socket.

use crate::{Frames, SocketAddress};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};

/// Why the socket can't be bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another process of this agent answers there.
    #[error("this agent is already running")]
    Running,
    /// The folder is not the owner's alone.
    #[error("the folder of the socket belongs to someone else or can be entered by others: {0}")]
    Unsafe(String),
    /// The operating system refused.
    #[error("the socket can't be bound: {0}")]
    Failed(#[from] io::Error),
}

/// Why nobody could be reached.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No process listens.
    #[error("the agent is not running")]
    NotRunning,
    /// Someone else's process listens.
    #[error("the socket belongs to another user")]
    Foreign,
    /// Something else stands where a folder must be.
    #[error("{} is not a folder; the agent keeps its state there: move it away or remove it", .0.display())]
    NoFolder(PathBuf),
    /// The operating system refused.
    #[error("the socket {} can't be reached: {cause}", path.display())]
    Failed {
        /// The socket.
        path: PathBuf,
        /// What it said.
        cause: io::Error,
    },
}

/// A bound socket, removed when it goes.
pub struct LocalSocket {
    listener: UnixListener,
    address: SocketAddress,
}

/// One connection.
pub type LocalFrames = Frames<OwnedReadHalf, OwnedWriteHalf>;

impl LocalSocket {
    /// Binds it: folder 0700, socket 0600. A socket that nobody listens on any more is replaced.
    ///
    /// # Errors
    /// See [`BindError`].
    pub async fn bind(address: SocketAddress) -> Result<Self, BindError> {
        let path = address.path();
        if let Some(folder) = path.parent() {
            owner_only_folder(folder)?;
        }
        match UnixStream::connect(path).await {
            Ok(_) => return Err(BindError::Running),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(LocalSocket { listener, address })
    }

    /// Waits for the next connection of the owner (or root); others are closed unread.
    ///
    /// # Errors
    /// Where the listener itself broke.
    pub async fn accept(&self) -> io::Result<LocalFrames> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let mine = rustix::process::geteuid().as_raw();
            match stream.peer_cred() {
                Ok(peer) if peer.uid() == mine || peer.uid() == 0 => return Ok(frames(stream)),
                _ => drop(stream),
            }
        }
    }

    /// Where it is.
    pub fn address(&self) -> &SocketAddress {
        &self.address
    }
}

impl Drop for LocalSocket {
    fn drop(&mut self) {
        // A socket that stays behind is replaced at the next start, so a failure here is harmless.
        let _ = std::fs::remove_file(self.address.path());
    }
}

/// Connects to a running agent; gives its process too.
///
/// # Errors
/// See [`ConnectError`].
pub async fn connect(address: &SocketAddress) -> Result<(LocalFrames, Option<u32>), ConnectError> {
    let stream = match UnixStream::connect(address.path()).await {
        Ok(stream) => stream,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            return Err(ConnectError::NotRunning);
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(ConnectError::NoFolder(in_the_way(address.path())));
        }
        Err(cause) => return Err(ConnectError::Failed { path: address.path().to_owned(), cause }),
    };
    let mine = rustix::process::geteuid().as_raw();
    let peer = stream
        .peer_cred()
        .map_err(|cause| ConnectError::Failed { path: address.path().to_owned(), cause })?;
    if peer.uid() != mine && mine != 0 {
        return Err(ConnectError::Foreign);
    }
    let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok());
    Ok((frames(stream), pid))
}

/// What of the way to a file is no folder: the first thing that is there.
fn in_the_way(path: &Path) -> PathBuf {
    let above = || path.ancestors().skip(1);
    above().find(|it| std::fs::symlink_metadata(it).is_ok()).unwrap_or(path).to_owned()
}

fn frames(stream: UnixStream) -> LocalFrames {
    let (read, write) = stream.into_split();
    Frames::new(read, write)
}

fn owner_only_folder(folder: &Path) -> Result<(), BindError> {
    std::fs::create_dir_all(folder)?;
    let about = std::fs::symlink_metadata(folder)?;
    let mine = rustix::process::geteuid().as_raw();
    if !about.is_dir() || about.uid() != mine {
        return Err(BindError::Unsafe(folder.display().to_string()));
    }
    if about.mode() & 0o077 != 0 {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    // ENG-9
    #[tokio::test]
    async fn the_socket_is_the_owners_and_there_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let address = SocketAddress::of_state(folder.path(), 0);
        assert!(matches!(connect(&address).await, Err(ConnectError::NotRunning)));
        let socket = LocalSocket::bind(address.clone()).await.unwrap();
        let mode = std::fs::metadata(address.path()).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(std::fs::metadata(address.path().parent().unwrap()).unwrap().mode() & 0o777, 0o700);
        assert!(matches!(LocalSocket::bind(address.clone()).await, Err(BindError::Running)));
        let (mut client, pid) = connect(&address).await.unwrap();
        assert_eq!(pid, Some(std::process::id()));
        let _probe = socket.accept().await.unwrap(); // the second bind's own probe
        let mut server = socket.accept().await.unwrap();
        client.write(&json!({"op": "x"})).await.unwrap();
        assert_eq!(server.read::<Value>().await.unwrap(), Some(json!({"op": "x"})));
        drop((socket, server, client));
        assert!(matches!(connect(&address).await, Err(ConnectError::NotRunning)));
    }

    // ENG-9
    #[tokio::test]
    async fn a_file_in_the_place_of_the_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        std::fs::write(&state, "").unwrap();
        let found = connect(&SocketAddress::of_state(&state, 0)).await;
        assert!(matches!(found, Err(ConnectError::NoFolder(path)) if path == state));
    }

    #[tokio::test]
    async fn a_socket_left_by_a_crash_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let address = SocketAddress::of_state(folder.path(), 0);
        std::fs::create_dir_all(address.path().parent().unwrap()).unwrap();
        drop(std::os::unix::net::UnixListener::bind(address.path()).unwrap());
        assert!(LocalSocket::bind(address).await.is_ok());
    }
}
