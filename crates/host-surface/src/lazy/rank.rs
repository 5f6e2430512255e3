//! Ranking by BM25 over names, descriptions and the names of arguments.

use crate::tool::AnyTool;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// How quickly a word that comes again counts less.
const K1: f32 = 1.2;
/// How much a long text counts less.
const B: f32 = 0.75;
/// How often a word of a name counts, against one of a description.
const NAME_WEIGHT: f32 = 3.0;
/// How much of a description is read, in bytes.
const DESCRIPTION_BYTES_MAX: usize = 2_000;
/// How many arguments are read.
const ARGUMENTS_MAX: usize = 100;

/// Words that stand everywhere and tell nothing.
const EMPTY_WORDS: &[&str] =
    &["an", "and", "as", "at", "by", "for", "from", "in", "is", "it", "of", "on", "or", "the", "to", "with"];

/// Words with the tools that they stand in.
pub(super) struct Index {
    words: HashMap<String, Vec<(u32, f32)>>,
    lengths: Vec<f32>,
    mean: f32,
}

impl Index {
    pub(super) fn over(tools: &[Arc<dyn AnyTool>]) -> Self {
        let mut words: HashMap<String, Vec<(u32, f32)>> = HashMap::new();
        let mut lengths = Vec::with_capacity(tools.len());
        for (at, tool) in tools.iter().enumerate() {
            let info = tool.info();
            let mut counts: HashMap<String, f32> = HashMap::new();
            let mut count = |text: &str, weight: f32| {
                for word in words_of(text) {
                    *counts.entry(word).or_default() += weight;
                }
            };
            count(info.name.as_str().strip_prefix("mcp__").unwrap_or(info.name.as_str()), NAME_WEIGHT);
            count(host_vocab::text::prefix(&info.description, DESCRIPTION_BYTES_MAX), 1.0);
            let arguments = info.schema.value().get("properties").and_then(Value::as_object);
            for name in arguments.into_iter().flatten().map(|(name, _)| name).take(ARGUMENTS_MAX) {
                count(name, 1.0);
            }
            lengths.push(counts.values().sum());
            for (word, weight) in counts {
                words.entry(word).or_default().push((u32::try_from(at).unwrap_or(u32::MAX), weight));
            }
        }
        let mean = lengths.iter().sum::<f32>() / (lengths.len().max(1) as f32);
        Index { words, lengths, mean: mean.max(1.0) }
    }

    /// The places of the best tools, best first; the order of the list decides between equals.
    pub(super) fn best(&self, query: &str, many: usize) -> Vec<usize> {
        let total = self.lengths.len() as f32;
        let mut scores: HashMap<u32, f32> = HashMap::new();
        let mut asked = words_of(query);
        asked.sort_unstable();
        asked.dedup();
        for word in asked {
            let Some(places) = self.words.get(&word) else { continue };
            let rare = (1.0 + (total - places.len() as f32 + 0.5) / (places.len() as f32 + 0.5)).ln();
            for (at, weight) in places {
                let length = self.lengths.get(*at as usize).copied().unwrap_or(self.mean);
                let bound = weight + K1 * (1.0 - B + B * length / self.mean);
                *scores.entry(*at).or_default() += rare * weight * (K1 + 1.0) / bound;
            }
        }
        let mut ranked: Vec<(u32, f32)> = scores.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked.into_iter().take(many).map(|(at, _)| at as usize).collect()
    }
}

/// Words in lower case: `createIssue`, `create_issue` and `create-issue` are two each. A plural is its singular.
fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_lower = false;
    let mut end = |word: &mut String| {
        if word.chars().count() > 1 && !EMPTY_WORDS.contains(&word.as_str()) {
            words.push(singular(std::mem::take(word)));
        }
        word.clear();
    };
    for c in text.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            end(&mut word);
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
    }
    end(&mut word);
    words
}

fn singular(word: String) -> String {
    match word.strip_suffix("ies") {
        Some(stem) if stem.len() > 1 => format!("{stem}y"),
        _ => match word.strip_suffix('s') {
            Some(stem) if stem.len() > 2 && !stem.ends_with(['s', 'u', 'i']) => stem.to_owned(),
            _ => word,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // GWY-2
    #[test]
    fn names_in_every_style_are_words() {
        for name in ["createIssues", "create_issue", "create-issue", "Create issue"] {
            assert_eq!(words_of(name), ["create", "issue"], "{name}");
        }
        assert_eq!(words_of("getHTTP2Status a é1"), ["get", "http2", "status", "é1"]);
        assert_eq!(words_of("the repositories of a class"), ["repository", "class"]);
    }
}
