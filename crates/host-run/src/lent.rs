//! Where a run's surface comes from, and how a child run gets its parent's (POL-15).

use host_policy::ToolPolicy;
use host_ports::BoxFuture;
use host_surface::{RunFacts, SealError, Surface};
use host_vocab::{Effect, ServerName, ToolName};
use std::sync::{Arc, OnceLock, Weak};

/// Why a run has no surface; it fails before any provider is asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SurfaceError {
    /// Sealing failed.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The parent's run is over, so what it lent is revoked.
    #[error("the run that lent its tools is over")]
    ParentGone,
    /// A route can't enforce the policy (POL-13), or something else is in the way; in words.
    #[error("{0}")]
    Refused(String),
}

/// Seals the surface of one run. Asked once, before the model is.
pub trait Surfaces: Send + Sync {
    /// The surface for a run with these facts.
    fn seal(&self, facts: RunFacts) -> BoxFuture<'_, Result<Surface, SurfaceError>>;

    /// Where the run's tools find the surface that they stand on, to lend it to child runs. The engine
    /// fills it in after sealing.
    fn lent(&self) -> Option<&LentSurface> {
        None
    }
}

/// A run's surface as its own tools may see it: only to lend a part of it to a child run. It holds nothing
/// alive; when the run ends, it is empty.
#[derive(Clone, Default)]
pub struct LentSurface(Arc<OnceLock<Weak<Surface>>>);

impl LentSurface {
    /// Says which surface it is. The first word stands.
    pub fn fill(&self, surface: &Arc<Surface>) {
        let _already_filled = self.0.set(Arc::downgrade(surface));
    }

    /// What is known of the tools that can be lent.
    ///
    /// # Errors
    /// [`SurfaceError::ParentGone`] as with [`LentSurface::inherit`].
    pub fn tools(&self) -> Result<Vec<LentTool>, SurfaceError> {
        let parent = self.0.get().and_then(Weak::upgrade).ok_or(SurfaceError::ParentGone)?;
        Ok(parent
            .infos()
            .map(|info| LentTool {
                name: info.name.clone(),
                effects: info.effects.clone(),
                server: info.server.clone(),
                listed: info.listed,
            })
            .collect())
    }

    /// What a child run may do: what the parent may, less what the child's policy denies, less `without`.
    /// Never more (POL-15).
    ///
    /// # Errors
    /// [`SurfaceError::ParentGone`] when the parent's run is over or has not begun.
    pub fn inherit(
        &self,
        facts: RunFacts,
        policy: &ToolPolicy,
        without: &[&str],
    ) -> Result<Surface, SurfaceError> {
        let parent = self.0.get().and_then(Weak::upgrade).ok_or(SurfaceError::ParentGone)?;
        Ok(parent.inherit(facts, policy, without))
    }
}

/// A tool that can be lent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LentTool {
    /// Its name.
    pub name: ToolName,
    /// All it can do to the world.
    pub effects: Vec<Effect>,
    /// The server it comes from; `None` = it is ours or a plugin's.
    pub server: Option<ServerName>,
    /// Whether the lists gate it (not for servers' tools).
    pub listed: bool,
}

/// The surfaces of child runs. Give it to [`crate::Engine::run`] in place of the agent's own sealing.
pub struct ChildSurfaces {
    /// The parent's surface.
    pub parent: LentSurface,
    /// The child's own lists; they can only take away.
    pub policy: ToolPolicy,
    /// Tools that a child never has, such as the one that starts children.
    pub without: Vec<String>,
}

impl Surfaces for ChildSurfaces {
    fn seal(&self, facts: RunFacts) -> BoxFuture<'_, Result<Surface, SurfaceError>> {
        let without: Vec<&str> = self.without.iter().map(String::as_str).collect();
        let sealed = self.parent.inherit(facts, &self.policy, &without);
        Box::pin(async move { sealed })
    }
}
