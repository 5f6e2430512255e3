//! Reports and inventories as text for people.

use super::lines::took;
use host_app::RunsAudit;
use host_history::report::{Figures, Report};
use host_vocab::text::one_line;
use std::collections::BTreeMap;

/// `runs report`.
pub fn report(report: &Report) -> String {
    let mut lines = figures(&report.total);
    for (name, group) in &report.groups {
        lines.push(String::new());
        lines.push(format!("{}:", one_line(name, 80)));
        lines.extend(figures(group).into_iter().map(|line| format!("  {line}")));
    }
    if report.cut {
        lines
            .push("there are more runs than one report takes; narrow it with --since and --until".to_owned());
    }
    lines.join("\n")
}

fn figures(figures: &Figures) -> Vec<String> {
    let mut lines = vec![format!("runs        {}", figures.runs)];
    if figures.runs == 0 {
        return lines;
    }
    lines.push(format!("status      {}", counts(&figures.status)));
    if !figures.failure_kinds.is_empty() {
        lines.push(format!("failures    {}", counts(&figures.failure_kinds)));
    }
    if let (Some(good), Some(bad)) = (figures.success_rate, figures.failure_rate) {
        lines.push(format!("rates       {:.1} % succeeded, {:.1} % failed", good * 100.0, bad * 100.0));
    }
    if let Some(it) = &figures.duration_ms {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "durations are no negative numbers"
        )]
        let time = |ms: f64| took(Some(ms as u64));
        let (p50, p90, p99, max) = (time(it.p50), time(it.p90), time(it.p99), time(it.max));
        lines.push(format!("duration    p50 {p50}, p90 {p90}, p99 {p99}, max {max}"));
    }
    lines.push(format!(
        "tokens      {} in, {} from a cache, {} out",
        figures.input_tokens, figures.cache_read_tokens, figures.output_tokens
    ));
    lines.push(match (figures.cost_usd, figures.unpriced_runs) {
        (None, _) => "cost        not priced".to_owned(),
        (Some(cost), 0) => format!("cost        {cost:.4} US$"),
        (Some(cost), unpriced) => {
            format!("cost        {cost:.4} US$, without {unpriced} runs that have no price")
        }
    });
    lines
}

fn counts(counts: &BTreeMap<String, u64>) -> String {
    let all: Vec<String> =
        counts.iter().map(|(name, count)| format!("{} {count}", one_line(name, 60))).collect();
    all.join(", ")
}

/// `runs audit`.
pub fn audit(audit: &RunsAudit) -> String {
    let (found, events) = (&audit.inventory, &audit.events);
    let mut lines = figures(&found.runs);
    lines.extend(found.newest.as_ref().map(|at| format!("newest      {at}")));
    lines.push(format!("events      {}: {}", events.total, counts(&events.kinds)));
    let mut odd = |count: u64, what: String| {
        if count > 0 {
            lines.push(format!("ODD         {what}"));
        }
    };
    odd(
        events.unreadable,
        format!("{} events can't be read: {:?}", events.unreadable, events.unreadable_events),
    );
    odd(events.unknown, format!("{} events are of a kind that this program doesn't know", events.unknown));
    let (statuses, kinds) = (&found.unknown_statuses, &found.unknown_failure_kinds);
    odd(statuses.len() as u64, format!("unknown statuses: {}", statuses.join(", ")));
    odd(kinds.len() as u64, format!("unknown failure kinds: {}", kinds.join(", ")));
    let stale = found.stale_run_ids.join(", ");
    odd(found.stale_runs, format!("{} runs have no end and no process any more: {stale}", found.stale_runs));
    odd(found.behind, format!("the index is {} events behind", found.behind));
    lines.join("\n")
}
