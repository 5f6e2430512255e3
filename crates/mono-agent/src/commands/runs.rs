//! `runs list|show|search|report|audit|replay|diff`: the owner's views of what ran.

mod compare;
mod figures;
pub mod lines;
mod when;

use crate::answer::{Failure, print};
use crate::args::{Place, Runs, RunsList, RunsReport, RunsSearch, RunsShow};
use crate::past;
use host_app::{Archive, RunsAudit};
use host_history::report::{By, Report, ReportQuery};
use host_history::{RunListing, RunPage, ScopeFilter};
use host_vocab::text::one_line;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::ExitCode;

/// What `--status` takes: the statuses of the log, where a run without an end is `running` while its process lives, and
/// `dead` when it is gone.
const STATUSES: [&str; 6] = ["running", "dead", "succeeded", "failed", "cancelled", "interrupted"];

pub async fn run(place: &Place, verb: Option<Runs>) -> Result<ExitCode, Failure> {
    match verb.unwrap_or_else(|| Runs::List(RunsList::default())) {
        Runs::List(asked) => list(place, &asked),
        Runs::Show(asked) => show(place, &asked),
        Runs::Search(asked) => search(place, &asked),
        Runs::Report(asked) => report(place, &asked),
        Runs::Audit => audit(place),
        Runs::Replay { run_id } => compare::replay(place, &run_id).await,
        Runs::Diff { first, second } => compare::diff(place, &first, &second),
    }
}

fn scope(archive: &Archive, conversation: Option<&String>) -> Result<Option<ScopeFilter>, Failure> {
    let id = conversation.map(|id| past::conversation(id)).transpose()?;
    Ok(id.map(|id| archive.scope_of(&id)))
}

fn list(place: &Place, asked: &RunsList) -> Result<ExitCode, Failure> {
    // The log says `running` of them; that they are dead is seen from outside.
    let wanted = asked.status.as_deref();
    if let Some(status) = wanted.filter(|it| !STATUSES.contains(it)) {
        let (shown, known) = (one_line(status, 60), STATUSES.join(", "));
        return Err(Failure::usage(format!("--status: {shown:?} is none; there are {known}")));
    }
    let Some(archive) = past::open(place)? else { return Ok(nothing(place, None)) };
    let mut listing = RunListing {
        scope: scope(&archive, asked.conversation.as_ref())?,
        status: wanted.map(|it| if it == "dead" { "running" } else { it }.to_owned()),
        limit: past::limit(&asked.page),
        cursor: asked.page.cursor.clone(),
    };
    let (page, dead) = loop {
        let mut page = archive.views().list(&listing).map_err(past::not_shown)?;
        let statuses = page.runs.iter().map(|run| run.status.as_str());
        let dead = archive.dead_among(statuses).map_err(past::log_failed)?;
        if let Some("dead" | "running") = wanted {
            page.runs.retain(|run| dead.contains(&run.run_id) == (wanted == Some("dead")));
        }
        // A page of which nothing fits is none.
        match &page.next_cursor {
            Some(next) if page.runs.is_empty() => listing.cursor = Some(next.clone()),
            _ => break (page, dead),
        }
    };
    let mut told = json!(page);
    mark(&mut told, &dead);
    print(place, &told, || lines::page(&page, &dead, "no run fits"));
    Ok(ExitCode::SUCCESS)
}

fn search(place: &Place, asked: &RunsSearch) -> Result<ExitCode, Failure> {
    let Some(archive) = past::open(place)? else { return Ok(nothing(place, Some(false))) };
    let listing = RunListing {
        scope: scope(&archive, asked.conversation.as_ref())?,
        status: None,
        limit: past::limit(&asked.page),
        cursor: asked.page.cursor.clone(),
    };
    let page = archive.views().search(&asked.words.join(" "), &listing).map_err(past::not_shown)?;
    print(place, &page, || {
        let mut text = lines::page(
            &page,
            &BTreeSet::new(),
            "no ended run carries any of these words (answers and results of tools are not searched here)",
        );
        if page.matched_all_terms == Some(false) && !page.runs.is_empty() {
            text = format!("no run carries every word; these carry some of them\n{text}");
        }
        text
    });
    Ok(ExitCode::SUCCESS)
}

fn show(place: &Place, asked: &RunsShow) -> Result<ExitCode, Failure> {
    let Some(archive) = past::open(place)? else { return Err(past::no_run(None, &asked.run_id)) };
    let views = archive.views();
    let shown = views
        .show(&asked.run_id, asked.page.cursor.as_deref(), past::limit(&asked.page))
        .map_err(|error| past::run_failed(&archive, &asked.run_id, error))?;
    let status = std::iter::once(shown.run.status.as_str());
    let stale = archive.dead_among(status).map_err(past::log_failed)?.contains(&shown.run.run_id);
    let mut told = json!(shown);
    told["run"]["stale"] = stale.into();
    print(place, &told, || lines::shown(&shown, stale));
    Ok(ExitCode::SUCCESS)
}

fn report(place: &Place, asked: &RunsReport) -> Result<ExitCode, Failure> {
    let by = match asked.by.as_deref() {
        None => None,
        Some(word) => Some(
            By::parse(word)
                .ok_or_else(|| Failure::usage(format!("--by {word}: one of model, channel, failureKind")))?,
        ),
    };
    let moment = |option: &str, text: &Option<String>| {
        let parse = |text: &String| {
            when::parse(text).map_err(|why| Failure::usage(format!("{option} {text}: {why}")))
        };
        text.as_ref().map(parse).transpose()
    };
    let query = ReportQuery {
        scope: ScopeFilter::Everything,
        since_ms: moment("--since", &asked.since)?,
        until_ms: moment("--until", &asked.until)?,
        by,
        memory: asked.include_memory,
    };
    let report = match past::open(place)? {
        Some(archive) => archive.report(&query).map_err(past::log_failed)?,
        None => Report::default(),
    };
    print(place, &report, || figures::report(&report));
    Ok(ExitCode::SUCCESS)
}

fn audit(place: &Place) -> Result<ExitCode, Failure> {
    let found = match past::open(place)? {
        Some(archive) => archive.audit_runs().map_err(past::log_failed)?,
        None => RunsAudit::default(),
    };
    print(place, &found, || figures::audit(&found));
    Ok(ExitCode::SUCCESS)
}

/// Nothing was ever recorded.
fn nothing(place: &Place, matched_all_terms: Option<bool>) -> ExitCode {
    let page = RunPage { runs: Vec::new(), next_cursor: None, matched_all_terms };
    print(place, &page, || "no run is recorded yet".to_owned());
    ExitCode::SUCCESS
}

fn mark(page: &mut Value, dead: &BTreeSet<String>) {
    for run in page["runs"].as_array_mut().into_iter().flatten() {
        let stale = run["runId"].as_str().is_some_and(|id| dead.contains(id)) && run["status"] == "running";
        run["stale"] = stale.into();
    }
}
