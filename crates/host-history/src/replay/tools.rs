//! Tools that run nothing and give what was recorded.

use host_event::{Fact, OfferedTool, StoredEvent, WithheldTool};
use host_ports::kept::Kept;
use host_ports::{BoxFuture, CancellationToken};
use host_surface::{
    Admitted, AnyTool, EffectState, InputSchema, Offer, Retry, RunFacts, ToolError, ToolInfo, ToolOutput,
    ToolSource, WithheldBy,
};
use host_vocab::{Block, Code, Effect, ToolName};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// How long a call waits for the order of the recording before it goes on without.
const ORDER_WAIT: Duration = Duration::from_secs(2);

/// A tool of today, whose schema a replay uses.
#[derive(Debug, Clone)]
pub struct KnownTool {
    /// Its source.
    pub source: String,
    /// What is known of it.
    pub info: ToolInfo,
}

/// How one call ended.
#[derive(Debug, Clone)]
struct Recorded {
    settled: String,
    code: String,
    content: Vec<Block>,
    structured: Option<Value>,
    outcome: Option<Value>,
    original_bytes: u64,
    truncated: bool,
    kept: Vec<String>,
    /// How many calls had started, and how many had settled, when this one settled.
    after: (usize, usize),
}

/// How all calls of a run ended, by their ids.
#[derive(Debug, Clone, Default)]
pub(super) struct Results {
    by_call: HashMap<String, VecDeque<Recorded>>,
    /// How many there are in all.
    all: usize,
    /// Tools whose calls ran beside others.
    together: HashSet<String>,
    /// The withheld tools that were called, and why they were withheld.
    withheld: Vec<(String, String)>,
}

impl Results {
    pub(super) fn of(events: &[StoredEvent]) -> Self {
        let mut results: HashMap<String, VecDeque<Recorded>> = HashMap::new();
        let (mut started, mut ended) = (0, 0);
        let (mut open, mut together): (Vec<&str>, _) = (Vec::new(), HashSet::new());
        let mut withheld = Vec::new();
        for event in events {
            match &event.fact {
                Some(Fact::CallRefused { tool, why, .. }) => {
                    withheld.extend(reason(why).map(|why| (tool.clone(), why.to_owned())));
                }
                Some(Fact::CallStarted { tool, .. }) => {
                    started += 1;
                    open.push(tool);
                    if open.len() > 1 {
                        together.extend(open.iter().map(|tool| (*tool).to_owned()));
                    }
                }
                Some(Fact::CallSettled {
                    tool,
                    settled,
                    code,
                    content,
                    structured,
                    outcome,
                    original_bytes,
                    truncated,
                    kept,
                    ..
                }) => {
                    let recorded = Recorded {
                        settled: settled.clone(),
                        code: code.clone(),
                        content: content.clone(),
                        structured: structured.clone(),
                        outcome: outcome.clone(),
                        original_bytes: *original_bytes,
                        truncated: *truncated,
                        kept: kept.clone(),
                        after: (started, ended),
                    };
                    let id = event.scope.call.as_ref().map(ToString::to_string).unwrap_or_default();
                    results.entry(id).or_default().push_back(recorded);
                    ended += 1;
                    if let Some(at) = open.iter().position(|it| it == tool) {
                        open.remove(at);
                    }
                }
                _ => {}
            }
        }
        Results { by_call: results, all: ended, together, withheld }
    }
}

/// What the tools of one replay share: the results that are left, and how far it is.
struct Shared {
    results: Mutex<Results>,
    progress: Mutex<(usize, usize)>,
    moved: Notify,
    /// Fires behind the last recorded result, where the run was stopped there.
    stop: Option<CancellationToken>,
    all: usize,
}

impl Shared {
    fn progress(&self) -> std::sync::MutexGuard<'_, (usize, usize)> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts; gives whether the run was told to stop by it.
    fn advance(&self, started: usize, settled: usize) -> bool {
        let mut progress = self.progress();
        progress.0 += started;
        progress.1 += settled;
        let over = settled > 0 && progress.1 >= self.all;
        drop(progress);
        let stop = self.stop.as_ref().filter(|_| over);
        if let Some(stop) = stop {
            stop.cancel();
        }
        self.moved.notify_waiters();
        stop.is_some()
    }

    /// Waits until as much has happened as when the recorded call settled.
    async fn reach(&self, wanted: (usize, usize)) {
        let reached = async {
            loop {
                let moved = self.moved.notified();
                let now = *self.progress();
                if now.0 >= wanted.0 && now.1 >= wanted.1 {
                    return;
                }
                moved.await;
            }
        };
        // Another order than then is a difference to be seen, not a reason to hang.
        let _ = tokio::time::timeout(ORDER_WAIT, reached).await;
    }
}

/// The sources of a recording.
pub(super) fn sources(
    offered: &[OfferedTool],
    withheld: &[WithheldTool],
    known: &[KnownTool],
    results: &Results,
    stop: Option<CancellationToken>,
) -> Vec<Arc<dyn ToolSource>> {
    let shared = Arc::new(Shared {
        results: Mutex::new(results.clone()),
        progress: Mutex::new((0, 0)),
        moved: Notify::new(),
        stop,
        all: results.all,
    });
    let mut sources: BTreeMap<String, Vec<Offer>> = BTreeMap::new();
    for tool in offered {
        let Ok(name) = ToolName::parse(tool.name.as_str()) else { continue };
        let info = known
            .iter()
            .find(|it| it.info.name == name && it.source == tool.source)
            .map_or_else(|| unknown(name, results.together.contains(&tool.name)), |it| it.info.clone());
        let replaying = ReplayTool { info, shared: Arc::clone(&shared) };
        sources.entry(tool.source.clone()).or_default().push(Offer::Ready(Arc::new(replaying)));
    }
    let mut all: Vec<Arc<dyn ToolSource>> = sources
        .into_iter()
        .map(|(name, offers)| Arc::new(ReplaySource { name, offers }) as Arc<dyn ToolSource>)
        .collect();
    let why = |row: &str| {
        let recorded = results.withheld.iter().find(|(tool, _)| covers(row, tool));
        recorded.map_or("it was withheld when this was recorded", |(_, why)| why)
    };
    let offers = withheld
        .iter()
        .map(|tool| Offer::withheld(tool.name.clone(), by(&tool.by), why(&tool.name)))
        .collect();
    all.push(Arc::new(ReplaySource { name: "replay".to_owned(), offers }));
    all
}

/// Whether a row of what is withheld stands for a tool; a server that is down has one row for all of its tools.
fn covers(row: &str, tool: &str) -> bool {
    row == tool || row.strip_suffix('*').is_some_and(|all| tool.starts_with(all))
}

/// Why a tool was withheld, as a refusal of it says behind who withheld it.
fn reason(refusal: &str) -> Option<&str> {
    refusal.split_once(" (withheld by ")?.1.split_once("): ").map(|(_, why)| why)
}

fn by(word: &str) -> WithheldBy {
    use WithheldBy::{Approval, Capability, Channel, Dialect, Limit, Policy, Sandbox, Source};
    [Policy, Source, Channel, Sandbox, Approval, Capability, Limit, Dialect]
        .into_iter()
        .find(|by| by.as_str() == word)
        .unwrap_or(Source)
}

/// A tool of which nothing is known today: it takes whatever it was given then, and runs beside others if it did.
fn unknown(name: ToolName, together: bool) -> ToolInfo {
    ToolInfo {
        name,
        description: String::new(),
        schema: InputSchema::new(json!({"type": "object"})),
        effects: vec![if together { Effect::ReadsWorkspace } else { Effect::Foreign }],
        server: None,
        listed: false,
        no_deadline: false,
    }
}

struct ReplaySource {
    name: String,
    offers: Vec<Offer>,
}

impl ToolSource for ReplaySource {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn offers<'a>(&'a self, _run: &'a RunFacts) -> BoxFuture<'a, Vec<Offer>> {
        Box::pin(async { self.offers.clone() })
    }
}

struct ReplayTool {
    info: ToolInfo,
    shared: Arc<Shared>,
}

impl AnyTool for ReplayTool {
    fn info(&self) -> &ToolInfo {
        &self.info
    }

    fn call(&self, call: Admitted<Value>) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            self.shared.advance(1, 0);
            let next = {
                let mut results = self.shared.results.lock().unwrap_or_else(PoisonError::into_inner);
                results.by_call.get_mut(call.context.call.as_str()).and_then(VecDeque::pop_front)
            };
            let Some(recorded) = next else {
                self.shared.advance(0, 1);
                let message = "the recording has no end of this call";
                return Err(ToolError::new("not_recorded", message).effect_unknown());
            };
            self.shared.reach(recorded.after).await;
            if self.shared.advance(0, 1) {
                // The run was stopped inside this call, so the engine hears of that before it hears of the call's end;
                // else it would go on to its next request.
                let _ = tokio::time::timeout(ORDER_WAIT, call.context.cancel.cancelled()).await;
            }
            recorded.give()
        })
    }
}

impl Recorded {
    fn give(self) -> Result<ToolOutput, ToolError> {
        let kept = |id: String| Kept { id, path: String::new(), bytes: 0, dropped_bytes: 0 };
        let output = ToolOutput {
            content: self.content,
            structured: self.structured,
            outcome: self.outcome,
            kept: self.kept.into_iter().map(kept).collect(),
            whole_bytes: self.truncated.then_some(self.original_bytes),
        };
        if self.settled == "done" {
            return Ok(output);
        }
        // Codes are made from literals; a recorded one comes back the way it was stored.
        let code = serde_json::from_value(Value::String(self.code)).unwrap_or(Code::new("internal_error"));
        let effect = if self.settled == "unknown" { EffectState::Unknown } else { EffectState::Known };
        // The message is in the recorded content already.
        let message = String::new();
        Err(ToolError { code, message, retry: Retry::No, effect, partial: Some(Box::new(output)) })
    }
}
