//! What a running host does for its log beside the turns: retention, anchors of the chain's head (AUD-1), and kept
//! output that belongs to no run any more.

use crate::agent::{Agent, Home};
use crate::clock::SystemClock;
use host_config::AgentSpec;
use host_history::{HistoryStore, ScopeFilter};
use host_ports::CancellationToken;
use host_ports::clock::Clock as _;
use host_ports::log::LogError;
use host_store::{EventLog, RetentionPolicy};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the head is anchored, where anything was recorded since.
const ANCHOR_EVERY: Duration = Duration::from_secs(60);
/// How often retention looks.
const RETAIN_EVERY: Duration = Duration::from_secs(60 * 60);

/// How far ahead of what the log saw last the clock is believed: a machine that wakes up in another year must not lose
/// its past for it (QUA-2).
const AHEAD_MAX: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// A clock that is believed only so far ahead of the last event that was there when the agent was opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Believed {
    last_at: Option<i64>,
    since: Instant,
}

impl Believed {
    pub(crate) fn of(log: &EventLog) -> Self {
        let last_at = log.event(log.report().last_seq).ok().flatten().map(|event| event.at);
        Believed { last_at, since: Instant::now() }
    }

    /// The time, or the latest that is believed.
    fn now_ms(&self, clock_ms: i64) -> i64 {
        let ahead = i64::try_from((AHEAD_MAX + self.since.elapsed()).as_millis()).unwrap_or(i64::MAX);
        self.last_at.map_or(clock_ms, |last| clock_ms.min(last.saturating_add(ahead)))
    }
}

/// How long the log is kept, as the settings have it. Bounds of calls and of tombstones have no setting.
pub(crate) fn policy(spec: &AgentSpec) -> RetentionPolicy {
    let retention = &spec.artifacts.retention;
    RetentionPolicy {
        age_ms_max: i64::from(retention.max_age_days) * 24 * 60 * 60 * 1000,
        runs_max: u64::from(retention.max_count),
        dry_run: retention.dry_run.unwrap_or(false),
        ..RetentionPolicy::default()
    }
}

impl Agent {
    /// Keeps the log within its bounds and its head anchored, at once and from then on, until it is stopped. Call it
    /// behind [`Agent::recover`], and in one process of an agent alone: its host.
    pub async fn keep_up(&self, stop: CancellationToken) {
        let mut retained: Option<Instant> = None;
        loop {
            let due = retained.is_none_or(|at| at.elapsed() >= RETAIN_EVERY);
            if due {
                retained = Some(Instant::now());
            }
            let agent = self.clone();
            let work = move || {
                let Some(home) = &agent.inner.home else { return };
                if due {
                    home.retain();
                    if let Some(files) = &agent.inner.replies.files {
                        files.clean(home.believed.now_ms(SystemClock.now_ms()));
                    }
                }
                home.anchor();
            };
            if let Err(error) = tokio::task::spawn_blocking(work).await {
                tracing::warn!(%error, "the upkeep of the log broke");
            }
            tokio::select! {
                () = tokio::time::sleep(ANCHOR_EVERY) => {}
                () = stop.cancelled() => return,
            }
        }
    }
}

impl Home {
    /// Anchors the head of the chain. A failure is told and changes nothing.
    pub(crate) fn anchor(&self) {
        match self.log.anchor_head(SystemClock.now_ms()) {
            Ok(_) | Err(LogError::Closed) => {}
            Err(error) => tracing::warn!(%error, "the head of the log could not be anchored"),
        }
    }

    fn retain(&self) {
        let policy = policy(&self.spec);
        match self.log.retain(&policy, self.believed.now_ms(SystemClock.now_ms())) {
            Ok(report) if report.events == 0 => {}
            Ok(report) => {
                let reason = report.reason.map_or("", host_history::Removal::as_str);
                let (events, runs) = (report.events, report.runs.len());
                if policy.dry_run {
                    tracing::info!(
                        events,
                        runs,
                        reason,
                        "retention would remove these (artifacts.retention.dryRun)"
                    );
                } else {
                    tracing::info!(events, runs, reason, "retention removed the oldest of the log");
                    for run in &report.runs {
                        if let Err(error) = self.kept.remove_run(run) {
                            tracing::warn!(%error, %run, "kept output of a removed run could not be removed");
                        }
                    }
                }
            }
            Err(LogError::Closed) => return,
            Err(error) => tracing::warn!(%error, "the log could not be kept within its bounds"),
        }
        if !policy.dry_run {
            self.sweep_kept();
        }
    }

    /// Removes kept output of runs that the log doesn't know, unless it was written within the last interval.
    fn sweep_kept(&self) {
        let log = Arc::clone(&self.log);
        // What can't be told is kept.
        let known = |run: &host_vocab::RunId| {
            log.find_run(&ScopeFilter::Everything, run).map_or(true, |found| found.is_some())
        };
        match self.kept.sweep(known, RETAIN_EVERY) {
            Ok(0) => {}
            Ok(folders) => tracing::info!(folders, "kept output of runs that are not recorded was removed"),
            Err(error) => tracing::warn!(%error, "kept output could not be looked through"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // QUA-2: a clock that jumps ahead ages nothing; one that goes back neither.
    #[test]
    fn a_clock_that_jumps_is_not_believed() {
        let day = 24 * 60 * 60 * 1000;
        let believed = Believed { last_at: Some(1_000 * day), since: Instant::now() };
        assert_eq!(believed.now_ms(1_030 * day), 1_030 * day);
        let far = believed.now_ms(9_999 * day);
        assert!((1_060 * day..1_061 * day).contains(&far), "{far}");
        assert_eq!(believed.now_ms(10 * day), 10 * day);
        let fresh = Believed { last_at: None, since: Instant::now() };
        assert_eq!(fresh.now_ms(5), 5);
    }
}
