//! A turn from its first message to its end. It belongs to the console, not to a page: closing one stops nothing.

use crate::agents::{HostAnswer, HostFault, HostFrame, TurnLink, TurnOrder};
use crate::answer::{LiveAnswer, parted_name};
use crate::asks::call_of;
use crate::console::{Console, Running, locked, stamp};
use crate::error::Fault;
use crate::feed::To;
use crate::shapes::{
    Answer, Ask, AskKind, FollowUp, FollowUpState, Message, Quote, RunState, RunStatus, Thread, Upload,
    UserMessage,
};
use crate::store::{Change, StoreError, Submission, UploadRow};
use host_run::RunEvent;
use host_vocab::text::one_line;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;

/// How often an answer that is being made is kept.
const KEEP: Duration = Duration::from_secs(2);
/// How often the list hears what a turn is at.
const TELL: Duration = Duration::from_secs(1);
/// The longest title that is made of a message, in characters.
const TITLE_CHARS_MAX: usize = 80;
/// The longest preview of a conversation, in characters.
const PREVIEW_CHARS_MAX: usize = 200;

/// What a new turn begins with.
pub(crate) struct NewTurn {
    pub(crate) text: String,
    pub(crate) quote: Option<Quote>,
    pub(crate) files: Vec<UploadRow>,
    /// The browser's id and the sum of what it sent.
    pub(crate) submission: Option<(String, String)>,
    /// The follow-up that became this turn.
    pub(crate) follow_up: Option<FollowUp>,
}

/// A turn that is underway, for its driver.
struct Driving {
    thread: String,
    agent: String,
    live: Arc<Mutex<LiveAnswer>>,
    /// Titles that were proposed by calls that have not settled yet.
    titles: Mutex<BTreeMap<String, String>>,
}

fn fresh_id() -> String {
    uuid::Uuid::now_v7().simple().to_string()
}

impl Console {
    /// Begins a turn: its messages are kept before the agent hears of it. Gives the receipt.
    pub(crate) fn begin_turn(self: &Arc<Self>, thread: &str, new: NewTurn) -> Result<Value, Fault> {
        let now = self.now();
        let uploads: Vec<Upload> = new.files.iter().map(shown).collect();
        let user = UserMessage {
            id: fresh_id(),
            seq: 1,
            created_at: now.clone(),
            text: new.text.clone(),
            steered: false,
            quote: new.quote.clone(),
            attachments: uploads,
        };
        let answer = empty_answer(&now);
        let (user, message) = (Message::User(user), Message::Assistant(Box::new(answer.clone())));
        let receipt = |id: &str| json!({"id": id, "kind": "turn", "user": user, "answer": message});
        let of = |message: &Message| Change::Message { thread: thread.to_owned(), message: message.clone() };
        let mut changes = vec![of(&user), of(&message)];
        if let Some((id, digest)) = &new.submission {
            let (id, digest) = (id.clone(), digest.clone());
            let receipt = receipt(&id);
            changes.push(Change::Submission(Submission { id, thread: thread.to_owned(), digest, receipt }));
        }
        changes.extend(
            new.files
                .iter()
                .map(|row| Change::Upload(UploadRow { thread: Some(thread.to_owned()), ..row.clone() })),
        );
        if let Some(follow_up) = &new.follow_up {
            changes.push(Change::FollowUp(FollowUp { state: FollowUpState::Applied, ..follow_up.clone() }));
        }
        let row = self.begun_row(thread, &new, &now, changes)?;
        let (orders, taken) = mpsc::channel(64);
        let generation = self.generation(&row.agent_id);
        let live = Arc::new(Mutex::new(LiveAnswer::of_generation(answer.clone(), generation)));
        let running = Running {
            message: answer.id,
            live: Arc::clone(&live),
            orders,
            can_steer: self.agent_can(&row.agent_id, "steer"),
        };
        locked(&self.running).insert(thread.to_owned(), running);
        for message in [&user, &message] {
            self.feed.message(thread, "message.changed", &json!({"threadId": thread, "message": message}));
        }
        self.tell_thread(&row);
        let order = TurnOrder {
            conversation: format!("web:{thread}"),
            text: with_quote(&new.text, new.quote.as_ref()),
            files: new.files.iter().map(|row| self.uploads.path(&row.id, &row.name)).collect(),
            title_open: !row.title_locked && row.origin == "web",
        };
        let driving =
            Driving { thread: thread.to_owned(), agent: row.agent_id, live, titles: Mutex::default() };
        tokio::spawn(Arc::clone(self).drive(driving, order, taken));
        Ok(receipt(new.submission.as_ref().map_or("", |(id, _)| id)))
    }

    /// Writes the beginning of a turn and its conversation's row in one transaction.
    fn begun_row(
        &self,
        thread: &str,
        new: &NewTurn,
        now: &str,
        mut changes: Vec<Change>,
    ) -> Result<Thread, Fault> {
        let _alone = locked(&self.rows);
        let mut row = self.store.thread(thread)?.ok_or_else(crate::Refused::not_found)?;
        if row.title.is_empty() {
            row.title = title_of(&new.text, new.files.first());
        }
        row.preview = one_line(&new.text, PREVIEW_CHARS_MAX);
        now.clone_into(&mut row.updated_at);
        row.run_state = Some(RunState {
            status: RunStatus::Running,
            started_at: now.to_owned(),
            ended_at: None,
            activity: None,
        });
        changes.insert(0, Change::Thread(row.clone()));
        self.store.apply(&changes)?;
        Ok(row)
    }

    /// Carries a turn to its end.
    async fn drive(self: Arc<Self>, turn: Driving, order: TurnOrder, mut orders: mpsc::Receiver<HostAnswer>) {
        match self.hosts.turn(&turn.agent, order).await {
            Ok(link) => self.follow(&turn, link, &mut orders).await,
            Err(fault) => {
                let kind = if fault == HostFault::Offline { "agent_offline" } else { "agent_failed" };
                let error = format!("The agent did not take the turn: {fault}. Nothing was done.");
                self.change_answer(&turn.thread, &turn.live, |live| {
                    live.broke(RunStatus::Failed, Some(kind), Some(error), &self.now())
                });
            }
        }
        // Whoever sends now waits until it is decided what follows this turn.
        let _alone = self.submitting.lock().await;
        self.ended(&turn, &mut orders);
    }

    async fn follow(&self, turn: &Driving, mut link: TurnLink, orders: &mut mpsc::Receiver<HostAnswer>) {
        let mut keep = tokio::time::interval(KEEP);
        let mut tell = tokio::time::interval(TELL);
        loop {
            tokio::select! {
                biased;
                frame = link.frames.recv() => match frame {
                    Some(HostFrame::Finish(result)) => {
                        self.change_answer(&turn.thread, &turn.live, |live| live.finish(&result, &self.now()));
                        return;
                    }
                    Some(frame) => self.frame(turn, frame),
                    None => {
                        let error = "The agent went away before it answered. What it had done up to then stands.";
                        self.change_answer(&turn.thread, &turn.live, |live| {
                            live.broke(RunStatus::Interrupted, Some("agent_gone"), Some(error.into()), &self.now())
                        });
                        return;
                    }
                },
                Some(order) = orders.recv() => {
                    // An agent that is gone is seen above.
                    let _gone = link.answers.send(order).await;
                }
                _ = keep.tick() => self.keep(turn),
                _ = tell.tick() => self.tell_state(turn),
            }
        }
    }

    fn keep(&self, turn: &Driving) {
        let message = Message::Assistant(Box::new(locked(&turn.live).answer.clone()));
        if let Err(error) = self.store.apply(&[Change::Message { thread: turn.thread.clone(), message }]) {
            tracing::warn!(%error, "a running turn could not be kept");
        }
    }

    fn tell_state(&self, turn: &Driving) {
        let (status, activity) = {
            let live = locked(&turn.live);
            (live.answer.status, live.activity())
        };
        let changed = self.change_thread(&turn.thread, |thread| {
            if let Some(state) = &mut thread.run_state {
                (state.status, state.activity) = (status, Some(activity));
            }
        });
        if let Err(error) = changed {
            tracing::warn!(%error, "a running turn's row could not be kept");
        }
    }

    /// Takes in what the agent says.
    fn frame(&self, turn: &Driving, frame: HostFrame) {
        let wait = |wait_ms: Option<u64>| {
            wait_ms.map(|ms| stamp(self.clock.now_ms() + i64::try_from(ms).unwrap_or(i64::MAX / 2)))
        };
        match frame {
            HostFrame::Event(event) => self.event(turn, event),
            HostFrame::Approval { id, tool, arguments, rule, run, call, always, wait_ms } => {
                self.change_answer(&turn.thread, &turn.live, |live| live.waits(&call, true));
                let (tool, server) = parted_name(&tool);
                let kind =
                    AskKind::Approval { call_id: call, run_id: run, tool, server, arguments, rule, always };
                self.open_ask(turn, id, wait(wait_ms), kind);
            }
            HostFrame::Questions { id, message, questions, wait_ms } => {
                self.open_ask(turn, id, wait(wait_ms), AskKind::AskUser { message, questions });
            }
            HostFrame::Elicit { id, server, message, form, visit, wait_ms } => {
                self.open_ask(turn, id, wait(wait_ms), AskKind::Elicit { server, message, form, visit });
            }
            HostFrame::Withdrawn { id } => {
                self.close_asks(&turn.thread, |host, _| host == id, "cancelled", None);
                self.still_waiting(turn);
            }
            HostFrame::Steered { id, applied } => self.steered_to(&turn.thread, &id, applied),
            HostFrame::Finish(_) => {}
        }
    }

    fn event(&self, turn: &Driving, event: RunEvent) {
        match &event {
            RunEvent::Title { call, title } => {
                locked(&turn.titles).insert(call.clone(), title.clone());
                return;
            }
            RunEvent::CallSettled { id, settled, .. } => {
                // A question about a call that is over is not asked any more.
                let over = self.close_asks(
                    &turn.thread,
                    |_, ask| call_of(ask) == Some(id.as_str()),
                    "cancelled",
                    None,
                );
                if over {
                    self.still_waiting(turn);
                }
                let title = locked(&turn.titles).remove(id).filter(|_| settled == "done");
                if let Some(title) = title {
                    self.propose_title(&turn.thread, title);
                }
            }
            _ => {}
        }
        let at = self.now();
        self.change_answer(&turn.thread, &turn.live, |live| live.take(event, &at));
    }

    /// A title of the agent's counts as long as no person gave one (TIT-1).
    fn propose_title(&self, thread: &str, title: String) {
        let changed = self.change_thread(thread, |thread| {
            if !thread.title_locked && thread.origin == "web" && !thread.archived {
                thread.title = title;
            }
        });
        if let Err(error) = changed {
            tracing::warn!(%error, "a title could not be kept");
        }
    }

    fn open_ask(&self, turn: &Driving, host: u64, expires_at: Option<String>, kind: AskKind) {
        let ask = Ask {
            id: fresh_id(),
            thread_id: turn.thread.clone(),
            agent_id: turn.agent.clone(),
            opened_at: self.now(),
            expires_at,
            state: "open".to_owned(),
            answered_at: None,
            answer: None,
            kind,
        };
        locked(&self.asks).open(ask, host);
        self.change_answer(&turn.thread, &turn.live, |live| live.set_status(RunStatus::Waiting));
        self.tell_state(turn);
        self.tell_asks(&turn.thread, Vec::new());
    }

    /// Closes questions of a conversation, and says whether there were any.
    pub(crate) fn close_asks(
        &self,
        thread: &str,
        fits: impl Fn(u64, &Ask) -> bool,
        state: &str,
        answer: Option<&Value>,
    ) -> bool {
        let closed = locked(&self.asks).close(
            |it| it.ask.thread_id == thread && fits(it.host, &it.ask),
            state,
            answer,
            &self.now(),
        );
        let any = !closed.is_empty();
        if any {
            self.tell_asks(thread, closed);
        }
        any
    }

    fn tell_asks(&self, thread: &str, closed: Vec<Ask>) {
        let mut asks = locked(&self.asks).of(thread);
        asks.extend(closed);
        self.feed.tell(&To::All, "asks.changed", &json!({"threadId": thread, "asks": asks}));
    }

    /// Goes on where nothing is asked any more.
    fn still_waiting(&self, turn: &Driving) {
        self.no_more_asks(&turn.thread, &turn.live);
        self.tell_state(turn);
    }

    pub(crate) fn no_more_asks(&self, thread: &str, live: &Mutex<LiveAnswer>) {
        if locked(&self.asks).of(thread).is_empty() {
            self.change_answer(thread, live, |live| {
                if live.answer.status.is_open() { live.set_status(RunStatus::Running) } else { Vec::new() }
            });
        }
    }

    /// The end of a turn: it is kept, the list hears of it, and what waited for it comes next.
    fn ended(self: &Arc<Self>, turn: &Driving, orders: &mut mpsc::Receiver<HostAnswer>) {
        let thread = &turn.thread;
        self.close_asks(thread, |_, _| true, "cancelled", None);
        // From here on nothing more is given to this turn; what was and did not reach it is for the next.
        locked(&self.running).remove(thread);
        orders.close();
        while let Ok(order) = orders.try_recv() {
            if let HostAnswer::Steer { id, .. } = order {
                self.steered_to(thread, &id, false);
            }
        }
        let answer = locked(&turn.live).answer.clone();
        let (status, at) = (answer.status, answer.settled_at.clone().unwrap_or_else(|| self.now()));
        let preview = one_line(&answer.text, PREVIEW_CHARS_MAX);
        let kept = Change::Message { thread: thread.clone(), message: Message::Assistant(Box::new(answer)) };
        let stored = self.store.apply(&[kept]).and_then(|()| {
            self.change_thread(thread, |row| {
                if let Some(state) = &mut row.run_state {
                    (state.status, state.ended_at, state.activity) = (status, Some(at.clone()), None);
                }
                row.updated_at.clone_from(&at);
                if !preview.is_empty() {
                    row.preview.clone_from(&preview);
                }
            })
        });
        if let Err(error) = stored {
            self.not_kept(turn, &error);
        }
        self.unread_follow_ups(thread);
        if self.is_online(&turn.agent) {
            self.next_queued(thread);
        }
    }

    /// The page is told that what it shows is not kept.
    fn not_kept(&self, turn: &Driving, error: &StoreError) {
        tracing::warn!(%error, "the end of a turn could not be kept");
        let notice = format!("This answer is not kept ({error}); it is gone when the console ends.");
        self.change_answer(&turn.thread, &turn.live, |live| {
            live.take(RunEvent::Notice { text: notice }, &self.now())
        });
    }
}

fn empty_answer(now: &str) -> Answer {
    Answer {
        id: fresh_id(),
        seq: 1,
        created_at: now.to_owned(),
        settled_at: None,
        status: RunStatus::Running,
        failure_kind: None,
        error: None,
        partial: false,
        run_id: None,
        model: None,
        chosen_model: None,
        duration_ms: None,
        usage: None,
        text: String::new(),
        activity: Vec::new(),
        parts: Vec::new(),
        part_status: BTreeMap::new(),
        notices: Vec::new(),
    }
}

/// An upload as it is shown.
pub(crate) fn shown(row: &UploadRow) -> Upload {
    Upload {
        id: row.id.clone(),
        name: row.name.clone(),
        media_type: row.media_type.clone(),
        size_bytes: row.size_bytes,
    }
}

fn title_of(text: &str, file: Option<&UploadRow>) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let title = one_line(first, TITLE_CHARS_MAX);
    match (title.is_empty(), file) {
        (true, Some(file)) => one_line(&file.name, TITLE_CHARS_MAX),
        _ => title,
    }
}

/// What the agent reads: the passage that is answered to, then the text.
fn with_quote(text: &str, quote: Option<&Quote>) -> String {
    let Some(quote) = quote else { return text.to_owned() };
    let quoted: Vec<String> = quote.text.lines().map(|line| format!("> {line}")).collect();
    format!("{}\n\n{text}", quoted.join("\n"))
}
