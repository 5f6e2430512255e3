//! Conversations: who waits for whom, and what a model remembers (ENG-4, ENG-7).
//!
//! One turn of a conversation runs at a time, in the order in which they came. The exact prompt is kept in
//! memory while a conversation is warm and in the [`Sessions`] port always; where it can't be had, it is
//! rebuilt from the redacted log, and both model and person are told.

mod account;
mod admit;
mod bucket;
mod repair;
mod reseed;

pub use account::account;
pub use admit::Busy;
pub(crate) use admit::Place;
pub use bucket::{Rollover, bucketed};
pub use reseed::{RESEED_BYTES_MAX, reseed};

use crate::backlog::Backlog;
use crate::context::host_note;
use crate::machine::drop_reasoning;
use host_event::{Fact, Scope};
use host_ports::log::Recorder;
use host_ports::model::Message;
use host_ports::sessions::{Loaded, PromptState, SessionError, Sessions};
use host_turn::Turn;
use host_vocab::ConversationId;
use host_vocab::text::one_line;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// The most settled turns that a cold session is rebuilt from.
const RESEED_TURNS_MAX: usize = 64;
/// The most settled turns that are looked at for ones that the stored prompt lacks.
const MISSED_TURNS_MAX: usize = 16;

/// Whether the exact prompt goes on from turn to turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionMode {
    /// It does.
    #[default]
    Continuous,
    /// Each turn begins cold, from the redacted history.
    PerMessage,
}

/// How conversations are kept.
#[derive(Debug, Clone)]
pub struct SessionConfig {
    /// Whether the exact prompt goes on.
    pub mode: SessionMode,
    /// Whether a conversation begins anew every day.
    pub rollover: Rollover,
    /// Whether people are told of a new day in one line.
    pub rollover_notice: bool,
    /// How long a conversation stays in memory without a turn. What is stored stays.
    pub idle: Duration,
    /// The most runs that wait for their place (`maxPendingRuns`); one more is refused as busy.
    pub pending_max: usize,
    /// The most runs at a time (`maxConcurrentRuns`).
    pub concurrent_max: usize,
    /// Whether proactive turns stand alone (`isolateProactive`).
    pub isolate_proactive: bool,
    /// The most bytes of one stored prompt; the oldest pictures and then the oldest turns go first.
    pub state_bytes_max: usize,
}

impl Default for SessionConfig {
    fn default() -> Self {
        SessionConfig {
            mode: SessionMode::Continuous,
            rollover: Rollover::Off,
            rollover_notice: false,
            idle: Duration::from_secs(30 * 60),
            pending_max: 64,
            concurrent_max: 8,
            isolate_proactive: false,
            state_bytes_max: 16 * 1024 * 1024,
        }
    }
}

/// All conversations of one agent. It outlives engines: a reload makes a new engine on the same hub.
pub struct SessionHub {
    pub(crate) config: SessionConfig,
    store: Arc<dyn Sessions>,
    pub(crate) recorder: Recorder,
    pub(crate) backlog: Backlog,
    admission: admit::Admission,
    running: Arc<Semaphore>,
    windows: Mutex<HashMap<String, u64>>,
}

/// What a conversation has in memory.
#[derive(Default)]
pub(crate) struct Warm {
    exact: Option<ConversationId>,
    state: Option<PromptState>,
}

/// A session as a run finds it.
#[derive(Default)]
pub(crate) struct Opened {
    /// The prompt so far.
    pub(crate) history: Vec<Message>,
    /// Boundaries for the log: kind and reason.
    pub(crate) boundaries: Vec<(&'static str, String)>,
    /// Lines for people.
    pub(crate) notices: Vec<String>,
}

impl SessionHub {
    /// A hub over a store and a log.
    pub fn new(config: SessionConfig, store: Arc<dyn Sessions>, recorder: Recorder) -> Self {
        let running = Arc::new(Semaphore::new(config.concurrent_max.clamp(1, Semaphore::MAX_PERMITS)));
        let backlog = Backlog::new(recorder.clone());
        SessionHub {
            config,
            store,
            recorder,
            backlog,
            admission: admit::Admission::default(),
            running,
            windows: Mutex::default(),
        }
    }

    /// Facts that wait for the log.
    pub fn backlog(&self) -> &Backlog {
        &self.backlog
    }

    /// The exact conversation of a turn that begins now.
    pub fn exact(&self, turn: &Turn) -> ConversationId {
        bucketed(
            &turn.conversation,
            &self.config.rollover,
            turn.channel.as_str(),
            self.recorder.clock().now_ms(),
        )
    }

    /// Begins a conversation anew (`/new`): nothing of it is prompted any more. Waits for a running turn.
    ///
    /// # Errors
    /// Then the stored prompt may still stand.
    pub async fn reset(&self, turn: &Turn) -> Result<(), SessionError> {
        let mut warm = self.admission.conversation(&turn.conversation, self.now()).lock_owned().await;
        let exact = self.exact(turn);
        *warm = Warm::default();
        let scope = Scope { conversation: Some(exact.clone()), ..Scope::default() };
        let fact = Fact::SessionBoundary { boundary: "cleared".into(), reason: "asked for".into() };
        self.recorder.record(scope, fact).await.map_err(|error| SessionError(error.to_string()))?;
        self.store.forget(&exact).await
    }

    /// Forgets the prompts of all conversations, stored and in memory; gives their number and bytes. Running
    /// turns still store theirs when they end.
    ///
    /// # Errors
    /// Then some may still stand.
    pub async fn clear(&self) -> Result<(u64, u64), SessionError> {
        let fact =
            Fact::SessionBoundary { boundary: "cleared".into(), reason: "all of them, asked for".into() };
        let recorded = self.recorder.record(Scope::default(), fact).await;
        recorded.map_err(|error| SessionError(error.to_string()))?;
        self.admission.forget_all();
        self.store.clear().await
    }

    /// Drops what all conversations hold in memory; what is stored stays. For when another process has worked
    /// on them.
    pub fn forget_warm(&self) {
        self.admission.forget_all();
    }

    /// Drops what idle conversations hold in memory. Each admission does it as well.
    pub fn sweep(&self) {
        self.admission.sweep(self.now(), self.config.idle);
    }

    pub(crate) fn now(&self) -> i64 {
        self.recorder.clock().now_ms()
    }

    /// A window, as providers showed it to be.
    pub(crate) fn window(&self, reference: &str, configured: u64) -> u64 {
        let learned = self.windows.lock().unwrap_or_else(PoisonError::into_inner).get(reference).copied();
        learned.unwrap_or(configured)
    }

    pub(crate) fn learn_windows(&self, learned: &[(String, u64)]) {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner).extend(learned.iter().cloned());
    }

    /// Opens the session of a run. `place` is `None` for a run that stands alone.
    pub(crate) async fn open(&self, warm: Option<&mut Warm>, exact: &ConversationId, model: &str) -> Opened {
        let Some(warm) = warm else {
            let boundaries = vec![("isolated", "the turn stands alone".to_owned())];
            return Opened { boundaries, ..Opened::default() };
        };
        if self.config.mode == SessionMode::PerMessage {
            return self.rebuilt(exact, "each turn of this agent begins cold", false).await;
        }
        if warm.exact.as_ref() != Some(exact) {
            *warm = Warm { exact: Some(exact.clone()), state: None };
        }
        let loaded = match warm.state.take() {
            Some(state) => return Opened { history: readable(state, model), ..Opened::default() },
            None => self.store.load(exact).await,
        };
        match loaded {
            Loaded::State(state) => self.caught_up(state, exact, model).await,
            Loaded::Nothing => self.begun(exact).await,
            Loaded::Unreadable(why) => {
                let why = format!("its stored form can't be opened: {}", one_line(&why, 200));
                self.rebuilt(exact, &why, true).await
            }
        }
    }

    /// A stored prompt, with the turns that the log has and the prompt lacks: their process died, or storing
    /// failed.
    async fn caught_up(&self, state: PromptState, exact: &ConversationId, model: &str) -> Opened {
        let updated_at = state.updated_at;
        let mut opened = Opened { history: readable(state, model), ..Opened::default() };
        let Ok(mut turns) = self.recorder.log().past_turns(exact, false, MISSED_TURNS_MAX).await else {
            return opened;
        };
        turns.retain(|turn| turn.at > updated_at);
        if !turns.is_empty() {
            let why = "the turns that follow were not stored in their exact form";
            opened.history.extend(reseed(&turns, why));
            opened.boundaries.push(("reseeded", why.to_owned()));
            opened
                .notices
                .push("The last turns of this session were restored from the redacted history.".into());
        }
        opened
    }

    /// Nothing is stored: a new conversation, a new day, or a lost prompt.
    async fn begun(&self, exact: &ConversationId) -> Opened {
        let opened = self.rebuilt(exact, "its exact form is not stored any more", true).await;
        if !opened.history.is_empty() || matches!(self.config.rollover, Rollover::Off) {
            return opened;
        }
        let mut opened = opened;
        let earlier = self.recorder.log().past_turns(exact, true, 1).await.unwrap_or_default();
        if !earlier.is_empty() {
            opened.boundaries.push(("rollover", "a new day began".to_owned()));
            if self.config.rollover_notice {
                opened.notices.push("A new day: this conversation begins anew.".into());
            }
        }
        opened
    }

    /// A session from the redacted log.
    async fn rebuilt(&self, exact: &ConversationId, why: &str, tell: bool) -> Opened {
        let mut opened = Opened::default();
        match self.recorder.log().past_turns(exact, false, RESEED_TURNS_MAX).await {
            Ok(turns) => opened.history = reseed(&turns, why),
            Err(_) if tell => {
                opened.history = vec![host_note(&format!(
                    "What was said before in this session is lost to you ({why}), and the history can't be read."
                ))];
            }
            Err(_) => {}
        }
        if tell && !opened.history.is_empty() {
            opened.boundaries.push(("reseeded", why.to_owned()));
            opened
                .notices
                .push(format!("This session was rebuilt from the redacted history, because {why}."));
        }
        opened
    }

    /// Stores a session after a turn. What can't be stored stays in memory.
    ///
    /// # Errors
    /// Then only the memory has it.
    pub(crate) async fn close(
        &self,
        warm: &mut Warm,
        exact: &ConversationId,
        messages: Vec<Message>,
        model: String,
    ) -> Result<(), SessionError> {
        if self.config.mode == SessionMode::PerMessage {
            return Ok(());
        }
        let mut messages = messages;
        repair::repair(&mut messages);
        account::bound(&mut messages, self.config.state_bytes_max);
        let state = PromptState { messages, model, updated_at: self.now(), provider_session: None };
        let saved = self.store.save(exact, &state).await;
        *warm = Warm { exact: Some(exact.clone()), state: Some(state) };
        saved
    }
}

/// A prompt that the model can read: calls and results in pairs, and no reasoning of another model.
fn readable(state: PromptState, model: &str) -> Vec<Message> {
    let mut messages = state.messages;
    if state.model != model {
        drop_reasoning(&mut messages);
    }
    repair::repair(&mut messages);
    messages
}

#[cfg(test)]
mod tests;
