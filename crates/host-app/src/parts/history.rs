//! What the agent may see of its own past.

use crate::parts::models;
use crate::state::StateFolder;
use host_config::AgentSpec;
use host_config::environment::Environment;
use host_files::KeptFolder;
use host_history::{HistoryStore, KeptText, View};
use host_policy::{Subject, ToolPolicy};
use host_redact::Redactor;
use host_run::Rollover;
use host_store::EventLog;
use host_surface::Offer;
use host_tools::{RunHistoryTool, SessionHistoryTool};
use host_vocab::{RunId, ToolName};
use std::io;
use std::sync::Arc;

/// `RunHistory` and `SessionHistory` over the agent's own log (RUN-1, HIS-1).
pub(crate) fn offers(
    spec: &AgentSpec,
    log: &Arc<EventLog>,
    view: &View,
    kept: &Arc<KeptFolder>,
    policy: &ToolPolicy,
) -> Vec<Offer> {
    let store = Arc::clone(log) as Arc<dyn HistoryStore>;
    let rollover = models::sessions(spec).rollover != Rollover::Off;
    // One tool points to the other only where that one can be called (RUN-4).
    let sibling =
        ToolName::parse("SessionHistory").is_ok_and(|name| policy.judge(Subject::Gated(&name)).allowed);
    let kept = Arc::new(KeptOutputs(Arc::clone(kept)));
    vec![
        Offer::ready(RunHistoryTool::new(Arc::clone(&store), view.clone(), rollover, sibling)),
        Offer::ready(SessionHistoryTool::new(store, view.clone(), rollover, Some(kept))),
    ]
}

/// How the past is shown: redacted again, without the places of this machine (RUN-8).
pub(crate) fn view(
    spec: &AgentSpec,
    env: &Environment,
    state: &StateFolder,
    redactor: &Arc<Redactor>,
) -> View {
    let places = [&spec.places.folder, &spec.places.workspace, &spec.artifacts.dir];
    let places = places.into_iter().map(|it| it.display().to_string());
    let home = env.get("HOME").filter(|home| home.len() > 1).cloned();
    View::new(Arc::clone(redactor), places.chain([state.root().display().to_string()]).chain(home))
}

/// Kept output as history reads it.
struct KeptOutputs(Arc<KeptFolder>);

impl KeptText for KeptOutputs {
    fn size(&self, run: &RunId, id: &str) -> Option<u64> {
        self.0.size(run, id)
    }

    fn read(&self, run: &RunId, id: &str, offset: u64, bytes_max: usize) -> io::Result<Vec<u8>> {
        self.0.read(run, id, offset, bytes_max).map_err(io::Error::other)
    }
}
