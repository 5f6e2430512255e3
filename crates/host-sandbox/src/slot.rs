//! What a child under Landlock needs and the next one can have again: a private folder, and the ruleset that
//! grants it. Building the ruleset takes longer than starting a program.

use crate::identity::Become;
use crate::ruleset::FileGrants;
use crate::scratch::Scratch;
use rustix::fd::OwnedFd;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// How many wait for a next child.
const SLOTS_MAX: usize = 4;

/// Those that nobody uses at this moment.
#[derive(Default)]
pub(crate) struct Slots(Mutex<Vec<Kept>>);

struct Kept {
    scratch: Scratch,
    owner: Option<Become>,
    ruleset: Option<(FileGrants, OwnedFd)>,
}

/// One that a child uses. Dropping it takes away what the child left there.
pub(crate) struct Slot {
    kept: Option<Kept>,
    /// Whether everybody who could reach it is gone.
    left: bool,
    slots: Arc<Slots>,
}

impl Slots {
    /// One for a child of a user: an empty folder that is the user's.
    pub(crate) fn take(self: &Arc<Self>, below: &str, owner: Option<Become>) -> io::Result<Slot> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().position(|kept| kept.owner == owner && kept.scratch.is_there());
        let kept = match known.map(|place| all.swap_remove(place)) {
            Some(kept) => kept,
            None => {
                let scratch = Scratch::make(below)?;
                if let Some(owner) = owner {
                    owner.given(scratch.path())?;
                }
                Kept { scratch, owner, ruleset: None }
            }
        };
        Ok(Slot { kept: Some(kept), left: false, slots: Arc::clone(self) })
    }
}

impl Slot {
    /// The private folder.
    pub(crate) fn path(&self) -> &Path {
        self.kept.as_ref().map_or(Path::new(""), |kept| kept.scratch.path())
    }

    /// Says that the child and all of its processes are gone for sure, so that a next one can have this.
    pub(crate) fn is_left(&mut self) {
        self.left = true;
    }

    /// A ruleset with these grants: the last child's, where the grants are still on the very same files. The
    /// error is a sentence.
    pub(crate) fn ruleset(&mut self, grants: &FileGrants) -> Result<OwnedFd, String> {
        let Some(kept) = &mut self.kept else { return grants.ruleset() };
        let known = kept.ruleset.as_ref().filter(|(known, _)| known == grants);
        if let Some(again) = known.and_then(|(_, ruleset)| ruleset.try_clone().ok()) {
            return Ok(again);
        }
        let fresh = grants.ruleset()?;
        kept.ruleset = fresh.try_clone().ok().map(|copy| (grants.clone(), copy));
        Ok(fresh)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Some(kept) = self.kept.take() else { return };
        // A folder that somebody may still reach, or that can't be emptied, is nobody's next one: it goes.
        if self.left && kept.scratch.empty().is_ok() {
            let mut all = self.slots.0.lock().unwrap_or_else(PoisonError::into_inner);
            if all.len() < SLOTS_MAX {
                all.push(kept);
            }
        }
    }
}
