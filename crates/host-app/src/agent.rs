//! An opened agent: what it has, and the turns and calls that it takes.

mod open;
mod outcome;
mod status;

pub use open::{OpenError, OpenOptions};
pub use outcome::outcome_json;
pub(crate) use status::line_of;

use crate::archive::Archive;
use crate::clock::SystemClock;
use crate::desks::Desks;
use crate::helpers::HelperOffice;
use crate::memory::{AgentMemory, MemoryOffice};
use crate::parts::models::ModelNote;
use crate::parts::prompt::Texts;
use crate::parts::servers::Servers;
use crate::questions::Questions;
use crate::replies::{ReplyOffice, TurnReply};
use crate::run_context::Loans;
use crate::standing::StandingRules;
use crate::state::StateFolder;
use crate::surfaces::TurnSurfaces;
use crate::turn_lock::TurnLock;
use host_config::AgentSpec;
use host_event::{Fact, Scope};
use host_history::CeilingLog;
use host_mcp::McpPool;
use host_policy::{ApprovalRules, ToolPolicy};
use host_ports::CancellationToken;
use host_ports::ask::{Ask, NobodyToAsk};
use host_ports::clock::Clock as _;
use host_ports::elicit::Elicit;
use host_ports::kept::KeptOutput;
use host_ports::log::Recorder;
use host_ports::model::ToolSpec;
use host_ports::operator::OperatorDesk;
use host_ports::sessions::SessionError;
use host_run::{
    Completed, Engine, EventSink, ImageInput, RunInput, RunOutcome, SessionHub, Steering, SurfaceError,
    Surfaces as _, TurnContext,
};
use host_sandbox::Sandbox;
use host_store::{EventLog, Incarnation, PromptVault};
use host_surface::{
    Arguments, CallRequest, Explanation, ProgressSink, RunFacts, Settled, Surface, ToolSource,
};
use host_tools::Collaborators;
use host_turn::{AttachmentKind, Channel, Trigger, Turn, Usage};
use host_vocab::{CallId, ConversationId, RunId};
use outcome::{ending_of, no_model, telltale, told};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The longest that any call may take; tools have shorter bounds of their own.
pub(crate) const CALL_DEADLINE: Duration = Duration::from_secs(2_700);
/// The largest picture that is shown to a model, in bytes.
const IMAGE_BYTES_MAX: u64 = 20 * 1024 * 1024;

/// Why an agent could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// No surface could be sealed.
    #[error(transparent)]
    Surface(#[from] SurfaceError),
    /// The call could not be put on record.
    #[error("nothing was run, because it could not be recorded: {0}")]
    Log(#[from] host_ports::log::LogError),
    /// The agent has no such channel.
    #[error("there is no channel {name:?}; the channels are {}", .known.join(", "))]
    Channel {
        /// What was asked for, on one line.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
}

/// The people at the other end of a turn.
#[derive(Clone)]
pub struct People {
    /// Who is asked for approvals.
    pub ask: Arc<dyn Ask>,
    /// Who plays the model, where it is `manual:operator`.
    pub desk: Option<Arc<dyn OperatorDesk>>,
    /// Who is asked what MCP servers want of a person; none = it is declined.
    pub elicit: Option<Arc<dyn Elicit>>,
}

impl People {
    /// Nobody is there.
    pub fn nobody() -> Self {
        People { ask: Arc::new(NobodyToAsk), desk: None, elicit: None }
    }
}

/// An opened agent. Clones share everything; [`Agent::close`] ends it for all of them.
#[derive(Clone)]
pub struct Agent {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) name: String,
    pub(crate) recorder: Recorder,
    pub(crate) keep: Arc<dyn KeptOutput>,
    pub(crate) sources: Vec<Arc<dyn ToolSource>>,
    pub(crate) policy: ToolPolicy,
    pub(crate) approvals: Arc<ApprovalRules>,
    pub(crate) call_deadline: Duration,
    pub(crate) servers: Option<Servers>,
    pub(crate) memory: Arc<AgentMemory>,
    pub(crate) engine: Option<Engine>,
    pub(crate) hub: Arc<SessionHub>,
    pub(crate) incarnation: String,
    pub(crate) texts: Texts,
    pub(crate) desks: Arc<Desks>,
    /// The helpers that its runs can start; none = they are off.
    pub(crate) helpers: Option<Arc<HelperOffice>>,
    /// Whom its runs can ask.
    pub(crate) collaborators: Collaborators,
    /// Who is asked in which run what servers want to know.
    pub(crate) questions: Arc<Questions>,
    /// What runs lend to servers.
    pub(crate) loans: Option<Arc<Loans>>,
    pub(crate) model: ModelNote,
    pub(crate) home: Option<Home>,
    pub(crate) started_at: i64,
    pub(crate) active: AtomicU64,
    /// What people allowed from now on; none = nothing is kept.
    pub(crate) standing: Option<Arc<StandingRules>>,
    /// What replies are made with.
    pub(crate) replies: ReplyOffice,
    /// Where its web console is, once it is served.
    pub(crate) web: std::sync::OnceLock<String>,
}

/// What an agent has that lives in a folder, and one that was built by a program may not have.
pub(crate) struct Home {
    pub(crate) spec: AgentSpec,
    pub(crate) state: StateFolder,
    pub(crate) log: Arc<EventLog>,
    pub(crate) ceiling: Arc<CeilingLog>,
    /// The log as its owner may look at it.
    pub(crate) archive: Archive,
    /// Memory as its owner may look at it.
    pub(crate) office: MemoryOffice,
    /// Every setting with its value and where it comes from; secrets as set or unset.
    pub(crate) shown_settings: serde_json::Value,
    /// Output that was too large for a result.
    pub(crate) kept: Arc<host_files::KeptFolder>,
    /// How far the clock is believed where things are removed by age.
    pub(crate) believed: crate::upkeep::Believed,
    pub(crate) vault: Arc<PromptVault>,
    pub(crate) _incarnation: Incarnation,
    pub(crate) sandbox: Sandbox,
    pub(crate) governance_line: String,
    pub(crate) options: OpenOptions,
    /// What the settings were read from, as a digest.
    pub(crate) settings: String,
    /// The settings among its variables, by digest.
    pub(crate) variables: BTreeMap<String, String>,
}

impl Agent {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The model that answers first, and what people should know about it.
    pub fn model(&self) -> &ModelNote {
        &self.inner.model
    }

    /// Its settings, where it lives in a folder.
    pub fn spec(&self) -> Option<&AgentSpec> {
        self.inner.home.as_ref().map(|home| &home.spec)
    }

    /// When it was opened, in Unix milliseconds.
    pub fn started_at(&self) -> i64 {
        self.inner.started_at
    }

    /// Notes where its web console is served, for `status`.
    pub fn serves_web(&self, address: String) {
        // There is one console for a process; a second note would change nothing.
        let _first = self.inner.web.set(address);
    }

    /// Its state folder, where it has one.
    pub fn state(&self) -> Option<&StateFolder> {
        self.inner.home.as_ref().map(|home| &home.state)
    }

    /// Its sandbox, where it has one.
    pub fn sandbox(&self) -> Option<&Sandbox> {
        self.inner.home.as_ref().map(|home| &home.sandbox)
    }

    /// Its log, where it is the host's own.
    pub fn log(&self) -> Option<&Arc<EventLog>> {
        self.inner.home.as_ref().map(|home| &home.log)
    }

    /// Its MCP servers.
    pub fn servers(&self) -> Option<&Arc<McpPool>> {
        self.inner.servers.as_ref().map(|servers| &servers.pool)
    }

    /// How long a person has to approve a call.
    pub fn approval_timeout(&self) -> Duration {
        Duration::from_millis(self.inner.approvals.timeout_ms())
    }

    /// Whether a supervisor brings this host back.
    pub fn supervised(&self) -> bool {
        self.inner.home.as_ref().is_some_and(|home| home.options.supervised)
    }

    /// Ends, in the log, what earlier processes of this agent left unfinished (ENG-7). A run of a process that
    /// still lives is left alone.
    pub async fn recover(&self) {
        let Some(home) = &self.inner.home else { return };
        if let Some(loans) = &self.inner.loans {
            loans.sweep().await;
        }
        let log = Arc::clone(&home.log);
        let now = SystemClock.now_ms();
        match tokio::task::spawn_blocking(move || log.recover_interrupted(now)).await {
            Ok(Ok(recovered)) if !recovered.is_empty() => {
                tracing::info!(
                    runs = recovered.len(),
                    "runs of a process that died are marked as interrupted"
                );
            }
            Ok(Err(error)) => tracing::warn!(%error, "earlier runs could not be looked through"),
            _ => {}
        }
    }

    /// Runs one turn to its end. Nothing is an error: what went wrong is in the outcome's ending.
    pub async fn run(
        &self,
        turn: Turn,
        people: People,
        events: EventSink,
        cancel: CancellationToken,
    ) -> RunOutcome {
        self.run_steered(turn, people, events, cancel, None).await
    }

    /// The same for a turn that people can say more to while it runs (ENG-8).
    pub async fn run_steered(
        &self,
        turn: Turn,
        people: People,
        events: EventSink,
        cancel: CancellationToken,
        steering: Option<Steering>,
    ) -> RunOutcome {
        let inner = &self.inner;
        let engine = match &inner.engine {
            Some(_) if inner.recorder.redactor().finds(turn.conversation.as_str()) => {
                return told(telltale(turn), &events);
            }
            Some(engine) => engine,
            None => return told(no_model(turn), &events),
        };
        inner.active.fetch_add(1, Ordering::Relaxed);
        let exact = inner.hub.exact(&turn);
        // A lock that can't be had is no reason to lose the turn; the conversation may then lack another
        // process's newest one.
        let _alone = match &inner.home {
            Some(home) if !turn.isolated => {
                let taken =
                    TurnLock::take(&home.state, &exact, &inner.incarnation, &inner.hub, &cancel).await;
                taken.inspect_err(|error| tracing::warn!(%error, "the conversation could not be locked")).ok()
            }
            _ => None,
        };
        let _seat = people.desk.map(|desk| inner.desks.seat(self.desk_key(&exact), desk));
        let conversation = exact.without_bucket().to_owned();
        let reply = TurnReply::new(inner.replies.clone(), conversation, events.clone());
        let surfaces = Arc::new(
            TurnSurfaces::new(Arc::clone(inner), people.ask, people.elicit)
                .lending(&turn.text, turn.attachments.clone(), events.clone())
                .replying(Arc::clone(&reply)),
        );
        let background = inner.memory.background(&turn, &cancel).await;
        let context = TurnContext { background: background.into_iter().collect(), ..self.context(&turn) };
        let completed: Arc<dyn Completed> = Arc::clone(&inner.memory) as _;
        let sealing = Arc::clone(&surfaces) as _;
        let input = RunInput {
            context,
            cancel,
            events,
            completed: Some(completed),
            steering,
            ..RunInput::new(turn, sealing)
        };
        let mut outcome = engine.run(input).await;
        inner.memory.ended(&outcome.run);
        surfaces.end().await;
        outcome.reply.parts = reply.parts();
        inner.active.fetch_sub(1, Ordering::Relaxed);
        outcome
    }

    /// The key that the engine gives the session's requests.
    fn desk_key(&self, exact: &ConversationId) -> String {
        let digest = self.inner.recorder.log().keyed_digest(format!("session {exact}").as_bytes());
        digest.chars().take(32).collect()
    }

    fn context(&self, turn: &Turn) -> TurnContext {
        let pictures = turn.attachments.iter().filter(|it| it.kind == AttachmentKind::Image);
        let images = pictures
            .filter_map(|it| {
                let bytes =
                    host_files::state::read_bounded(std::path::Path::new(&it.path), IMAGE_BYTES_MAX).ok()?;
                Some(ImageInput { name: it.name.clone(), media_type: it.media_type.clone(), bytes })
            })
            .collect();
        TurnContext {
            prompt: self.inner.texts.parts(turn, self.inner.can_read_skills()),
            images,
            ..TurnContext::default()
        }
    }

    /// Runs one tool through the same seal and gate as a run, without a model.
    ///
    /// # Errors
    /// Where no surface could be sealed, or nothing can be recorded.
    pub async fn call(
        &self,
        channel: &str,
        tool: &str,
        arguments: Arguments,
        people: People,
        cancel: CancellationToken,
    ) -> Result<Settled, AgentError> {
        self.check_channel(channel)?;
        let surfaces = TurnSurfaces::new(Arc::clone(&self.inner), people.ask, people.elicit).lending(
            "",
            Vec::new(),
            EventSink::default(),
        );
        let surface = Arc::new(surfaces.seal(call_facts(channel)).await?);
        surfaces.lent.fill(&surface);
        let facts = surface.facts().clone();
        let scope = Scope::of_run(&facts.conversation, &facts.run);
        let (offered, withheld) = surface.record();
        let started = Fact::RunStarted {
            incarnation: self.inner.incarnation.clone(),
            source: channel.to_owned(),
            source_detail: Some("call".to_owned()),
            user_input: format!("call {tool}"),
            attachments: Vec::new(),
            model: "none".to_owned(),
            effort: None,
            isolated: true,
            offered,
            withheld,
        };
        self.inner.recorder.record(scope.clone(), started).await?;
        let begun = SystemClock.instant();
        let request = CallRequest {
            id: CallId::fresh(),
            name: tool.to_owned(),
            arguments,
            cancel: cancel.clone(),
            progress: ProgressSink::default(),
        };
        let mut settled = surface.call(request).await;
        self.inner.memory.ended(&facts.run);
        let ended = Fact::RunSettled {
            ending: ending_of(&settled, &cancel),
            text: String::new(),
            usage: Usage::default(),
            duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            failover_history: Vec::new(),
        };
        settled.recorded &= self.inner.recorder.record(scope, ended).await.is_ok();
        drop(surface);
        surfaces.end().await;
        Ok(settled)
    }

    /// Every tool of a turn from this channel, offered or withheld and by whom.
    ///
    /// # Errors
    /// Where no surface could be sealed.
    pub async fn explain(&self, channel: &str) -> Result<Explanation, AgentError> {
        self.check_channel(channel)?;
        Ok(self.seal(channel, People::nobody()).await?.explain())
    }

    /// What a model would be told of the tools.
    ///
    /// # Errors
    /// Where no surface could be sealed.
    pub async fn tool_specs(&self, channel: &str) -> Result<Arc<[ToolSpec]>, AgentError> {
        self.check_channel(channel)?;
        Ok(self.seal(channel, People::nobody()).await?.specs())
    }

    /// A word that no turn can come from would be judged like a channel and mislead. A program that embeds the
    /// host names its channels itself.
    fn check_channel(&self, name: &str) -> Result<(), AgentError> {
        let Some(home) = &self.inner.home else { return Ok(()) };
        let plugins = home.spec.channels.plugins.iter();
        let plugins = plugins.map(|it| it.id.clone().unwrap_or_else(|| it.package.clone()));
        let known: Vec<String> =
            Channel::OF_THE_HOST.iter().map(|it| (*it).to_owned()).chain(plugins).collect();
        if known.iter().any(|it| it == name) {
            return Ok(());
        }
        Err(AgentError::Channel { name: host_vocab::text::one_line(name, 60), known })
    }

    /// The system prompt of a turn from this channel.
    pub fn system_prompt(&self, channel: &str) -> String {
        let mut turn = Turn::terminal(call_conversation(channel), "");
        turn.channel = Channel::new(channel);
        host_run::system_prompt(&self.inner.texts.parts(&turn, self.inner.can_read_skills()))
    }

    async fn seal(&self, channel: &str, people: People) -> Result<Surface, AgentError> {
        Ok(TurnSurfaces::new(Arc::clone(&self.inner), people.ask, None).seal(call_facts(channel)).await?)
    }

    /// Forgets the prompts of all conversations; gives their number and bytes.
    ///
    /// # Errors
    /// Then some may still stand.
    pub async fn clear_sessions(&self) -> Result<(u64, u64), SessionError> {
        self.inner.hub.clear().await
    }

    /// Begins a conversation anew, or all of them, and says how much was forgotten. Waits for a running turn of
    /// the one.
    ///
    /// # Errors
    /// Then some may still stand.
    pub async fn forget(
        &self,
        conversation: Option<&ConversationId>,
    ) -> Result<serde_json::Value, SessionError> {
        let Some(conversation) = conversation else {
            let (sessions, bytes) = self.clear_sessions().await?;
            return Ok(serde_json::json!({"clearedSessions": sessions, "clearedBytes": bytes}));
        };
        let mut turn = Turn::terminal(conversation.clone(), "");
        turn.channel = Channel::new(conversation.channel());
        self.inner.hub.reset(&turn).await?;
        Ok(serde_json::json!({"cleared": conversation}))
    }

    /// The tool policy in one line.
    pub fn policy_line(&self) -> &str {
        self.inner.home.as_ref().map_or("set by the program", |home| &home.governance_line)
    }

    /// Servers that can't even be tried, with the reason.
    pub fn broken_servers(&self) -> Vec<(String, String)> {
        let broken = self.inner.servers.iter().flat_map(|it| &it.broken);
        broken.map(|it| (it.name.clone(), it.why.clone())).collect()
    }

    /// Puts the start of a host on record, and begins what goes on behind its turns.
    pub async fn started(&self) {
        self.inner.memory.begin();
        let incarnation = self.inner.incarnation.clone();
        let version = env!("CARGO_PKG_VERSION").to_owned();
        self.note(Fact::HostStarted { incarnation, version }).await;
    }

    /// Puts the end of a host on record.
    pub async fn stopped(&self) {
        self.note(Fact::HostStopped { incarnation: self.inner.incarnation.clone() }).await;
    }

    async fn note(&self, fact: Fact) {
        if let Err(error) = self.inner.recorder.record(Scope::default(), fact).await {
            tracing::warn!(%error, "the log could not be written");
        }
    }

    /// Ends everything that was started: servers, and the log in order.
    pub async fn close(&self) {
        self.inner.memory.close().await;
        if let Some(loans) = &self.inner.loans {
            loans.settle().await;
        }
        if let Some(servers) = &self.inner.servers {
            servers.shutdown().await;
        }
        // What could not be recorded in time is tried once more; what still can't be is said by the runs themselves.
        let _left = tokio::time::timeout(Duration::from_secs(5), self.inner.hub.backlog().flush()).await;
        if let Some(home) = &self.inner.home {
            if let Err(error) = home.ceiling.drain().await {
                tracing::warn!(%error, "some of the log could not be written");
            }
            home.anchor();
            home.vault.close();
            if let Err(error) = home.log.close() {
                tracing::warn!(%error, "the log was not closed in order");
            }
        }
    }
}

impl Inner {
    pub(crate) fn can_read_skills(&self) -> bool {
        !self.texts.skills_to_read().is_empty()
            && host_vocab::ToolName::parse("ReadSkill")
                .is_ok_and(|name| self.policy.judge(host_policy::Subject::Gated(&name)).allowed)
    }
}

/// The facts of a call without a run of its own.
pub(crate) fn call_facts(channel: &str) -> RunFacts {
    RunFacts {
        run: RunId::fresh(),
        conversation: call_conversation(channel),
        channel: Channel::new(channel),
        trigger: Trigger::Interactive,
        isolated: true,
    }
}

fn call_conversation(channel: &str) -> ConversationId {
    ConversationId::parse(format!("{channel}:call"))
        .or_else(|_| ConversationId::parse("terminal:call"))
        .expect("the fall-back is a valid id")
}
