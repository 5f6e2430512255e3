//! Which facts fit a query, and how well: 0 to 1, or not at all.
//!
//! Words count by how rare they are, and by how much of the query they make up. Cosines count from the floor of
//! their model on. The better of the two leads, the other adds to it; places in both lists break ties. What
//! stays under the floors is not recalled, however few there are.

use crate::terms::query_terms;
use crate::{CosineScale, FactRow, Index, IndexError};
use std::collections::HashMap;

/// The most facts that are looked at by their words.
const CANDIDATES_MAX: usize = 256;
/// The most that are looked at by their vectors.
const NEAREST_MAX: usize = 64;
/// The most words of a query.
const TERMS_MAX: usize = 48;
/// Under this score nothing is recalled.
pub(crate) const FLOOR: f32 = 0.24;
/// How far under the best a fact may be (A7.9).
const TAIL: f32 = 0.30;

/// A vector of the query and how its cosines are read.
pub(crate) struct QueryVector<'a> {
    pub(crate) vector: &'a [f32],
    pub(crate) scale: CosineScale,
}

/// One word of the query.
struct Word {
    term: String,
    /// In how many facts it is.
    found_in: u64,
    /// What it counts for.
    weight: f32,
    /// Whether it holds a digit: another number is another thing.
    number: bool,
}

/// The facts that fit, best first, before repeated ids are taken out.
pub(crate) fn search(
    index: &dyn Index,
    query: &str,
    vector: Option<&QueryVector<'_>>,
    limit: usize,
) -> Result<Vec<(FactRow, f32)>, IndexError> {
    let mut terms = query_terms(query);
    terms.truncate(TERMS_MAX);
    let (found_in, live) = index.frequencies(&terms)?;
    let words: Vec<Word> =
        terms.into_iter().zip(found_in).map(|(term, found_in)| word(term, found_in, live)).collect();
    let mut rows = candidates(index, &words, live)?;
    let mut cosines: HashMap<i64, f32> = HashMap::new();
    if let Some(query) = vector {
        let near = index.nearest(query.vector, NEAREST_MAX)?;
        rows.extend(near.iter().map(|(row, _)| *row));
        cosines.extend(near);
    }
    rows.sort_unstable();
    rows.dedup();
    if let Some(query) = vector {
        let rest: Vec<i64> = rows.iter().copied().filter(|row| !cosines.contains_key(row)).collect();
        cosines.extend(index.cosines(query.vector, &rest)?);
    }
    let facts = index.rows(&rows)?;
    let scored = facts.into_iter().map(|fact| {
        let own = crate::terms(&fact.bullet.text).0;
        let strange = strange(&words, &own);
        let lexical = lexical(&words, &own) * strange;
        let Some((query, cosine)) = vector.zip(cosines.get(&fact.row)) else { return (fact, lexical, 0.0) };
        // The same words in another sense: the vector knows better.
        let sense = if *cosine < query.scale.floor * 0.6 { 0.35 } else { 1.0 };
        (fact, lexical * sense, strange * evidence(*cosine, query.scale))
    });
    Ok(fused(scored.collect(), limit))
}

fn word(term: String, found_in: u64, live: u64) -> Word {
    #[allow(clippy::cast_precision_loss, reason = "a weight needs no more")]
    // In a memory of a few facts every word would look common.
    let (found, live) = (found_in as f32, live.max(100) as f32);
    let rarity = (1.0 + (live - found + 0.5).max(0.0) / (found + 0.5)).ln();
    // A small memory can't tell common words from rare ones, so length helps: short words say little.
    let dense = !term.is_ascii();
    let length = match term.chars().count() {
        _ if dense || term.bytes().any(|byte| byte.is_ascii_digit()) => 1.0,
        0..=2 => 0.15,
        3..=4 => 0.6,
        _ => 1.0,
    };
    // A word that is nowhere counts against a match, but it may be only another way to say it.
    let number = term.bytes().any(|byte| byte.is_ascii_digit());
    let known = if found_in == 0 && !number { 0.45 } else { 1.0 };
    Word { weight: rarity.max(0.05) * length * known, term, found_in, number }
}

/// Rows that hold the query's words: all of them first, then the rarest.
fn candidates(index: &dyn Index, words: &[Word], live: u64) -> Result<Vec<i64>, IndexError> {
    let mut present: Vec<&Word> = words.iter().filter(|word| word.found_in > 0).collect();
    present.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let mut rows: Vec<i64> = Vec::new();
    let term = |word: &&Word| word.term.clone();
    if present.len() > 1 {
        rows.extend(index.matching(&present.iter().map(term).collect::<Vec<_>>(), 100)?);
    }
    if present.len() > 2 {
        rows.extend(index.matching(&present[..2].iter().map(term).collect::<Vec<_>>(), 100)?);
    }
    for (at, word) in present.iter().enumerate() {
        // Once there is something, a word of every tenth fact finds nothing better.
        let common = word.found_in > 500 && word.found_in > live / 10;
        if rows.len() >= CANDIDATES_MAX || (at > 0 && common && !rows.is_empty()) {
            continue;
        }
        rows.extend(
            index.matching(std::slice::from_ref(&word.term), (CANDIDATES_MAX - rows.len()).min(128))?,
        );
    }
    for word in words.iter().filter(|word| word.found_in < 50) {
        if let Some(stem) = stem(&word.term) {
            rows.extend(index.matching(&[format!("{stem}*")], 40)?);
        }
    }
    Ok(rows)
}

/// The beginning that other forms of a word share.
fn stem(term: &str) -> Option<&str> {
    let chars = term.chars().count();
    if chars < 4 || term.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let keep = (chars - if chars > 5 { 2 } else { 1 }).max(4);
    Some(term.char_indices().nth(keep).map_or(term, |(at, _)| &term[..at]))
}

/// Whether two words are forms of one: the same beginning, and little after it.
fn kin(a: &str, b: &str) -> bool {
    let shared = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let (longer, shorter) =
        (a.chars().count().max(b.chars().count()), a.chars().count().min(b.chars().count()));
    shared >= 4
        && longer - shared <= 3
        && shorter - shared <= 2
        && !a.bytes().any(|byte| byte.is_ascii_digit())
}

/// How much of the query a text has, 0 to 1.
fn lexical(words: &[Word], own: &[String]) -> f32 {
    let total: f32 = words.iter().map(|word| word.weight).sum();
    if total <= 0.0 {
        return 0.0;
    }
    let mut hit = 0.0;
    for word in words {
        if own.contains(&word.term) {
            hit += word.weight;
        } else if own.iter().any(|it| kin(it, &word.term)) {
            hit += word.weight * 0.8;
        }
    }
    // Of two texts with the same words the shorter one is more about them.
    #[allow(clippy::cast_precision_loss, reason = "a few hundred words at most")]
    let focus = 1.0 / (1.0 + own.len() as f32 / 200.0);
    hit / total * focus
}

/// What is left of the evidence where a query names a number (a date, an id) and the text holds none of its
/// numbers: the rest fits by chance.
fn strange(words: &[Word], own: &[String]) -> f32 {
    let mut numbers = words.iter().filter(|word| word.number).peekable();
    if numbers.peek().is_none() || numbers.any(|word| own.contains(&word.term)) { 1.0 } else { 0.3 }
}

/// A cosine as evidence, 0 to 1.
fn evidence(cosine: f32, scale: CosineScale) -> f32 {
    if cosine < scale.floor {
        return 0.0;
    }
    let part = (cosine - scale.floor) / (scale.same - scale.floor).max(0.01);
    (FLOOR + (1.0 - FLOOR) * part).clamp(0.0, 1.0)
}

fn fused(mut scored: Vec<(FactRow, f32, f32)>, limit: usize) -> Vec<(FactRow, f32)> {
    let place = |value: fn(&(FactRow, f32, f32)) -> f32, scored: &mut Vec<(FactRow, f32, f32)>| {
        scored.sort_by(|a, b| value(b).total_cmp(&value(a)).then(b.0.row.cmp(&a.0.row)));
        let places = scored.iter().enumerate().filter(|(_, it)| value(it) > 0.0);
        #[allow(clippy::cast_precision_loss, reason = "a few hundred places")]
        let places: HashMap<i64, f32> = places.map(|(at, it)| (it.0.row, 1.0 / (60.0 + at as f32))).collect();
        places
    };
    let by_words = place(|it| it.1, &mut scored);
    let by_vector = place(|it| it.2, &mut scored);
    let mut all: Vec<(FactRow, f32)> = scored
        .into_iter()
        .map(|(fact, lexical, semantic)| {
            let (lead, other) = (lexical.max(semantic), lexical.min(semantic));
            let ties = by_words.get(&fact.row).unwrap_or(&0.0) + by_vector.get(&fact.row).unwrap_or(&0.0);
            let salience = (fact.bullet.salience - 0.5) * 0.01;
            let score = lead + (1.0 - lead) * other * 0.5 + ties * 0.5 + salience;
            (fact, if lead >= FLOOR { score.clamp(0.0, 1.0) } else { 0.0 })
        })
        .filter(|(_, score)| *score > 0.0)
        .collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.bullet.created_ms().cmp(&a.0.bullet.created_ms())));
    let best = all.first().map_or(0.0, |it| it.1);
    all.retain(|it| it.1 >= best - TAIL);
    // More than asked for, since repeated ids still go.
    all.truncate(limit * 3 + 8);
    all
}
