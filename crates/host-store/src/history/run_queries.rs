//! Questions about runs.

use super::find::{Pattern, holds};
use super::run_rows::{COLUMNS, run};
use super::scope::Within;
use host_history::{
    ConversationRow, RunHit, RunListQuery, RunMatches, RunRow, RunSearchQuery, ScopeFilter, ToolCount,
};
use host_vocab::RunId;
use rusqlite::{Connection, OptionalExtension, named_params, params};
use std::collections::{BinaryHeap, HashMap};

/// The most rows of a page.
const PAGE_MAX: usize = 1000;
/// How many of the newest runs with a common word are ranked where no run carries every word.
const RANKED_MAX: usize = 4096;
/// How many candidates one search looks at.
const LOOKS_MAX: usize = 50_000;

fn limit(rows: usize) -> i64 {
    i64::try_from(rows.min(PAGE_MAX)).unwrap_or(0)
}

fn before(seq: Option<u64>) -> i64 {
    seq.and_then(|seq| i64::try_from(seq).ok()).unwrap_or(i64::MAX)
}

pub(super) fn list(index: &Connection, query: &RunListQuery) -> rusqlite::Result<Vec<RunRow>> {
    let within = Within::of(index, &query.scope)?;
    let (clause, status) = match query.status.as_deref() {
        None => ("r.status IS NOT NULL AND :status IS NULL", None),
        Some("any") => (":status IS NULL", None),
        Some("running") => ("r.status IS NULL AND :status IS NULL", None),
        Some(status) => ("r.status = :status", Some(status)),
    };
    let scope = within.clause();
    let mut rows = index.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM h_runs r JOIN h_scopes s ON s.id = r.conversation
         WHERE {scope} AND {clause} AND r.seq < :before ORDER BY r.seq DESC LIMIT :limit"
    ))?;
    let values = named_params! {
        ":logical": within.logical(),
        ":conversation": within.conversation(),
        ":status": status,
        ":before": before(query.before),
        ":limit": limit(query.limit),
    };
    rows.query_map(values, run)?.collect()
}

pub(super) fn find(index: &Connection, scope: &ScopeFilter, id: &RunId) -> rusqlite::Result<Option<RunRow>> {
    let within = Within::of(index, scope)?;
    let scope = within.clause();
    index
        .prepare_cached(&format!(
            // Without the hint the planner may walk the whole conversation, which is in order already.
            "SELECT {COLUMNS} FROM h_runs r INDEXED BY h_runs_run JOIN h_scopes s ON s.id = r.conversation
             WHERE r.run = :run AND {scope} ORDER BY r.seq DESC LIMIT 1"
        ))?
        .query_row(
            named_params! {
                ":run": id.as_str(),
                ":logical": within.logical(),
                ":conversation": within.conversation(),
            },
            run,
        )
        .optional()
}

pub(super) fn tool_counts(index: &Connection, seq: u64) -> rusqlite::Result<Vec<ToolCount>> {
    let mut counts = index.prepare_cached(
        "SELECT tool, count(*), sum(state IS NOT NULL AND state <> 'success') FROM h_calls WHERE run_seq = ?1
         GROUP BY tool ORDER BY count(*) DESC, tool LIMIT 200",
    )?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(ToolCount { tool: row.get(0)?, calls: row.get(1)?, errors: row.get(2)? })
    };
    counts.query_map([seq], read)?.collect()
}

pub(super) fn conversations(
    index: &Connection,
    older_than: Option<u64>,
    rows: usize,
) -> rusqlite::Result<Vec<ConversationRow>> {
    let mut found = index.prepare_cached(
        "SELECT s.name, c.runs, c.last_at, c.last_seq FROM h_conversations c JOIN h_scopes s ON s.id = c.id
         WHERE c.last_seq < ?1 AND s.name <> '' ORDER BY c.last_seq DESC LIMIT ?2",
    )?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(ConversationRow {
            conversation: row.get(0)?,
            runs: row.get(1)?,
            last_at_ms: row.get(2)?,
            last_seq: row.get(3)?,
        })
    };
    found.query_map(params![before(older_than), limit(rows)], read)?.collect()
}

/// RUN-5: those with every term alone, else ranked partial ones.
pub(super) fn search(index: &Connection, query: &RunSearchQuery) -> rusqlite::Result<RunMatches> {
    let within = Within::of(index, &query.scope)?;
    let all = query.terms.len();
    if within == Within::Nothing || all == 0 {
        return Ok(RunMatches::default());
    }
    let look = Look { index, query, within };
    match query.after {
        Some((matched, seq)) if matched >= all => {
            return Ok(RunMatches { hits: look.with_all(Some(seq))?, all_terms: true });
        }
        Some(_) => {}
        None => {
            let hits = look.with_all(None)?;
            if !hits.is_empty() || all == 1 {
                return Ok(RunMatches { all_terms: !hits.is_empty(), hits });
            }
        }
    }
    Ok(RunMatches { hits: look.ranked()?, all_terms: false })
}

struct Look<'q> {
    index: &'q Connection,
    query: &'q RunSearchQuery,
    within: Within,
}

/// A candidate on its way to being a hit: by how many terms, then by age.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    matched: usize,
    seq: u64,
    looked_at: Option<Vec<usize>>,
}

impl Look<'_> {
    fn pattern(&self, terms: impl Iterator<Item = usize>) -> String {
        let mut pattern = Pattern::default();
        if let Some(token) = self.within.token() {
            pattern.token(token);
        }
        for term in terms {
            pattern.term(&self.query.terms[term]);
        }
        pattern.text().unwrap_or_default()
    }

    fn with_all(&self, older_than: Option<u64>) -> rusqlite::Result<Vec<RunHit>> {
        let every: Vec<usize> = (0..self.query.terms.len()).collect();
        let mut candidates = self.index.prepare_cached(
            "SELECT rowid FROM h_run_grams WHERE h_run_grams MATCH ?1 AND rowid < ?2 ORDER BY rowid DESC",
        )?;
        let mut rows = candidates.query(params![self.pattern(every.iter().copied()), before(older_than)])?;
        let (mut hits, mut looks) = (Vec::new(), 0);
        while hits.len() < self.query.limit
            && looks < LOOKS_MAX
            && let Some(row) = rows.next()?
        {
            looks += 1;
            let seq: u64 = row.get(0)?;
            if self.matched(seq)?.len() == every.len()
                && let Some(found) = self.visible(seq)?
            {
                hits.push(RunHit { row: found, matched: every.clone() });
            }
        }
        Ok(hits)
    }

    /// Which terms a run's stored text really holds.
    fn matched(&self, seq: u64) -> rusqlite::Result<Vec<usize>> {
        let mut text = self.index.prepare_cached("SELECT text FROM h_run_texts WHERE seq = ?1")?;
        let mut rows = text.query([seq])?;
        let Some(row) = rows.next()? else { return Ok(Vec::new()) };
        let text = row.get_ref(0)?.as_str()?;
        let terms = self.query.terms.iter().enumerate();
        Ok(terms.filter(|(_, term)| holds(text, term)).map(|(at, _)| at).collect())
    }

    fn visible(&self, seq: u64) -> rusqlite::Result<Option<RunRow>> {
        let found = self
            .index
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM h_runs r JOIN h_scopes s ON s.id = r.conversation WHERE r.seq = ?1"
            ))?
            .query_row([seq], run)
            .optional()?;
        let hidden = |row: &RunRow| {
            self.query
                .without
                .as_ref()
                .is_some_and(|(conversation, run)| row.run == *run && row.conversation == *conversation)
        };
        Ok(found.filter(|row| !hidden(row)))
    }

    /// No run has every term: the newest ones of each are ranked by how many they have.
    fn ranked(&self) -> rusqlite::Result<Vec<RunHit>> {
        let mut heap: BinaryHeap<Candidate> = self
            .candidates()?
            .into_iter()
            .map(|(seq, terms)| Candidate { matched: terms.count_ones() as usize, seq, looked_at: None })
            .collect();
        let (mut hits, mut looks) = (Vec::new(), 0);
        // The count of a candidate that was not looked at is never too low, so what comes out first is best.
        while let Some(candidate) = heap.pop() {
            match candidate.looked_at {
                None if looks < LOOKS_MAX => {
                    looks += 1;
                    let matched = self.matched(candidate.seq)?;
                    if !matched.is_empty() {
                        let (count, seq) = (matched.len(), candidate.seq);
                        heap.push(Candidate { matched: count, seq, looked_at: Some(matched) });
                    }
                }
                None => break,
                Some(matched) => {
                    if self.is_before(candidate.matched, candidate.seq) {
                        continue;
                    }
                    if let Some(row) = self.visible(candidate.seq)? {
                        hits.push(RunHit { row, matched });
                        if hits.len() >= self.query.limit {
                            break;
                        }
                    }
                }
            }
        }
        Ok(hits)
    }

    /// Whether a candidate stood on an earlier page.
    fn is_before(&self, matched: usize, seq: u64) -> bool {
        self.query.after.is_some_and(|(count, last)| (matched, seq) >= (count, last))
    }

    /// Runs with at least one term, and which terms they may have.
    fn candidates(&self) -> rusqlite::Result<HashMap<u64, u16>> {
        let mut found: HashMap<u64, u16> = HashMap::new();
        let mut common: Vec<(usize, u64)> = Vec::new();
        for term in 0..self.query.terms.len() {
            let rows = self.newest(std::iter::once(term))?;
            if let (RANKED_MAX, Some(oldest)) = (rows.len(), rows.last()) {
                common.push((term, *oldest));
            }
            for seq in rows {
                *found.entry(seq).or_default() |= 1 << term;
            }
        }
        if common.len() > 1 {
            // Runs with several common words, beyond the newest of each.
            for seq in self.newest(common.iter().map(|(term, _)| *term))? {
                let terms = common.iter().fold(0, |bits, (term, _)| bits | 1 << term);
                *found.entry(seq).or_default() |= terms;
            }
        }
        for (term, oldest) in common {
            // Older ones may have a common word too; they are looked at.
            found.iter_mut().filter(|(seq, _)| **seq < oldest).for_each(|(_, terms)| *terms |= 1 << term);
        }
        Ok(found)
    }

    fn newest(&self, terms: impl Iterator<Item = usize>) -> rusqlite::Result<Vec<u64>> {
        let mut rows = self.index.prepare_cached(
            "SELECT rowid FROM h_run_grams WHERE h_run_grams MATCH ?1 ORDER BY rowid DESC LIMIT ?2",
        )?;
        let values = params![self.pattern(terms), i64::try_from(RANKED_MAX).unwrap_or(i64::MAX)];
        rows.query_map(values, |row| row.get(0))?.collect()
    }
}
