//! Rates, durations and cost over many runs (`runs report`).

use crate::store::{HistoryStore, RunListQuery, RunRow, ScopeFilter};
use host_ports::log::LogError;
use serde::Serialize;
use std::collections::BTreeMap;

/// How many runs are read at a time.
const PAGE: usize = 1000;
/// The most runs of one report.
pub const RUNS_MAX: usize = 1_000_000;
/// The most groups; the rest is one group named `(other)`.
const GROUPS_MAX: usize = 100;

/// What runs are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The model reference.
    Model,
    /// The channel or trigger kind.
    Channel,
    /// The failure kind.
    FailureKind,
}

impl By {
    /// From the word of `--by`: `model`, `channel` or `failureKind`.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "model" => Some(By::Model),
            "channel" => Some(By::Channel),
            "failureKind" | "failure-kind" => Some(By::FailureKind),
            _ => None,
        }
    }
}

/// What to report on.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportQuery {
    /// Whose runs.
    pub scope: ScopeFilter,
    /// Begun at or after, in Unix milliseconds.
    pub since_ms: Option<i64>,
    /// Begun before.
    pub until_ms: Option<i64>,
    /// In which groups.
    pub by: Option<By>,
    /// Whether the memory's own runs count.
    pub memory: bool,
}

/// Quantiles of durations, in milliseconds, by linear interpolation.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Durations {
    /// Half are shorter.
    pub p50: f64,
    /// Nine of ten are.
    pub p90: f64,
    /// All but one of a hundred are.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

/// Figures of some runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// How many.
    pub runs: u64,
    /// How many by status, `running` among them.
    pub status: BTreeMap<String, u64>,
    /// How many by failure kind.
    pub failure_kinds: BTreeMap<String, u64>,
    /// Succeeded of all that ended; `None` where none did.
    pub success_rate: Option<f64>,
    /// Failed of all that ended.
    pub failure_rate: Option<f64>,
    /// How long those took that ended; `None` where none did.
    pub duration_ms: Option<Durations>,
    /// Tokens of prompts that no cache had.
    pub input_tokens: u64,
    /// Tokens of answers.
    pub output_tokens: u64,
    /// Tokens of prompts from a cache.
    pub cache_read_tokens: u64,
    /// What those cost that have a price, in US dollars; `None` where none has: unknown is never zero.
    pub cost_usd: Option<f64>,
    /// How many ended without a price.
    pub unpriced_runs: u64,
}

/// A report.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Over all runs.
    pub total: Figures,
    /// By group, where that was asked.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, Figures>,
    /// Whether there were more runs than one report takes.
    pub cut: bool,
}

#[derive(Default)]
struct Gathering {
    figures: Figures,
    durations: Vec<u64>,
}

impl Gathering {
    fn add(&mut self, row: &RunRow) {
        let figures = &mut self.figures;
        figures.runs += 1;
        *figures.status.entry(row.status.clone()).or_default() += 1;
        if let Some(kind) = &row.failure_kind {
            *figures.failure_kinds.entry(kind.clone()).or_default() += 1;
        }
        if row.settled_seq.is_none() {
            return;
        }
        self.durations.extend(row.duration_ms);
        let Some(usage) = &row.usage else {
            figures.unpriced_runs += 1;
            return;
        };
        figures.input_tokens += usage.input_tokens;
        figures.output_tokens += usage.output_tokens;
        figures.cache_read_tokens += usage.cache_read_tokens;
        match usage.cost_usd {
            Some(cost) => figures.cost_usd = Some(figures.cost_usd.unwrap_or(0.0) + cost),
            None => figures.unpriced_runs += 1,
        }
    }

    fn close(mut self) -> Figures {
        let count = |status: &str| self.figures.status.get(status).copied().unwrap_or(0);
        let ended = self.figures.runs - count("running");
        if ended > 0 {
            self.figures.success_rate = Some(count("succeeded") as f64 / ended as f64);
            self.figures.failure_rate = Some(count("failed") as f64 / ended as f64);
        }
        self.durations.sort_unstable();
        self.figures.duration_ms = (!self.durations.is_empty()).then(|| Durations {
            p50: quantile(&self.durations, 0.5),
            p90: quantile(&self.durations, 0.9),
            p99: quantile(&self.durations, 0.99),
            max: quantile(&self.durations, 1.0),
        });
        self.figures
    }
}

/// A quantile of sorted values by linear interpolation.
fn quantile(sorted: &[u64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = share * last as f64;
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    let (a, b) = (sorted[low.min(last)] as f64, sorted[high.min(last)] as f64);
    a + (b - a) * (place - place.floor())
}

/// Reports on runs. Blocks, for about a microsecond a run.
///
/// # Errors
/// See [`LogError`].
pub fn report(store: &dyn HistoryStore, query: &ReportQuery) -> Result<Report, LogError> {
    let mut total = Gathering::default();
    let mut groups: BTreeMap<String, Gathering> = BTreeMap::new();
    let (mut before, mut read, mut cut) = (None, 0, false);
    loop {
        let page =
            RunListQuery { scope: query.scope.clone(), before, status: Some("any".to_owned()), limit: PAGE };
        let rows = store.list_runs(&page)?;
        let fits = |row: &&RunRow| {
            (query.memory || row.source != "memory")
                && query.since_ms.is_none_or(|since| row.started_at >= since)
                && query.until_ms.is_none_or(|until| row.started_at < until)
        };
        for row in rows.iter().filter(fits) {
            total.add(row);
            if let Some(by) = query.by {
                let mut name = group(row, by);
                if groups.len() >= GROUPS_MAX && !groups.contains_key(&name) {
                    name = "(other)".to_owned();
                }
                groups.entry(name).or_default().add(row);
            }
        }
        read += rows.len();
        // A whole page before the span: what follows is older still, unless a clock was set back by a page.
        let past = query.since_ms.is_some_and(|since| rows.iter().all(|row| row.started_at < since));
        if rows.len() < PAGE || past {
            break;
        }
        if read >= RUNS_MAX {
            cut = true;
            break;
        }
        before = rows.last().map(|row| row.seq);
    }
    let groups = groups.into_iter().map(|(name, it)| (name, it.close())).collect();
    Ok(Report { total: total.close(), groups, cut })
}

fn group(row: &RunRow, by: By) -> String {
    match by {
        By::Model => row.model.clone(),
        By::Channel => row.source.clone(),
        By::FailureKind => row.failure_kind.clone().unwrap_or_else(|| "(none)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // OBS-1
    #[test]
    fn quantiles_are_interpolated() {
        let values = [10, 20, 30, 40];
        assert_eq!(quantile(&values, 0.5), 25.0);
        assert_eq!(quantile(&values, 1.0), 40.0);
        assert_eq!(quantile(&[7], 0.99), 7.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}
