//! The strict contract with the model: one JSON value, whole arrays, no unknown and no repeated keys, no value
//! bent into shape (A4.2 to A4.6).

use crate::normal;
use serde::Deserialize;
use std::collections::HashSet;

const MEMORIES_MAX: usize = 8;
const TEXT_CHARS_MAX: usize = 160;
const ENTITY_ID_CHARS_MAX: usize = 96;
const ENTITIES_MAX: usize = 16;

/// One extracted memory.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Extracted {
    pub(super) text: String,
    pub(super) kind: String,
    pub(super) salience: f32,
    pub(super) entities: Vec<crate::graph::Entity>,
}

/// What to do with one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    Add,
    Noop,
    Replace { target: String, text: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Memories {
    memories: Vec<Memory>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    text: String,
    kind: String,
    salience: f32,
    entities: Vec<Entity>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entity {
    id: String,
    name: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Actions {
    actions: Vec<Action>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Action {
    index: usize,
    action: String,
    target: Option<String>,
    text: Option<String>,
}

/// The memories of an answer.
pub(super) fn extracted(answer: &str) -> Result<Vec<Extracted>, &'static str> {
    let Memories { memories } = serde_json::from_str(answer).map_err(|_| "no JSON of this shape")?;
    if memories.len() > MEMORIES_MAX {
        return Err("more than eight memories");
    }
    let mut seen = HashSet::new();
    let mut cut = HashSet::new();
    let mut out = Vec::new();
    for Memory { text, kind, salience, entities } in memories {
        let text = normal(&text);
        if text.is_empty() || !["fact", "preference", "lesson"].contains(&kind.as_str()) {
            return Err("an empty text or an unknown kind");
        }
        if !(0.0..=1.0).contains(&salience) || entities.len() > ENTITIES_MAX {
            return Err("a salience or entities out of bounds");
        }
        // Two that the model itself wrote alike are a fault; two that only our cut made alike are one.
        if !seen.insert(text.clone()) {
            return Err("the same memory twice");
        }
        let short: String = normal(&text.chars().take(TEXT_CHARS_MAX).collect::<String>());
        let entities = entities.into_iter().map(entity).collect::<Result<Vec<_>, _>>()?;
        if cut.insert(short.clone()) {
            out.push(Extracted { text: short, kind, salience, entities });
        }
    }
    Ok(out)
}

fn entity(entity: Entity) -> Result<crate::graph::Entity, &'static str> {
    let Entity { id, name, kind } = entity;
    let kebab = |word: &str| {
        !word.is_empty()
            && word.split('-').all(|part| {
                !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
            })
    };
    let typed = ["person", "project", "org", "concept"].contains(&kind.as_str());
    let fits = id.strip_prefix(&kind).and_then(|it| it.strip_prefix(':')).is_some_and(kebab);
    let named = !name.trim().is_empty() && name.chars().count() <= TEXT_CHARS_MAX;
    if typed && fits && named && id.len() <= ENTITY_ID_CHARS_MAX {
        Ok(crate::graph::Entity { id, name: normal(&name) })
    } else {
        Err("an entity breaks the rule")
    }
}

/// The decisions of an answer, one for each sentence. A target is one that was shown for it.
pub(super) fn decisions(answer: &str, targets: &[Vec<&str>]) -> Result<Vec<Decision>, &'static str> {
    let Actions { actions } = serde_json::from_str(answer).map_err(|_| "no JSON of this shape")?;
    if actions.len() != targets.len() {
        return Err("not one action for each sentence");
    }
    let each = actions.into_iter().zip(targets).enumerate();
    each.map(|(at, (Action { index, action, target, text }, shown))| {
        let known = target.as_deref().is_some_and(|it| shown.contains(&it));
        match (action.as_str(), target, text) {
            _ if index != at => Err("the actions are out of order"),
            ("ADD", None, None) => Ok(Decision::Add),
            ("NOOP", Some(_), None) if known => Ok(Decision::Noop),
            ("UPDATE" | "SUPERSEDE", Some(target), Some(text)) if known => {
                Ok(Decision::Replace { target, text })
            }
            _ => Err("an action with the wrong fields or an unknown target"),
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"memories":[{"text":"Ada  likes tea","kind":"preference","salience":0.5,"entities":[{"id":"person:ada-king","name":"Ada King","type":"person"}]}]}"#;

    #[test]
    fn a_good_answer() {
        let memories = extracted(GOOD).unwrap();
        assert_eq!(memories[0].text, "Ada likes tea");
        assert_eq!(
            (memories[0].entities[0].id.as_str(), memories[0].entities[0].name.as_str()),
            ("person:ada-king", "Ada King")
        );
        assert_eq!(extracted(" {\"memories\":[]} "), Ok(Vec::new()));
        let long = GOOD.replace("Ada  likes tea", &"x".repeat(300));
        assert_eq!(extracted(&long).unwrap()[0].text.len(), 160);
    }

    #[test]
    fn nothing_is_bent_into_shape() {
        for (from, to) in [
            ("0.5", "1.5"),
            ("0.5", "\"0.5\""),
            ("preference", "opinion"),
            ("person:ada-king", "person:Ada"),
            ("person:ada-king", "org:ada-king"),
            ("person:ada-king", "person:ada king"),
            ("\"kind\":", "\"kind\":\"fact\",\"kind\":"),
            ("\"salience\":0.5,", ""),
            ("\"salience\"", "\"more\":1,\"salience\""),
            ("Ada  likes tea", " "),
        ] {
            assert!(extracted(&GOOD.replacen(from, to, 1)).is_err(), "{from} → {to}");
        }
        for answer in [
            "",
            "[]",
            "null",
            "```json\n{\"memories\":[]}\n```",
            "{\"memories\":[]} {}",
            "{\"memories\":[}",
            "{}",
        ] {
            assert!(extracted(answer).is_err(), "{answer}");
        }
        let one = &GOOD[13..GOOD.len() - 2];
        assert!(extracted(&format!("{{\"memories\":[{one},{one}]}}")).is_err());
    }

    #[test]
    fn decisions_name_only_what_was_shown() {
        let targets = vec![vec!["C-1"], vec!["C-2"]];
        let of = |a: &str, b: &str| decisions(&format!("{{\"actions\":[{a},{b}]}}"), &targets);
        let add = r#"{"index":0,"action":"ADD"}"#;
        let replace = r#"{"index":1,"action":"SUPERSEDE","target":"C-2","text":"x"}"#;
        assert!(matches!(of(add, replace).unwrap()[..], [Decision::Add, Decision::Replace { .. }]));
        for bad in [
            r#"{"index":1,"action":"SUPERSEDE","target":"C-1","text":"x"}"#,
            r#"{"index":1,"action":"SUPERSEDE","target":"C-2"}"#,
            r#"{"index":1,"action":"NOOP"}"#,
            r#"{"index":1,"action":"ADD","target":"C-2"}"#,
            r#"{"index":0,"action":"ADD"}"#,
            r#"{"index":1,"action":"DELETE","target":"C-2"}"#,
        ] {
            assert!(of(add, bad).is_err(), "{bad}");
        }
        assert!(decisions("{\"actions\":[]}", &targets).is_err());
    }
}
