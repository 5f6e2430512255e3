//! Putting a `bujo` memory in order (A18): a page for people to look at, and a count of what stands there more than
//! once. It changes no fact, and asks no model.

use crate::graph::is_entity;
use crate::store::WRITE_WAIT;
use crate::{FactRow, MaintenanceError, MemoryStore, terms};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

/// How many facts are looked at, the newest first.
const FACTS_MAX: usize = 10_000;
/// How many entities the page shows, and how many facts of each.
const GROUPS_MAX: usize = 50;
const LINES_MAX: usize = 5;
/// A page that other programs keep; made once, so that they find it.
const STUB: (&str, &str) = ("future-log.md", "# Future log\n");

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Consolidated {
    /// Facts that were looked at.
    pub facts: usize,
    /// Entities on the page.
    pub groups: usize,
    /// Groups of facts with the same words under different ids.
    pub duplicate_groups: usize,
}

impl MemoryStore {
    /// Writes `index.md` anew: the entities with the most facts, and the newest facts of each.
    ///
    /// # Errors
    /// See [`MaintenanceError`].
    pub fn consolidate(&self) -> Result<Consolidated, MaintenanceError> {
        self.refresh()?;
        let facts = self.index().newest(FACTS_MAX)?;
        let names = self.entities()?;
        let mut groups: BTreeMap<&str, Vec<&FactRow>> = BTreeMap::new();
        let mut alike: HashMap<String, usize> = HashMap::new();
        for fact in &facts {
            *alike.entry(terms(&fact.bullet.text).joined()).or_default() += 1;
            for id in fact.bullet.refs.iter().filter(|it| is_entity(it)) {
                groups.entry(id.as_str()).or_default().push(fact);
            }
        }
        let mut largest: Vec<(&str, Vec<&FactRow>)> = groups.into_iter().collect();
        largest.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then(a.0.cmp(b.0)));
        largest.truncate(GROUPS_MAX);
        let mut page = "# Index\n\nMade by the host from `daily/`; changes here are lost.\n".to_owned();
        for (id, facts) in &largest {
            let name = names.get(*id).map_or(*id, String::as_str);
            let (name, _) = self.shown(name, 200);
            let _infallible = writeln!(page, "\n## {name} ({id}): {} facts\n", facts.len());
            for fact in facts.iter().take(LINES_MAX) {
                let day = fact.bullet.created.get(..10).unwrap_or_default();
                let _infallible = writeln!(page, "- {day} {}", self.shown(&fact.bullet.text, 500).0);
            }
        }
        let _writer = self.files().lock(WRITE_WAIT, false)?;
        self.files().put_record("index.md", page.as_bytes())?;
        if self.files().record(STUB.0, 1 << 20)?.is_none() {
            self.files().put_record(STUB.0, STUB.1.as_bytes())?;
        }
        Ok(Consolidated {
            facts: facts.len(),
            groups: largest.len(),
            duplicate_groups: alike.values().filter(|count| **count > 1).count(),
        })
    }
}
