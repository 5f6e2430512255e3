//! A surface for tests.

use crate::{Answers, MemoryLog, TestClock};
use host_policy::{ApprovalRules, ToolPolicy};
use host_ports::BoxFuture;
use host_ports::ask::Ask;
use host_ports::kept::{KeepNothing, KeptOutput};
use host_ports::log::{Log, Recorder};
use host_redact::Redactor;
use host_surface::{CallRequest, GatePorts, Offer, RunFacts, Settled, Surface, Tool, ToolSource, seal};
use host_turn::{Channel, Trigger};
use host_vocab::{ConversationId, RunId};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// A source with fixed offers.
pub struct OneSource {
    name: String,
    offers: Vec<Offer>,
}

impl OneSource {
    /// A source by name.
    pub fn new(name: &str, offers: Vec<Offer>) -> Self {
        OneSource { name: name.to_owned(), offers }
    }
}

impl ToolSource for OneSource {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn offers<'a>(&'a self, _run: &'a RunFacts) -> BoxFuture<'a, Vec<Offer>> {
        Box::pin(async { self.offers.clone() })
    }
}

/// Facts of a run on the terminal.
pub fn facts() -> RunFacts {
    RunFacts {
        run: RunId::fresh(),
        conversation: ConversationId::parse("terminal:test").expect("a valid id"),
        channel: Channel::terminal(),
        trigger: Trigger::Interactive,
        isolated: false,
    }
}

/// A sealed surface with its log at hand.
pub struct TestSurface {
    /// The surface.
    pub surface: Surface,
    /// What it recorded.
    pub log: Arc<MemoryLog>,
}

impl TestSurface {
    /// A surface with one tool of ours, everything allowed.
    pub async fn of<T: Tool>(tool: T) -> Self {
        Self::seal(vec![Offer::ready(tool)], ToolPolicy::allow_all(), ApprovalRules::default()).await
    }

    /// A surface of some offers under a policy and rules.
    pub async fn seal(offers: Vec<Offer>, policy: ToolPolicy, approvals: ApprovalRules) -> Self {
        Self::seal_with(offers, policy, approvals, Arc::new(Answers::default()), Arc::new(KeepNothing)).await
    }

    /// The same with a person to ask and a folder for large output.
    pub async fn seal_with(
        offers: Vec<Offer>,
        policy: ToolPolicy,
        approvals: ApprovalRules,
        ask: Arc<dyn Ask>,
        keep: Arc<dyn KeptOutput>,
    ) -> Self {
        let log = Arc::new(MemoryLog::default());
        let recorder = Recorder::new(
            Arc::clone(&log) as Arc<dyn Log>,
            Arc::new(Redactor::default()),
            Arc::new(TestClock::default()),
        );
        let ports = GatePorts { recorder: Some(recorder), ask, keep, deadline: Duration::from_secs(60) };
        let sources: Vec<Arc<dyn ToolSource>> = vec![Arc::new(OneSource::new("builtin", offers))];
        let surface = seal(&sources, &policy, Arc::new(approvals), facts(), ports)
            .await
            .expect("test tools have different names");
        TestSurface { surface, log }
    }

    /// Calls a tool with a value.
    pub async fn call(&self, name: &str, arguments: Value) -> Settled {
        self.surface.call(CallRequest::new(name, arguments)).await
    }
}
