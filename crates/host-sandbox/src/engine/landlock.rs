//! Landlock and seccomp, laid on by our own helper: no namespace, so less is confined.

use super::{Engine, EngineKind, Job, Wrap};
use crate::filter::SocketRule;
use crate::launch::Plan;
use crate::network::Network;
use crate::ruleset::{FileGrants, kernel_can};
use crate::runtime_paths::{ETC, SYSTEM};
use std::path::{Path, PathBuf};

/// What of `/proc` is about the machine and no secret. Without a process namespace the folders of processes hold
/// everybody's environment, the host's own included, so none of them is granted.
const PROC: &[&str] =
    &["cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "uptime", "version", "sys/kernel", "sys/vm"];

/// The engine.
#[derive(Debug, Clone)]
pub(crate) struct Landlock {
    release: String,
}

impl Landlock {
    /// Where the kernel can do it.
    pub(crate) fn find() -> Result<Self, String> {
        if !kernel_can() {
            return Err(
                "the kernel has no Landlock (5.19 or later, and enabled) that can confine files".to_owned()
            );
        }
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        Ok(Landlock { release })
    }
}

impl Engine for Landlock {
    fn kind(&self) -> EngineKind {
        EngineKind::Landlock
    }

    fn identity(&self) -> String {
        self.release.clone()
    }

    fn plan(&self, job: Job<'_>) -> Result<Plan, String> {
        let roots = || job.policy.readable.iter().chain(&job.policy.writable);
        if let Some(hidden) = job.hidden.iter().find(|hidden| roots().any(|root| hidden.starts_with(root))) {
            return Err(format!(
                "Landlock can't hide the host's state in {} from a root that holds it; move one of them",
                hidden.display()
            ));
        }
        // There is no other view of the files here: whom a folder on the way keeps out stays out.
        if let Some(user) = job.identity
            && let Some(barrier) = user.barred_from(&job.policy.workspace)
        {
            return Err(format!(
                "Landlock: the workspace belongs to user {}, who may not pass {}; install bubblewrap, or open that folder",
                user.uid,
                barrier.display()
            ));
        }
        let mut read: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        read.extend(ETC.iter().map(|name| Path::new("/etc").join(name)));
        read.extend(["/dev/urandom", "/dev/random", "/dev/zero"].map(PathBuf::from));
        read.extend(PROC.iter().map(|name| Path::new("/proc").join(name)));
        read.extend(job.runtime.folders.iter().chain(&job.policy.readable).cloned());
        let grants = job.protected.grants(&job.policy.writable)?;
        read.extend(job.policy.writable.iter().cloned());
        let mut write: Vec<PathBuf> = grants.write;
        write.extend(["/dev/null", "/dev/full", "/dev/tty"].map(PathBuf::from));
        let sockets = match job.policy.network {
            Network::All => SocketRule::NoLocal,
            _ => SocketRule::PairsOnly,
        };
        Ok(Plan {
            argv: job.argv,
            env: job.env,
            cwd: job.cwd,
            identity: job.identity,
            powerless: true,
            limits: job.policy.limits,
            wrap: Wrap::Bare,
            filter: Some(sockets),
            files: Some(FileGrants::new(read, write)),
            guarded: grants.guarded,
            scoped: true,
            forward: None,
        })
    }
}
