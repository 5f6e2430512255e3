//! The console: what it holds, how it begins and how it ends.

use crate::agents::{AgentHosts, FoundAgent, HostAnswer, HostQuestion};
use crate::answer::{LiveAnswer, Op};
use crate::asks::Asks;
use crate::feed::{Feed, To};
use crate::guard::{Access, Guard};
use crate::shapes::{FollowUpState, Message, RunStatus, Settings, Thread};
use crate::store::{Change, ConsoleStore, StoreError};
use crate::uploads::UploadFiles;
use host_ports::CancellationToken;
use host_ports::clock::Clock;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};

/// How often agents are looked for.
const LOOK: Duration = Duration::from_secs(2);
/// How long an upload that was not sent is kept, in milliseconds.
const UPLOAD_MS_MAX: i64 = 24 * 3600 * 1000;
/// How many uploads are read at once; each is in memory as a whole.
const UPLOADS_AT_ONCE: usize = 3;

/// What a console is made of.
pub struct ConsoleParts {
    /// Its rows.
    pub store: Arc<dyn ConsoleStore>,
    /// The agents.
    pub hosts: Arc<dyn AgentHosts>,
    /// Uploads.
    pub uploads: Arc<dyn UploadFiles>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Who may ask.
    pub access: Access,
    /// Names besides the loopback ones that it is reached by.
    pub names: Vec<String>,
    /// Its own name.
    pub name: String,
    /// The program's version.
    pub version: String,
}

/// A turn that is underway.
pub(crate) struct Running {
    pub(crate) message: String,
    pub(crate) live: Arc<Mutex<LiveAnswer>>,
    pub(crate) orders: mpsc::Sender<HostAnswer>,
    pub(crate) can_steer: bool,
}

/// An agent as it is shown.
pub(crate) struct Card {
    pub(crate) value: Value,
    pub(crate) online: bool,
    /// Whose counts of tools it holds.
    counted: Option<u64>,
}

/// The console. One for a process.
pub struct Console {
    pub(crate) store: Arc<dyn ConsoleStore>,
    pub(crate) hosts: Arc<dyn AgentHosts>,
    pub(crate) uploads: Arc<dyn UploadFiles>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) guard: Guard,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) feed: Feed,
    pub(crate) running: Mutex<HashMap<String, Running>>,
    pub(crate) asks: Mutex<Asks>,
    pub(crate) agents: Mutex<BTreeMap<String, Card>>,
    /// Taken by whoever reads a row of a conversation and writes it back.
    pub(crate) rows: Mutex<()>,
    /// Taken by whoever decides between a new turn and a follow-up.
    pub(crate) submitting: tokio::sync::Mutex<()>,
    pub(crate) uploading: Semaphore,
    /// Restart proposals that were confirmed; those of an earlier process are old anyway.
    pub(crate) confirmed: Mutex<BTreeSet<String>>,
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A time as the browser is told it: RFC 3339 in UTC with milliseconds, so that text sorts as time does.
pub(crate) fn stamp(ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    format!("{at:.3}")
}

impl Console {
    /// Opens it. What an earlier process left unfinished is marked as interrupted: its turns ended with it.
    ///
    /// # Errors
    /// The store can't be used.
    pub fn open(parts: ConsoleParts) -> Result<Arc<Console>, StoreError> {
        let ConsoleParts { store, hosts, uploads, clock, access, names, name, version } = parts;
        let server = uuid::Uuid::new_v4().simple().to_string();
        let mut agents = BTreeMap::new();
        for (id, mut value) in store.agents()? {
            value["state"] = "offline".into();
            agents.insert(id, Card { value, online: false, counted: None });
        }
        let console = Console {
            store,
            hosts,
            uploads,
            clock,
            guard: Guard::new(access, names),
            name,
            version,
            feed: Feed::new(server),
            running: Mutex::default(),
            asks: Mutex::default(),
            agents: Mutex::new(agents),
            rows: Mutex::default(),
            submitting: tokio::sync::Mutex::default(),
            uploading: Semaphore::new(UPLOADS_AT_ONCE),
            confirmed: Mutex::default(),
        };
        console.mark_interrupted()?;
        Ok(Arc::new(console))
    }

    fn mark_interrupted(&self) -> Result<(), StoreError> {
        let now = self.now();
        for row in self.store.open_messages()? {
            let Message::Assistant(answer) = row.message else { continue };
            let mut live = LiveAnswer::new(*answer);
            let error = "The console ended while this turn ran. What the agent had done up to then stands.";
            live.broke(RunStatus::Interrupted, None, Some(error.to_owned()), &now);
            live.answer.seq += 1;
            let message = Message::Assistant(Box::new(live.answer));
            let mut changes = vec![Change::Message { thread: row.thread.clone(), message }];
            if let Some(mut thread) = self.store.thread(&row.thread)? {
                if let Some(state) = &mut thread.run_state {
                    (state.status, state.ended_at, state.activity) =
                        (RunStatus::Interrupted, Some(now.clone()), None);
                }
                changes.push(Change::Thread(thread));
            }
            self.store.apply(&changes)?;
        }
        // What was offered to a turn that is gone may have been read; nothing is sent again by itself.
        for mut follow_up in self.store.follow_ups(None)? {
            if follow_up.state == FollowUpState::Pending {
                follow_up.state = FollowUpState::Uncertain;
                self.store.apply(&[Change::FollowUp(follow_up)])?;
            }
        }
        Ok(())
    }

    pub(crate) fn now(&self) -> String {
        stamp(self.clock.now_ms())
    }

    /// Looks after the agents and old uploads, until it is stopped.
    pub async fn tend(self: Arc<Self>, stop: CancellationToken) {
        let mut hour = 0_u32;
        loop {
            self.look_for_agents().await;
            if hour == 0 {
                self.drop_old_uploads();
            }
            hour = (hour + 1) % 1_800;
            tokio::select! {
                () = self.clock.sleep(LOOK) => {}
                () = stop.cancelled() => break,
            }
        }
    }

    fn drop_old_uploads(&self) {
        let before = self.clock.now_ms() - UPLOAD_MS_MAX;
        for row in self.store.uploads(None, before).unwrap_or_default() {
            self.uploads.remove(&row.id);
            if let Err(error) = self.store.apply(&[Change::DropUpload(row.id)]) {
                tracing::warn!(%error, "an old upload could not be forgotten");
            }
        }
    }

    /// Looks which agents are there, and tells the pages where that changed.
    pub async fn look_for_agents(&self) {
        let found = self.hosts.list().await;
        let mut changed = false;
        let mut uncounted = Vec::new();
        let mut kept = Vec::new();
        {
            let mut agents = locked(&self.agents);
            let now = self.now();
            for agent in &found {
                let card = agents.entry(agent.id.clone()).or_insert_with(|| Card {
                    value: Value::Null,
                    online: false,
                    counted: None,
                });
                let was = card.value.clone();
                card.see(agent, &now);
                if card.value != was {
                    changed = true;
                    kept.push(Change::Agent { id: agent.id.clone(), card: card.value.clone() });
                }
                if card.online && card.counted != card.value["generation"].as_u64() {
                    uncounted.push(agent.id.clone());
                }
            }
            for card in agents.values_mut().filter(|card| card.online) {
                if !found.iter().any(|it| card.value["id"] == it.id.as_str()) {
                    card.offline(&now);
                    changed = true;
                }
            }
        }
        if !kept.is_empty()
            && let Err(error) = self.store.apply(&kept)
        {
            tracing::warn!(%error, "how the agents were last seen could not be kept");
        }
        for id in uncounted {
            changed |= self.count_tools(&id).await;
        }
        if changed {
            self.feed.tell(&To::All, "agents.changed", &json!({"agents": self.cards()}));
        }
    }

    /// How many tools the agent's next turn gets here.
    async fn count_tools(&self, id: &str) -> bool {
        let question = HostQuestion::Explain { channel: "web".to_owned() };
        let Ok(explained) = self.hosts.ask(id, question).await else { return false };
        let mut counts = [0_u64; 3];
        for row in explained["tools"].as_array().into_iter().flatten() {
            let offered = row["offered"] == true;
            counts[usize::from(!offered) * 2 + usize::from(offered && row["asks"] == true)] += 1;
        }
        let mut agents = locked(&self.agents);
        let Some(card) = agents.get_mut(id) else { return false };
        card.counted = card.value["generation"].as_u64();
        card.value["counts"] = json!({"free": counts[0], "ask": counts[1], "withheld": counts[2]});
        true
    }

    /// All agents as they are shown.
    pub(crate) fn cards(&self) -> Vec<Value> {
        let mut cards: Vec<Value> = locked(&self.agents).values().map(|card| card.value.clone()).collect();
        cards.sort_by_key(|card| (card["state"] != "online", card["name"].as_str().map(str::to_lowercase)));
        cards
    }

    pub(crate) fn is_online(&self, agent: &str) -> bool {
        locked(&self.agents).get(agent).is_some_and(|card| card.online)
    }

    /// Which process of an agent this is.
    pub(crate) fn generation(&self, agent: &str) -> u64 {
        let agents = locked(&self.agents);
        agents.get(agent).and_then(|card| card.value["generation"].as_u64()).unwrap_or_default()
    }

    /// Whether an agent says that it can do something.
    pub(crate) fn agent_can(&self, agent: &str, what: &str) -> bool {
        locked(&self.agents).get(agent).is_some_and(|card| card.value["can"][what] == true)
    }

    pub(crate) fn settings(&self) -> Settings {
        self.store.settings().ok().flatten().unwrap_or_default()
    }

    /// Changes a conversation's row, and tells the pages.
    pub(crate) fn change_thread(
        &self,
        id: &str,
        change: impl FnOnce(&mut Thread),
    ) -> Result<Option<Thread>, StoreError> {
        let _alone = locked(&self.rows);
        let Some(mut thread) = self.store.thread(id)? else { return Ok(None) };
        let before = thread.clone();
        change(&mut thread);
        if thread != before {
            self.store.apply(&[Change::Thread(thread.clone())])?;
            self.tell_thread(&thread);
        }
        Ok(Some(thread))
    }

    pub(crate) fn tell_thread(&self, thread: &Thread) {
        self.feed.tell(&To::All, "thread.changed", &json!({"thread": thread}));
    }

    /// Changes an answer that is being made, and tells the pages, in the order of its sequence.
    pub(crate) fn change_answer(
        &self,
        thread: &str,
        live: &Mutex<LiveAnswer>,
        change: impl FnOnce(&mut LiveAnswer) -> Vec<Op>,
    ) {
        let mut live = locked(live);
        let base = live.answer.seq;
        let ops = change(&mut live);
        if ops.is_empty() {
            return;
        }
        live.answer.seq += 1;
        let delta = json!({"threadId": thread, "messageId": live.answer.id, "base": base, "seq": base + 1, "ops": ops});
        self.feed.message(thread, "message.delta", &delta);
    }

    /// Ends it: feeds are closed, and what runs is kept as far as it came.
    pub fn close(&self) {
        self.feed.close();
        let running: Vec<_> = locked(&self.running)
            .iter()
            .map(|(thread, running)| (thread.clone(), Arc::clone(&running.live)))
            .collect();
        for (thread, live) in running {
            let answer = locked(&live).answer.clone();
            let message = Message::Assistant(Box::new(answer));
            if let Err(error) = self.store.apply(&[Change::Message { thread, message }]) {
                tracing::warn!(%error, "a running turn could not be kept");
            }
        }
    }
}

impl Card {
    /// Takes in how an agent is now.
    fn see(&mut self, agent: &FoundAgent, now: &str) {
        let Some(status) = &agent.status else {
            if self.value.is_null() {
                self.value = json!({
                    "id": agent.id, "name": agent.name, "model": "", "version": "", "generation": 0,
                    "startedAt": now, "supervised": false, "activeRuns": 0, "channels": [],
                    "sandbox": {"state": "off", "text": ""},
                    "can": {"attach": false, "steer": false, "restart": false, "memory": false},
                });
                self.offline(now);
                self.value["offlineSince"] = Value::Null;
            } else if self.online {
                self.offline(now);
            }
            return;
        };
        let counts = self.value["counts"].clone();
        let can =
            |word: &str| status["capabilities"].as_array().is_some_and(|all| all.iter().any(|it| it == word));
        let text = status["sandbox"].as_str().unwrap_or_default();
        self.online = true;
        self.value = json!({
            "id": agent.id,
            "name": status["name"],
            "state": "online",
            "model": status["model"],
            "sandbox": {"state": sandbox_state(text), "text": text},
            "version": status["version"],
            "generation": status["generation"],
            "startedAt": stamp(status["startedAt"].as_i64().unwrap_or_default()),
            "supervised": status["supervised"],
            "activeRuns": status["activeRuns"],
            "channels": status["channels"],
            "can": {
                "attach": can("attachments"),
                "steer": can("liveInput"),
                "restart": status["supervised"] == true,
                "memory": can("memory"),
            },
        });
        if !counts.is_null() {
            self.value["counts"] = counts;
        }
    }

    fn offline(&mut self, now: &str) {
        self.online = false;
        self.value["state"] = "offline".into();
        self.value["offlineSince"] = now.into();
    }
}

/// The one word of a sandbox's line.
fn sandbox_state(line: &str) -> &'static str {
    let begins = |word: &str| line.starts_with(word);
    match () {
        () if begins("UNSAFE") => "unsafe",
        () if begins("blocked") => "blocked",
        () if begins("off") || begins("none") => "off",
        () => "on",
    }
}
