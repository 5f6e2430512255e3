//! `sessions list|show|clear`: conversations as their owner sees them.

use super::runs::lines::more;
use crate::answer::{Failure, print};
use crate::args::{Page, Place, Sessions};
use crate::door::{Door, load};
use crate::past;
use host_app::operator::protocol::Request;
use host_app::{Agent, Archive, OpenOptions};
use host_history::transcript::TranscriptTurn;
use host_history::{ConversationPage, HistoryError, RunListing, rfc3339};
use host_vocab::text::{one_line, printable};
use host_vocab::{Code, ConversationId, Diagnostic, Kind};
use serde_json::{Value, json};
use std::process::ExitCode;

pub async fn run(place: &Place, verb: Option<Sessions>) -> Result<ExitCode, Failure> {
    match verb.unwrap_or(Sessions::List(Page { limit: 20, cursor: None })) {
        Sessions::List(page) => list(place, &page),
        Sessions::Show { conversation, page } => show(place, &conversation, &page),
        Sessions::Clear { conversation, .. } => clear(place, conversation.as_deref()).await,
    }
}

fn list(place: &Place, page: &Page) -> Result<ExitCode, Failure> {
    let found = match past::open(place)? {
        Some(archive) => archive
            .views()
            .conversations(page.cursor.as_deref(), past::limit(page))
            .map_err(past::not_shown)?,
        None => ConversationPage { conversations: Vec::new(), next_cursor: None },
    };
    print(place, &found, || {
        let row = |it: &host_history::ConversationLine| {
            format!("{}  {:>6} runs  {}", it.last_at, it.runs, one_line(&it.conversation, 120))
        };
        let mut lines: Vec<String> = found.conversations.iter().map(row).collect();
        if lines.is_empty() {
            lines.push("no conversation is recorded yet".to_owned());
        }
        lines.extend(found.next_cursor.as_ref().map(|cursor| more(cursor)));
        lines.join("\n")
    });
    Ok(ExitCode::SUCCESS)
}

fn show(place: &Place, id: &str, page: &Page) -> Result<ExitCode, Failure> {
    let conversation = past::conversation(id)?;
    let Some(archive) = past::open(place)? else { return Err(no_session(id)) };
    let scope = archive.scope_of(&conversation);
    let found =
        archive.views().transcript(&scope, page.cursor.as_deref(), past::limit(page)).map_err(|error| {
            match error {
                HistoryError::NotFound => no_session(id),
                other => past::not_shown(other),
            }
        })?;
    let statuses = found.turns.iter().map(|turn| turn.status.as_str());
    let dead = archive.dead_among(statuses).map_err(past::log_failed)?;
    let is_dead = |turn: &TranscriptTurn| turn.status == "running" && dead.contains(&turn.run);
    let mut told = json!(found);
    for (told, turn) in told["turns"].as_array_mut().into_iter().flatten().zip(&found.turns) {
        told["stale"] = is_dead(turn).into();
    }
    print(place, &told, || {
        let mut lines: Vec<String> = found.next_cursor.iter().map(|cursor| more(cursor)).collect();
        lines.extend(found.turns.iter().map(|it| turn(it, is_dead(it))));
        lines.join("\n\n")
    });
    Ok(ExitCode::SUCCESS)
}

fn turn(turn: &TranscriptTurn, dead: bool) -> String {
    let status = if dead { "dead" } else { &turn.status };
    let mut lines = vec![format!("── {}  {}  {status}", rfc3339(turn.at_ms), turn.run)];
    let said = |who: &str, text: &str| format!("{who} {}", printable(text).trim_end().replace('\n', "\n  "));
    lines.push(said(">", &turn.user));
    lines.extend(turn.calls.iter().map(|call| {
        format!("  [{} {} {}]", one_line(&call.tool, 80), call.settled, one_line(&call.code, 40))
            .replace(" ]", "]")
    }));
    if !turn.assistant.is_empty() {
        lines.push(said("<", &turn.assistant));
    }
    if turn.incomplete {
        lines.push("  (not every event of this turn was looked at)".to_owned());
    }
    lines.join("\n")
}

fn no_session(id: &str) -> Failure {
    let message = format!("no conversation {:?} is recorded", one_line(id, 80));
    Failure::of(
        Diagnostic::new(Kind::Usage, Code::new("not_found"), message)
            .hint("`mono-agent sessions list` shows them"),
    )
}

/// Begins one conversation anew, or all of them: in the running host, else here.
async fn clear(place: &Place, id: Option<&str>) -> Result<ExitCode, Failure> {
    let conversation = id.map(past::conversation).transpose()?;
    if let (Some(id), Some(conversation)) = (id, &conversation)
        && !is_known(past::open(place)?.as_ref(), conversation)?
    {
        return Err(no_session(id));
    }
    let loaded = load(place)?;
    let told = match Door::host(place, &loaded).await? {
        Some(client) => client.ask(Request::Forget { conversation }).await?,
        None => {
            let options = OpenOptions { needs_model: false, ..OpenOptions::default() };
            let agent = Agent::open(loaded, options).await?;
            let forgotten = agent.forget(conversation.as_ref()).await;
            agent.close().await;
            forgotten.map_err(Failure::system)?
        }
    };
    let mut answer = json!({"ok": true});
    if let (Value::Object(answer), Value::Object(told)) = (&mut answer, &told) {
        answer.extend(told.clone());
    }
    print(place, &answer, || match id {
        Some(id) => format!("{} begins anew; the log and memory stay", one_line(id, 80)),
        None => format!("{} prompts were forgotten; the log and memory stay", told["clearedSessions"]),
    });
    Ok(ExitCode::SUCCESS)
}

fn is_known(archive: Option<&Archive>, conversation: &ConversationId) -> Result<bool, Failure> {
    let Some(archive) = archive else { return Ok(false) };
    let scope = Some(archive.scope_of(conversation));
    let listing = RunListing { scope, status: None, limit: 1, cursor: None };
    Ok(!archive.views().list(&listing).map_err(past::not_shown)?.runs.is_empty())
}
