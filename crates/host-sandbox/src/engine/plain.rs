//! No confinement: the command runs as the host itself would run it, but in a tree of its own.

use super::{Engine, EngineKind, Job, Wrap};
use crate::launch::Plan;
use crate::policy::Limits;

/// `sandbox.mode: "off"`, or the unsafe fallback.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain(pub(crate) EngineKind);

impl Engine for Plain {
    fn kind(&self) -> EngineKind {
        self.0
    }

    fn identity(&self) -> String {
        String::new()
    }

    fn plan(&self, job: Job<'_>) -> Result<Plan, String> {
        Ok(Plan {
            argv: job.argv,
            env: job.env,
            cwd: job.cwd,
            identity: None,
            powerless: false,
            limits: Limits::NONE,
            wrap: Wrap::Bare,
            filter: None,
            files: None,
            guarded: Vec::new(),
            scoped: false,
            forward: None,
        })
    }
}
