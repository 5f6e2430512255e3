//! The helpers and collaborators of one turn.

use super::lists::Chosen;
use super::{Helper, HelperOffice};
use host_policy::ToolPolicy;
use host_ports::BoxFuture;
use host_ports::helpers::{HelperCall, HelperEnd, HelperRefusal, HelperReport, HelperTask, Helpers, Parent};
use host_ports::kept::KeptOutput;
use host_ports::model::{Effort, Model};
use host_run::{
    ChildSurfaces, Engine, EngineConfig, EngineParts, EventStream, LentSurface, LentTool, RouteParts,
    RunEvent, RunInput, RunLimits, RunOutcome, TurnContext, channel,
};
use host_surface::{Offer, RunFacts, ToolSource, WithheldBy};
use host_tools::{AgentTool, AskCollaboratorTool, Collaborators};
use host_turn::{Channel, Ending, Trigger, Turn};
use host_vocab::{RunId, text};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// The most calls of a helper that are kept for its report.
const CALLS_KEPT_MAX: usize = 200;
/// The most events that wait for the report.
const EVENTS_MAX: usize = 256;

/// The tools of one turn that start something: they hold that turn's surface, to lend it.
pub(crate) struct TurnSource {
    pub(crate) office: Option<Arc<HelperOffice>>,
    pub(crate) collaborators: Collaborators,
    pub(crate) lent: LentSurface,
    pub(crate) keep: Arc<dyn KeptOutput>,
    /// What the person said.
    pub(crate) said: String,
}

impl ToolSource for TurnSource {
    fn name(&self) -> String {
        "builtin".to_owned()
    }

    fn offers<'a>(&'a self, run: &'a RunFacts) -> BoxFuture<'a, Vec<Offer>> {
        let mut offers = vec![match &self.office {
            Some(office) => {
                let helpers = TurnHelpers {
                    office: Arc::clone(office),
                    lent: self.lent.clone(),
                    channel: run.channel.clone(),
                    started: AtomicU32::new(0),
                };
                Offer::ready(AgentTool::new(Arc::new(helpers), Arc::clone(&self.keep), office.menu()))
            }
            None => Offer::withheld("Agent", WithheldBy::Capability, "subagents.enabled is off"),
        }];
        if !self.collaborators.is_empty() {
            offers.push(Offer::ready(AskCollaboratorTool::new(self.collaborators.clone(), &self.said)));
        }
        Box::pin(async { offers })
    }
}

/// Starts the helpers of one turn.
struct TurnHelpers {
    office: Arc<HelperOffice>,
    lent: LentSurface,
    channel: Channel,
    started: AtomicU32,
}

fn refusal(code: &'static str, message: impl Into<String>) -> HelperRefusal {
    HelperRefusal { code, message: message.into() }
}

impl Helpers for TurnHelpers {
    fn start(&self, task: HelperTask, parent: Parent) -> BoxFuture<'_, Result<HelperReport, HelperRefusal>> {
        Box::pin(async move {
            let office = &self.office;
            let helper = self.helper(task.name.as_deref())?;
            let base = office.engine.as_ref().ok_or_else(|| {
                refusal("no_model", "this process opened no model; start helpers from a run or a chat")
            })?;
            let engine = engine(base, helper, self.model(task.model.as_deref(), helper)?, task.effort)?;
            let tools = self.lent.tools().map_err(|error| refusal("parent_gone", error.to_string()))?;
            let chosen = helper.lists.choose(&tools, task.tools.as_deref(), helper.name.is_none());
            let most = office.per_turn_max;
            let count = self
                .started
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| (n < most).then_some(n + 1));
            if count.is_err() {
                let message = format!("this turn has started {most} helpers, which is all that it may");
                return Err(refusal("too_many_helpers", message));
            }
            let until = Instant::now() + helper.timeout;
            let slot = tokio::select! {
                slot = Arc::clone(&office.slots).acquire_owned() => slot.ok(),
                () = parent.cancel.cancelled() => None,
                () = tokio::time::sleep_until(until) => {
                    let message = "as many helpers as may run at a time were busy all the while; try again later";
                    return Err(refusal("helpers_busy", message));
                }
            };
            if slot.is_none() {
                return Err(refusal(
                    host_surface::codes::ABORTED,
                    "the turn was cancelled before the helper began",
                ));
            }
            let input = self.input(&task, helper, &tools, &chosen, &parent);
            Ok(run(engine, input, until, helper.timeout, chosen, &parent).await)
        })
    }
}

impl TurnHelpers {
    fn helper(&self, name: Option<&str>) -> Result<&Helper, HelperRefusal> {
        let known = || {
            let names: Vec<&str> = self.office.named.iter().filter_map(|it| it.name.as_deref()).collect();
            if names.is_empty() {
                "there are none by name".to_owned()
            } else {
                format!("there are {}", names.join(", "))
            }
        };
        let Some(name) = name else {
            let off =
                || format!("helpers without a name are switched off (subagents.inline.enabled); {}", known());
            return self.office.inline.as_ref().ok_or_else(|| refusal("inline_helpers_off", off()));
        };
        let named = self
            .office
            .named
            .iter()
            .find(|it| it.name.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(name.trim())));
        named.ok_or_else(|| {
            let wanted = text::one_line(name, 80);
            refusal("unknown_helper", format!("there is no helper named {wanted}; {}", known()))
        })
    }

    /// The model of a task: the one it asks for, where the config lists it, else the helper's own, else the agent's.
    fn model(&self, wanted: Option<&str>, helper: &Helper) -> Result<Option<Arc<dyn Model>>, HelperRefusal> {
        let Some(wanted) = wanted else { return Ok(helper.model.clone()) };
        match self.office.models.iter().find(|(reference, _)| reference == wanted.trim()) {
            Some((_, model)) => Ok(model.clone()),
            None => {
                let all: Vec<&str> =
                    self.office.models.iter().map(|(reference, _)| reference.as_str()).collect();
                let there = if all.is_empty() { "it has the agent's own".to_owned() } else { all.join(", ") };
                let wanted = text::one_line(wanted, 80);
                Err(refusal(
                    "model_not_allowed",
                    format!("a helper may not have the model {wanted}: {there}"),
                ))
            }
        }
    }

    /// The child run: alone, on its parent's surface less what it may not have.
    fn input(
        &self,
        task: &HelperTask,
        helper: &Helper,
        tools: &[LentTool],
        chosen: &Chosen,
        parent: &Parent,
    ) -> RunInput {
        let what = helper.name.as_deref().or(task.description.as_deref()).unwrap_or("helper");
        let turn = Turn {
            channel: self.channel.clone(),
            trigger: Trigger::Request,
            source_detail: Some(format!(
                "helper {} of {} {}",
                text::one_line(what, 80),
                parent.run,
                parent.call
            )),
            isolated: true,
            ..Turn::terminal(parent.conversation.clone(), task.prompt.clone())
        };
        let instructions = task.instructions.as_deref().unwrap_or(&helper.instructions);
        let can_read = chosen.names.contains("ReadSkill");
        let prompt = self.office.texts.for_helper(instructions, &turn, can_read);
        let without =
            tools.iter().map(|tool| tool.name.to_string()).filter(|name| !chosen.names.contains(name));
        let surfaces = ChildSurfaces {
            parent: self.lent.clone(),
            policy: ToolPolicy::allow_all(),
            without: without.collect(),
        };
        RunInput {
            run: Some(RunId::fresh()),
            context: TurnContext { prompt, ..TurnContext::default() },
            cancel: parent.cancel.child_token(),
            nested: true,
            ..RunInput::new(turn, Arc::new(surfaces))
        }
    }
}

/// The engine of one helper: the agent's, with the helper's own bounds and model.
fn engine(
    base: &Engine,
    helper: &Helper,
    model: Option<Arc<dyn Model>>,
    wanted: Option<Effort>,
) -> Result<Engine, HelperRefusal> {
    let parts = base.parts();
    let mut chain = match model {
        Some(model) => vec![RouteParts { model, attempts: 2, effort: None }],
        None => parts.chain.clone(),
    };
    if let Some(effort) = wanted.or(helper.effort) {
        chain.iter_mut().for_each(|route| route.effort = Some(effort));
    }
    let limits = RunLimits { steps_max: helper.turns_max, ..parts.config.limits.clone() };
    let config = EngineConfig { limits, ..parts.config.clone() };
    Engine::new(EngineParts { chain, config, ..parts.clone() })
        .map_err(|error| refusal("no_model", error.to_string()))
}

/// Runs it to its end, within its time, and gathers what it called.
async fn run(
    engine: Engine,
    mut input: RunInput,
    until: Instant,
    timeout: Duration,
    chosen: Chosen,
    parent: &Parent,
) -> HelperReport {
    let (sink, stream) = channel(EVENTS_MAX);
    input.events = sink;
    let cancel = input.cancel.clone();
    let running = async {
        let run = engine.run(input);
        tokio::pin!(run);
        tokio::select! {
            outcome = &mut run => (outcome, false),
            () = tokio::time::sleep_until(until) => {
                cancel.cancel();
                (run.await, true)
            }
        }
    };
    let ((outcome, late), (calls, calls_total)) = tokio::join!(running, listen(stream, parent));
    report(outcome, late.then_some(timeout), calls, calls_total, chosen)
}

/// Takes the run's events until it is over.
async fn listen(mut stream: EventStream, parent: &Parent) -> (Vec<HelperCall>, usize) {
    let (mut calls, mut total) = (Vec::new(), 0);
    let mut names = std::collections::HashMap::new();
    while let Some(event) = stream.recv().await {
        match event {
            RunEvent::CallStarted { id, name, .. } => {
                (parent.tell)(format!("helper: {}", text::one_line(&name, 80)));
                names.insert(id, name);
            }
            RunEvent::CallSettled { id, settled, code, duration_ms, .. } => {
                total += 1;
                let tool = names.remove(&id).unwrap_or_default();
                if calls.len() < CALLS_KEPT_MAX {
                    calls.push(HelperCall { tool, settled, code, duration_ms });
                }
            }
            RunEvent::RunSettled { .. } => break,
            _ => {}
        }
    }
    (calls, total)
}

fn report(
    outcome: RunOutcome,
    late: Option<Duration>,
    calls: Vec<HelperCall>,
    calls_total: usize,
    chosen: Chosen,
) -> HelperReport {
    let end = match (outcome.ending, late) {
        (Ending::Succeeded, _) => HelperEnd::Succeeded,
        (_, Some(timeout)) => HelperEnd::TimedOut(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)),
        (Ending::Cancelled, None) => HelperEnd::Cancelled,
        (Ending::Failed { kind, error }, None) => HelperEnd::Failed(format!("{kind}: {error}")),
        (Ending::Interrupted { kind }, None) => HelperEnd::Failed(kind.to_string()),
    };
    HelperReport {
        run: outcome.run,
        end,
        text: outcome.reply.text,
        calls,
        calls_total,
        dropped: chosen.dropped,
        usage: outcome.usage,
        duration_ms: outcome.duration_ms,
    }
}
