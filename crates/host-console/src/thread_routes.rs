//! Conversations, their messages, questions and files.

use crate::agents::{HostAnswer, HostApproval, HostQuestion};
use crate::asks::OpenAsk;
use crate::console::{Console, locked};
use crate::error::{Fault, Refused};
use crate::feed::To;
use crate::paths::{decoded, disposition, parameter};
use crate::routes::{Routed, accepted, nothing, ok};
use crate::shapes::{Ask, AskKind, Message, Thread};
use crate::store::{Change, MessageRow, ThreadPlace, ThreadQuery, UploadRow};
use crate::submit::FILE_BYTES_MAX;
use crate::turns::shown;
use crate::uploads::UploadError;
use crate::web::{WebRequest, WebResponse};
use http::{Method, StatusCode, header};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The longest title, in characters.
const TITLE_CHARS_MAX: usize = 120;
/// How many conversations that are underway are listed.
const ACTIVE_MAX: usize = 50;
/// Media types that may be shown in the page; everything else is only saved.
const INLINE: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

fn limit(request: &WebRequest, usual: usize, most: usize) -> usize {
    let asked = parameter(&request.query, "limit").and_then(|it| it.parse().ok());
    asked.unwrap_or(usual).clamp(1, most)
}

/// Cursors are places as text; nothing in them is a secret, and one that can't be read is refused.
fn cursor_of(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    host_vocab::text::hex(text.as_bytes())
}

fn opened<T: serde::de::DeserializeOwned>(request: &WebRequest) -> Result<Option<T>, Fault> {
    let Some(cursor) = parameter(&request.query, "cursor").filter(|it| !it.is_empty()) else {
        return Ok(None);
    };
    let stale = || Refused::field("cursor", "This page can't be found any more. Load the list again.");
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = cursor.as_bytes().chunks(2).map(byte).collect();
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).map(Some).ok_or_else(stale)
}

impl Console {
    pub(crate) async fn of_threads(self: &Arc<Self>, request: &mut WebRequest, path: &[&str]) -> Routed {
        let method = request.method.clone();
        match (&method, path) {
            (&Method::GET, []) => self.list(request),
            (&Method::GET, ["active"]) => self.active(),
            (&Method::POST, []) => self.create(request).await,
            (&Method::GET, [thread]) => self.open_thread(request, thread),
            (&Method::PATCH, [thread]) => self.edit(request, thread).await,
            (&Method::DELETE, [thread]) => self.delete(thread),
            (&Method::GET, [thread, "messages"]) => self.page(request, thread),
            (&Method::POST, [thread, "submissions"]) => {
                let body = self.body(request).await?;
                Ok(WebResponse::json(StatusCode::ACCEPTED, &self.submit(thread, &body).await?))
            }
            (&Method::POST, [thread, "follow-ups", id, "cancel"]) => {
                ok(&self.cancel_follow_up(thread, id).await?)
            }
            (&Method::POST, [thread, "cancel"]) => self.cancel(thread).await,
            (&Method::POST, [thread, "asks", ask, "answer"]) => self.answer_ask(request, thread, ask).await,
            (_, [thread, "messages", message, rest @ ..]) => {
                self.of_message(request, thread, message, rest).await
            }
            _ => Err(Refused::not_found()),
        }
    }

    fn list(&self, request: &WebRequest) -> Routed {
        let limit = limit(request, 50, 200);
        let query = ThreadQuery {
            agent: parameter(&request.query, "agent").filter(|it| !it.is_empty()),
            archived: parameter(&request.query, "archived").as_deref() == Some("true"),
            after: opened::<ThreadPlace>(request)?,
            limit: limit + 1,
        };
        let mut threads = self.store.threads(&query)?;
        let more = threads.len() > limit;
        threads.truncate(limit);
        let next = threads.last().filter(|_| more).map(|it| {
            let place =
                ThreadPlace { pinned: it.pinned, updated_at: it.updated_at.clone(), id: it.id.clone() };
            cursor_of(&place)
        });
        ok(&json!({"threads": threads, "nextCursor": next}))
    }

    fn active(&self) -> Routed {
        let running: Vec<String> = locked(&self.running).keys().cloned().collect();
        let mut threads = Vec::new();
        for id in &running {
            threads.extend(self.store.thread(id)?);
        }
        threads.sort_by(|a: &Thread, b| b.updated_at.cmp(&a.updated_at));
        let mut counts: BTreeMap<String, usize> =
            locked(&self.agents).keys().map(|id| (id.clone(), 0)).collect();
        for thread in &threads {
            *counts.entry(thread.agent_id.clone()).or_default() += 1;
        }
        let total = threads.len();
        threads.truncate(ACTIVE_MAX);
        let truncated = total > threads.len();
        ok(&json!({"threads": threads, "total": total, "truncated": truncated, "runningCounts": counts}))
    }

    async fn create(&self, request: &mut WebRequest) -> Routed {
        let body = self.body(request).await?;
        let agent = body["agentId"].as_str().unwrap_or_default();
        if !locked(&self.agents).contains_key(agent) {
            return Err(Refused::field("agentId", "There is no such agent."));
        }
        let now = self.now();
        let thread = Thread {
            id: uuid::Uuid::now_v7().simple().to_string(),
            agent_id: agent.to_owned(),
            title: String::new(),
            title_locked: false,
            pinned: false,
            archived: false,
            origin: "web".to_owned(),
            read_only: false,
            created_at: now.clone(),
            updated_at: now,
            preview: String::new(),
            model: None,
            effort: None,
            run_state: None,
        };
        self.store.apply(&[Change::Thread(thread.clone())])?;
        Ok(WebResponse::json(StatusCode::CREATED, &thread))
    }

    fn thread(&self, id: &str) -> Result<Thread, Fault> {
        self.store.thread(id)?.ok_or_else(Refused::not_found)
    }

    fn open_thread(&self, request: &WebRequest, id: &str) -> Routed {
        let thread = self.thread(id)?;
        let (messages, older) = self.newest(id, None, limit(request, 30, 100))?;
        ok(&json!({
            "thread": thread,
            "messages": messages,
            "olderCursor": older,
            "asks": locked(&self.asks).of(id),
            "followUps": self.store.follow_ups(Some(id))?,
        }))
    }

    fn page(&self, request: &WebRequest, id: &str) -> Routed {
        self.thread(id)?;
        let (messages, older) = self.newest(id, opened::<i64>(request)?, limit(request, 30, 100))?;
        ok(&json!({"messages": messages, "olderCursor": older}))
    }

    /// The newest messages before a place, and where older ones are.
    fn newest(
        &self,
        thread: &str,
        before: Option<i64>,
        limit: usize,
    ) -> Result<(Vec<Message>, Option<String>), Fault> {
        let mut rows = self.store.messages(thread, before, limit + 1)?;
        let more = rows.len() > limit;
        if more {
            rows.remove(0);
        }
        let older = rows.first().filter(|_| more).map(|row| cursor_of(&row.place));
        let messages = rows.into_iter().map(|row| self.as_it_is(row)).collect();
        Ok((messages, older))
    }

    /// A message as it is now: one that is being made is ahead of what is kept.
    fn as_it_is(&self, row: MessageRow) -> Message {
        let live = locked(&self.running)
            .get(&row.thread)
            .filter(|running| running.message == row.message.id())
            .map(|running| Arc::clone(&running.live));
        let mut message = match live {
            Some(live) => Message::Assistant(Box::new(locked(&live).answer.clone())),
            None => row.message,
        };
        if let Message::Assistant(answer) = &mut message {
            let thread = self.store.thread(&row.thread).ok().flatten();
            answer.part_status = self.part_status(thread.as_ref(), &answer.parts);
        }
        message
    }

    async fn edit(&self, request: &mut WebRequest, id: &str) -> Routed {
        let body = self.body(request).await?;
        let known = ["title", "pinned", "archived", "model", "effort"];
        if let Some(name) = body
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name)
            .find(|it| !known.contains(&it.as_str()))
        {
            let name = host_vocab::text::one_line(name, 40);
            return Err(Refused::invalid(format!("A conversation has no {name:?}.")));
        }
        let title = match &body["title"] {
            Value::Null => None,
            Value::String(title) => {
                let title = host_vocab::text::one_line(title.trim(), TITLE_CHARS_MAX);
                if title.is_empty() {
                    return Err(Refused::field("title", "A title has at least one character."));
                }
                Some(title)
            }
            _ => return Err(Refused::field("title", "A title is text.")),
        };
        if body["model"].is_string() || body["effort"].is_string() {
            return Err(Refused::not_supported("The model is the agent's own; its settings name it."));
        }
        if body["archived"] == true && locked(&self.running).contains_key(id) {
            return Err(Refused::conflict("busy", "A turn runs in this conversation. Stop it first."));
        }
        let changed = self.change_thread(id, |thread| {
            if let Some(title) = title {
                (thread.title, thread.title_locked) = (title, true);
            }
            thread.pinned = body["pinned"].as_bool().unwrap_or(thread.pinned);
            thread.archived = body["archived"].as_bool().unwrap_or(thread.archived);
            thread.pinned &= !thread.archived;
        })?;
        ok(&changed.ok_or_else(Refused::not_found)?)
    }

    fn delete(&self, id: &str) -> Routed {
        if !self.thread(id)?.archived {
            return Err(Refused::conflict(
                "not_archived",
                "Archive the conversation first; then it can be deleted.",
            ));
        }
        let uploads = self.store.uploads(Some(id), 0)?;
        self.store.apply(&[Change::DropThread(id.to_owned())])?;
        uploads.iter().for_each(|row| self.uploads.remove(&row.id));
        self.feed.tell(&To::All, "thread.deleted", &json!({"threadId": id}));
        nothing()
    }

    async fn cancel(&self, id: &str) -> Routed {
        self.thread(id)?;
        let orders = locked(&self.running).get(id).map(|it| it.orders.clone());
        if let Some(orders) = orders {
            let _over = orders.send(HostAnswer::Cancel).await;
        }
        accepted()
    }

    async fn answer_ask(&self, request: &mut WebRequest, thread: &str, id: &str) -> Routed {
        let body = self.body(request).await?;
        self.thread(thread)?;
        let orders = locked(&self.running).get(thread).map(|it| (it.orders.clone(), Arc::clone(&it.live)));
        // The question is closed before its answer is on its way: whoever is second hears so.
        let (answer, ask) = {
            let mut asks = locked(&self.asks);
            let Some(open) = asks.find(thread, id) else { return Err(closed(asks.find_closed(thread, id))) };
            let answer = answer_to(open, &body)?;
            let host = open.host;
            let closed =
                asks.close(|it| it.host == host && it.ask.id == id, "answered", Some(&body), &self.now());
            (answer, closed.into_iter().next())
        };
        let ask = ask.ok_or_else(Refused::not_found)?;
        if let Some((orders, live)) = orders {
            let _over = orders.send(answer).await;
            if let AskKind::Approval { call_id, .. } = &ask.kind {
                self.change_answer(thread, &live, |live| live.waits(call_id, false));
            }
            self.no_more_asks(thread, &live);
        }
        let mut asks = locked(&self.asks).of(thread);
        asks.push(ask.clone());
        self.feed.tell(&To::All, "asks.changed", &json!({"threadId": thread, "asks": asks}));
        ok(&ask)
    }

    async fn of_message(
        self: &Arc<Self>,
        request: &mut WebRequest,
        thread: &str,
        id: &str,
        path: &[&str],
    ) -> Routed {
        let row = self.store.message(thread, id)?.ok_or_else(Refused::not_found)?;
        let owner = self.thread(thread)?;
        let method = request.method.clone();
        match (&method, path) {
            (&Method::GET, []) => ok(&self.as_it_is(row)),
            (&Method::GET, ["calls", call]) => {
                let Message::Assistant(answer) = self.as_it_is(row) else { return Err(Refused::not_found()) };
                let run = answer.run_id.ok_or_else(Refused::not_found)?;
                let question = HostQuestion::View(json!({"view": "call", "run": run, "call": call}));
                let mut found = self.hosts.ask(&owner.agent_id, question).await?;
                found["result"] = text_of(&found["content"], &found["structured"]).into();
                ok(&found)
            }
            (&Method::GET, ["files", part]) => {
                let Message::Assistant(answer) = self.as_it_is(row) else { return Err(Refused::not_found()) };
                self.file(parameter(&request.query, "inline").is_some(), &owner, &answer.parts, part).await
            }
            (&Method::POST, ["restart"]) => {
                let body = self.body(request).await?;
                let Message::Assistant(answer) = self.as_it_is(row) else { return Err(Refused::not_found()) };
                self.confirm_restart(&owner, &answer.parts, body["partId"].as_str().unwrap_or_default()).await
            }
            _ => Err(Refused::not_found()),
        }
    }

    pub(crate) async fn of_uploads(&self, request: &mut WebRequest, path: &[&str]) -> Routed {
        let method = request.method.clone();
        match (&method, path) {
            (&Method::POST, []) => self.take_upload(request).await,
            (&Method::GET, [id]) => {
                let row = self.store.upload(id)?.ok_or_else(Refused::not_found)?;
                let bytes = self.uploads.read(&row.id, &row.name).map_err(|_| Refused::not_found())?;
                let inline = parameter(&request.query, "inline").is_some();
                Ok(download(&row.name, &row.media_type, bytes.into(), inline))
            }
            (&Method::DELETE, [id]) => {
                let row = self.store.upload(id)?.filter(|row| row.thread.is_none());
                let row = row.ok_or_else(Refused::not_found)?;
                self.store.apply(&[Change::DropUpload(row.id.clone())])?;
                self.uploads.remove(&row.id);
                nothing()
            }
            _ => Err(Refused::not_found()),
        }
    }

    async fn take_upload(&self, request: &mut WebRequest) -> Routed {
        let name = request.header("x-file-name").and_then(decoded).unwrap_or_else(|| "file".to_owned());
        let too_large = || {
            let message = "The file is over 20 MB. It was not taken.";
            Refused::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
        };
        let told = request.header("content-length").and_then(|it| it.parse::<u64>().ok());
        if told.is_some_and(|bytes| bytes > FILE_BYTES_MAX as u64) {
            return Err(too_large());
        }
        let _place = self.uploading.acquire().await;
        let bytes = request.bytes(FILE_BYTES_MAX).await.ok_or_else(too_large)?;
        let id = uuid::Uuid::new_v4().simple().to_string();
        let stored = self.uploads.store(&id, &name, &bytes).map_err(|error| {
            let message = match error {
                UploadError::Full => "The disk is full. The file was not taken.".to_owned(),
                UploadError::Failed(why) => format!("The file can't be stored: {why}."),
            };
            Refused::new(StatusCode::INSUFFICIENT_STORAGE, "store_failed", message)
        })?;
        let row = UploadRow {
            id,
            name: stored.name,
            media_type: stored.media_type,
            size_bytes: stored.size_bytes,
            created_ms: self.clock.now_ms(),
            thread: None,
        };
        self.store.apply(&[Change::Upload(row.clone())])?;
        Ok(WebResponse::json(StatusCode::CREATED, &shown(&row)))
    }
}

/// Bytes to save, or a picture to show.
pub(crate) fn download(name: &str, media_type: &str, bytes: bytes::Bytes, inline: bool) -> WebResponse {
    let shown = INLINE.iter().copied().find(|it| inline && *it == media_type);
    let how = if shown.is_some() { "inline" } else { "attachment" };
    WebResponse::bytes(StatusCode::OK, shown.unwrap_or("application/octet-stream"), bytes)
        .with(header::CONTENT_DISPOSITION, &disposition(how, name))
        .with(header::ACCEPT_RANGES, "none")
        .with(header::CACHE_CONTROL, "private, no-store, no-transform")
}

fn closed(ask: Option<&Ask>) -> Fault {
    let Some(ask) = ask else { return Refused::not_found() };
    let mut fault =
        Refused::conflict("ask_closed", "This question was answered already, or its time ran out.");
    fault.more = Some(("ask", json!(ask)));
    fault
}

/// What a page answers, as the agent hears it.
fn answer_to(open: &OpenAsk, body: &Value) -> Result<HostAnswer, Fault> {
    let id = open.host;
    match &open.ask.kind {
        AskKind::Approval { always, .. } => {
            let approval = match body["decision"].as_str() {
                Some("once") => HostApproval::Once,
                Some("always") if always.is_some() => HostApproval::Always,
                Some("deny") => HostApproval::Deny,
                _ => return Err(Refused::field("decision", "Answer with once, always or deny.")),
            };
            Ok(HostAnswer::Approval { id, approval })
        }
        AskKind::AskUser { questions, .. } => {
            if body["declined"] == true {
                return Ok(HostAnswer::Answers { id, answers: None });
            }
            let asked = questions.as_array().map_or(0, Vec::len);
            let answers = body["answers"].as_array().filter(|it| it.len() == asked);
            let answers =
                answers.ok_or_else(|| Refused::field("answers", "Give one answer for each question."))?;
            Ok(HostAnswer::Answers { id, answers: Some(json!(answers)) })
        }
        AskKind::Elicit { .. } => {
            let action = body["action"].as_str().filter(|it| ["accept", "decline", "cancel"].contains(it));
            let action =
                action.ok_or_else(|| Refused::field("action", "Answer with accept, decline or cancel."))?;
            Ok(HostAnswer::Elicited { id, action: action.to_owned(), content: body["content"].clone() })
        }
    }
}

/// A result as text: its blocks, else the structured result.
fn text_of(content: &Value, structured: &Value) -> String {
    let blocks = content.as_array().into_iter().flatten();
    let text: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
    match (text.is_empty(), structured.is_null()) {
        (true, false) => structured.to_string(),
        _ => text.join("\n"),
    }
}
