//! Where an agent's socket is.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// The longest path that fits a Unix socket address, in bytes, with its closing NUL left out.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// The place of one agent's local socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketAddress {
    path: PathBuf,
}

impl SocketAddress {
    /// The socket of an agent by its state folder. A path that is too long for a socket address moves to an
    /// owner-only folder below the system's temporary one, under a digest of the state folder, so that every
    /// process of the same owner finds the same place.
    pub fn of_state(state: &Path, uid: u32) -> Self {
        let inside = state.join("run").join("host.sock");
        if inside.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
            return SocketAddress { path: inside };
        }
        let digest = Sha256::digest(state.as_os_str().as_encoded_bytes());
        let short: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        SocketAddress {
            path: Path::new("/tmp").join(format!("mono-agent-{uid}")).join(format!("{short}.sock")),
        }
    }

    /// The socket at a path that is known already.
    pub fn at(path: PathBuf) -> Self {
        SocketAddress { path }
    }

    /// The path itself.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_state_path_still_has_a_socket() {
        let short = SocketAddress::of_state(Path::new("/a/.mono-agent"), 0);
        assert_eq!(short.path(), Path::new("/a/.mono-agent/run/host.sock"));
        let long = PathBuf::from(format!("/{}", "x".repeat(200)));
        let moved = SocketAddress::of_state(&long, 7);
        assert!(moved.path().as_os_str().len() <= SOCKET_PATH_BYTES_MAX);
        assert!(moved.path().starts_with("/tmp/mono-agent-7"));
        assert_eq!(moved, SocketAddress::of_state(&long, 7));
        assert_ne!(moved, SocketAddress::of_state(&long.join("y"), 7));
    }
}
