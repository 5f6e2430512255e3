//! What can confine a child on this machine.

mod bubblewrap;
mod landlock;
mod plain;
mod rule;

pub(crate) use bubblewrap::{HOME_INSIDE, PROXY_PORT, find as find_bubblewrap};
pub(crate) use landlock::Landlock;
pub(crate) use plain::Plain;
pub use rule::{Enforcement, Rule, matrix};

use crate::deny_write::{Patterns, Protected};
use crate::identity::Become;
use crate::launch::Plan;
use crate::policy::SandboxPolicy;
use crate::runtime_paths::Runtime;
use rustix::fd::OwnedFd;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// The engines there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    /// Namespaces, made by the `bwrap` program.
    Bubblewrap,
    /// Landlock and seccomp, laid on by our own helper.
    Landlock,
    /// Nothing: `sandbox.mode` is `off`.
    Off,
    /// Nothing, though the policy asks for more: the unsafe fallback.
    UnsafeHostProcess,
}

impl EngineKind {
    /// All of them.
    pub const ALL: [EngineKind; 4] =
        [EngineKind::Bubblewrap, EngineKind::Landlock, EngineKind::Off, EngineKind::UnsafeHostProcess];

    /// Its name in `status` and the docs.
    pub const fn as_str(self) -> &'static str {
        match self {
            EngineKind::Bubblewrap => "bubblewrap",
            EngineKind::Landlock => "landlock",
            EngineKind::Off => "off",
            EngineKind::UnsafeHostProcess => "unsafe-host-process",
        }
    }
}

/// How the helper is started.
#[derive(Debug)]
pub(crate) enum Wrap {
    /// As it is.
    Bare,
    /// As process 1 of a namespace.
    Bubblewrap {
        program: PathBuf,
        options: Vec<OsString>,
        /// What the options speak of by number, from `wire::BOUND` on.
        keep: Vec<OwnedFd>,
    },
}

/// One child for an engine to confine.
pub(crate) struct Job<'a> {
    pub(crate) argv: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) cwd: PathBuf,
    pub(crate) policy: &'a SandboxPolicy,
    /// Who the child is, where the host is root and the workspace somebody else's.
    pub(crate) identity: Option<Become>,
    pub(crate) runtime: &'a Runtime,
    pub(crate) protected: &'a Protected,
    /// The host's own state, which no child may see.
    pub(crate) hidden: &'a [PathBuf],
    /// Roots below it that are this child's own.
    pub(crate) own: &'a [host_ports::spawn::OwnFolder],
    /// Whether the way out is the host's proxy.
    pub(crate) proxied: bool,
    /// The certificates that it is to believe, where the host stands in for others.
    pub(crate) certificates: Option<&'a [u8]>,
}

/// Something that can confine a child.
pub(crate) trait Engine: Send + Sync {
    /// Which it is.
    fn kind(&self) -> EngineKind;

    /// What makes its proof stale when it changes: the program's path, size and time, or the kernel's version.
    fn identity(&self) -> String;

    /// Plans one child. The error is a sentence that says what can't be done.
    fn plan(&self, job: Job<'_>) -> Result<Plan, String>;
}

/// The first rule of a policy that an engine doesn't enforce, with the reason.
pub(crate) fn unmet(
    kind: EngineKind,
    policy: &SandboxPolicy,
    deny_write: &Patterns,
) -> Option<(Rule, &'static str)> {
    let everywhere = deny_write.at_any_depth();
    if kind == EngineKind::Landlock && everywhere && Rule::DenyWrite.needed_by(policy) {
        let why = "Landlock can only allow, and a pattern with ** before its end could match in every folder";
        return Some((Rule::DenyWrite, why));
    }
    Rule::ALL.iter().filter(|rule| rule.needed_by(policy)).find_map(|&rule| match rule.on(kind) {
        Enforcement::No(why) => Some((rule, why)),
        Enforcement::Kernel(_) | Enforcement::Host(_) => None,
    })
}
