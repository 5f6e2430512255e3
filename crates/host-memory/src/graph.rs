//! Who and what facts are about (A11): `graph.jsonl` holds the names of entities, one JSON object a line; the
//! links stand in the facts' own `refs`. A recall goes one step along them, and no further.

use crate::bullet::instant;
use crate::refusal::Refusal;
use crate::terms::folded;
use crate::{FactRow, IndexError, MemoryStore, NoteError, content_hash};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The file of names.
pub(crate) const GRAPH: &str = "graph.jsonl";
/// Its largest size. Entities beyond it are linked without a name.
const GRAPH_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The most entities that one recall goes along.
const STEPS_MAX: usize = 4;
/// What an entity's id begins with.
const KINDS: [&str; 4] = ["person", "project", "org", "concept"];

/// One entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entity {
    /// `type:kebab-name`.
    pub(crate) id: String,
    /// How people write it.
    pub(crate) name: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    kind: String,
    id: String,
    name: String,
    #[serde(rename = "type")]
    of: String,
    created: String,
}

/// Whether a label of a fact is an entity.
pub(crate) fn is_entity(label: &str) -> bool {
    KINDS
        .iter()
        .any(|kind| label.strip_prefix(kind).is_some_and(|rest| rest.len() > 1 && rest.starts_with(':')))
}

/// The word by which full text finds the facts of an entity. Nobody writes it by chance.
pub(crate) fn entity_term(id: &str) -> String {
    format!("entityx{}", &content_hash(id)[..24])
}

/// Whether an entity may be stored: neither its id nor its name holds a secret or hides anything.
pub(crate) fn is_clean(entity: &Entity, refusal: &Refusal) -> bool {
    refusal.check(&entity.name).is_ok() && !refusal.holds_secret(&entity.id.replace([':', '-'], " "))
}

impl MemoryStore {
    /// Names by id. What is no line of ours is left out.
    pub(crate) fn entities(&self) -> Result<BTreeMap<String, String>, NoteError> {
        let bytes = self.files().record(GRAPH, GRAPH_BYTES_MAX + 64 * 1024)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        Ok(lines.filter(|it| it.kind == "entity").map(|it| (it.id, it.name)).collect())
    }

    /// Adds the entities that are new. The caller holds the lock of writers.
    pub(crate) fn note_entities(&self, entities: &[Entity], at_ms: i64) -> Result<(), NoteError> {
        if entities.is_empty() {
            return Ok(());
        }
        let known = self.entities()?;
        let mut more = String::new();
        for entity in entities.iter().filter(|it| !known.contains_key(&it.id)) {
            let line = Line {
                kind: "entity".to_owned(),
                id: entity.id.clone(),
                name: entity.name.clone(),
                of: entity.id.split(':').next().unwrap_or_default().to_owned(),
                created: instant(at_ms),
            };
            more.push_str(&serde_json::to_string(&line).unwrap_or_default());
            more.push('\n');
        }
        if more.is_empty() {
            return Ok(());
        }
        match self.files().append_record(GRAPH, more.as_bytes(), GRAPH_BYTES_MAX) {
            // A name less is no reason to lose the fact.
            Err(NoteError::TooLarge { .. }) => Ok(()),
            done => done,
        }
    }

    /// Facts one step away: of the entities that the query names, then of those that the best hits are about.
    pub(crate) fn one_step(
        &self,
        query: &str,
        hits: &[FactRow],
        limit: usize,
    ) -> Result<Vec<FactRow>, IndexError> {
        let mut along = self.named_in(query);
        along.extend(hits.iter().flat_map(|hit| hit.bullet.refs.iter().filter(|it| is_entity(it)).cloned()));
        let mut seen = std::collections::HashSet::new();
        along.retain(|it| seen.insert(it.clone()));
        let mut found: Vec<FactRow> = Vec::new();
        for id in along.into_iter().take(STEPS_MAX) {
            let rows = self.index().matching(&[entity_term(&id)], limit + hits.len())?;
            for row in self.index().rows(&rows)? {
                let known = hits.iter().chain(&found).any(|it| it.bullet.id == row.bullet.id);
                if !known && row.bullet.refs.contains(&id) && found.len() < limit {
                    found.push(row);
                }
            }
        }
        Ok(found)
    }

    /// The entities of which a name stands in a query as whole words.
    fn named_in(&self, query: &str) -> Vec<String> {
        let words = |text: &str| -> Vec<String> {
            let folded = folded(text);
            folded
                .split(|c: char| !c.is_alphanumeric())
                .filter(|it| !it.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let asked = words(query);
        let Ok(entities) = self.entities() else { return Vec::new() };
        let stands = |name: &str| {
            let name = words(name);
            name.iter().any(|it| it.chars().count() >= 3)
                && asked.windows(name.len().max(1)).any(|part| part == name.as_slice())
        };
        entities.into_iter().filter(|(_, name)| stands(name)).map(|(id, _)| id).collect()
    }
}
