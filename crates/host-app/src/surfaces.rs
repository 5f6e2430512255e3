//! Sealing for one turn.

use crate::agent::Inner;
use host_ports::BoxFuture;
use host_ports::ask::Ask;
use host_run::{LentSurface, SurfaceError, Surfaces};
use host_surface::{GatePorts, RunFacts, Surface, seal};
use std::sync::Arc;

/// The surfaces of an agent's turns, with the person who is asked in this one.
pub(crate) struct TurnSurfaces {
    pub(crate) agent: Arc<Inner>,
    pub(crate) ask: Arc<dyn Ask>,
    pub(crate) lent: LentSurface,
}

impl TurnSurfaces {
    pub(crate) fn new(agent: Arc<Inner>, ask: Arc<dyn Ask>) -> Self {
        TurnSurfaces { agent, ask, lent: LentSurface::default() }
    }
}

impl Surfaces for TurnSurfaces {
    fn seal(&self, facts: RunFacts) -> BoxFuture<'_, Result<Surface, SurfaceError>> {
        Box::pin(async move {
            let agent = &self.agent;
            let ports = GatePorts {
                recorder: Some(agent.recorder.clone()),
                ask: Arc::clone(&self.ask),
                keep: Arc::clone(&agent.keep),
                deadline: agent.call_deadline,
            };
            let surface =
                seal(&agent.sources, &agent.policy, Arc::clone(&agent.approvals), facts, ports).await?;
            match agent.servers.as_ref().and_then(|servers| servers.missing_required()) {
                Some(why) => Err(SurfaceError::Refused(why)),
                None => Ok(surface),
            }
        })
    }

    fn lent(&self) -> Option<&LentSurface> {
        Some(&self.lent)
    }
}
