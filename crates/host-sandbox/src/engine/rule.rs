//! The rules of a policy, and which engine enforces which.

use super::EngineKind;
use crate::network::Network;
use crate::policy::{Mode, SandboxPolicy};
use serde::Serialize;

/// One rule that a policy can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Nothing outside the readable roots and the operating system's own folders is read.
    ReadableRoots,
    /// Nothing outside the writable roots is written.
    WritableRoots,
    /// The host's own state is out of reach, also inside a root.
    HiddenState,
    /// Names that `denyWrite` matches inside a writable root are not written.
    DenyWrite,
    /// No connection anywhere.
    NetworkNone,
    /// Connections to the host's loopback alone.
    NetworkLocalhost,
    /// Connections to listed hosts alone.
    NetworkAllowlist,
    /// Sockets of the host's own services (container engines, key agents, desktops) are out of reach.
    LocalSockets,
    /// Other processes can't be seen, traced or signalled.
    Processes,
    /// No privilege is gained, no namespace made, no dangerous system call.
    Privileges,
    /// Memory is bounded.
    Memory,
    /// The number of processes is bounded.
    Pids,
    /// Processor time, file size and open files are bounded.
    ResourceLimits,
    /// Every process of a call is gone when it returns, and when the host is gone.
    NothingLeft,
}

/// Whether and by whom a rule is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "by", content = "how")]
pub enum Enforcement {
    /// By the kernel.
    Kernel(&'static str),
    /// By the host or the helper, which look and act.
    Host(&'static str),
    /// Not at all.
    No(&'static str),
}

impl Rule {
    /// All of them.
    pub const ALL: &[Rule] = &[
        Rule::ReadableRoots,
        Rule::WritableRoots,
        Rule::HiddenState,
        Rule::DenyWrite,
        Rule::NetworkNone,
        Rule::NetworkLocalhost,
        Rule::NetworkAllowlist,
        Rule::LocalSockets,
        Rule::Processes,
        Rule::Privileges,
        Rule::Memory,
        Rule::Pids,
        Rule::ResourceLimits,
        Rule::NothingLeft,
    ];

    /// Its name in messages and docs, with the setting behind it.
    pub const fn describe(self) -> &'static str {
        match self {
            Rule::ReadableRoots => "sandbox.filesystem readable roots",
            Rule::WritableRoots => "sandbox.filesystem writable roots",
            Rule::HiddenState => "the host's state is hidden",
            Rule::DenyWrite => "sandbox.denyWrite inside a writable root",
            Rule::NetworkNone => "sandbox.network.mode none",
            Rule::NetworkLocalhost => "sandbox.network.mode localhost",
            Rule::NetworkAllowlist => "sandbox.network.mode allowlist",
            Rule::LocalSockets => "sockets of host services",
            Rule::Processes => "other processes",
            Rule::Privileges => "privileges and system calls",
            Rule::Memory => "memory bound",
            Rule::Pids => "process count bound",
            Rule::ResourceLimits => "processor time, file size and open files",
            Rule::NothingLeft => "nothing left running",
        }
    }

    /// Whether a policy asks for it.
    pub fn needed_by(self, policy: &SandboxPolicy) -> bool {
        if policy.mode == Mode::Off {
            return self == Rule::NothingLeft;
        }
        match self {
            Rule::DenyWrite => !policy.deny_write.is_empty() && !policy.writable.is_empty(),
            Rule::NetworkNone => policy.network == Network::None,
            Rule::NetworkLocalhost => policy.network == Network::Localhost,
            Rule::NetworkAllowlist => matches!(policy.network, Network::Allowlist(_)),
            Rule::Memory => policy.limits.memory_bytes_max.is_some(),
            Rule::Pids => policy.limits.pids_max.is_some(),
            _ => true,
        }
    }

    /// Whether an engine enforces it.
    pub const fn on(self, engine: EngineKind) -> Enforcement {
        use Enforcement::{Host, Kernel, No};
        match (engine, self) {
            (EngineKind::Bubblewrap, rule) => match rule {
                Rule::ReadableRoots => Kernel("mount namespace: what isn't bound isn't there"),
                Rule::WritableRoots => Kernel("everything else is read-only or private"),
                Rule::HiddenState => Kernel("an empty read-only folder is mounted over it"),
                Rule::DenyWrite => Kernel("existing names are read-only; a new match is moved to quarantine"),
                Rule::NetworkNone => Kernel("network namespace without a way out"),
                Rule::NetworkLocalhost => Kernel("network namespace; the way out is the host's proxy"),
                Rule::NetworkAllowlist => Kernel("network namespace; the way out is the host's proxy"),
                Rule::LocalSockets => {
                    Kernel("not bound; abstract ones by network namespace or Landlock scope")
                }
                Rule::Processes => Kernel("process namespace, own /proc"),
                Rule::Privileges => {
                    Kernel("no new privileges, no capabilities, seccomp filter, no user namespaces")
                }
                Rule::Memory => Host("data segment by rlimit, resident memory of the tree polled"),
                Rule::Pids => Host("counted inside the namespace"),
                Rule::ResourceLimits => Kernel("rlimits"),
                Rule::NothingLeft => Kernel("process namespace ends with its first process"),
            },
            (EngineKind::Landlock, rule) => match rule {
                Rule::ReadableRoots | Rule::WritableRoots => Kernel("Landlock"),
                Rule::HiddenState => Host("not eligible where the state lies inside a root"),
                Rule::DenyWrite => Kernel(
                    "existing entries are granted one by one; in a folder with a protected name nothing is made, \
                     renamed or removed; no pattern with ** before its end",
                ),
                Rule::NetworkNone => Kernel("seccomp refuses every socket"),
                Rule::NetworkLocalhost => No("Landlock knows ports, not addresses, and no UDP"),
                Rule::NetworkAllowlist => No("Landlock knows ports, not names, and no UDP"),
                Rule::LocalSockets => Kernel("seccomp refuses local sockets"),
                Rule::Processes => {
                    Kernel("Landlock scopes signals and grants no process folder; seccomp refuses ptrace")
                }
                Rule::Privileges => Kernel("no new privileges, seccomp filter"),
                Rule::Memory => Host("data segment by rlimit, resident memory of the tree polled"),
                Rule::Pids => Host("counted by the supervisor"),
                Rule::ResourceLimits => Kernel("rlimits"),
                Rule::NothingLeft => Host("a subreaper owns the tree and ends it"),
            },
            (EngineKind::Off | EngineKind::UnsafeHostProcess, Rule::NothingLeft) => {
                Host("a subreaper owns the tree and ends it")
            }
            (EngineKind::Off | EngineKind::UnsafeHostProcess, _) => No("runs as a process of the host"),
        }
    }
}

/// The matrix of rules and engines as a Markdown table.
pub fn matrix() -> String {
    let mut out = String::from("| rule |");
    for engine in EngineKind::ALL {
        out.push_str(&format!(" {} |", engine.as_str()));
    }
    out.push_str("\n|---|");
    out.push_str(&"---|".repeat(EngineKind::ALL.len()));
    out.push('\n');
    for rule in Rule::ALL {
        out.push_str(&format!("| {} |", rule.describe()));
        for engine in EngineKind::ALL {
            let cell = match rule.on(engine) {
                Enforcement::Kernel(how) => format!("kernel: {how}"),
                Enforcement::Host(how) => format!("host: {how}"),
                Enforcement::No(why) => format!("**no**: {why}"),
            };
            out.push_str(&format!(" {cell} |"));
        }
        out.push('\n');
    }
    out
}
