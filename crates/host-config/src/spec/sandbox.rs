//! The sandbox (SBX-1).

use serde::Deserialize;
use std::path::PathBuf;

/// The `sandbox` section, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSpec {
    /// Whether commands are confined.
    pub mode: SandboxMode,
    /// What commands may reach.
    pub network: NetworkMode,
    /// The hosts of the mode `allowlist`, in lower case: a name and all below it, or `*.name`.
    pub allowlist: Vec<String>,
    /// Folders that may be read, absolute; those that may be written among them.
    pub readable_roots: Vec<PathBuf>,
    /// Folders that may be written, absolute.
    pub writable_roots: Vec<PathBuf>,
    /// Patterns, against the workspace, of what may not be written.
    pub deny_write: Vec<String>,
    /// Whether a command runs unconfined where the sandbox can't be made. Both keys were given (SBX-1).
    pub unsafe_host_process: bool,
    /// Bounds of a command.
    pub limits: LimitsSpec,
    /// Whether somebody wrote any of it.
    pub is_declared: bool,
}

/// Whether commands are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    /// By what this system has.
    Native,
    /// Not at all.
    Off,
}

/// What commands may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkMode {
    /// Nothing.
    None,
    /// This machine.
    Localhost,
    /// The hosts of the list.
    Allowlist,
    /// Everything.
    All,
}

impl NetworkMode {
    /// The mode as the config spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            NetworkMode::None => "none",
            NetworkMode::Localhost => "localhost",
            NetworkMode::Allowlist => "allowlist",
            NetworkMode::All => "all",
        }
    }
}

/// Bounds of a command; none = the sandbox's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LimitsSpec {
    /// Memory of a command and all its children, in bytes.
    pub memory_bytes: Option<u64>,
    /// Processes of a command.
    pub processes: Option<u64>,
    /// Processor time of a process, in seconds.
    pub cpu_seconds: Option<u64>,
    /// Open files of a process.
    pub open_files: Option<u64>,
    /// The largest file a process may write, in bytes.
    pub file_bytes: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RawSandbox {
    pub mode: SandboxMode,
    pub network: RawNetwork,
    pub readable_roots: Option<Vec<PathBuf>>,
    pub writable_roots: Option<Vec<PathBuf>>,
    pub deny_write: Vec<String>,
    pub fallback: String,
    pub unsafe_allow_host_process: bool,
    #[serde(default)]
    pub limits: LimitsSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RawNetwork {
    pub mode: NetworkMode,
    pub allowlist: Vec<String>,
}

impl RawSandbox {
    /// The section with its computed defaults: both kinds of roots are the workspace where nobody set
    /// them, and what may be written may be read (host-core facts 7.7).
    pub(crate) fn resolve(self, workspace: &std::path::Path, is_declared: bool) -> SandboxSpec {
        let writable_roots = self.writable_roots.unwrap_or_else(|| vec![workspace.to_owned()]);
        let mut readable_roots = self.readable_roots.unwrap_or_else(|| vec![workspace.to_owned()]);
        for root in &writable_roots {
            if !readable_roots.contains(root) {
                readable_roots.push(root.clone());
            }
        }
        SandboxSpec {
            mode: self.mode,
            network: self.network.mode,
            allowlist: self.network.allowlist.iter().map(|host| host.to_ascii_lowercase()).collect(),
            readable_roots,
            writable_roots,
            deny_write: self.deny_write,
            unsafe_host_process: self.fallback == "unsafe-host-process" && self.unsafe_allow_host_process,
            limits: self.limits,
            is_declared,
        }
    }
}

/// Why a text can't stand in the allowlist, if so (host-core facts 7.4).
pub(crate) fn host_problem(host: &str) -> Option<&'static str> {
    let name = host.strip_prefix("*.").unwrap_or(host);
    if host == "*" {
        return Some("`*` is every host: use \"mode\": \"all\" if that is meant");
    }
    if host.chars().any(char::is_whitespace) {
        return Some("a host has no spaces; one entry is one host");
    }
    if host.contains("://") {
        return Some("write the host alone, without scheme and path");
    }
    if host.contains('/') {
        return Some("write the host alone, without path or address range");
    }
    if host.contains('[') || host.matches(':').count() > 1 {
        return Some("an IPv6 address can't be listed; list a name");
    }
    if host.contains(':') {
        return Some("write the host alone, without port");
    }
    if host.contains('*') && (name.contains('*') || name.is_empty()) {
        return Some("`*` stands only at the start, as `*.example.com`");
    }
    let label_ok = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if name.len() > 253 || !name.split('.').all(label_ok) {
        return Some("this is no host name (write an international name in its `xn--` form)");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    // SBX-1
    #[test]
    fn hosts_of_the_allowlist() {
        for good in
            ["example.com", "*.example.com", "localhost", "127.0.0.1", "a_b.example", "xn--bcher-kva.example"]
        {
            assert_eq!(host_problem(good), None, "{good}");
        }
        for bad in [
            "*",
            "*.*",
            "*.",
            "a.*.b",
            "https://x.y",
            "x.y/z",
            "10.0.0.0/8",
            "x.y:443",
            "[::1]",
            "::1",
            "a b",
            "",
            ".x",
            "x..y",
            "-x.y",
            "bücher.example",
        ] {
            assert!(host_problem(bad).is_some(), "{bad}");
        }
    }
}
