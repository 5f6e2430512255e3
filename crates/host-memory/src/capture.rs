//! Noting what is worth it from completed turns, by a model (A4). One call extracts, at most one more decides
//! about facts that are close to known ones. The contract with the model is strict: what breaks it is no
//! capture, and the turn waits for another attempt.

mod contract;
mod prompt;

use crate::bullet::{self, Bullet, Kind, Status, instant};
use crate::graph::{Entity, is_clean};
use crate::intake::{FailureCategory, Waiting};
use crate::store::WRITE_WAIT;
use crate::{MemoryStore, SourceName, normal, parse, render};
use contract::{Decision, Extracted};
use futures_util::StreamExt as _;
use host_ports::model::{Message, Model, ModelEvent, ModelRequest};
use host_vocab::Block;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// The longest answer of the model in characters (A3.10).
const ANSWER_CHARS_MAX: usize = 262_144;
/// The lock of who takes notes.
const DUTY: &str = ".capture.lock";
/// From which score a known fact is close.
const CLOSE: f32 = 0.45;
/// How many known facts are shown for one new one.
const CLOSE_MAX: usize = 3;

/// How turns are captured.
#[derive(Debug, Clone)]
pub struct CaptureConfig {
    /// The operator's guidance, at most 2048 bytes.
    pub focus: Option<String>,
    /// The kinds that are noted (`fact`, `preference`, `lesson`); `None` = all, empty = none.
    pub only: Option<Vec<String>>,
    /// How long one model call may take.
    pub timeout: Duration,
}

/// Captures turns of one memory. One at a time (A4.14).
pub struct Capture {
    store: MemoryStore,
    model: Arc<dyn Model>,
    config: CaptureConfig,
}

/// What one attempt did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaptureStep {
    /// Nothing is due.
    Idle,
    /// A turn was noted as this many facts.
    Noted(usize),
    /// An attempt failed; the turn waits or was given up.
    Failed(FailureCategory),
}

/// What will be written for a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlannedFact {
    id: String,
    text: String,
    kind: String,
    salience: f32,
    entities: Vec<Entity>,
    supersedes: Option<String>,
    /// A line that somebody stated, which this one refines: it stays as it is (A4.13).
    refines: Option<String>,
}

impl Capture {
    /// Over a memory and the model that takes notes.
    pub fn new(store: MemoryStore, model: Arc<dyn Model>, config: CaptureConfig) -> Self {
        Capture { store, model, config }
    }

    /// Tries the turn that waits longest. Call it until it is idle, and again when a turn was admitted or some
    /// time has passed.
    pub async fn step(&self) -> CaptureStep {
        let store = self.store.clone();
        let next = tokio::task::spawn_blocking(move || {
            // One process at a time: two would ask the model for the same turn.
            let duty = store.files().duty(DUTY)?;
            Ok::<_, crate::IntakeError>(match duty {
                Some(duty) => store.next_due()?.map(|next| (next, duty)),
                None => None,
            })
        })
        .await;
        let Ok(Ok(next)) = next else { return CaptureStep::Failed(FailureCategory::Processing) };
        let Some((mut waiting, _duty)) = next else { return CaptureStep::Idle };
        let done = self.note(&mut waiting).await;
        let store = self.store.clone();
        let settled = tokio::task::spawn_blocking(move || match done {
            Ok(count) => store.settle_done(&waiting, "captured").map(|()| CaptureStep::Noted(count)),
            Err(why) => store.settle_failed(&mut waiting, why).map(|()| CaptureStep::Failed(why)),
        });
        match settled.await {
            Ok(Ok(step)) => step,
            _ => CaptureStep::Failed(FailureCategory::Processing),
        }
    }

    async fn note(&self, waiting: &mut Waiting) -> Result<usize, FailureCategory> {
        let processing = |_| FailureCategory::Processing;
        let plan: Vec<PlannedFact> = match waiting.plan.take() {
            Some(plan) => serde_json::from_value(plan).map_err(processing)?,
            None => self.plan(waiting).await?,
        };
        let value = serde_json::to_value(&plan).map_err(processing)?;
        let (store, mut kept) = (self.store.clone(), waiting.clone());
        let admitted = waiting.admitted_ms;
        let count = plan.len();
        let kept = tokio::task::spawn_blocking(move || {
            store.keep_plan(&mut kept, value).map_err(|_| FailureCategory::Processing)?;
            store.commit(&plan, admitted)?;
            Ok::<_, FailureCategory>(kept)
        });
        *waiting = kept.await.map_err(|_| FailureCategory::Processing)??;
        Ok(count)
    }

    async fn plan(&self, waiting: &Waiting) -> Result<Vec<PlannedFact>, FailureCategory> {
        if self.config.only.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let at = instant(waiting.admitted_ms);
        let answer =
            self.ask(prompt::EXTRACT, prompt::turn(&waiting.turn, &at, self.config.focus.as_deref())).await?;
        let mut extracted = contract::extracted(&answer).map_err(|_| FailureCategory::ModelOutput)?;
        for it in &extracted {
            let refusal = &self.store.parts.refusal;
            let dirty =
                refusal.check(&it.text).is_err() || !it.entities.iter().all(|it| is_clean(it, refusal));
            if dirty || it.text.contains(bullet::DELIMITER) {
                return Err(FailureCategory::ModelOutput);
            }
        }
        if let Some(only) = &self.config.only {
            extracted.retain(|it| only.contains(&it.kind));
        }
        let mut plan = Vec::new();
        let mut unclear = Vec::new();
        for (n, fact) in extracted.into_iter().enumerate() {
            let (store, text) = (self.store.clone(), fact.text.clone());
            let near = tokio::task::spawn_blocking(move || store.recall_now(&text, None, CLOSE_MAX)).await;
            let (near, _) =
                near.map_err(|_| FailureCategory::Processing)?.map_err(|_| FailureCategory::Processing)?;
            let near: Vec<(String, String)> =
                near.into_iter().filter(|it| it.score >= CLOSE).map(|it| (it.id, it.text)).collect();
            let planned = planned(&waiting.id, n, fact);
            if near.iter().any(|(_, text)| *text == planned.text) {
                continue;
            }
            if near.is_empty() { plan.push(planned) } else { unclear.push((planned, near)) }
        }
        if !unclear.is_empty() {
            plan.extend(self.reconcile(unclear).await?);
        }
        Ok(plan)
    }

    /// One call for all facts that are close to known ones.
    async fn reconcile(
        &self,
        unclear: Vec<(PlannedFact, Vec<(String, String)>)>,
    ) -> Result<Vec<PlannedFact>, FailureCategory> {
        let shown: Vec<(&str, &[(String, String)])> =
            unclear.iter().map(|(fact, near)| (fact.text.as_str(), near.as_slice())).collect();
        let answer = self.ask(prompt::RECONCILE, prompt::candidates(&shown)).await?;
        let targets: Vec<Vec<&str>> =
            unclear.iter().map(|(_, near)| near.iter().map(|(id, _)| id.as_str()).collect()).collect();
        let decisions = contract::decisions(&answer, &targets).map_err(|_| FailureCategory::ModelOutput)?;
        let mut plan = Vec::new();
        for ((mut fact, _), decision) in unclear.into_iter().zip(decisions) {
            match decision {
                Decision::Noop => continue,
                Decision::Add => {}
                // Older lines are never rewritten: a change is a new line that replaces them.
                Decision::Replace { target, text } => {
                    let text = normal(&text);
                    if text.is_empty()
                        || self.store.parts.refusal.check(&text).is_err()
                        || text.contains(bullet::DELIMITER)
                    {
                        return Err(FailureCategory::ModelOutput);
                    }
                    fact.text = text;
                    if is_stated(&target) {
                        fact.refines = Some(target);
                    } else {
                        fact.supersedes = Some(target);
                    }
                }
            }
            plan.push(fact);
        }
        Ok(plan)
    }

    async fn ask(&self, system: &str, text: String) -> Result<String, FailureCategory> {
        let request = ModelRequest {
            system: system.to_owned(),
            messages: vec![Message::User { content: vec![Block::text(text)] }],
            tools: Arc::from([]),
            effort: None,
            output_tokens_max: Some(4096),
            cache_key: None,
        };
        let mut stream = self.model.stream(request);
        let read = async {
            let mut answer = String::new();
            while let Some(event) = stream.next().await {
                match event {
                    Ok(ModelEvent::Text(piece)) => answer.push_str(&piece),
                    Ok(ModelEvent::Finished { .. }) => return Ok(answer),
                    Ok(_) => {}
                    Err(_) => return Err(FailureCategory::Provider),
                }
                if answer.len() > ANSWER_CHARS_MAX {
                    return Err(FailureCategory::ModelOutput);
                }
            }
            Err(FailureCategory::Provider)
        };
        tokio::time::timeout(self.config.timeout, read).await.map_err(|_| FailureCategory::Provider)?
    }
}

/// Whether a line was written by `Remember`: what somebody stated is never rewritten by a model.
fn is_stated(id: &str) -> bool {
    id.starts_with("RM-") || id.starts_with("J-")
}

fn planned(intake: &str, n: usize, fact: Extracted) -> PlannedFact {
    PlannedFact {
        id: format!("C-{intake}-{n:02}"),
        text: fact.text,
        kind: fact.kind,
        salience: fact.salience,
        entities: fact.entities,
        supersedes: None,
        refines: None,
    }
}

impl MemoryStore {
    /// Writes a plan. Doing it again writes nothing twice: ids come from the run.
    fn commit(&self, plan: &[PlannedFact], admitted_ms: i64) -> Result<(), FailureCategory> {
        if plan.is_empty() {
            return Ok(());
        }
        self.write_plan(plan, admitted_ms).map_err(|()| FailureCategory::Processing)
    }

    fn write_plan(&self, plan: &[PlannedFact], admitted_ms: i64) -> Result<(), ()> {
        let mut writer = self.files().lock(WRITE_WAIT, false).map_err(|_| ())?;
        crate::sync::sync(self.files(), self.index()).map_err(|_| ())?;
        let date = instant(admitted_ms)[..10].to_owned();
        let source = SourceName::daily(&date).ok_or(())?;
        let listed = self.files().list().map_err(|_| ())?;
        if listed.iter().any(|it| it.name.is_legacy() && it.name.date() == date) {
            return Err(());
        }
        for fact in plan {
            if self.index().by_id(&fact.id).map_err(|_| ())?.is_empty()
                && self.index().by_text(&fact.text).map_err(|_| ())?.is_empty()
            {
                let mut bullet = Bullet::note(fact.id.clone(), fact.text.clone(), admitted_ms);
                bullet.salience = fact.salience;
                bullet.refs = fact.entities.iter().map(|it| it.id.clone()).collect();
                bullet.refs.push(format!("kind:{}", fact.kind));
                bullet.refs.extend(fact.supersedes.iter().map(|id| format!("supersedes:{id}")));
                bullet.refs.extend(fact.refines.iter().map(|id| format!("refines:{id}")));
                bullet.kind = Kind::Note;
                let record = render(&bullet).map_err(|_| ())?;
                writer.append(&source, &record).map_err(|_| ())?;
            }
            if let Some(target) = &fact.supersedes {
                self.set_status(writer.as_mut(), target, Status::Invalidated)?;
            }
        }
        let entities: Vec<Entity> = plan.iter().flat_map(|it| it.entities.iter().cloned()).collect();
        self.note_entities(&entities, admitted_ms).map_err(|_| ())?;
        crate::sync::sync(self.files(), self.index()).map_err(|_| ())
    }

    /// Marks every place of a live id. The rest of its file stays to the byte.
    fn set_status(&self, writer: &mut dyn crate::NoteWriter, id: &str, status: Status) -> Result<(), ()> {
        for row in self.index().by_id(id).map_err(|_| ())? {
            let (text, fingerprint) = self.files().read(&row.source).map_err(|_| ())?;
            if let Some(changed) = with_status(&text, id, status) {
                writer.replace(&row.source, fingerprint, &changed).map_err(|_| ())?;
            }
        }
        Ok(())
    }
}

/// A file with another status for an id; `None` where nothing changes.
pub(crate) fn with_status(text: &str, id: &str, status: Status) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 16);
    let mut at = 0;
    for found in parse(text).0 {
        if found.bullet.id == id && found.bullet.status.is_live() {
            out.push_str(&text[at..found.range.start]);
            out.push_str(&bullet::with_status(&text[found.range.clone()], &found.bullet, status, None));
            at = found.range.end;
        }
    }
    (at > 0).then(|| {
        out.push_str(&text[at..]);
        out
    })
}
