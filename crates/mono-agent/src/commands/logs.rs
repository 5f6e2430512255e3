//! `logs`: what a detached host printed.

use crate::answer::{Failure, print_line};
use crate::args::{Logs, Place};
use crate::door::state_here;
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// How much of the end of the log is looked at, in bytes.
const TAIL_BYTES_MAX: u64 = 16 * 1024 * 1024;

pub fn run(place: &Place, logs: &Logs) -> Result<ExitCode, Failure> {
    let path = state_here(place)?.host_log();
    if !host_files::state::is_file(&path) {
        return Err(Failure::system("there is no log yet; a host started with `start --detach` writes one"));
    }
    let mut follow = host_files::state::Follow::open(&path, TAIL_BYTES_MAX).map_err(Failure::system)?;
    let lines = follow.lines().map_err(Failure::system)?;
    let from = lines.len().saturating_sub(logs.lines as usize);
    lines[from..].iter().for_each(|line| show(place, line));
    if place.json && !logs.follow {
        print_line(&json!({"ok": true, "lines": lines.len() - from}).to_string());
    }
    if !logs.follow {
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        std::thread::sleep(Duration::from_millis(200));
        follow.lines().map_err(Failure::system)?.iter().for_each(|line| show(place, line));
    }
}

/// The newest lines of a log, for an error message.
pub fn tail(path: &Path, lines_max: usize) -> Vec<String> {
    let lines =
        host_files::state::Follow::open(path, 64 * 1024).and_then(|mut it| it.lines()).unwrap_or_default();
    let from = lines.len().saturating_sub(lines_max);
    lines[from..].iter().map(|line| human(line)).collect()
}

fn show(place: &Place, line: &str) {
    if place.json {
        // A line that is no JSON (a panic, a linker's word) is wrapped, so that every line is an object.
        let value: Value = serde_json::from_str(line)
            .ok()
            .filter(Value::is_object)
            .unwrap_or_else(|| json!({"message": line}));
        print_line(&value.to_string());
    } else {
        print_line(&human(line));
    }
}

fn human(line: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(line) else { return host_vocab::text::printable(line) };
    let text = |value: &Value| value.as_str().map(str::to_owned).unwrap_or_else(|| value.to_string());
    let Some(fields) = value.get("fields").and_then(Value::as_object) else {
        return host_vocab::text::printable(line);
    };
    let mut out = format!("{} {:<5}", text(&value["timestamp"]), text(&value["level"]));
    if let Some(message) = fields.get("message") {
        out.push_str(&format!(" {}", text(message)));
    }
    for (name, field) in fields.iter().filter(|(name, _)| *name != "message") {
        out.push_str(&format!(" {name}={}", text(field)));
    }
    host_vocab::text::printable(&out)
}
