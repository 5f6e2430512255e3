//! A console, an agent that says what a test has it say, and a browser.

use bytes::Bytes;
use futures_util::StreamExt as _;
use host_console::*;
use host_ports::BoxFuture;
use host_ports::clock::Clock;
use http::{HeaderMap, HeaderName, Method};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Rows in memory: what [`ConsoleStore`] promises, without a disk.
#[derive(Default)]
pub struct Rows(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    threads: BTreeMap<String, Thread>,
    messages: Vec<(String, Message)>,
    submissions: BTreeMap<String, Submission>,
    follow_ups: Vec<FollowUp>,
    uploads: BTreeMap<String, UploadRow>,
    settings: Option<Settings>,
}

impl ConsoleStore for Rows {
    fn apply(&self, changes: &[Change]) -> Result<(), StoreError> {
        let mut inner = self.0.lock().unwrap();
        for change in changes.iter().cloned() {
            match change {
                Change::Thread(it) => drop(inner.threads.insert(it.id.clone(), it)),
                Change::Message { thread, message } => {
                    match inner.messages.iter_mut().find(|(_, it)| it.id() == message.id()) {
                        Some(old) => old.1 = message,
                        None => inner.messages.push((thread, message)),
                    }
                }
                Change::Submission(it) => drop(inner.submissions.insert(it.id.clone(), it)),
                Change::FollowUp(it) => match inner.follow_ups.iter_mut().find(|old| old.id == it.id) {
                    Some(old) => *old = it,
                    None => inner.follow_ups.push(it),
                },
                Change::Upload(it) => drop(inner.uploads.insert(it.id.clone(), it)),
                Change::DropUpload(id) => drop(inner.uploads.remove(&id)),
                Change::DropThread(id) => {
                    inner.threads.remove(&id);
                    inner.messages.retain(|(thread, _)| *thread != id);
                }
                Change::Settings(it) => inner.settings = Some(it),
                Change::Agent { .. } => {}
            }
        }
        Ok(())
    }

    fn threads(&self, query: &ThreadQuery) -> Result<Vec<Thread>, StoreError> {
        let inner = self.0.lock().unwrap();
        let fits = |it: &&Thread| it.archived == query.archived && it.run_state.is_some();
        Ok(inner.threads.values().filter(fits).take(query.limit).cloned().collect())
    }

    fn thread(&self, id: &str) -> Result<Option<Thread>, StoreError> {
        Ok(self.0.lock().unwrap().threads.get(id).cloned())
    }

    fn messages(
        &self,
        thread: &str,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<MessageRow>, StoreError> {
        let inner = self.0.lock().unwrap();
        let rows = inner.messages.iter().enumerate().map(|(place, (thread, message))| MessageRow {
            thread: thread.clone(),
            place: place as i64,
            message: message.clone(),
        });
        let mut rows: Vec<_> =
            rows.filter(|it| it.thread == thread && before.is_none_or(|before| it.place < before)).collect();
        rows.drain(..rows.len().saturating_sub(limit));
        Ok(rows)
    }

    fn message(&self, thread: &str, id: &str) -> Result<Option<MessageRow>, StoreError> {
        Ok(self.messages(thread, None, usize::MAX)?.into_iter().find(|it| it.message.id() == id))
    }

    fn open_messages(&self) -> Result<Vec<MessageRow>, StoreError> {
        let threads: Vec<String> = self.0.lock().unwrap().threads.keys().cloned().collect();
        let mut open = Vec::new();
        for thread in threads {
            open.extend(self.messages(&thread, None, 1000)?.into_iter().filter(|it| it.message.is_open()));
        }
        Ok(open)
    }

    fn submission(&self, id: &str) -> Result<Option<Submission>, StoreError> {
        Ok(self.0.lock().unwrap().submissions.get(id).cloned())
    }

    fn follow_ups(&self, thread: Option<&str>) -> Result<Vec<FollowUp>, StoreError> {
        let open = |it: &&FollowUp| {
            thread.is_none_or(|thread| it.thread_id == thread)
                && !matches!(it.state, FollowUpState::Applied | FollowUpState::Cancelled)
        };
        Ok(self.0.lock().unwrap().follow_ups.iter().filter(open).cloned().collect())
    }

    fn follow_up(&self, id: &str) -> Result<Option<FollowUp>, StoreError> {
        Ok(self.0.lock().unwrap().follow_ups.iter().find(|it| it.id == id).cloned())
    }

    fn upload(&self, id: &str) -> Result<Option<UploadRow>, StoreError> {
        Ok(self.0.lock().unwrap().uploads.get(id).cloned())
    }

    fn uploads(&self, thread: Option<&str>, before_ms: i64) -> Result<Vec<UploadRow>, StoreError> {
        let inner = self.0.lock().unwrap();
        let fits = |it: &&UploadRow| match thread {
            Some(thread) => it.thread.as_deref() == Some(thread),
            None => it.thread.is_none() && it.created_ms < before_ms,
        };
        Ok(inner.uploads.values().filter(fits).cloned().collect())
    }

    fn search(&self, _: Option<&str>, _: &str, _: usize) -> Result<Vec<HitRow>, StoreError> {
        Ok(Vec::new())
    }

    fn settings(&self) -> Result<Option<Settings>, StoreError> {
        Ok(self.0.lock().unwrap().settings.clone())
    }

    fn agents(&self) -> Result<Vec<(String, Value)>, StoreError> {
        Ok(Vec::new())
    }
}

#[derive(Default)]
pub struct Files(Mutex<BTreeMap<String, Vec<u8>>>);

impl UploadFiles for Files {
    fn store(&self, id: &str, name: &str, bytes: &[u8]) -> Result<StoredFile, UploadError> {
        self.0.lock().unwrap().insert(id.to_owned(), bytes.to_vec());
        Ok(StoredFile {
            kind: host_turn::AttachmentKind::Document,
            name: name.replace('/', "_"),
            media_type: "text/html".into(),
            size_bytes: bytes.len() as u64,
            path: String::new(),
            dev: 0,
            ino: 0,
        })
    }

    fn read(&self, id: &str, _: &str) -> Result<Vec<u8>, UploadError> {
        self.0.lock().unwrap().get(id).cloned().ok_or_else(|| UploadError::Failed("gone".into()))
    }

    fn path(&self, id: &str, name: &str) -> PathBuf {
        PathBuf::from(format!("/{id}/{name}"))
    }

    fn remove(&self, id: &str) {
        self.0.lock().unwrap().remove(id);
    }
}

/// The other end of a turn.
pub struct AgentEnd {
    pub order: TurnOrder,
    pub say: mpsc::Sender<HostFrame>,
    pub told: mpsc::Receiver<HostAnswer>,
}

pub struct Agents {
    turns: mpsc::UnboundedSender<AgentEnd>,
    pub capabilities: Vec<&'static str>,
}

impl AgentHosts for Agents {
    fn list(&self) -> BoxFuture<'_, Vec<FoundAgent>> {
        let status = json!({"name": "Atlas", "model": "m", "sandbox": "native", "version": "1", "generation": 3,
            "startedAt": 0, "supervised": true, "activeRuns": 1, "channels": [], "capabilities": self.capabilities});
        Box::pin(
            async move { vec![FoundAgent { id: "a".into(), name: "Atlas".into(), status: Some(status) }] },
        )
    }

    fn ask<'a>(&'a self, _: &'a str, question: HostQuestion) -> BoxFuture<'a, Result<Value, HostFault>> {
        Box::pin(async move {
            match question {
                HostQuestion::Explain { .. } => Ok(json!({"tools": [{"offered": true, "asks": true}]})),
                HostQuestion::View(view) => Ok(json!({"asked": view})),
                _ => Ok(json!({})),
            }
        })
    }

    fn turn<'a>(&'a self, _: &'a str, order: TurnOrder) -> BoxFuture<'a, Result<TurnLink, HostFault>> {
        Box::pin(async move {
            let (say, frames) = mpsc::channel(16);
            let (answers, told) = mpsc::channel(16);
            self.turns.send(AgentEnd { order, say, told }).map_err(|_| HostFault::Offline)?;
            Ok(TurnLink { frames, answers })
        })
    }

    fn reply_file<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        _: &'a Value,
    ) -> BoxFuture<'a, Result<Bytes, HostFault>> {
        Box::pin(async { Ok(Bytes::from_static(b"<b>")) })
    }
}

struct Now;

impl Clock for Now {
    fn now_ms(&self) -> i64 {
        1_800_000_000_000
    }
    fn instant(&self) -> Instant {
        Instant::now()
    }
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// A console with a browser in front and an agent behind it.
pub struct Kit {
    pub console: Arc<Console>,
    pub rows: Arc<Rows>,
    turns: mpsc::UnboundedReceiver<AgentEnd>,
}

/// What the browser got.
pub struct Got {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Got {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {:?}", self.body))
    }
}

impl Kit {
    pub async fn new() -> Kit {
        Self::with(Access::Loopback, Arc::default(), vec!["attachments"]).await
    }

    pub async fn with(access: Access, rows: Arc<Rows>, capabilities: Vec<&'static str>) -> Kit {
        let (turns, ends) = mpsc::unbounded_channel();
        let console = Console::open(ConsoleParts {
            store: Arc::clone(&rows) as _,
            hosts: Arc::new(Agents { turns, capabilities }),
            uploads: Arc::new(Files::default()),
            clock: Arc::new(Now),
            access,
            names: vec![],
            name: "console".into(),
            version: "1".into(),
        })
        .unwrap();
        console.look_for_agents().await;
        Kit { console, rows, turns: ends }
    }

    pub async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Got {
        let mut made = HeaderMap::new();
        for (name, value) in headers {
            made.insert(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let request = WebRequest {
            method,
            path: path.to_owned(),
            query: query.to_owned(),
            headers: made,
            body: futures_util::stream::once(async move { Ok(Bytes::from(body)) }).boxed(),
        };
        let answer = self.console.answer(request).await;
        let body = match answer.body {
            WebBody::Whole(bytes) => bytes,
            WebBody::Stream(_) => Bytes::new(),
        };
        Got { status: answer.status.as_u16(), headers: answer.headers, body }
    }

    /// As the console's own page sends it.
    pub async fn call(&self, method: Method, path: &str, body: Value) -> Got {
        let own = [
            ("host", "localhost"),
            ("origin", "http://localhost"),
            ("x-mono-agent-console", "1"),
            ("content-type", "application/json"),
        ];
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        self.send(method, &format!("/api/v1{path}"), &own, body).await
    }

    pub async fn get(&self, path: &str) -> Value {
        let got = self.call(Method::GET, path, Value::Null).await;
        assert_eq!(got.status, 200, "{path}: {:?}", got.body);
        got.json()
    }

    pub async fn post(&self, path: &str, body: Value) -> Got {
        self.call(Method::POST, path, body).await
    }

    pub async fn thread(&self) -> String {
        let got = self.post("/threads", json!({"agentId": "a"})).await;
        assert_eq!(got.status, 201, "{:?}", got.body);
        got.json()["id"].as_str().unwrap().to_owned()
    }

    pub async fn say(&self, thread: &str, text: &str) -> Value {
        let got = self.post(&format!("/threads/{thread}/submissions"), submission(text)).await;
        assert_eq!(got.status, 202, "{:?}", got.body);
        got.json()
    }

    pub async fn turn(&mut self) -> AgentEnd {
        tokio::time::timeout(Duration::from_secs(5), self.turns.recv()).await.expect("a turn").unwrap()
    }

    /// Whether no turn comes.
    pub async fn is_quiet(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(100), self.turns.recv()).await.is_err()
    }

    /// The conversation, once it looks as it should.
    pub async fn until(&self, thread: &str, fits: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..200 {
            let seen = self.get(&format!("/threads/{thread}")).await;
            if fits(&seen) {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it never looked so: {}", self.get(&format!("/threads/{thread}")).await)
    }
}

pub fn submission(text: &str) -> Value {
    let id = format!("{:032x}", std::collections::hash_map::RandomState::new().hash_one(text));
    json!({"id": uuid_like(&id), "text": text})
}

use std::hash::BuildHasher as _;

fn uuid_like(hex: &str) -> String {
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..32])
}

pub fn done(text: &str) -> HostFrame {
    HostFrame::Finish(json!({"status": "succeeded", "text": text, "run": "run-1", "durationMs": 5}))
}
