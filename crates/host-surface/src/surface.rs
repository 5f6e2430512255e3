//! All that one run may do.

use crate::explain::{ExplainRow, Explanation};
use crate::gate::{CallRequest, GatePorts};
use crate::lazy::{LazyTools, TOOL_SEARCH, spec_of};
use crate::settled::Settled;
use crate::source::{RunFacts, Withheld, WithheldBy};
use crate::tool::{AnyTool, ToolInfo};
use host_event::{OfferedTool, Scope, WithheldTool};
use host_policy::{ApprovalRules, ToolPolicy};
use host_ports::model::ToolSpec;
use host_vocab::ToolName;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One tool on a surface, with what let it there.
#[derive(Clone)]
pub(crate) struct Sealed {
    pub(crate) tool: Arc<dyn AnyTool>,
    pub(crate) source: String,
    pub(crate) why: String,
    pub(crate) asks: bool,
}

/// Everything one run may do. Made once by [`crate::seal`], never widened, dropped with the run.
pub struct Surface {
    pub(crate) tools: BTreeMap<ToolName, Sealed>,
    pub(crate) withheld: Vec<(String, Withheld)>,
    pub(crate) facts: RunFacts,
    pub(crate) approvals: Arc<ApprovalRules>,
    pub(crate) ports: GatePorts,
    /// The servers' tools, where they are too many to be shown at once (GWY-2).
    pub(crate) lazy: Option<Arc<LazyTools>>,
}

impl Surface {
    /// Runs one tool through the gate. This is the only way to run a tool (ENG-6): nothing is refused by
    /// an error, and nothing is repeated.
    pub async fn call(&self, request: CallRequest) -> Settled {
        if let Some(lazy) = &self.lazy {
            lazy.called(&request.name);
        }
        crate::gate::pass(self, request).await
    }

    /// The run that it was sealed for.
    pub fn facts(&self) -> &RunFacts {
        &self.facts
    }

    /// What is known of a tool on it.
    pub fn info(&self, name: &str) -> Option<&ToolInfo> {
        self.tools.get(name).map(|sealed| sealed.tool.info())
    }

    /// The names on it, in order.
    pub fn names(&self) -> impl Iterator<Item = &ToolName> {
        self.tools.keys()
    }

    /// What is known of every tool on it, in order.
    pub fn infos(&self) -> impl Iterator<Item = &ToolInfo> {
        self.tools.values().map(|sealed| sealed.tool.info())
    }

    /// What a model is told of it, always in the same order, so that a prompt can be cached. Where servers have
    /// too many tools, those that it was shown by `ToolSearch` follow ours.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        let shown = self.tools.values().map(|sealed| sealed.tool.info());
        match &self.lazy {
            None => shown.map(spec_of).collect(),
            Some(lazy) => {
                shown.filter(|info| info.server.is_none()).map(spec_of).chain(lazy.specs()).collect()
            }
        }
    }

    /// The same where it may have grown since the run began; `None` = it can't.
    pub fn grown_specs(&self) -> Option<Arc<[ToolSpec]>> {
        self.lazy.as_ref().map(|_| self.specs())
    }

    /// What is offered and what is withheld, for the log.
    pub fn record(&self) -> (Vec<OfferedTool>, Vec<WithheldTool>) {
        let offered = self
            .tools
            .iter()
            .map(|(name, sealed)| OfferedTool { name: name.to_string(), source: sealed.source.clone() })
            .collect();
        let withheld = self
            .withheld
            .iter()
            .map(|(_, it)| WithheldTool { name: it.name.clone(), by: it.by.as_str().to_owned() })
            .collect();
        (offered, withheld)
    }

    /// Every tool as offered, or withheld and by whom.
    pub fn explain(&self) -> Explanation {
        let mut tools: Vec<ExplainRow> = self
            .tools
            .iter()
            .map(|(name, sealed)| ExplainRow {
                name: name.to_string(),
                source: sealed.source.clone(),
                offered: true,
                asks: sealed.asks,
                by: None,
                why: sealed.why.clone(),
            })
            .collect();
        tools.extend(self.withheld.iter().map(|(source, it)| ExplainRow {
            name: it.name.clone(),
            source: source.clone(),
            offered: false,
            asks: false,
            by: Some(it.by.as_str().into()),
            why: it.why.clone(),
        }));
        tools.sort_by(|a, b| (&a.name, &a.source).cmp(&(&b.name, &b.source)));
        Explanation { tools }
    }

    /// The surface of a child run: what this one has, less what the child's own policy denies, never more
    /// (POL-15). Tools named in `without` are left out whatever the lists say.
    #[must_use]
    pub fn inherit(&self, facts: RunFacts, policy: &ToolPolicy, without: &[&str]) -> Surface {
        let mut tools = BTreeMap::new();
        let mut withheld = self.withheld.clone();
        for (name, sealed) in self.tools.iter().filter(|(name, _)| name.as_str() != TOOL_SEARCH) {
            let judged = policy.judge(crate::seal::subject(sealed.tool.info()));
            if without.contains(&name.as_str()) {
                let why = "a child run never has this tool";
                withheld.push((sealed.source.clone(), withheld_row(name, WithheldBy::Capability, why)));
            } else if judged.allowed {
                tools.insert(name.clone(), sealed.clone());
            } else {
                let row = withheld_row(name, WithheldBy::Policy, &judged.why);
                withheld.push((sealed.source.clone(), row));
            }
        }
        // What the parent was shown is the parent's; a child searches its own tools.
        let lazy = crate::seal::add_search(&mut tools, policy, &self.approvals);
        let (approvals, ports) = (Arc::clone(&self.approvals), self.ports.clone());
        Surface { tools, withheld, facts, approvals, ports, lazy }
    }

    /// What the events of its calls belong to.
    pub(crate) fn scope(&self) -> Scope {
        Scope::of_run(&self.facts.conversation, &self.facts.run)
    }
}

pub(crate) fn withheld_row(name: &ToolName, by: WithheldBy, why: &str) -> Withheld {
    Withheld { name: name.to_string(), by, why: why.to_owned() }
}
