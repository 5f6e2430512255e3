//! The reply of one turn: the tools that add to it, and what they added (REP, QUI, RES, TIT, TOO-6).

use crate::clock::SystemClock;
use crate::state::StateFolder;
use host_config::AgentSpec;
use host_config::spec::host::StorageLimit;
use host_files::publish::{Publication, PublishError, ReplyFile, ReplyFileBounds, ReplyFiles};
use host_history::rfc3339;
use host_ports::BoxFuture;
use host_ports::ask::Ask;
use host_ports::clock::Clock as _;
use host_ports::replies::{FileWish, NotPublished, PublishedFile, ReplyDesk, Shows};
use host_run::{EventSink, RunEvent};
use host_surface::{Offer, RunFacts, ToolSource, WithheldBy};
use host_tools::{
    AskUser, PendingQuestions, ProposeRestart, PublishReplyFile, SetConversationTitle, SuggestReplies,
};
use host_turn::{Admission, Part, PartCode, PartLedger, Trigger};
use host_vocab::CallId;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What an agent's replies are made with.
#[derive(Clone, Default)]
pub(crate) struct ReplyOffice {
    /// Where published files are; none = this agent keeps none.
    pub(crate) files: Option<Arc<ReplyFiles>>,
    workspace: PathBuf,
    outbound: PathBuf,
    pending: PendingQuestions,
    wait: Option<Duration>,
    supervised: bool,
}

/// Where an agent's published files are.
pub(crate) fn folder(artifacts: &Path) -> PathBuf {
    artifacts.join("reply-files")
}

impl ReplyOffice {
    /// Of an agent that lives in a folder.
    pub(crate) fn of(spec: &AgentSpec, state: &StateFolder, supervised: bool) -> Self {
        let limits = &spec.artifacts.reply_files;
        let bounds = ReplyFileBounds {
            file_bytes_max: limits.max_file_bytes,
            storage_bytes_max: match limits.max_storage_bytes {
                StorageLimit::Bytes(bytes) => Some(bytes),
                StorageLimit::Word(_) => None,
            },
            age_max: Duration::from_secs(u64::from(spec.artifacts.retention.max_age_days) * 24 * 3600),
        };
        let private = vec![state.root().to_owned(), state.artifacts().to_owned()];
        let files = ReplyFiles::open(&folder(state.artifacts()), private, bounds)
            .inspect_err(|error| tracing::warn!(%error, "files of replies can't be kept"))
            .ok();
        ReplyOffice {
            files: files.map(Arc::new),
            workspace: spec.places.workspace.clone(),
            outbound: state.outbound(),
            pending: PendingQuestions::default(),
            wait: spec.interaction.ask_user.timeout_ms.map(Duration::from_millis),
            supervised,
        }
    }
}

/// The reply of one turn while it goes.
pub(crate) struct TurnReply {
    office: ReplyOffice,
    conversation: String,
    ledger: Mutex<PartLedger>,
    roots: Mutex<Vec<PathBuf>>,
    events: EventSink,
}

impl TurnReply {
    pub(crate) fn new(office: ReplyOffice, conversation: String, events: EventSink) -> Arc<Self> {
        let roots = Mutex::new(vec![office.workspace.clone()]);
        Arc::new(TurnReply { office, conversation, ledger: Mutex::default(), roots, events })
    }

    /// What the reply carries besides text.
    pub(crate) fn parts(&self) -> Vec<Part> {
        self.ledger().parts()
    }

    fn ledger(&self) -> std::sync::MutexGuard<'_, PartLedger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, part: &Part) {
        self.events.send(RunEvent::Part { part: json!(part) });
    }

    async fn copied(&self, files: &Arc<ReplyFiles>, wish: FileWish) -> Result<ReplyFile, PublishError> {
        let roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (files, conversation) = (Arc::clone(files), self.conversation.clone());
        let work = move || {
            files.publish(Publication {
                path: Path::new(&wish.path),
                roots: &roots,
                name: &wish.name,
                media_type: &wish.media_type,
                conversation: &conversation,
                now_ms: SystemClock.now_ms(),
            })
        };
        tokio::task::spawn_blocking(work).await.unwrap_or(Err(PublishError::Failed))
    }
}

fn fresh_id() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

fn code_of(error: PublishError) -> PartCode {
    match error {
        PublishError::Missing => PartCode::ArtifactMissing,
        PublishError::TooLarge(_) => PartCode::ArtifactTooLarge,
        PublishError::Changed => PartCode::ArtifactIntegrityFailed,
        _ => PartCode::ArtifactPublishFailed,
    }
}

impl ReplyDesk for TurnReply {
    fn publish(&self, wish: FileWish) -> BoxFuture<'_, Result<PublishedFile, NotPublished>> {
        Box::pin(async move {
            let name = ReplyFiles::shown_name(&wish.name);
            let Some(files) = self.office.files.clone() else {
                let message =
                    "this agent can't keep files of replies; put the content into your answer".to_owned();
                return Err(NotPublished { code: PartCode::ArtifactPublishFailed, message });
            };
            let file = match self.copied(&files, wish).await {
                Ok(file) => file,
                Err(error) => {
                    let code = code_of(error);
                    self.ledger().reject(fresh_id(), name, code);
                    return Err(NotPublished { code, message: error.to_string() });
                }
            };
            let shown = |part: &Part, reused| match part {
                Part::Attachment { name, media_type, size_bytes, sha256, .. } => Ok(PublishedFile {
                    name: name.clone(),
                    media_type: media_type.clone(),
                    size_bytes: *size_bytes,
                    sha256: sha256.clone(),
                    reused,
                }),
                _ => Err(NotPublished { code: PartCode::ArtifactPublishFailed, message: String::new() }),
            };
            let admitted = self.ledger().admit(&file.name, Some(&file.sha256));
            match admitted {
                Admission::Reused(part) => {
                    files.remove(&file.id);
                    shown(&part, true)
                }
                Admission::Full => {
                    files.remove(&file.id);
                    self.ledger().full(fresh_id(), &file.name);
                    let message =
                        "this turn has 20 files already, as many as it may; nothing was replaced".to_owned();
                    Err(NotPublished { code: PartCode::ReplyPartTooLarge, message })
                }
                Admission::Free => {
                    let part = Part::Attachment {
                        id: file.id,
                        name: file.name,
                        media_type: file.media_type,
                        size_bytes: file.size_bytes,
                        sha256: file.sha256,
                        expires_at: Some(rfc3339(file.expires_ms)),
                    };
                    self.ledger().publish(part.clone());
                    self.tell(&part);
                    shown(&part, false)
                }
            }
        })
    }

    fn suggest(&self, options: Vec<String>) {
        let part = Part::ReplyOptions { id: fresh_id(), options };
        self.ledger().suggest(part.clone());
        self.tell(&part);
    }

    fn propose_restart(&self, reason: Option<String>) {
        let part = Part::RestartProposal { id: fresh_id(), reason };
        self.ledger().propose(part.clone());
        self.tell(&part);
    }

    fn title(&self, call: &CallId, title: String) {
        self.events.send(RunEvent::Title { call: call.to_string(), title });
    }
}

/// The tools that add to one turn's reply, and the one that asks its person.
pub(crate) struct ReplySource {
    pub(crate) reply: Arc<TurnReply>,
    pub(crate) ask: Arc<dyn Ask>,
    pub(crate) shows: Shows,
}

impl ReplySource {
    fn offer(&self, run: &RunFacts) -> Vec<Offer> {
        let office = &self.reply.office;
        let Shows { files, controls, title, questions } = self.shows;
        let here = run.trigger == Trigger::Interactive;
        let desk = || Arc::clone(&self.reply) as Arc<dyn ReplyDesk>;
        let channel = |name: &str, what: &str| {
            let why = format!("{} turns can't show {what}; the web console's can", run.channel);
            Offer::withheld(name, WithheldBy::Channel, why)
        };
        let published = match (files, &office.files) {
            (false, _) => channel("PublishReplyFile", "files"),
            (true, None) => {
                let why = "files of replies can't be kept: artifacts.dir can't be written";
                Offer::withheld("PublishReplyFile", WithheldBy::Capability, why)
            }
            (true, Some(_)) => Offer::ready(PublishReplyFile::new(desk())),
        };
        let suggested = if controls && here {
            Offer::ready(SuggestReplies::new(desk()))
        } else {
            channel("SuggestReplies", "quick replies")
        };
        let proposed = match (controls && here, office.supervised) {
            (false, _) => channel("ProposeRestart", "a restart proposal"),
            (true, false) => {
                let why = "no supervisor brings this host back; `mono-agent start` has one";
                Offer::withheld("ProposeRestart", WithheldBy::Capability, why)
            }
            (true, true) => Offer::ready(ProposeRestart::new(desk())),
        };
        let titled = if title && here && !run.isolated {
            Offer::ready(SetConversationTitle::new(desk()))
        } else {
            let why = "only for web conversations whose title no person gave";
            Offer::withheld("SetConversationTitle", WithheldBy::Channel, why)
        };
        let asked = if questions && here {
            Offer::ready(AskUser::new(Arc::clone(&self.ask), office.pending.clone(), office.wait))
        } else {
            Offer::withheld(
                "AskUser",
                WithheldBy::Channel,
                "only where a person can answer: in the web console, or at a terminal (chat)",
            )
        };
        vec![published, suggested, proposed, titled, asked]
    }
}

impl ToolSource for ReplySource {
    fn name(&self) -> String {
        "app".to_owned()
    }

    fn offers<'a>(&'a self, run: &'a RunFacts) -> BoxFuture<'a, Vec<Offer>> {
        Box::pin(async move {
            // What a run may publish from is its own output folder too, where it has one.
            let own = self.reply.office.outbound.join(run.run.as_str());
            let mut roots = self.reply.roots.lock().unwrap_or_else(PoisonError::into_inner);
            roots.truncate(1);
            roots.push(own);
            drop(roots);
            self.offer(run)
        })
    }
}
