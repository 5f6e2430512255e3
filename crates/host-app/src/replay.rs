//! A recorded turn again, through the engine of this agent as it is set now, with nothing behind it: no model is
//! asked, no tool runs, no person is asked and nothing is written (SRC-1).

use crate::archive::{Archive, state_of};
use crate::parts::governance::Governance;
use crate::parts::plugins::Plugins;
use crate::parts::prompt::Texts;
use crate::parts::{models, sandbox, web};
use host_config::{AgentSpec, Loaded};
use host_event::StoredEvent;
use host_files::AgentFiles;
use host_history::diff::Difference;
use host_history::replay::{KnownTool, QuickClock, Recording, ReplayError};
use host_history::{HistoryError, HistoryStore};
use host_policy::{ApprovalRules, Subject, ToolPolicy};
use host_ports::BoxFuture;
use host_ports::ask::Ask;
use host_ports::kept::KeepNothing;
use host_ports::log::{Log, Recorder};
use host_run::{RunInput, SessionHub, SurfaceError, Surfaces, TurnContext};
use host_surface::{GatePorts, Offer, RunFacts, Surface, ToolSource, seal};
use host_tools::{Builtin, BuiltinPorts, CommandSettings, ReadSkill, RunHistoryTool, SessionHistoryTool};
use host_turn::{Attachment, AttachmentKind, Channel, Trigger, Turn};
use host_vocab::{ConversationId, Diagnostic, RunId, ToolName};
use serde::Serialize;
use std::sync::Arc;

/// Why nothing was replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayFailure {
    /// The run can't be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// Its events are no recording.
    #[error(transparent)]
    Recording(#[from] ReplayError),
    /// The agent's settings don't make an engine.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Settings(Vec<Diagnostic>),
}

/// What a replay gave.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Replayed {
    /// The recorded run.
    pub run_id: String,
    /// How many events it has.
    pub recorded: usize,
    /// How many the replay left.
    pub replayed: usize,
    /// Whether the recorded run broke off; then only what came before was compared.
    pub broke_off: bool,
    /// The comparison, without ids and times.
    #[serde(flatten)]
    pub difference: Difference,
}

impl Archive {
    /// Plays a recorded turn again and compares. Needs a runtime; has no effect.
    ///
    /// # Errors
    /// See [`ReplayFailure`]. A replay that comes out otherwise is no error, it is in the value.
    pub async fn replay(&self, loaded: &Loaded, run: &str) -> Result<Replayed, ReplayFailure> {
        let mut events = self.events(run)?;
        let recording = Recording::of(&events)?;
        let Some(spec) = &loaded.spec else { return Err(ReplayFailure::Settings(Vec::new())) };
        let mut again = self.play(loaded, spec, &recording, &events).await?;
        let counts = (events.len(), again.len());
        if recording.broke_off() {
            events.retain(|event| event.kind != "run_settled");
            again.truncate(events.len());
        }
        Ok(Replayed {
            run_id: run.trim().to_owned(),
            recorded: counts.0,
            replayed: counts.1,
            broke_off: recording.broke_off(),
            difference: self.diff(&events, &again),
        })
    }

    async fn play(
        &self,
        loaded: &Loaded,
        spec: &AgentSpec,
        recording: &Recording,
        events: &[StoredEvent],
    ) -> Result<Vec<StoredEvent>, ReplayFailure> {
        let governance = Governance::of(spec, &Plugins::read(spec)).map_err(ReplayFailure::Settings)?;
        let texts = Texts::read(spec).map_err(ReplayFailure::Settings)?;
        let scratch = Arc::new(recording.log(Arc::clone(&self.log) as Arc<dyn Log>));
        let clock = QuickClock { now_ms: events.first().map_or(0, |event| event.at) };
        let recorder =
            Recorder::new(Arc::clone(&scratch) as Arc<dyn Log>, Arc::clone(&self.redactor), Arc::new(clock));
        let sessions = Arc::new(recording.sessions());
        let hub = Arc::new(SessionHub::new(models::sessions(spec), sessions, recorder.clone()));
        let mut routes = models::routes(spec, &loaded.env, &recording.model);
        let infos = routes.iter().map(|route| route.model.info()).collect();
        for (route, model) in routes.iter_mut().zip(recording.models(infos)) {
            route.model = model;
        }
        let Some(engine) = models::engine(routes, spec, hub, "replay".to_owned()) else {
            return Err(ReplayFailure::Settings(Vec::new()));
        };
        let known = self.known(loaded, spec, &texts).await;
        let surfaces = Arc::new(ReplaySurfaces {
            sources: recording.sources(&known),
            ask: recording.ask(),
            policy: governance.policy.clone(),
            approvals: Arc::new(governance.approvals),
            recorder,
        });
        let turn = turn(recording);
        let can_read = ToolName::parse("ReadSkill")
            .is_ok_and(|name| governance.policy.judge(Subject::Gated(&name)).allowed);
        let context = TurnContext {
            prompt: texts.parts(&turn, can_read && !texts.skills_to_read().is_empty()),
            ..TurnContext::default()
        };
        let input = RunInput { context, cancel: recording.stop.clone(), ..RunInput::new(turn, surfaces) };
        engine.run(input).await;
        Ok(scratch.events())
    }

    /// Today's tools of the host's own: their schemas refuse what they refused then. None of them is run. What
    /// can't be made is unknown, and takes whatever it was given.
    async fn known(&self, loaded: &Loaded, spec: &AgentSpec, texts: &Texts) -> Vec<KnownTool> {
        let state = state_of(spec);
        let keep = Arc::new(KeepNothing);
        let mut sources: Vec<Arc<dyn ToolSource>> = Vec::new();
        let sandbox = sandbox::sandbox(spec, &loaded.env, &state, &[], keep);
        let files = AgentFiles::new(&sandbox::files(spec, &state, &[]));
        if let (Ok(sandbox), Ok(files)) = (sandbox, files) {
            let settings = CommandSettings::default();
            let ports = BuiltinPorts { files: Arc::new(files), commands: Arc::new(sandbox.clone()) };
            let builtin = Builtin::with_settings(&ports, &settings);
            let workspace = spec.places.workspace.clone();
            sources.push(Arc::new(builtin.with_node_repl(Arc::new(sandbox), workspace, &settings)));
        }
        if let Ok(web) = web::tools(spec, &loaded.env) {
            sources.push(Arc::new(web));
        }
        let store = Arc::clone(&self.log) as Arc<dyn HistoryStore>;
        let app = vec![
            Offer::ready(RunHistoryTool::new(Arc::clone(&store), self.view(), false, false)),
            Offer::ready(SessionHistoryTool::new(store, self.view(), false, None)),
            Offer::ready(ReadSkill::new(texts.skills_to_read())),
        ];
        sources.push(Arc::new(crate::parts::sources::AppTools::new(app)));
        let facts = facts();
        let mut known = Vec::new();
        for source in sources {
            for offer in source.offers(&facts).await {
                if let Offer::Ready(tool) = offer {
                    known.push(KnownTool { source: source.name(), info: tool.info().clone() });
                }
            }
        }
        known
    }
}

/// A run of nobody, for asking what there is.
fn facts() -> RunFacts {
    RunFacts {
        run: RunId::fresh(),
        conversation: replay_conversation(),
        channel: Channel::terminal(),
        trigger: Trigger::Interactive,
        isolated: true,
    }
}

fn replay_conversation() -> ConversationId {
    ConversationId::parse("replay:turn").expect("a valid id")
}

fn turn(recording: &Recording) -> Turn {
    let bare = |id: &ConversationId| ConversationId::parse(id.without_bucket()).ok();
    let attachments = recording.attachments.iter().map(|(name, size_bytes)| Attachment {
        kind: AttachmentKind::Document,
        name: name.clone(),
        media_type: "application/octet-stream".to_owned(),
        size_bytes: *size_bytes,
        path: String::new(),
        dev: 0,
        ino: 0,
    });
    Turn {
        conversation: recording.conversation.as_ref().and_then(bare).unwrap_or_else(replay_conversation),
        channel: Channel::new(recording.source.clone()),
        // The log doesn't say what set a turn going; of a proactive one an empty answer is silence.
        trigger: if recording.source == "cron" { Trigger::Proactive } else { Trigger::Interactive },
        text: recording.user_input.clone(),
        attachments: attachments.collect(),
        source_detail: recording.source_detail.clone(),
        sender: None,
        isolated: recording.isolated,
    }
}

struct ReplaySurfaces {
    sources: Vec<Arc<dyn ToolSource>>,
    policy: ToolPolicy,
    approvals: Arc<ApprovalRules>,
    recorder: Recorder,
    ask: Arc<dyn Ask>,
}

impl Surfaces for ReplaySurfaces {
    fn seal(&self, facts: RunFacts) -> BoxFuture<'_, Result<Surface, SurfaceError>> {
        Box::pin(async move {
            let ports = GatePorts {
                recorder: Some(self.recorder.clone()),
                ask: Arc::clone(&self.ask),
                keep: Arc::new(KeepNothing),
                deadline: crate::agent::CALL_DEADLINE,
            };
            Ok(seal(&self.sources, &self.policy, Arc::clone(&self.approvals), facts, ports).await?)
        })
    }
}
