//! Byte-pair tokens of a `tokenizer.json` as Llama's models have it: words with a leading `▁`, merges by
//! rank, and bytes for what has no token.

use serde::Deserialize;
use std::collections::HashMap;

/// What of the file is needed.
#[derive(Deserialize)]
struct File {
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    #[serde(rename = "type")]
    kind: String,
    vocab: HashMap<String, u32>,
    merges: Vec<Merge>,
}

/// Newer files have pairs, older ones a text with a space.
#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Text(String),
    Pair(String, String),
}

/// The tokens of texts.
pub(super) struct Tokenizer {
    letters: HashMap<char, u32>,
    bytes: Vec<Option<u32>>,
    /// By two tokens: the rank of their merge, and what it gives.
    merges: HashMap<(u32, u32), (u32, u32)>,
}

impl Tokenizer {
    /// From the bytes of a `tokenizer.json`.
    pub(super) fn read(json: &[u8]) -> Result<Self, &'static str> {
        let file: File = serde_json::from_slice(json).map_err(|_| "the tokenizer is no tokenizer.json")?;
        let Model { kind, vocab, merges } = file.model;
        if kind != "BPE" {
            return Err("the tokenizer is of another kind than BPE");
        }
        let mut by_pair = HashMap::with_capacity(merges.len());
        for (rank, merge) in (0..).zip(&merges) {
            let (left, right) = match merge {
                Merge::Text(text) => text.split_once(' ').ok_or("a merge is no pair")?,
                Merge::Pair(left, right) => (left.as_str(), right.as_str()),
            };
            let ids = (vocab.get(left), vocab.get(right), vocab.get(&format!("{left}{right}")));
            if let (Some(left), Some(right), Some(whole)) = ids {
                by_pair.entry((*left, *right)).or_insert((rank, *whole));
            }
        }
        let bytes = (0..=255_u8).map(|byte| vocab.get(&format!("<0x{byte:02X}>")).copied()).collect();
        let letters = vocab.iter().filter_map(|(token, id)| {
            let mut chars = token.chars();
            chars.next().filter(|_| chars.next().is_none()).map(|c| (c, *id))
        });
        Ok(Tokenizer { letters: letters.collect(), bytes, merges: by_pair })
    }

    /// Calls `each` with every token of a text.
    pub(super) fn tokens(&self, text: &str, mut each: impl FnMut(u32)) {
        let mut ids = Vec::new();
        for word in text.split(' ') {
            ids.clear();
            self.letter('▁', &mut ids);
            word.chars().for_each(|c| self.letter(c, &mut ids));
            self.merge(&mut ids);
            ids.iter().for_each(|id| each(*id));
        }
    }

    fn letter(&self, c: char, ids: &mut Vec<u32>) {
        match self.letters.get(&c) {
            Some(id) => ids.push(*id),
            None => {
                let mut buffer = [0; 4];
                let bytes = c.encode_utf8(&mut buffer).bytes();
                ids.extend(bytes.filter_map(|byte| self.bytes[usize::from(byte)]));
            }
        }
    }

    /// Merges the pair of the lowest rank, the leftmost first, until there is none.
    fn merge(&self, ids: &mut Vec<u32>) {
        // A word of thousands of letters is no word; its beginning says enough.
        ids.truncate(256);
        loop {
            let pairs = ids.windows(2).enumerate();
            let best = pairs
                .filter_map(|(at, pair)| {
                    self.merges.get(&(pair[0], pair[1])).map(|(rank, id)| (*rank, at, *id))
                })
                .min();
            let Some((_, at, id)) = best else { return };
            ids[at] = id;
            ids.remove(at + 1);
        }
    }
}
