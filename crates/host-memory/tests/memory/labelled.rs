//! How well recall works, on a small labelled set: recall@5, mean reciprocal rank, and how often something is
//! recalled that is wrong. Lexical alone always; vectors and both where the table of wordllama is at hand
//! (`WORDLLAMA_DIR`, the unpacked package).

use crate::fixture::World;
use host_memory::{CosineScale, EmbedError, Embedder, Purpose, StaticTable, Tier, VectorIdentity};
use host_ports::BoxFuture;
use host_ports::memory::Recall as _;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Deserialize)]
struct Set {
    facts: BTreeMap<String, String>,
    queries: Vec<(String, Vec<String>)>,
    nothing: Vec<String>,
}

struct Measured {
    recall_at_5: f64,
    mrr: f64,
    wrong: usize,
}

fn set() -> Set {
    serde_json::from_str(include_str!("labelled.json")).unwrap()
}

async fn measure(name: &str, world: &World, set: &Set) -> Measured {
    let (mut found, mut reciprocal, mut misses) = (0.0, 0.0, Vec::new());
    for (query, wanted) in &set.queries {
        let hits = world.store.recall(query, 5).await.unwrap().hits;
        let place = hits.iter().position(|hit| wanted.iter().any(|key| set.facts[key] == hit.text));
        match place {
            Some(place) => {
                found += 1.0;
                reciprocal += 1.0 / (place as f64 + 1.0);
            }
            None => misses.push(query.as_str()),
        }
    }
    let mut wrong = 0;
    for query in &set.nothing {
        let hits = world.store.recall(query, 5).await.unwrap().hits;
        wrong += usize::from(!hits.is_empty());
        if let Some(hit) = hits.first() {
            println!("  {name}: '{query}' recalls '{}' at {:.2}", hit.text, hit.score);
        }
    }
    let count = set.queries.len() as f64;
    let it = Measured { recall_at_5: found / count, mrr: reciprocal / count, wrong };
    println!(
        "{name}: recall@5 {:.3}, MRR {:.3}, wrong for {} of {} questions without an answer; missed {misses:?}",
        it.recall_at_5,
        it.mrr,
        it.wrong,
        set.nothing.len()
    );
    it
}

fn filled(tier: Tier, embedder: Option<Arc<dyn Embedder>>, set: &Set) -> World {
    let world = World::of(tier, embedder);
    for text in set.facts.values() {
        world.store.remember_now(text).unwrap();
    }
    world
}

/// Full text switched off: queries reach the index as vectors alone.
async fn vectors_alone(table: &StaticTable, set: &Set) -> (f64, f64) {
    let facts: Vec<(&String, Vec<f32>)> =
        set.facts.iter().map(|(key, text)| (key, table.vector(text))).collect();
    let (mut found, mut reciprocal) = (0.0, 0.0);
    for (query, wanted) in &set.queries {
        let query = table.vector(query);
        let mut scored: Vec<(f32, &String)> = facts
            .iter()
            .map(|(key, vector)| (vector.iter().zip(&query).map(|(a, b)| a * b).sum::<f32>(), *key))
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        if let Some(place) = scored.iter().take(5).position(|(_, key)| wanted.contains(key)) {
            found += 1.0;
            reciprocal += 1.0 / (place as f64 + 1.0);
        }
    }
    let count = set.queries.len() as f64;
    (found / count, reciprocal / count)
}

pub fn wordllama() -> Option<StaticTable> {
    let folder = std::path::PathBuf::from(std::env::var_os("WORDLLAMA_DIR")?);
    let table = std::fs::read(folder.join("weights/l2_supercat_256.safetensors")).ok()?;
    let tokens = std::fs::read(folder.join("tokenizers/l2_supercat_tokenizer_config.json")).ok()?;
    Some(StaticTable::read("wordllama-l2-supercat-256", &table, &tokens).unwrap())
}

// REC-2
#[tokio::test]
async fn lexical_recall_on_the_labelled_set() {
    let set = set();
    let it = measure("lexical", &filled(Tier::Lite, None, &set), &set).await;
    assert!(it.recall_at_5 >= 0.95 && it.mrr >= 0.93, "{} {}", it.recall_at_5, it.mrr);
    // Words alone can't tell a data center from centering.
    assert!(it.wrong <= 1);
}

// REC-2
#[tokio::test]
async fn vectors_and_both_on_the_labelled_set() {
    let Some(table) = wordllama() else {
        println!("WORDLLAMA_DIR is not set: vectors are not measured");
        return;
    };
    let set = set();
    let (recall_at_5, mrr) = vectors_alone(&table, &set).await;
    println!("vectors: recall@5 {recall_at_5:.3}, MRR {mrr:.3} (no floor)");
    let world = filled(Tier::Journal, Some(Arc::new(table)), &set);
    assert_eq!(world.store.embed_missing(1000).await, Ok(set.facts.len()));
    let it = measure("hybrid", &world, &set).await;
    assert!(it.recall_at_5 >= 0.9, "{}", it.recall_at_5);
    assert!(it.wrong <= 1);
}

/// Knows that a few words are about the same.
struct Concepts;

impl Embedder for Concepts {
    fn identity(&self) -> VectorIdentity {
        VectorIdentity { provider: "test".into(), model: "concepts".into(), dim: 4 }
    }

    fn scale(&self) -> CosineScale {
        CosineScale { floor: 0.5, same: 0.9 }
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        _: Purpose,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        let vector = |text: &String| {
            let text = text.to_lowercase();
            let about = |words: &[&str]| f32::from(u8::from(words.iter().any(|word| text.contains(word))));
            vec![about(&["tea", "beverage"]), about(&["oslo", "norway"]), about(&["dog", "pet"]), 0.01]
        };
        Box::pin(async move { Ok(texts.iter().map(vector).collect()) })
    }
}

struct Broken;

impl Embedder for Broken {
    fn identity(&self) -> VectorIdentity {
        Concepts.identity()
    }

    fn embed<'a>(&'a self, _: &'a [String], _: Purpose) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(async { Err(EmbedError::Unreachable) })
    }
}

// REC-2
#[tokio::test]
async fn meaning_finds_what_words_do_not_and_an_outage_leaves_the_words() {
    let set = set();
    let world = filled(Tier::Journal, Some(Arc::new(Concepts)), &set);
    assert!(world.recalled("a beverage").await.is_empty());
    assert_eq!(world.store.embed_missing(1000).await, Ok(set.facts.len()));
    assert_eq!(world.recalled("a beverage").await, [set.facts["tea"].clone()]);
    assert_eq!(world.store.stats().unwrap().index.missing_vectors, 0);
    // A rebuild keeps the vectors; they go by the words.
    let rebuilt = world.store.rebuild().unwrap();
    assert_eq!((rebuilt.index.vectors, rebuilt.index.missing_vectors), (set.facts.len() as u64, 0));
    assert_eq!(world.recalled("a beverage").await, [set.facts["tea"].clone()]);
    // Forgotten and changed facts are not found by their old vectors.
    let notes = world.text("daily/2026-09-03.md").replace("Ada prefers green tea", "Ada prefers green paint");
    world.write("daily/2026-09-03.md", &notes);
    assert!(world.recalled("a beverage").await.is_empty());

    let root = world.root();
    let broken = crate::fixture::open(&root, world.clock.clone(), Tier::Journal, Some(Arc::new(Broken)));
    let recalled = broken.recall("border collie", 5).await.unwrap();
    assert_eq!(recalled.hits[0].text, set.facts["dog"]);
    assert!(recalled.degraded.unwrap().contains("words alone"));
}

struct Renamed;

impl Embedder for Renamed {
    fn identity(&self) -> VectorIdentity {
        VectorIdentity { model: "other".into(), ..Concepts.identity() }
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        purpose: Purpose,
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Concepts.embed(texts, purpose)
    }
}

// REC-2: vectors of two models are never compared.
#[tokio::test]
async fn another_model_needs_a_rebuild() {
    let set = set();
    let world = filled(Tier::Journal, Some(Arc::new(Concepts)), &set);
    world.store.embed_missing(1000).await.unwrap();
    let other =
        crate::fixture::open(&world.root(), world.clock.clone(), Tier::Journal, Some(Arc::new(Renamed)));
    let recalled = other.recall("a beverage", 5).await.unwrap();
    assert!(recalled.hits.is_empty() && recalled.degraded.unwrap().contains("rebuild"));
    assert!(other.embed_missing(10).await.is_err());
    assert_eq!(other.rebuild().unwrap().index.vectors, 0);
    assert_eq!(other.embed_missing(1000).await, Ok(set.facts.len()));
    assert_eq!(other.recall("a beverage", 5).await.unwrap().hits.len(), 1);
}

/// A memory whose vectors know a few concepts.
pub fn with_concepts() -> World {
    World::of(Tier::Journal, Some(Arc::new(Concepts)))
}
