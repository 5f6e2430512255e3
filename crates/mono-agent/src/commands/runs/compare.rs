//! `runs replay`, `runs diff`: two runs side by side, without what differs by nature (SRC-1).

use crate::answer::{Failure, print};
use crate::args::Place;
use crate::door::load;
use crate::past;
use host_app::{Archive, ReplayFailure, Replayed};
use host_history::diff::{Change, Difference};
use host_vocab::text::one_line;
use host_vocab::{Code, Diagnostic, Kind};
use serde_json::{Value, json};
use std::process::ExitCode;

/// How many changes are told to a person.
const CHANGES_MAX: usize = 40;
/// How much of one side, in characters.
const SIDE_CHARS_MAX: usize = 300;

/// Plays a run again. 0 where it comes out the same.
pub async fn replay(place: &Place, run: &str) -> Result<ExitCode, Failure> {
    let loaded = load(place)?;
    let Some(archive) = past::open(place)? else { return Err(past::no_run(None, run)) };
    let replayed = archive.replay(&loaded, run).await.map_err(|error| match error {
        ReplayFailure::History(error) => past::run_failed(&archive, run, error),
        ReplayFailure::Recording(error) => {
            Failure::of(Diagnostic::new(Kind::Environment, Code::new("not_replayable"), error.to_string()))
        }
        ReplayFailure::Settings(faults) if faults.is_empty() => Failure::system("the agent has no engine"),
        ReplayFailure::Settings(faults) => Failure::all(faults),
    })?;
    print(place, &replayed, || told(&replayed));
    Ok(code(replayed.difference.same))
}

fn told(replayed: &Replayed) -> String {
    let Replayed { run_id, recorded, difference, broke_off, .. } = replayed;
    let upto = if *broke_off { ", up to where the run broke off" } else { "" };
    if difference.same {
        return format!("{run_id} comes out the same{upto}: {recorded} events, but for ids and times");
    }
    let head = format!(
        "{run_id} comes out otherwise{upto}: since then the settings, the rules or the program have changed\n\
         (- as it was recorded, + as it is now)"
    );
    format!("{head}\n{}", changes(difference))
}

/// Compares two runs. 0 where they are the same.
pub fn diff(place: &Place, first: &str, second: &str) -> Result<ExitCode, Failure> {
    let Some(archive) = past::open(place)? else { return Err(past::no_run(None, first)) };
    let events = |run: &str| archive.events(run).map_err(|error| past::run_failed(&archive, run, error));
    let difference = Archive::diff(&archive, &events(first)?, &events(second)?);
    let mut told: Value = json!({"first": first.trim(), "second": second.trim()});
    if let (Value::Object(told), Value::Object(found)) = (&mut told, json!(difference)) {
        told.extend(found);
    }
    print(place, &told, || {
        if difference.same {
            return format!("the two are the same but for ids and times: {} events", difference.alike);
        }
        format!("- {}\n+ {}\n{}", one_line(first, 80), one_line(second, 80), changes(&difference))
    });
    Ok(code(difference.same))
}

fn code(same: bool) -> ExitCode {
    if same { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

fn changes(difference: &Difference) -> String {
    let mut lines =
        vec![format!("{} events are alike, {} differ", difference.alike, difference.changes.len())];
    lines.extend(difference.changes.iter().take(CHANGES_MAX).flat_map(change));
    if difference.changes.len() > CHANGES_MAX {
        lines.push(format!("… and {} more; --json has them all", difference.changes.len() - CHANGES_MAX));
    }
    if difference.cut {
        lines.push("one of them has more events than are compared".to_owned());
    }
    lines.join("\n")
}

/// Both sides of a change; of one that both have, only the fields that differ.
fn change(change: &Change) -> Vec<String> {
    let mut lines = Vec::new();
    if let (Some(first), Some(second)) = (&change.first, &change.second)
        && let (Some(a), Some(b)) = (first["body"].as_object(), second["body"].as_object())
    {
        let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
        keys.sort();
        keys.dedup();
        for key in keys.into_iter().filter(|key| a.get(*key) != b.get(*key)) {
            let place = format!("{}.{}", one_line(&change.kind, 40), one_line(key, 40));
            lines.extend(a.get(key).map(|value| format!("- {place}: {}", side(value))));
            lines.extend(b.get(key).map(|value| format!("+ {place}: {}", side(value))));
        }
        if !lines.is_empty() {
            return lines;
        }
    }
    let whole = |sign: char, value: &Value| format!("{sign} {}: {}", one_line(&change.kind, 40), side(value));
    lines.extend(change.first.as_ref().map(|value| whole('-', value)));
    lines.extend(change.second.as_ref().map(|value| whole('+', value)));
    lines
}

fn side(value: &Value) -> String {
    one_line(&value.to_string(), SIDE_CHARS_MAX)
}
