//! Runs and timelines as text for people. All of it is evidence, so no control character of it reaches a terminal.

use host_history::{RunLine, RunPage, RunShown};
use host_vocab::text::{one_line, printable};
use serde_json::Value;
use std::collections::BTreeSet;

/// How much of what was said a list shows, in characters.
const SAID_CHARS_MAX: usize = 60;
/// How much of one text a timeline shows, in characters.
const ENTRY_CHARS_MAX: usize = 160;

/// A page of runs.
pub fn page(page: &RunPage, dead: &BTreeSet<String>, none: &str) -> String {
    if page.runs.is_empty() {
        return none.to_owned();
    }
    let mut lines: Vec<String> = page.runs.iter().map(|run| row(run, dead.contains(&run.run_id))).collect();
    lines.extend(page.next_cursor.as_ref().map(|cursor| more(cursor)));
    lines.join("\n")
}

/// How to see what follows.
pub fn more(cursor: &str) -> String {
    format!("there are more: the same again with --cursor {cursor}")
}

fn row(run: &RunLine, dead: bool) -> String {
    let said = one_line(&run.user_input, SAID_CHARS_MAX);
    let source = one_line(&run.source, 12);
    let (at, id, took) = (&run.started_at, &run.run_id, took(run.duration_ms));
    format!("{id}  {at}  {:<11}  {took:>8}  {source:<9}  {said}", status(run, dead))
}

fn status(run: &RunLine, dead: bool) -> &str {
    // Its process is gone; the next start of the agent will say so in the log.
    if dead && run.status == "running" { "dead" } else { &run.status }
}

/// A duration with a unit that fits it.
pub fn took(ms: Option<u64>) -> String {
    match ms {
        None => "-".to_owned(),
        Some(ms) if ms < 1000 => format!("{ms} ms"),
        Some(ms) if ms < 60_000 => format!("{:.1} s", ms as f64 / 1000.0),
        Some(ms) => format!("{}m {:02}s", ms / 60_000, ms / 1000 % 60),
    }
}

/// One run with a page of its timeline.
pub fn shown(shown: &RunShown, stale: bool) -> String {
    let mut lines = Vec::new();
    if let Some(overview) = &shown.overview {
        head(&shown.run, stale, &mut lines);
        body(overview, &mut lines);
    }
    if !shown.timeline.is_empty() {
        lines.push("timeline:".to_owned());
        lines.extend(shown.timeline.iter().map(|it| format!("  {}", entry(it))));
    }
    lines.extend(shown.next_cursor.as_ref().map(|cursor| more(cursor)));
    if lines.is_empty() {
        lines.push("nothing more is recorded of this run".to_owned());
    }
    lines.join("\n")
}

fn head(run: &RunLine, stale: bool, lines: &mut Vec<String>) {
    let kind = run.failure_kind.as_ref().map_or_else(String::new, |kind| format!(" ({kind})"));
    lines.push(format!("{}  {}{kind}", run.run_id, run.status));
    if stale {
        lines.push("  its process is gone; the agent's next start marks it as interrupted".to_owned());
    }
    let mut put = |name: &str, value: String| lines.push(format!("  {name:<13} {value}"));
    let detail = run.source_detail.as_ref().map_or_else(String::new, |it| format!(" ({})", one_line(it, 80)));
    put("conversation", run.conversation.as_ref().map_or_else(|| "none".to_owned(), |it| one_line(it, 120)));
    put(
        "source",
        format!("{}{detail}{}", one_line(&run.source, 40), if run.isolated { ", alone" } else { "" }),
    );
    let effort = run.effort.as_ref().map_or_else(String::new, |it| format!(", effort {it}"));
    put("model", format!("{}{effort}", one_line(&run.model, 80)));
    put("began", format!("{}, took {}", run.started_at, took(run.duration_ms)));
    if let Some(usage) = &run.usage {
        let cost = usage.cost_usd.map_or_else(|| "not priced".to_owned(), |cost| format!("{cost:.4} US$"));
        put("tokens", format!("{} in, {} out; {cost}", usage.input_tokens, usage.output_tokens));
    }
    put("said", one_line(&run.user_input, 400));
}

fn body(overview: &Value, lines: &mut Vec<String>) {
    let text = |key: &str| overview[key].as_str().filter(|it| !it.is_empty());
    if let Some(output) = text("output") {
        lines.push("answer:".to_owned());
        lines.extend(printable(output).lines().map(|line| format!("  {line}")));
    }
    if let Some(error) = text("error") {
        lines.push(format!("error: {}", one_line(error, 400)));
    }
    for (key, name) in [("warnings", "warning"), ("failures", "failure")] {
        for it in overview[key].as_array().into_iter().flatten() {
            lines.push(format!("{name}: {}", fields(it, &[])));
        }
    }
    let tools: Vec<String> = overview["tools"].as_array().into_iter().flatten().map(tool).collect();
    if !tools.is_empty() {
        lines.push(format!("tools: {}", tools.join(", ")));
    }
    for key in ["incompleteEvents", "moreLines"] {
        lines.extend(text(key).map(|note| format!("note: {note}")));
    }
}

fn tool(count: &Value) -> String {
    let name = one_line(count["tool"].as_str().unwrap_or("?"), 80);
    match count["errors"].as_u64() {
        Some(0) | None => format!("{name} {}", count["calls"]),
        Some(errors) => format!("{name} {} ({errors} failed)", count["calls"]),
    }
}

/// One entry of a timeline on one line.
fn entry(entry: &Value) -> String {
    let at = entry["at"].as_str().unwrap_or("");
    let kind = entry["type"].as_str().unwrap_or("?");
    format!("{at}  {kind:<17} {}", fields(entry, &["at", "type"]))
}

/// The fields of an object but for some, on one line: texts as they are, the rest as JSON.
pub fn fields(object: &Value, without: &[&str]) -> String {
    let shown = object.as_object().into_iter().flatten();
    let shown = shown.filter(|(name, value)| {
        let empty =
            value.is_null() || value.as_str() == Some("") || value.as_array().is_some_and(Vec::is_empty);
        !without.contains(&name.as_str()) && !empty
    });
    let shown: Vec<String> = shown
        .map(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("{}={}", one_line(name, 40), one_line(&value, ENTRY_CHARS_MAX))
        })
        .collect();
    shown.join("  ")
}
