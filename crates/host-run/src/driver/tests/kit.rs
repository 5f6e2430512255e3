//! An engine over fakes, and tools that can be watched.

use crate::{
    Engine, EngineConfig, EngineParts, EventStream, RouteParts, RunEvent, RunInput, RunOutcome,
    SessionConfig, SessionHub, SurfaceError, Surfaces, channel,
};
use host_policy::{ApprovalRules, ToolPolicy};
use host_ports::BoxFuture;
use host_ports::kept::KeepNothing;
use host_ports::log::{Log, Recorder};
use host_ports::model::{Message, Model};
use host_redact::Redactor;
use host_surface::{
    Admitted, Belongs, Decl, GatePorts, Offer, RunFacts, Surface, Tool, ToolError, ToolOutput, ToolSource,
    seal,
};
use host_testkit::{Answers, MemoryLog, MemorySessions, OneSource, Script, Step, TestClock};
use host_turn::Turn;
use host_vocab::{ConversationId, Effect};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Barrier;

/// What the tools of a test did, in order.
#[derive(Clone, Default)]
pub(super) struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    pub(super) fn note(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Name {
    /// A name.
    pub(super) name: String,
}

/// Reads: waits until as many read as the barrier wants.
pub(super) struct Look(pub(super) Diary, pub(super) Option<Arc<Barrier>>);

impl Tool for Look {
    const DECL: Decl = Decl {
        name: "Look",
        about: "Looks.",
        effects: &[Effect::ReadsWorkspace],
        belongs: Belongs::Lists,
        codes: &[],
    };
    type Input = Name;

    async fn run(&self, call: Admitted<Name>) -> Result<ToolOutput, ToolError> {
        self.0.note(format!("look {}", call.input.name));
        if let Some(barrier) = &self.1 {
            barrier.wait().await;
        }
        Ok(ToolOutput::text(format!("saw {}", call.input.name)))
    }
}

/// Writes: notes its beginning and its end, with a pause between them.
pub(super) struct Put(pub(super) Diary);

impl Tool for Put {
    const DECL: Decl = Decl {
        name: "Put",
        about: "Puts.",
        effects: &[Effect::WritesWorkspace],
        belongs: Belongs::Lists,
        codes: &[],
    };
    type Input = Name;

    async fn run(&self, call: Admitted<Name>) -> Result<ToolOutput, ToolError> {
        self.0.note(format!("put {}", call.input.name));
        tokio::time::sleep(Duration::from_millis(20)).await;
        self.0.note(format!("end {}", call.input.name));
        Ok(ToolOutput::text("put"))
    }
}

/// Never ends by itself; obeys when it is told to stop, or not.
pub(super) struct Stuck {
    pub(super) diary: Diary,
    pub(super) obeys: bool,
}

struct OnDrop(Diary);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.note("dropped");
    }
}

impl Tool for Stuck {
    const DECL: Decl = Decl {
        name: "Stuck",
        about: "Hangs.",
        effects: &[Effect::Executes],
        belongs: Belongs::Lists,
        codes: &[],
    };
    type Input = Name;

    async fn run(&self, call: Admitted<Name>) -> Result<ToolOutput, ToolError> {
        let _gone = OnDrop(self.diary.clone());
        self.diary.note("stuck");
        if self.obeys {
            call.context.cancel.cancelled().await;
            return Err(ToolError::new("aborted", "stopped when told to"));
        }
        std::future::pending().await
    }
}

/// Seals all offers under allow-all.
pub(super) struct AllOf {
    pub(super) offers: Vec<Offer>,
    pub(super) recorder: Recorder,
    pub(super) lent: crate::LentSurface,
}

impl Surfaces for AllOf {
    fn seal(&self, facts: RunFacts) -> BoxFuture<'_, Result<Surface, SurfaceError>> {
        Box::pin(async move {
            let sources: Vec<Arc<dyn ToolSource>> =
                vec![Arc::new(OneSource::new("builtin", self.offers.clone()))];
            let ports = GatePorts {
                recorder: Some(self.recorder.clone()),
                ask: Arc::new(Answers::default()),
                keep: Arc::new(KeepNothing),
                deadline: Duration::from_secs(60),
            };
            let rules = Arc::new(ApprovalRules::default());
            Ok(seal(&sources, &ToolPolicy::allow_all(), rules, facts, ports).await?)
        })
    }

    fn lent(&self) -> Option<&crate::LentSurface> {
        Some(&self.lent)
    }
}

/// Everything of one test.
pub(super) struct Kit {
    pub(super) engine: Engine,
    pub(super) log: Arc<MemoryLog>,
    pub(super) sessions: Arc<MemorySessions>,
    pub(super) clock: Arc<TestClock>,
    pub(super) surfaces: Arc<AllOf>,
}

pub(super) fn script(steps: Vec<Step>) -> Arc<Script> {
    Arc::new(Script::new("a:m", steps))
}

pub(super) fn hub_of(
    config: SessionConfig,
    sessions: &Arc<MemorySessions>,
    log: &Arc<MemoryLog>,
    clock: &Arc<TestClock>,
) -> Arc<SessionHub> {
    let recorder =
        Recorder::new(Arc::clone(log) as Arc<dyn Log>, Arc::new(Redactor::default()), Arc::clone(clock) as _);
    Arc::new(SessionHub::new(config, Arc::clone(sessions) as _, recorder))
}

impl Kit {
    pub(super) fn new(models: &[Arc<Script>], offers: Vec<Offer>) -> Self {
        Self::with(models, offers, SessionConfig::default())
    }

    pub(super) fn with(models: &[Arc<Script>], offers: Vec<Offer>, config: SessionConfig) -> Self {
        let (log, sessions) = (Arc::new(MemoryLog::default()), Arc::new(MemorySessions::default()));
        let clock = Arc::new(TestClock::default());
        let hub = hub_of(config, &sessions, &log, &clock);
        let models: Vec<Arc<dyn Model>> =
            models.iter().map(|model| Arc::clone(model) as Arc<dyn Model>).collect();
        Self::over(models, offers, hub, log, sessions, clock)
    }

    /// The same log and store under a new process: nothing in memory.
    pub(super) fn restarted(&self, models: &[Arc<Script>], config: SessionConfig) -> Self {
        let hub = hub_of(config, &self.sessions, &self.log, &self.clock);
        let models: Vec<Arc<dyn Model>> =
            models.iter().map(|model| Arc::clone(model) as Arc<dyn Model>).collect();
        let (log, sessions, clock) =
            (Arc::clone(&self.log), Arc::clone(&self.sessions), Arc::clone(&self.clock));
        Self::over(models, self.surfaces.offers.clone(), hub, log, sessions, clock)
    }

    pub(super) fn over(
        models: Vec<Arc<dyn Model>>,
        offers: Vec<Offer>,
        hub: Arc<SessionHub>,
        log: Arc<MemoryLog>,
        sessions: Arc<MemorySessions>,
        clock: Arc<TestClock>,
    ) -> Self {
        let chain = models.into_iter().map(|model| RouteParts { model, attempts: 2, effort: None }).collect();
        let recorder = hub.recorder.clone();
        let parts = EngineParts { chain, hub, config: EngineConfig::default(), incarnation: "test".into() };
        let engine = Engine::new(parts).unwrap();
        let surfaces = Arc::new(AllOf { offers, recorder, lent: crate::LentSurface::default() });
        Kit { engine, log, sessions, clock, surfaces }
    }

    pub(super) fn input(&self, text: &str) -> RunInput {
        RunInput::new(self.turn(text), Arc::clone(&self.surfaces) as _)
    }

    pub(super) fn turn(&self, text: &str) -> Turn {
        Turn::terminal(ConversationId::parse("terminal:t").unwrap(), text)
    }

    pub(super) async fn say(&self, text: &str) -> RunOutcome {
        self.clock.advance(Duration::from_secs(1));
        self.engine.run(self.input(text)).await
    }

    pub(super) async fn say_and_listen(&self, text: &str) -> (RunOutcome, Vec<RunEvent>) {
        let (sink, stream) = channel(1000);
        let mut input = self.input(text);
        input.events = sink;
        let outcome = self.engine.run(input).await;
        (outcome, all(stream).await)
    }
}

pub(super) async fn all(mut stream: EventStream) -> Vec<RunEvent> {
    let mut events = Vec::new();
    while let Some(event) = stream.recv().await {
        events.push(event);
    }
    events
}

/// The text of a prompt, a line for each message.
pub(super) fn text(messages: &[Message]) -> String {
    format!("{messages:?}")
}
