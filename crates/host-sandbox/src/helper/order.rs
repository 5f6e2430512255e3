//! What a helper is told.

use crate::identity::Become;
use crate::policy::Limits;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One child, as the helper is told of it. It reaches the helper through a memory file, so that neither
/// arguments nor environment stand in a command line that others can read.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) argv: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) cwd: PathBuf,
    pub(crate) role: Role,
    /// Who to become first, where the host is root.
    pub(crate) identity: Option<Become>,
    /// Give up every capability before the command begins.
    pub(crate) powerless: bool,
    /// The command's three streams, and the helper's own two: descriptors by number.
    pub(crate) stdin: i32,
    pub(crate) stdout: i32,
    pub(crate) stderr: i32,
    pub(crate) control: i32,
    pub(crate) status: i32,
    pub(crate) limits: Limits,
    pub(crate) filter: Option<Filter>,
    pub(crate) files: Option<FileGrants>,
    /// Refuse abstract sockets and signals that leave the tree, where the kernel can.
    pub(crate) scoped: bool,
    pub(crate) forward: Option<Forward>,
}

/// What the helper is in its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Role {
    /// Process 1 of a namespace: its end is everybody's end.
    Init,
    /// A collector of orphans among the host's other processes.
    Subreaper,
}

/// A system-call filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Filter {
    pub(crate) sockets: SocketRule,
}

/// Which sockets may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SocketRule {
    /// Internet, netlink and local ones: a network namespace confines them.
    Usual,
    /// Internet and netlink, but no local ones: nothing else would confine those.
    NoLocal,
    /// None but pairs.
    PairsOnly,
}

/// Landlock's grants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileGrants {
    /// Read and execute.
    pub(crate) read: Vec<PathBuf>,
    /// Everything.
    pub(crate) write: Vec<PathBuf>,
}

/// The way out of a network namespace: a loopback port whose connections go to a socket of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Forward {
    pub(crate) port: u16,
    pub(crate) socket: PathBuf,
}
