//! `audit list|verify|head`: the gate's decisions, and the chain that binds the log together (AUD-1).

use super::runs::lines::more;
use crate::answer::{Failure, print};
use crate::args::{Audit, AuditList, Place};
use crate::past;
use host_app::{DecisionPage, DecisionQuery, HeadCheck};
use host_history::audit::{Anchor, Decision};
use host_history::rfc3339;
use host_vocab::text::one_line;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The largest file of heads that is read, in bytes.
const ANCHORS_BYTES_MAX: u64 = 16 * 1024 * 1024;

pub fn run(place: &Place, audit: &Audit) -> Result<ExitCode, Failure> {
    match audit {
        Audit::List(asked) => list(place, asked),
        Audit::Verify { anchors } => verify(place, anchors),
        Audit::Head => head(place),
    }
}

fn list(place: &Place, asked: &AuditList) -> Result<ExitCode, Failure> {
    let page = match (past::open(place)?, &asked.run) {
        (None, Some(run)) => return Err(past::no_run(None, run)),
        (None, None) => DecisionPage { decisions: Vec::new(), next_cursor: None },
        (Some(archive), run) => {
            let query = DecisionQuery {
                run: run.clone(),
                tool: asked.tool.clone(),
                limit: past::limit(&asked.page),
                cursor: asked.page.cursor.clone(),
            };
            let named = run.as_deref().unwrap_or_default();
            archive.decisions(&query).map_err(|error| past::run_failed(&archive, named, error))?
        }
    };
    print(place, &page, || {
        let mut lines: Vec<String> = page.decisions.iter().map(line).collect();
        if lines.is_empty() {
            lines.push("no decision fits".to_owned());
        }
        lines.extend(page.next_cursor.as_ref().map(|cursor| more(cursor)));
        lines.join("\n")
    });
    Ok(ExitCode::SUCCESS)
}

fn line(it: &Decision) -> String {
    let word = |text: Option<&String>| text.map_or_else(|| "-".to_owned(), |it| one_line(it, 100));
    let digest = it
        .arguments_digest
        .as_ref()
        .map_or_else(String::new, |it| format!("  arguments {}", one_line(it, 12)));
    format!(
        "{}  {}  {:<8}  {:<16}  by {}  {}{digest}",
        rfc3339(it.at_ms),
        word(it.run.as_ref()),
        it.what,
        one_line(&it.tool, 60),
        word(it.rule.as_ref()),
        word(it.outcome.as_ref()),
    )
}

fn verify(place: &Place, files: &[PathBuf]) -> Result<ExitCode, Failure> {
    let mut elsewhere = Vec::new();
    for file in files {
        elsewhere.extend(read_anchors(file)?);
    }
    let Some(archive) = past::open_log(place)? else {
        if !elsewhere.is_empty() {
            return Err(Failure::system(
                "there is no log, and the given heads name events of one: it is gone",
            ));
        }
        let told = json!({"ok": true, "checked": 0, "last": 0, "horizon": null, "broken": null,
            "head": HeadCheck::default(), "database": []});
        print(place, &told, || "nothing is recorded yet, so there is nothing to check".to_owned());
        return Ok(ExitCode::SUCCESS);
    };
    let found = archive.verify(&elsewhere).map_err(past::log_failed)?;
    let broken = found.chain.broken.map(|it| json!({"event": it.seq, "why": it.to_string()}));
    let told = json!({
        "ok": found.is_sound(),
        "checked": found.chain.checked,
        "last": found.chain.last,
        "horizon": found.horizon,
        "broken": broken,
        "head": found.head,
        "database": found.database,
    });
    print(place, &told, || {
        let horizon = found
            .horizon
            .map_or_else(String::new, |it| format!(" behind the signed checkpoint at event {it}"));
        let mut lines = vec![match &found.chain.broken {
            None => format!(
                "the chain is whole: {} events{horizon}, the last is {}",
                found.chain.checked, found.chain.last
            ),
            Some(broken) => format!(
                "THE CHAIN IS BROKEN: {broken}. The {} events before it are right; what follows was not looked at",
                found.chain.checked
            ),
        }];
        let head = &found.head;
        lines.push(format!(
            "heads: {} anchored, {} confirmed, {} before the horizon{}",
            head.anchors,
            head.confirmed,
            head.before_horizon,
            if head.unreadable > 0 {
                format!(", {} lines unreadable", head.unreadable)
            } else {
                String::new()
            }
        ));
        if let Some(anchor) = &head.broken {
            let at = rfc3339(anchor.at_ms);
            lines.push(format!(
                "A HEAD DOES NOT FIT: event {} as it stood at {at} is gone or another one: the log was cut off or written anew",
                anchor.seq
            ));
        }
        lines.extend(found.database.iter().map(|it| format!("THE FILE IS DAMAGED: {}", one_line(it, 300))));
        lines.join("\n")
    });
    Ok(if found.is_sound() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn read_anchors(file: &Path) -> Result<Vec<Anchor>, Failure> {
    let shown = file.display();
    let bytes = host_files::state::read_bounded(file, ANCHORS_BYTES_MAX)
        .map_err(|error| Failure::usage(format!("--anchors: {error}")))?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(n, line)| {
            Anchor::parse(line).ok_or_else(|| {
                let what = format!("{shown}:{}: this is no head as `audit head` prints it", n + 1);
                Failure::usage(what)
            })
        })
        .collect()
}

fn head(place: &Place) -> Result<ExitCode, Failure> {
    let head = match past::open_log(place)? {
        Some(archive) => archive.head().map_err(past::log_failed)?,
        None => None,
    };
    let Some(anchor) = head else {
        return Err(Failure::system("nothing is recorded yet, so the log has no head"));
    };
    // The same line in both forms, so that it can be kept as it is.
    let line: Value = serde_json::from_str(&anchor.line()).map_err(Failure::system)?;
    print(place, &line, || anchor.line());
    Ok(ExitCode::SUCCESS)
}
