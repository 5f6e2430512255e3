//! What runs there are, and what of them is odd (`runs audit`).

use crate::report::{Figures, ReportQuery, report};
use crate::runs::STATUSES;
use crate::store::{HistoryStore, RunListQuery, ScopeFilter};
use crate::time::rfc3339;
use host_ports::log::LogError;
use host_turn::FailureKind;
use serde::Serialize;

/// How many odd things of one sort are named.
const NAMED_MAX: usize = 20;

/// The inventory.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// Totals, histograms and rates, the memory's own runs included.
    pub runs: Figures,
    /// When the newest began.
    pub newest: Option<String>,
    /// Statuses that this program doesn't know.
    pub unknown_statuses: Vec<String>,
    /// Failure kinds that it doesn't know.
    pub unknown_failure_kinds: Vec<String>,
    /// Runs without an end whose process is gone; the agent's next start ends them.
    pub stale_runs: u64,
    /// The newest of those.
    pub stale_run_ids: Vec<String>,
    /// How many events the index has not taken in.
    pub behind: u64,
}

/// Takes the inventory. `dead` are the runs without an end whose process is gone. Blocks, for about a microsecond a
/// run.
///
/// # Errors
/// See [`LogError`].
pub fn inventory(store: &dyn HistoryStore, dead: &[String]) -> Result<Inventory, LogError> {
    let everything = ScopeFilter::Everything;
    let query =
        ReportQuery { scope: everything.clone(), since_ms: None, until_ms: None, by: None, memory: true };
    let runs = report(store, &query)?.total;
    let first = RunListQuery { scope: everything, before: None, status: Some("any".to_owned()), limit: 1 };
    let newest = store.list_runs(&first)?.first().map(|row| rfc3339(row.started_at));
    let unknown = |named: &str| serde_json::from_value::<FailureKind>(named.into()).is_err();
    let kinds = runs.failure_kinds.keys().filter(|kind| unknown(kind)).take(NAMED_MAX).cloned().collect();
    let statuses = runs.status.keys().filter(|status| !STATUSES.contains(&status.as_str()));
    Ok(Inventory {
        newest,
        unknown_statuses: statuses.take(NAMED_MAX).cloned().collect(),
        unknown_failure_kinds: kinds,
        stale_runs: dead.len() as u64,
        stale_run_ids: dead.iter().rev().take(NAMED_MAX).cloned().collect(),
        behind: store.behind()?,
        runs,
    })
}
