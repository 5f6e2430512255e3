//! What children may do, as a value, and how two such values are joined.

use crate::network::{HostList, Network};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Whether children are confined at all (SBX-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// By an engine of this machine.
    Native,
    /// Not at all. Must be written; it is never a default.
    Off,
}

/// What happens where no engine can enforce the policy (SBX-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fallback {
    /// The command fails.
    FailClosed,
    /// The command runs unconfined, if `unsafeAllowHostProcess` is set too.
    UnsafeHostProcess,
}

/// Bounds on what the processes of one call use together. `None` = no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Resident memory of the whole tree, in bytes; one process's data segment is held to it too.
    pub memory_bytes_max: Option<u64>,
    /// Processes at once.
    pub pids_max: Option<u32>,
    /// Processor time of one process, in seconds.
    pub cpu_seconds_max: Option<u64>,
    /// The largest file that may be written, in bytes.
    pub file_bytes_max: Option<u64>,
    /// Open files of one process.
    pub open_files_max: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            memory_bytes_max: Some(4 << 30),
            pids_max: Some(512),
            cpu_seconds_max: None,
            file_bytes_max: Some(8 << 30),
            open_files_max: Some(4096),
        }
    }
}

impl Limits {
    /// No bounds at all: for children that aren't confined.
    pub const NONE: Limits = Limits {
        memory_bytes_max: None,
        pids_max: None,
        cpu_seconds_max: None,
        file_bytes_max: None,
        open_files_max: None,
    };

    fn narrow(self, other: Limits) -> Limits {
        fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            }
        }
        Limits {
            memory_bytes_max: least(self.memory_bytes_max, other.memory_bytes_max),
            pids_max: least(self.pids_max, other.pids_max),
            cpu_seconds_max: least(self.cpu_seconds_max, other.cpu_seconds_max),
            file_bytes_max: least(self.file_bytes_max, other.file_bytes_max),
            open_files_max: least(self.open_files_max, other.open_files_max),
        }
    }
}

/// All that children may do (SBX-1). Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxPolicy {
    /// Whether they are confined.
    pub mode: Mode,
    /// Where relative patterns and working directories start.
    pub workspace: PathBuf,
    /// Folders that they may read, besides the operating system's own.
    pub readable: Vec<PathBuf>,
    /// Folders that they may read and write.
    pub writable: Vec<PathBuf>,
    /// Names that they may not write, as globs: `*` and `?` stay in one segment, `**` crosses. Relative ones
    /// start at the workspace.
    pub deny_write: Vec<String>,
    /// Where they may connect.
    pub network: Network,
    /// What happens where no engine can enforce this.
    pub fallback: Fallback,
    /// The second key of the unsafe fallback.
    pub unsafe_allow_host_process: bool,
    /// Bounds on resources.
    pub limits: Limits,
}

/// The names that are protected where `denyWrite` isn't set (SBX-1).
pub const DENY_WRITE_DEFAULT: &[&str] = &[".env", ".env.*", ".git/config", ".git/hooks/**"];

/// Why a policy can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The unsafe fallback needs its second key.
    #[error(
        "sandbox.fallback is \"unsafe-host-process\", which also needs sandbox.unsafeAllowHostProcess: true; \
         set both, or use \"fail-closed\""
    )]
    UnsafeWithoutKey,
    /// A root isn't absolute.
    #[error("sandbox root {0:?} is not an absolute path")]
    RelativeRoot(PathBuf),
    /// A pattern can't be read.
    #[error("sandbox.denyWrite entry {pattern:?} is not a valid pattern: {why}")]
    Pattern {
        /// The entry.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
}

impl SandboxPolicy {
    /// The defaults of SBX-1 for a workspace: native, both roots the workspace, no network, fail-closed.
    pub fn native(workspace: impl Into<PathBuf>) -> Self {
        let workspace = workspace.into();
        SandboxPolicy {
            mode: Mode::Native,
            readable: vec![workspace.clone()],
            writable: vec![workspace.clone()],
            workspace,
            deny_write: DENY_WRITE_DEFAULT.iter().map(|&s| s.to_owned()).collect(),
            network: Network::None,
            fallback: Fallback::FailClosed,
            unsafe_allow_host_process: false,
            limits: Limits::default(),
        }
    }

    /// No confinement, as `sandbox.mode: "off"` says.
    pub fn off(workspace: impl Into<PathBuf>) -> Self {
        SandboxPolicy {
            mode: Mode::Off,
            network: Network::All,
            deny_write: Vec::new(),
            limits: Limits::NONE,
            ..Self::native(workspace)
        }
    }

    /// Whether it can be used.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn validate(&self) -> Result<(), PolicyError> {
        if self.fallback == Fallback::UnsafeHostProcess && !self.unsafe_allow_host_process {
            return Err(PolicyError::UnsafeWithoutKey);
        }
        let roots = self.readable.iter().chain(&self.writable).chain([&self.workspace]);
        if let Some(root) = roots.into_iter().find(|root| !root.is_absolute()) {
            return Err(PolicyError::RelativeRoot(root.clone()));
        }
        crate::deny_write::Patterns::parse(&self.workspace, &self.deny_write).map(|_| ())
    }

    /// Whether a path lies inside a root (by its text; resolve links first).
    pub fn reaches(&self, path: &Path) -> bool {
        self.readable.iter().chain(&self.writable).any(|root| path.starts_with(root))
    }

    /// This policy, tightened by that of a request; never wider than either: roots intersected, `denyWrite`
    /// joined, the narrower network, confined if either is, fail-closed if either is, the smaller bounds.
    #[must_use]
    pub fn narrow(&self, request: &SandboxPolicy) -> SandboxPolicy {
        let mut deny_write = self.deny_write.clone();
        deny_write.extend(request.deny_write.iter().filter_map(|pattern| {
            let own = request.anchored(pattern, &self.workspace);
            (!self.deny_write.contains(&own)).then_some(own)
        }));
        let mut readable = self.all_readable();
        readable = intersect(&readable, &request.all_readable());
        SandboxPolicy {
            mode: if self.mode == Mode::Native { Mode::Native } else { request.mode },
            workspace: self.workspace.clone(),
            readable,
            writable: intersect(&self.writable, &request.writable),
            deny_write,
            network: self.network.narrow(&request.network),
            fallback: match (self.fallback, request.fallback) {
                (Fallback::UnsafeHostProcess, Fallback::UnsafeHostProcess) => Fallback::UnsafeHostProcess,
                _ => Fallback::FailClosed,
            },
            unsafe_allow_host_process: self.unsafe_allow_host_process && request.unsafe_allow_host_process,
            limits: self.limits.narrow(request.limits),
        }
    }

    /// What may be read, writable roots included.
    fn all_readable(&self) -> Vec<PathBuf> {
        let mut roots = self.readable.clone();
        roots.extend(self.writable.iter().filter(|root| !self.readable.contains(root)).cloned());
        roots
    }

    /// A pattern of ours as it must be written under another workspace.
    fn anchored(&self, pattern: &str, workspace: &Path) -> String {
        if pattern.starts_with('/') || workspace == self.workspace {
            pattern.to_owned()
        } else {
            let base = globset::escape(&self.workspace.to_string_lossy());
            format!("{}/{pattern}", base.trim_end_matches('/'))
        }
    }

    /// The hosts of its allowlist, where it has one.
    pub fn allowlist(&self) -> Option<&HostList> {
        match &self.network {
            Network::Allowlist(hosts) => Some(hosts),
            _ => None,
        }
    }
}

fn intersect(a: &[PathBuf], b: &[PathBuf]) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = Vec::new();
    for x in a {
        for y in b {
            let inner = if x.starts_with(y) {
                x
            } else if y.starts_with(x) {
                y
            } else {
                continue;
            };
            if !out.contains(inner) {
                out.push(inner.clone());
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path() -> impl Strategy<Value = PathBuf> {
        prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 1..4)
            .prop_map(|parts| PathBuf::from(format!("/{}", parts.join("/"))))
    }

    fn network() -> impl Strategy<Value = Network> {
        let names = prop::sample::select(vec!["a.test", "*.a.test", "x.a.test", "localhost", "127.0.0.1"]);
        prop_oneof![
            Just(Network::None),
            Just(Network::Localhost),
            Just(Network::All),
            prop::collection::vec(names, 0..3)
                .prop_map(|list| Network::Allowlist(HostList::parse(&list).expect("valid entries"))),
        ]
    }

    fn policy() -> impl Strategy<Value = SandboxPolicy> {
        let roots = || prop::collection::vec(path(), 0..3);
        let deny = prop::collection::vec(prop::sample::select(vec![".env", "*.key", "d/**"]), 0..3);
        (roots(), roots(), deny, network(), any::<[bool; 3]>(), prop::option::of(0u64..9)).prop_map(
            |(readable, writable, deny, network, [off, unsafe_, key], memory)| SandboxPolicy {
                mode: if off { Mode::Off } else { Mode::Native },
                readable,
                writable,
                deny_write: deny.into_iter().map(str::to_owned).collect(),
                network,
                fallback: if unsafe_ { Fallback::UnsafeHostProcess } else { Fallback::FailClosed },
                unsafe_allow_host_process: key,
                limits: Limits { memory_bytes_max: memory, ..Limits::NONE },
                ..SandboxPolicy::native("/w")
            },
        )
    }

    proptest! {
        // SBX-1: joining a request's policy never widens either side.
        #[test]
        fn narrowing_never_widens(a in policy(), b in policy(), probe in path()) {
            let joined = a.narrow(&b);
            let writes = |p: &SandboxPolicy| p.writable.iter().any(|root| probe.starts_with(root));
            prop_assert!(!joined.reaches(&probe) || (a.reaches(&probe) && b.reaches(&probe)));
            prop_assert!(!writes(&joined) || (writes(&a) && writes(&b)));
            prop_assert!(a.deny_write.iter().chain(&b.deny_write).all(|p| joined.deny_write.contains(p)));
            for host in ["a.test", "x.a.test", "y.a.test", "localhost", "127.0.0.1", "b.test"] {
                let both = a.network.admits_name(host) && b.network.admits_name(host);
                prop_assert!(!joined.network.admits_name(host) || both);
            }
            prop_assert!(joined.mode == Mode::Native || (a.mode == Mode::Off && b.mode == Mode::Off));
            prop_assert!(!joined.unsafe_allow_host_process
                || (a.unsafe_allow_host_process && b.unsafe_allow_host_process));
            for limit in [a.limits.memory_bytes_max, b.limits.memory_bytes_max].into_iter().flatten() {
                prop_assert!(joined.limits.memory_bytes_max.is_some_and(|joined| joined <= limit));
            }
        }

        #[test]
        fn narrowing_by_itself_changes_what_is_reached_not_at_all(a in policy(), probe in path()) {
            let joined = a.narrow(&a);
            prop_assert_eq!(joined.reaches(&probe), a.reaches(&probe));
            prop_assert_eq!(joined.network, a.network);
        }
    }

    // SBX-1
    #[test]
    fn the_unsafe_fallback_needs_both_keys() {
        let mut policy = SandboxPolicy::native("/w");
        policy.fallback = Fallback::UnsafeHostProcess;
        assert_eq!(policy.validate(), Err(PolicyError::UnsafeWithoutKey));
        policy.unsafe_allow_host_process = true;
        assert_eq!(policy.validate(), Ok(()));
    }

    #[test]
    fn a_relative_root_is_refused() {
        let mut policy = SandboxPolicy::native("/w");
        policy.readable.push("data".into());
        assert_eq!(policy.validate(), Err(PolicyError::RelativeRoot("data".into())));
    }
}
